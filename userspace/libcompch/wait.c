// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch_wait_cq(): the loop of polling, arming, and waiting for an event.
 *
 * Completions that arrive before the CQ is armed raise no event, so the CQ is
 * polled again after that, before anybody sleeps.  An event that turns out to
 * be an old one has used nothing up but itself; but the CQ may no longer be
 * armed, so it is armed anew each time before its thread sleeps.
 *
 *	waiter				completion
 *	------				----------
 *	poll: nothing
 *					A: raises no event
 *	arm
 *					B: raises an event
 *	poll: finds A, and maybe B
 *	  nothing: sleep, until B's event
 *
 * Events of other CQs may come out of the channel meanwhile.  So of all threads
 * that wait for CQs on one channel, one, the leader, reads from it, and tells
 * those whose CQs have got an event.  A thread is on the list from before it
 * arms its CQ, so that no event passes it by.
 */
#include <errno.h>
#include <time.h>

#include "compch-private.h"

#define WAIT_EVENTS 64

struct compch_waiter {
	struct compch_waiter *next;
	struct ibv_cq *cq;
	bool signaled;		/* an event of its CQ has been read */
};

/* A channel, ours or a stock one */
struct wait_channel {
	struct compch_channel *ch;
	struct compch_stock *stock;
	struct compch_waiters *waiters;
};

/**
 * compch_waiters_init() - nobody waits on a channel
 * @waiters: of a channel, new, or in a child that has inherited it
 */
void compch_waiters_init(struct compch_waiters *waiters)
{
	pthread_mutex_init(&waiters->lock, NULL);
	pthread_cond_init(&waiters->cond, NULL);
	waiters->list = NULL;
	waiters->leader = false;
}

/**
 * compch_waiters_of() - whether a thread is in compch_wait_cq() for a CQ
 * @waiters: of its channel, locked
 * @cq: the CQ
 */
bool compch_waiters_of(const struct compch_waiters *waiters,
		       const struct ibv_cq *cq)
{
	struct compch_waiter *waiter;

	for (waiter = waiters->list; waiter; waiter = waiter->next) {
		if (waiter->cq == cq)
			return true;
	}
	return false;
}

static void wait_reset_channel(struct compch_node *node, void *arg)
{
	(void)arg;
	compch_waiters_init(&compch_container_of(node, struct compch_channel,
						 node)->waiters);
}

/** compch_wait_fork_child() - no thread waits in the child */
void compch_wait_fork_child(void)
{
	compch_registry_for_each(COMPCH_CHANNEL, wait_reset_channel, NULL);
}

static int wait_use_channel(struct ibv_comp_channel *channel,
			    struct wait_channel *on)
{
	int ret = 0;

	*on = (struct wait_channel){ .ch = compch_channel_use(channel) };
	if (on->ch) {
		on->waiters = &on->ch->waiters;
	} else {
		ret = compch_stock_get(channel, &on->stock);
		if (!ret)
			on->waiters = &on->stock->waiters;
	}
	return ret;
}

static void wait_unuse_channel(struct wait_channel *on)
{
	if (on->ch)
		compch_channel_unuse(on->ch);
	else
		compch_stock_put(on->stock);
}

/* On the list of the channel that the CQ is on.  Returns with its lock. */
static int wait_enter(struct wait_channel *on, struct compch_waiter *waiter)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq = waiter->cq;
	int ret;

	for (;;) {
		/* Pairs with compch_move_cq() and the like. */
		channel = __atomic_load_n(&cq->channel, __ATOMIC_ACQUIRE);
		if (!channel)
			return EINVAL;
		ret = wait_use_channel(channel, on);
		if (ret)
			return ret;
		pthread_mutex_lock(&on->waiters->lock);
		if (channel == __atomic_load_n(&cq->channel, __ATOMIC_ACQUIRE))
			break;
		pthread_mutex_unlock(&on->waiters->lock);
		wait_unuse_channel(on);
	}
	waiter->next = on->waiters->list;
	on->waiters->list = waiter;
	return 0;
}

/* The opposite, of both. */
static void wait_leave(struct wait_channel *on, struct compch_waiter *waiter)
{
	struct compch_waiter **link = &on->waiters->list;

	while (*link != waiter)
		link = &(*link)->next;
	*link = waiter->next;
	/* If it was to be the leader, another one has to be. */
	pthread_cond_broadcast(&on->waiters->cond);
	pthread_mutex_unlock(&on->waiters->lock);
	wait_unuse_channel(on);
}

/* A thread that waits, for when it is cancelled */
struct wait_thread {
	struct wait_channel *on;
	struct compch_waiter *waiter;
};

static void wait_cancel_follower(void *arg)
{
	const struct wait_thread *thread = arg;

	wait_leave(thread->on, thread->waiter);
}

static void wait_cancel_leader(void *arg)
{
	const struct wait_thread *thread = arg;

	pthread_mutex_lock(&thread->on->waiters->lock);
	thread->on->waiters->leader = false;
	wait_leave(thread->on, thread->waiter);
}

/* The lock of the waiters is released meanwhile. */
static int wait_get_events(struct wait_thread *thread, struct ibv_cq **cqs,
			   int64_t timeout, int *count)
{
	struct wait_channel *on = thread->on;
	int ret;

	on->waiters->leader = true;
	pthread_mutex_unlock(&on->waiters->lock);
	pthread_cleanup_push(wait_cancel_leader, thread);
	if (on->ch)
		ret = compch_channel_get_events(on->ch, cqs, WAIT_EVENTS,
						timeout, count);
	else
		ret = compch_stock_get_events(on->stock, cqs, WAIT_EVENTS,
					      timeout, count);
	pthread_cleanup_pop(false);
	pthread_mutex_lock(&on->waiters->lock);
	on->waiters->leader = false;
	return ret;
}

static int wait_lead(struct wait_thread *thread, int64_t deadline)
{
	struct compch_waiters *waiters = thread->on->waiters;
	struct ibv_cq *cqs[WAIT_EVENTS];
	struct compch_waiter *waiter;
	int i, ret, n = 0;

	ret = wait_get_events(thread, cqs, compch_remaining(deadline), &n);
	for (i = 0; i < n; i++) {
		for (waiter = waiters->list; waiter; waiter = waiter->next) {
			if (waiter->cq == cqs[i])
				waiter->signaled = true;
		}
		/* A CQ that nobody waits for may be gone after this. */
		compch_ack(cqs[i], 1);
	}
	pthread_cond_broadcast(&waiters->cond);
	return ret;
}

static int wait_follow(struct wait_thread *thread, int64_t deadline)
{
	struct compch_waiters *waiters = thread->on->waiters;
	struct timespec ts = {
		.tv_sec = deadline / 1000000000,
		.tv_nsec = deadline % 1000000000,
	};
	int ret;

	pthread_cleanup_push(wait_cancel_follower, thread);
	if (deadline == INT64_MAX)
		ret = pthread_cond_wait(&waiters->cond, &waiters->lock);
	else
		ret = pthread_cond_clockwait(&waiters->cond, &waiters->lock,
					     CLOCK_MONOTONIC, &ts);
	pthread_cleanup_pop(false);
	return ret;
}

/* Until an event of the CQ has been read.  With the lock of the waiters. */
static int wait_event(struct wait_channel *on, struct compch_waiter *waiter,
		      int64_t deadline)
{
	struct wait_thread thread = { .on = on, .waiter = waiter };
	int ret = 0;

	while (!waiter->signaled && !ret) {
		if (on->waiters->leader)
			ret = wait_follow(&thread, deadline);
		else
			ret = wait_lead(&thread, deadline);
	}
	return waiter->signaled ? 0 : ret;
}

/* Some providers answer -1, to anything. */
static int wait_arm(struct ibv_cq *cq, uint32_t flags)
{
	int ret = ibv_req_notify_cq(cq, flags & COMPCH_WAIT_SOLICITED);

	return ret < 0 ? EIO : ret;
}

/* Sets @count, or returns an errno value, or neither: there is nothing. */
static int wait_poll(struct ibv_cq *cq, struct ibv_wc *wc, int max, int *count)
{
	int n = ibv_poll_cq(cq, max, wc);

	if (n < 0)
		return EIO;
	*count = n;
	return 0;
}

/* What a provider does for that may be a cancellation point: write(), for one. */
static int wait_arm_and_poll(struct ibv_cq *cq, uint32_t flags,
			     struct ibv_wc *wc, int max, int *count)
{
	int state = compch_cancel_off();
	int ret;

	ret = wait_arm(cq, flags);
	if (!ret)
		ret = wait_poll(cq, wc, max, count);
	compch_cancel_on(state);
	return ret;
}

/**
 * compch_wait_cq() - poll a CQ, and wait if there is nothing to be polled
 * @cq: the CQ, on a channel of the kernel module's or on a stock one
 * @wc: filled with completions
 * @max: the room in @wc
 * @flags: enum compch_wait_flags
 * @timeout: how long to wait, in nanoseconds; 0: not at all, negative: for ever
 * @count: set to the number of completions, at least 1, or 0 if there are none
 *
 * Arms the CQ as needed, and acknowledges the events that it reads.  All
 * threads that read from the channel must do it with this function.
 *
 * Errors, without a completion:
 *  ETIMEDOUT	none has come in time; the CQ may be armed
 *  ECANCELED	compch_cancel() was called
 *  EINTR	a signal was handled
 *  EIO		the channel is closed, the device removed, or the CQ cannot be
 *		polled
 *  EINVAL	@max is less than 1, a flag is unknown, or the CQ on no channel
 *  EBADF	the channel is destroyed
 *  those of ibv_req_notify_cq(); ENOMEM, EMFILE, ENFILE (of a stock channel's
 *  first call)
 */
COMPCH_EXPORT int compch_wait_cq(struct ibv_cq *cq, struct ibv_wc *wc, int max,
				 uint32_t flags, int64_t timeout, int *count)
{
	struct compch_waiter waiter = { .cq = cq };
	struct wait_channel on;
	int saved = errno;
	int64_t deadline;
	int ret;

	*count = 0;
	if (max < 1 || (flags & ~(uint32_t)COMPCH_WAIT_SOLICITED))
		return EINVAL;
	ret = wait_poll(cq, wc, max, count);
	if (ret || *count)
		return ret;
	deadline = compch_deadline(timeout);
	ret = wait_enter(&on, &waiter);
	while (!ret) {
		waiter.signaled = false;
		pthread_mutex_unlock(&on.waiters->lock);
		ret = wait_arm_and_poll(cq, flags, wc, max, count);
		pthread_mutex_lock(&on.waiters->lock);
		if (!ret && !*count)
			ret = wait_event(&on, &waiter, deadline);
		if (ret || *count) {
			wait_leave(&on, &waiter);
			break;
		}
	}
	errno = saved;
	return ret;
}
