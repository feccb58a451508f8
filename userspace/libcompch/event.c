// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events: to get several in one system call, with a timeout, and to acknowledge
 * them without a lock.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/compch.h>
#include <rdma/ib_user_verbs.h>

#include "compch-private.h"

#define NSEC_PER_SEC 1000000000

/** compch_now() - the time, in nanoseconds of CLOCK_MONOTONIC */
int64_t compch_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/**
 * compch_deadline() - when a timeout that begins now is over
 * @timeout: in nanoseconds; negative: never
 *
 * Return: INT64_MAX for never.
 */
int64_t compch_deadline(int64_t timeout)
{
	int64_t deadline;

	if (timeout < 0 ||
	    __builtin_add_overflow(compch_now(), timeout, &deadline))
		return INT64_MAX;
	return deadline;
}

/**
 * compch_remaining() - the timeout that is left
 * @deadline: from compch_deadline()
 *
 * Return: in nanoseconds; negative for one that never ends.
 */
int64_t compch_remaining(int64_t deadline)
{
	int64_t now;

	if (deadline == INT64_MAX)
		return -1;
	now = compch_now();
	return deadline > now ? deadline - now : 0;
}

/* poll() for reading, until the deadline; 0 or an errno value */
static int event_poll(struct pollfd *fds, int n, int64_t deadline)
{
	int64_t left = compch_remaining(deadline);
	struct timespec ts = {
		.tv_sec = left / NSEC_PER_SEC,
		.tv_nsec = left % NSEC_PER_SEC,
	};
	int ret = ppoll(fds, n, left < 0 ? NULL : &ts, NULL);

	if (ret < 0)
		return errno;
	return ret ? 0 : ETIMEDOUT;
}

/*
 * One system call if there are events, or if there is no end to waiting for
 * them.  Else poll() waits, which says nothing of who gets what there is: if
 * another thread does, go on waiting.
 */
static ssize_t event_read(int fd, struct ib_uverbs_comp_event_desc *descs,
			  int max, int64_t timeout)
{
	struct iovec iov = {
		.iov_base = descs,
		.iov_len = max * sizeof(*descs),
	};
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int64_t deadline = INT64_MAX;
	ssize_t len;
	int ret;

	if (timeout < 0) {
		len = read(fd, iov.iov_base, iov.iov_len);
	} else {
		len = preadv2(fd, &iov, 1, -1, RWF_NOWAIT);
		if (len < 0 && errno == EAGAIN && timeout)
			deadline = compch_deadline(timeout);
	}
	while (len < 0 && errno == EAGAIN && timeout) {
		ret = event_poll(&pfd, 1, deadline);
		if (ret)
			return -ret;
		len = preadv2(fd, &iov, 1, -1, RWF_NOWAIT);
	}
	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return len;
}

/*
 * What is in the channel's ring, without a system call.  The kernel says when
 * there is more to be heard of the channel than events.
 *
 * Return: the number of events; negative: read instead.
 */
static int event_from_ring(struct compch_channel *ch,
			   struct ib_uverbs_comp_event_desc *descs, int max,
			   int64_t timeout)
{
	struct compch_context *ctx;
	bool wake;
	int n;

	if (!ch->ring.head || compch_ring_attention(&ch->ring))
		return -1;
	n = compch_ring_take_events(&ch->ring, (__u64 *)descs, max, &wake);
	if (!n && !timeout) {
		/* What comes next may be waited for by epoll or a signal. */
		compch_ring_ask(&ch->ring);
		n = compch_ring_take_events(&ch->ring, (__u64 *)descs, max,
					    &wake);
	}
	/* Somebody has looked while these were in our hands. */
	if (wake && !compch_channel_context(ch, &ctx)) {
		compch_ioctl_channel_wake(ctx, ch->base.fd);
		compch_context_put(ctx);
	}
	return n;
}

/*
 * What stock ibv_get_cq_event() does with an event: the provider counts them,
 * and some ignore the next request for notification if one is missing.
 */
static struct ibv_cq *event_take(const struct ib_uverbs_comp_event_desc *desc)
{
	struct ibv_cq *cq = (struct ibv_cq *)(uintptr_t)desc->cq_handle;
	void (*cq_event)(struct ibv_cq *cq);

	cq_event = (void (*)(struct ibv_cq *))
		(void *)cq->context->ops._compat_cq_event;
	if (cq_event)
		cq_event(cq);
	return cq;
}

/**
 * compch_channel_get_events() - compch_get_events() of a channel of ours
 * @ch: the channel, which the caller uses
 * @cqs: filled with the CQ of each event
 * @max: the room in @cqs, at least 1
 * @timeout: in nanoseconds; negative: none
 * @count: set to the number of events
 */
int compch_channel_get_events(struct compch_channel *ch, struct ibv_cq **cqs,
			      int max, int64_t timeout, int *count)
{
	struct ib_uverbs_comp_event_desc descs[COMPCH_MAX_EVENTS];
	int saved = errno;
	ssize_t len;
	int i, n;

	if (max > COMPCH_MAX_EVENTS)
		max = COMPCH_MAX_EVENTS;
	/* Pairs with channel_bury_locked(): see compch_channel_use(). */
	if (__atomic_load_n(&ch->dead, __ATOMIC_SEQ_CST))
		return EBADF;
	n = event_from_ring(ch, descs, max, timeout);
	if (!n && !timeout)
		return ETIMEDOUT;
	if (n <= 0) {
		len = event_read(ch->base.fd, descs, max, timeout);
		errno = saved;
		if (len < 0)
			return -len;
		n = len / sizeof(descs[0]);
	}
	for (i = 0; i < n; i++)
		cqs[i] = event_take(&descs[i]);
	*count = n;
	return 0;
}

/* A mutex would do, but for a thread that is cancelled while it waits. */
static void stock_cancel_lock(void *arg)
{
	struct compch_stock *stock = arg;

	pthread_mutex_unlock(&stock->lock);
}

/* Only one thread reads from a stock channel at a time. */
static int stock_begin(struct compch_stock *stock, int64_t deadline)
{
	struct timespec ts = {
		.tv_sec = deadline / NSEC_PER_SEC,
		.tv_nsec = deadline % NSEC_PER_SEC,
	};
	int ret = 0;

	pthread_mutex_lock(&stock->lock);
	pthread_cleanup_push(stock_cancel_lock, stock);
	while (stock->reading && !ret) {
		if (deadline == INT64_MAX)
			ret = pthread_cond_wait(&stock->cond, &stock->lock);
		else
			ret = pthread_cond_clockwait(&stock->cond, &stock->lock,
						     CLOCK_MONOTONIC, &ts);
	}
	if (!stock->reading) {
		stock->reading = true;
		ret = 0;
	}
	pthread_cleanup_pop(true);
	return ret;
}

/* For a thread that is cancelled, too */
static void stock_end(void *arg)
{
	struct compch_stock *stock = arg;

	pthread_mutex_lock(&stock->lock);
	stock->reading = false;
	pthread_cond_broadcast(&stock->cond);
	pthread_mutex_unlock(&stock->lock);
}

/* Something is there to be read, and the caller is the one to read it. */
static int stock_get_event(struct compch_stock *stock, int64_t deadline,
			   struct ibv_cq **cq)
{
	struct pollfd pfds[] = {
		{ .fd = stock->cancels, .events = POLLIN },
		{ .fd = stock->channel->fd, .events = POLLIN },
	};
	uint64_t one;
	void *context;
	int ret;

	for (;;) {
		ret = event_poll(pfds, 2, deadline);
		if (ret)
			return ret;
		if (pfds[0].revents) {
			if (read(stock->cancels, &one, sizeof(one)) > 0)
				return ECANCELED;
			continue;
		}
		if (!compch_real()->get_cq_event(stock->channel, cq, &context))
			return 0;
		if (errno != EAGAIN)
			return errno;
	}
}

/*
 * The first event is there; a thread that is cancelled must not take it along.
 * Sets @count, and returns what ended it, or 0.
 */
static int stock_get_more(struct compch_stock *stock, struct ibv_cq **cqs,
			  int max, int *count)
{
	int state = compch_cancel_off();
	int ret = 0, n;

	for (n = 1; !ret && n < max; n += !ret)
		ret = stock_get_event(stock, 0, &cqs[n]);
	/* A cancel that comes behind events waits for the next call. */
	if (ret == ECANCELED)
		compch_stock_cancel(stock);
	*count = n;
	compch_cancel_on(state);
	return ret;
}

static void stock_put(void *stock)
{
	compch_stock_put(stock);
}

static void channel_unuse(void *ch)
{
	compch_channel_unuse(ch);
}

/**
 * compch_stock_get_events() - compch_get_events() of a stock channel
 * @stock: the channel
 * @cqs: filled with the CQ of each event
 * @max: the room in @cqs, at least 1
 * @timeout: in nanoseconds; negative: none
 * @count: set to the number of events
 *
 * A stock channel returns one event a read(), which cannot be told not to wait.
 * As long as nobody reads it but through here, poll() tells what it will do.
 */
int compch_stock_get_events(struct compch_stock *stock, struct ibv_cq **cqs,
			    int max, int64_t timeout, int *count)
{
	int64_t deadline = compch_deadline(timeout);
	int saved = errno;
	int n = 0, ret;

	if (max > COMPCH_MAX_EVENTS)
		max = COMPCH_MAX_EVENTS;
	ret = stock_begin(stock, deadline);
	if (!ret) {
		pthread_cleanup_push(stock_end, stock);
		ret = stock_get_event(stock, deadline, cqs);
		if (!ret)
			ret = stock_get_more(stock, cqs, max, &n);
		pthread_cleanup_pop(true);
	}
	errno = saved;
	if (!n)
		return ret;
	*count = n;
	return 0;
}

/**
 * compch_get_events() - get the next completion events of a channel
 * @channel: a channel of the kernel module's, or a stock one
 * @cqs: filled with the CQ of each event, in their order
 * @max: the room in @cqs; no more than COMPCH_MAX_EVENTS are returned
 * @timeout: how long to wait for the first one, in nanoseconds; 0: not at all,
 *	negative: for ever
 * @count: set to the number of events, at least 1, or 0 if there are none
 *
 * Each event must be acknowledged.
 *
 * Errors, without an event:
 *  ETIMEDOUT	none has come in time
 *  ECANCELED	compch_cancel() was called
 *  EINTR	a signal was handled
 *  EIO		the channel is closed, or its device removed
 *  EBADF	the channel is destroyed
 *  EINVAL	@max is less than 1
 *  ENOMEM, EMFILE, ENFILE (of a stock channel's first call)
 */
COMPCH_EXPORT int compch_get_events(struct ibv_comp_channel *channel,
				    struct ibv_cq **cqs, int max,
				    int64_t timeout, int *count)
{
	struct compch_stock *stock;
	struct compch_channel *ch;
	int ret;

	*count = 0;
	if (max < 1)
		return EINVAL;
	ch = compch_channel_use(channel);
	if (ch) {
		pthread_cleanup_push(channel_unuse, ch);
		ret = compch_channel_get_events(ch, cqs, max, timeout, count);
		pthread_cleanup_pop(true);
		return ret;
	}
	ret = compch_stock_get(channel, &stock);
	if (ret)
		return ret;
	pthread_cleanup_push(stock_put, stock);
	ret = compch_stock_get_events(stock, cqs, max, timeout, count);
	pthread_cleanup_pop(true);
	return ret;
}

/**
 * compch_ack() - acknowledge completion events
 * @cq: the CQ of the events
 * @events: how many
 *
 * The same as ibv_ack_cq_events(), and both can be used for the same CQ, but
 * this one takes no lock unless somebody waits:
 *
 *	ack				ibv_destroy_cq()
 *	---				----------------
 *					acks |= AWAITED
 *	acks += events, if not AWAITED	acks (both acquire and release)
 *	else under cq->mutex, and	  enough: goes on
 *	  wakes				  else waits for cq->cond
 *
 * Whichever changes acks first, the other one sees it.  And as soon as the
 * last event of a CQ is acknowledged the CQ may be gone: without AWAITED it is
 * not touched.
 *
 * Return: 0
 */
COMPCH_EXPORT int compch_ack(struct ibv_cq *cq, unsigned int events)
{
	struct compch_node *node;
	struct compch_cq *c;
	uint64_t acks;

	node = compch_registry_peek(COMPCH_CQ, cq);
	if (!node) {
		compch_registry_lock();
		node = compch_registry_find(COMPCH_CQ, cq);
		compch_registry_unlock();
	}
	if (!node) {
		compch_real()->ack_cq_events(cq, events);
		return 0;
	}

	c = compch_container_of(node, struct compch_cq, node);
	acks = __atomic_load_n(&c->acks, __ATOMIC_RELAXED);
	while (!(acks & COMPCH_ACKS_AWAITED)) {
		/* Pairs with cq_wait_acknowledged(). */
		if (__atomic_compare_exchange_n(&c->acks, &acks,
						(uint32_t)(acks + events),
						true, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return 0;
	}
	compch_real()->ack_cq_events(cq, events);
	return 0;
}
