// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CQs on channels of ours: created with a stock channel of their own context,
 * then associated with ours, and detached from it before they are destroyed.
 *
 *	cq->channel	ours, as the program named it; but while libibverbs
 *			creates or destroys the CQ it is the stock one, whose
 *			count of users libibverbs keeps
 *	channel->refcnt	of ours: CQs whose ibv_destroy_cq() has not succeeded,
 *			from just after the kernel knows of the association
 *	cq->comp_events_completed	what ibv_ack_cq_events() counts.  The
 *			kernel's uverbs has reported none of our events; so it
 *			is compared with what the associations reported, and
 *			that is taken off it when libibverbs compares it with
 *			uverbs' count
 *
 * A CQ that exists already can be attached as well, and detached again.  What
 * the kernel's uverbs has reported of such a CQ, on its stock channel, nobody
 * can ask for; that libibverbs waits for it is seen to by leaving it its share of
 * the acknowledgements.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "compch-private.h"

/* So often ibv_destroy_cq() looks whether the device is still there */
#define CQ_WAIT_MS 250

/* CQs that are no more; their memory is used for new ones only. */
static struct compch_cq *cq_free;				/* [R] */

/* A new one's memory, with one reference: the program's */
static struct compch_cq *cq_alloc(void)
{
	struct compch_cq *c;

	compch_registry_lock();
	c = cq_free;
	if (c)
		cq_free = c->next_free;
	compch_registry_unlock();
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		pthread_mutex_init(&c->lock, NULL);
	}
	/* Not the node: compch_registry_peek() may be looking at it. */
	c->refs = 1;
	c->cq = NULL;
	c->ctx = NULL;
	c->stock = NULL;
	c->own = false;
	c->ch = NULL;
	c->handle = 0;
	c->destroying = false;
	c->base = 0;
	c->reported = 0;
	c->settled = 0;
	c->settled_acks = 0;
	__atomic_store_n(&c->acks, 0, __ATOMIC_RELAXED);
	return c;
}

static void cq_unalloc(struct compch_cq *c)
{
	compch_registry_lock();
	c->next_free = cq_free;
	cq_free = c;
	compch_registry_unlock();
}

/* The association that was asked for failed: what the program is told. */
static int cq_assoc_error(struct compch_channel *ch, int ret)
{
	bool destroyed;

	switch (ret) {
	case EIO:
		/* Has another thread won, that destroys the channel? */
		compch_registry_lock();
		destroyed = ch->destroying;
		compch_registry_unlock();
		return destroyed ? EBADF : EIO;
	case EPROTONOSUPPORT:
	case ENOTTY:
		return EOPNOTSUPP;
	}
	return ret;
}

/*
 * The CQ is associated with the channel, as far as the kernel is concerned: let
 * the channel count it, and the program see it.
 */
static void cq_join_locked(struct compch_cq *c, struct compch_channel *ch)
{
	ch->refs++;
	ch->base.refcnt++;
	c->ch = ch;
	__atomic_store_n(&c->cq->channel, &ch->base, __ATOMIC_RELEASE);
}

static void cq_join(struct compch_cq *c, struct compch_channel *ch)
{
	compch_registry_lock();
	cq_join_locked(c, ch);
	compch_registry_unlock();
}

/* The opposite; passes the reference on the channel to the caller. */
static struct compch_channel *cq_leave_locked(struct compch_cq *c)
{
	struct compch_channel *ch = c->ch;

	if (ch)
		ch->base.refcnt--;
	c->ch = NULL;
	return ch;
}

static struct compch_channel *cq_leave(struct compch_cq *c)
{
	struct compch_channel *ch;

	compch_registry_lock();
	ch = cq_leave_locked(c);
	compch_registry_unlock();
	return ch;
}

static void cq_publish(struct compch_cq *c)
{
	compch_registry_lock();
	compch_registry_add(&c->node, COMPCH_CQ, c->cq);
	compch_registry_unlock();
}

static bool channel_is_dead(struct compch_channel *ch)
{
	bool dead;

	compch_registry_lock();
	dead = ch->dead;
	compch_registry_unlock();
	return dead;
}

/**
 * compch_cq_create() - create a CQ on a channel of ours
 * @ch: the channel, of any context
 * @context: the context of the CQ
 * @make: calls libibverbs, or a provider, to make the CQ
 * @arg: passed on to it
 *
 * Errors: those of @make, and
 *  EOPNOTSUPP	the device of the CQ does not have the kernel module's extension
 *  EBADF	the channel's file descriptor has been closed, or another thread
 *		destroys the channel
 *  EIO		the device of the channel, or of the CQ, has been removed
 *  ENOMEM
 * In all cases there is no CQ.
 */
struct ibv_cq *compch_cq_create(struct compch_channel *ch,
				struct ibv_context *context,
				compch_cq_make_fn make, void *arg)
{
	struct compch_context *ctx;
	struct compch_cq *c;
	struct ibv_cq *cq;
	int saved = errno;
	int ret;

	if (channel_is_dead(ch)) {
		errno = EBADF;
		return NULL;
	}
	ctx = compch_context_get(context);
	if (!ctx)
		return NULL;
	if (compch_context_support(ctx) != COMPCH_SUPPORTED) {
		errno = EOPNOTSUPP;
		goto put_context;
	}
	c = cq_alloc();
	if (!c)
		goto put_context;
	c->ctx = ctx;
	c->own = true;
	c->stock = compch_context_stock(ctx);
	if (!c->stock)
		goto free;
	cq = make(ctx, c->stock, arg);
	if (!cq)
		goto free;
	c->cq = cq;

	ret = compch_ioctl_assoc_create(ctx, cq->handle, ch->base.fd,
					&c->handle);
	if (ret)
		goto destroy;
	cq_join(c, ch);
	cq_publish(c); /* it now owns the reference on the context, too */
	errno = saved;
	return cq;

destroy:
	compch_real()->destroy_cq(cq);
	errno = cq_assoc_error(ch, ret);
free:
	cq_unalloc(c);
put_context:
	compch_context_put(ctx);
	return NULL;
}

/**
 * compch_cq_get() - what the library keeps for a CQ
 * @cq: what the program passed
 *
 * Return: a reference, to be dropped with compch_cq_put(), or NULL if the CQ
 * has never been on a channel of ours.  Does not change errno.
 */
struct compch_cq *compch_cq_get(struct ibv_cq *cq)
{
	struct compch_node *node;
	struct compch_cq *c = NULL;

	compch_registry_lock();
	node = compch_registry_find(COMPCH_CQ, cq);
	if (node) {
		c = compch_container_of(node, struct compch_cq, node);
		c->refs++;
	}
	compch_registry_unlock();
	return c;
}

/**
 * compch_cq_put() - drop a reference
 * @c: what to drop it of
 */
void compch_cq_put(struct compch_cq *c)
{
	bool last;

	compch_registry_lock();
	last = !--c->refs;
	compch_registry_unlock();
	if (!last)
		return;
	if (c->ch)
		compch_channel_put(c->ch);
	compch_context_put(c->ctx);
	cq_unalloc(c);
}

/**
 * compch_cq_acknowledged() - events that the program has acknowledged
 * @c: the CQ
 *
 * Return: those of all channels, modulo 2^32
 */
uint32_t compch_cq_acknowledged(const struct compch_cq *c)
{
	/* Pairs with compch_ack(). */
	uint64_t acks = __atomic_load_n(&c->acks, __ATOMIC_ACQUIRE);

	return c->cq->comp_events_completed + (uint32_t)acks;
}

/* Events that the program has yet to acknowledge; negative: too many are. */
static int32_t cq_due(const struct compch_cq *c)
{
	return c->base + (uint32_t)c->reported - compch_cq_acknowledged(c);
}

/* The kernel answers EIO, to anything, when the device has been removed. */
static bool cq_device_is_gone(const struct compch_cq *c)
{
	struct compch_channel_info info;

	return compch_ioctl_channel_query(c->ctx, -1, &info) == EIO;
}

static void cq_tell(const struct compch_cq *c, int32_t due)
{
	uint64_t reported = c->settled + c->reported;

	compch_complain("ibv_destroy_cq(): CQ %u of %s waits for acknowledgements: %" PRIu64 " events reported, %" PRIu64 " acknowledged",
			c->cq->handle,
			ibv_get_device_name(c->cq->context->device),
			reported, reported - due);
}

/*
 * Waits for the acknowledgement of all events that a read() has returned.  Too
 * many acknowledgements are enough, and a device that is gone needs none.
 */
static void cq_wait_acknowledged(struct compch_cq *c)
{
	int64_t wait = CQ_WAIT_MS * 1000000ll, tell = INT64_MAX, now, until;
	struct ibv_cq *cq = c->cq;
	struct timespec ts;
	int32_t due;

	if (compch_policy_warn_ms())
		tell = compch_deadline(compch_policy_warn_ms() * 1000000ll);
	pthread_mutex_lock(&cq->mutex);
	/* Pairs with compch_ack(). */
	__atomic_or_fetch(&c->acks, COMPCH_ACKS_AWAITED, __ATOMIC_ACQ_REL);
	while ((due = cq_due(c)) > 0 && !compch_policy_auto_ack()) {
		now = compch_now();
		if (now >= tell) {
			cq_tell(c, due);
			tell = INT64_MAX;
		}
		until = tell < now + wait ? tell : now + wait;
		ts.tv_sec = until / 1000000000;
		ts.tv_nsec = until % 1000000000;
		if (pthread_cond_clockwait(&cq->cond, &cq->mutex,
					   CLOCK_MONOTONIC, &ts) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&cq->mutex);
		if (cq_device_is_gone(c)) {
			pthread_mutex_lock(&cq->mutex);
			break;
		}
		pthread_mutex_lock(&cq->mutex);
	}
	pthread_mutex_unlock(&cq->mutex);
}

/*
 * What libibverbs compares with the kernel's count: of a CQ that has never been
 * on a stock channel, nothing.  With @wait libibverbs waits for what is still to
 * be acknowledged.
 */
static void cq_settle(struct compch_cq *c, bool wait)
{
	struct ibv_cq *cq = c->cq;
	uint32_t left;
	int32_t due;

	pthread_mutex_lock(&cq->mutex);
	/* From now on all acknowledgements are libibverbs' to count. */
	__atomic_or_fetch(&c->acks, COMPCH_ACKS_AWAITED, __ATOMIC_ACQ_REL);
	due = cq_due(c);
	left = c->base;
	if (due < 0 && !c->own && c->stock)
		left -= due; /* of events of the stock channel */
	if (due < 0)
		due = 0;
	c->settled_acks += (uint32_t)c->reported - due;
	if (!wait)
		due = 0;
	c->settled += c->reported - due;
	cq->comp_events_completed = left - due;
	c->base = left;
	c->reported = due;
	__atomic_store_n(&c->acks, COMPCH_ACKS_AWAITED, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&cq->mutex);
}

/* Whether a method that failed has changed nothing, and can be called again. */
static bool cq_nothing_changed(int ret)
{
	return ret == EBUSY || ret == ENOMEM || ret == EFAULT || ret == EINTR ||
	       ret == EAGAIN;
}

/* With the lock of the CQ: end its association, and add up its balance. */
static int cq_dissociate(struct compch_cq *c, uint32_t flags,
			 struct compch_assoc_destroy_resp *balance)
{
	int ret;

	*balance = (struct compch_assoc_destroy_resp){};
	ret = compch_ioctl_assoc_destroy(c->ctx, c->handle, flags, balance);
	if (!ret)
		c->reported += balance->events_reported;
	return ret;
}

/*
 * libibverbs could not destroy the CQ: it must deliver its events as before.
 * Their counts go on from what cq_settle() left.  Of a CQ on a channel, only a
 * program that uses it while it destroys it, or a device that is being removed,
 * gets us here.
 */
static void cq_restore(struct compch_cq *c)
{
	struct compch_channel *ch = NULL;
	int ret = 0;

	pthread_mutex_lock(&c->lock);
	pthread_mutex_lock(&c->cq->mutex);
	c->cq->comp_events_completed += c->reported;
	__atomic_store_n(&c->acks, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&c->cq->mutex);
	if (c->ch)
		ret = compch_ioctl_assoc_create(c->ctx, c->cq->handle,
						c->ch->base.fd, &c->handle);
	if (ret) {
		ch = cq_leave(c);
	} else {
		if (c->ch)
			c->cq->channel = &c->ch->base;
		else if (c->own)
			c->cq->channel = NULL;
		c->destroying = false;
		cq_publish(c);
	}
	pthread_mutex_unlock(&c->lock);
	if (!ret)
		return;
	compch_cq_put(c); /* the program's reference */
	compch_channel_put(ch);
}

/**
 * compch_cq_destroy() - destroy a CQ that is, or has been, on a channel of ours
 * @c: the CQ; the caller keeps its reference
 *
 * Waits until every event of the CQ that has been read is acknowledged.
 *
 * EBUSY: a QP or an SRQ uses the CQ; it goes on delivering.  Others: those of
 * libibverbs' ibv_destroy_cq().
 */
int compch_cq_destroy(struct compch_cq *c)
{
	struct compch_assoc_destroy_resp balance;
	struct compch_channel *ch = NULL;
	bool alive = true, associated;
	struct ibv_cq *cq = c->cq;
	int ret;

	pthread_mutex_lock(&c->lock);
	if (c->destroying) {
		/* By another thread: the program must not do this. */
		pthread_mutex_unlock(&c->lock);
		return EINVAL;
	}
	associated = c->ch;
	if (associated) {
		ret = cq_dissociate(c, COMPCH_ASSOC_DESTROY_IF_UNUSED,
				    &balance);
		if (cq_nothing_changed(ret)) {
			pthread_mutex_unlock(&c->lock);
			return ret;
		}
		alive = !ret;
	}
	c->destroying = true;
	pthread_mutex_unlock(&c->lock);

	/*
	 * Without an association, since the device has been removed or a child
	 * process has destroyed the CQ, there is no balance to wait for.  A CQ
	 * that was detached may be in use; then nobody must wait.  It is
	 * libibverbs that knows, and waits once the CQ is destroyed.
	 */
	if (alive && associated)
		cq_wait_acknowledged(c);

	/*
	 * Out of the registry first: as soon as it is destroyed, another
	 * thread can create a CQ at the same address.
	 */
	compch_registry_lock();
	compch_registry_del(&c->node);
	compch_registry_unlock();
	cq_settle(c, alive && !associated && !compch_policy_auto_ack());
	cq->channel = c->stock;
	ret = compch_real()->destroy_cq(cq);
	if (ret && ret != EIO && alive) {
		cq_restore(c);
		return ret;
	}
	/* The channel counts the CQ until here. */
	ch = cq_leave(c);
	compch_cq_put(c); /* the program's reference */
	if (ch)
		compch_channel_put(ch);
	return ret;
}

/*
 * A reference on what the library keeps, which may have to be made: one for
 * each CQ, however many threads ask at once.
 */
static int cq_get_or_make(struct ibv_cq *cq, struct compch_cq **made)
{
	struct compch_context *ctx;
	struct compch_node *other;
	struct compch_cq *c;

	*made = compch_cq_get(cq);
	if (*made)
		return 0;
	ctx = compch_context_get(cq->context);
	if (!ctx)
		return ENOMEM;
	if (compch_context_support(ctx) != COMPCH_SUPPORTED) {
		compch_context_put(ctx);
		return EOPNOTSUPP;
	}
	c = cq_alloc();
	if (!c) {
		compch_context_put(ctx);
		return ENOMEM;
	}
	c->cq = cq;
	c->ctx = ctx;
	c->stock = cq->channel;
	pthread_mutex_lock(&cq->mutex);
	c->base = cq->comp_events_completed;
	pthread_mutex_unlock(&cq->mutex);

	compch_registry_lock();
	other = compch_registry_find(COMPCH_CQ, cq);
	if (other) {
		*made = compch_container_of(other, struct compch_cq, node);
		(*made)->refs++;
	} else {
		*made = c;
		c->refs++; /* the program's and the caller's */
		compch_registry_add(&c->node, COMPCH_CQ, cq);
	}
	compch_registry_unlock();
	if (other)
		compch_cq_put(c);
	return 0;
}

/**
 * compch_cq_attach() - put a CQ that exists on a channel of ours
 * @cq: the CQ, which is on no channel of ours
 * @ch: the channel, of any context
 *
 * Errors:
 *  EBUSY	it is on a channel of ours
 *  EOPNOTSUPP	its device does not have the kernel module's extension
 *  and those of compch_cq_create()
 */
int compch_cq_attach(struct ibv_cq *cq, struct compch_channel *ch)
{
	struct compch_cq *c;
	int ret;

	if (channel_is_dead(ch))
		return EBADF;
	ret = cq_get_or_make(cq, &c);
	if (ret)
		return ret;
	pthread_mutex_lock(&c->lock);
	ret = c->ch ? EBUSY : c->destroying ? EINVAL : 0;
	if (!ret)
		ret = compch_ioctl_assoc_create(c->ctx, cq->handle, ch->base.fd,
						&c->handle);
	if (!ret) {
		cq_join(c, ch);
	} else if (ret != EBUSY && ret != EINVAL) {
		ret = cq_assoc_error(ch, ret);
	}
	pthread_mutex_unlock(&c->lock);
	compch_cq_put(c);
	return ret;
}

/**
 * compch_cq_detach() - take a CQ off the channel of ours that it is on
 * @c: the CQ
 * @balance: set to the events that were reported and discarded
 *
 * Errors:
 *  EINVAL	it is on none
 *  EIO		its device has been removed
 *  ENOMEM, EFAULT, EBUSY, EINTR: nothing has changed
 */
int compch_cq_detach(struct compch_cq *c,
		     struct compch_assoc_destroy_resp *balance)
{
	struct compch_channel *ch = NULL;
	int ret = EINVAL;

	pthread_mutex_lock(&c->lock);
	if (c->ch && !c->destroying)
		ret = cq_dissociate(c, 0, balance);
	if (!ret) {
		ch = cq_leave(c);
		__atomic_store_n(&c->cq->channel, c->own ? NULL : c->stock,
				 __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&c->lock);
	if (ch)
		compch_channel_put(ch);
	return ret;
}

/**
 * compch_cq_move() - move a CQ to another channel of ours
 * @c: the CQ
 * @ch: the channel
 *
 * Errors:
 *  EINVAL	the CQ is on no channel of ours
 *  and those of compch_cq_create(); nothing has changed
 */
int compch_cq_move(struct compch_cq *c, struct compch_channel *ch)
{
	struct compch_channel *old = NULL;
	int ret = EINVAL;

	if (channel_is_dead(ch))
		return EBADF;
	pthread_mutex_lock(&c->lock);
	if (c->ch && !c->destroying)
		ret = compch_ioctl_assoc_move(c->ctx, c->handle, ch->base.fd);
	if (!ret) {
		/* At once: nobody may find it on no channel. */
		compch_registry_lock();
		old = cq_leave_locked(c);
		cq_join_locked(c, ch);
		compch_registry_unlock();
	} else if (ret != EINVAL) {
		ret = cq_assoc_error(ch, ret);
	}
	pthread_mutex_unlock(&c->lock);
	if (old)
		compch_channel_put(old);
	return ret;
}

/**
 * compch_cq_query() - the counts of a CQ
 * @c: the CQ
 * @info: set to those of all its time on channels of ours
 *
 * Errors:
 *  EINVAL	it is on no channel of ours
 *  EIO		its device has been removed
 */
int compch_cq_query(struct compch_cq *c, struct compch_cq_info *info)
{
	struct compch_assoc_info assoc = {};
	uint32_t acknowledged;
	int ret = EINVAL;

	pthread_mutex_lock(&c->lock);
	/*
	 * First what is acknowledged, so that it is no more than what is
	 * reported then.  Events that went before the CQ was attached are none
	 * of ours.
	 */
	pthread_mutex_lock(&c->cq->mutex);
	acknowledged = compch_cq_acknowledged(c) - c->base + c->settled_acks;
	pthread_mutex_unlock(&c->cq->mutex);
	if (c->ch && !c->destroying)
		ret = compch_ioctl_assoc_query(c->ctx, c->handle, &assoc);
	if (!ret) {
		info->pending = assoc.pending;
		info->reported = c->settled + c->reported + assoc.reported;
		info->merged = assoc.merged;
		info->acknowledged = acknowledged;
		info->reserved = 0;
	}
	pthread_mutex_unlock(&c->lock);
	return ret;
}

struct cq_forget {
	struct compch_context *ctx;
	struct compch_cq *list;
};

static void cq_forget_one(struct compch_node *node, void *arg)
{
	struct compch_cq *c = compch_container_of(node, struct compch_cq, node);
	struct cq_forget *forget = arg;

	if (c->ctx != forget->ctx)
		return;
	compch_registry_del(node);
	if (c->ch)
		c->ch->base.refcnt--;
	c->next_free = forget->list;
	forget->list = c;
}

/**
 * compch_cq_forget_all() - forget the CQs of a context that is closed
 * @ctx: the context
 *
 * The kernel destroys them, and their associations, with the context.
 */
void compch_cq_forget_all(struct compch_context *ctx)
{
	struct cq_forget forget = { .ctx = ctx };
	struct compch_cq *c;

	compch_registry_lock();
	compch_registry_for_each(COMPCH_CQ, cq_forget_one, &forget);
	compch_registry_unlock();

	while ((c = forget.list)) {
		forget.list = c->next_free;
		compch_cq_put(c);
	}
}
