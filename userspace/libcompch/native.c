// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * <infiniband/compch.h>: channels and the CQs on them.  Events are in event.c,
 * compch_wait_cq() is in wait.c.
 */
#include <errno.h>

#include "compch-private.h"

/* A stock one, if that will do, and nothing more is asked for */
static int create_stock(struct ibv_context *context, bool more,
			struct ibv_comp_channel **channel)
{
	int saved = errno;
	int ret = 0;

	if (more)
		return EOPNOTSUPP;
	*channel = compch_real()->create_comp_channel(context);
	if (!*channel)
		ret = errno;
	errno = saved;
	return ret;
}

/* One of ours; EOPNOTSUPP, and why, if the context cannot have any */
static int create_native(struct compch_context *ctx, uint32_t flags,
			 uint32_t ring_cqs, struct ibv_comp_channel **channel,
			 enum compch_support *support)
{
	struct compch_channel *ch;
	int saved = errno;
	int ret;

	*support = compch_context_support(ctx);
	if (*support != COMPCH_SUPPORTED)
		return EOPNOTSUPP;
	ch = compch_channel_create(ctx, flags, ring_cqs);
	if (ch) {
		*channel = &ch->base;
		return 0;
	}
	ret = errno;
	errno = saved;
	if (ret == EPROTONOSUPPORT)
		*support = COMPCH_NO_METHOD;
	else if (ret == ENOTTY)
		*support = COMPCH_NO_IOCTL;
	return *support == COMPCH_SUPPORTED ? ret : EOPNOTSUPP;
}

/**
 * compch_create_channel() - create a completion channel
 * @context: a device context
 * @attr: how it is to be, or NULL
 * @channel: set to the channel
 *
 * A stock one where the device has no extension or with COMPCH=off, unless it is
 * asked for more than a stock one can do.
 *
 * Errors:
 *  EINVAL	a bit of comp_mask or a flag is unknown, or ring_cqs is not 1 to
 *		COMPCH_RING_MAX_CQS
 *  EOPNOTSUPP	there are only stock channels, and they cannot do what @attr
 *		asks for, or COMPCH=require is set
 *  and those of compch_channel_create() and ibv_create_comp_channel()
 */
COMPCH_EXPORT int compch_create_channel(struct ibv_context *context,
					const struct compch_channel_attr *attr,
					struct ibv_comp_channel **channel)
{
	uint32_t flags = attr ? attr->flags : 0;
	uint32_t ring_cqs = 0;
	enum compch_support support;
	struct compch_context *ctx;
	int ret;

	*channel = NULL;
	if (attr && ((attr->comp_mask & ~(uint32_t)COMPCH_CHANNEL_ATTR_RING) ||
		     (flags & ~(uint32_t)COMPCH_CHANNEL_COALESCE)))
		return EINVAL;
	if (attr && (attr->comp_mask & COMPCH_CHANNEL_ATTR_RING)) {
		ring_cqs = attr->ring_cqs;
		if (!ring_cqs || ring_cqs > COMPCH_RING_MAX_CQS ||
		    attr->reserved)
			return EINVAL;
	}
	if (compch_policy() == COMPCH_POLICY_OFF)
		return create_stock(context, flags || ring_cqs, channel);
	ctx = compch_context_get(context);
	if (!ctx)
		return ENOMEM;
	ret = create_native(ctx, flags, ring_cqs, channel, &support);
	if (support != COMPCH_SUPPORTED) {
		ret = compch_context_unsupported(ctx, support);
		if (!ret)
			ret = create_stock(context, flags || ring_cqs, channel);
	}
	compch_context_put(ctx);
	return ret;
}

/**
 * compch_destroy_channel() - destroy a completion channel
 * @channel: a channel of the kernel module's, or a stock one
 *
 * The same as ibv_destroy_comp_channel().
 */
COMPCH_EXPORT int compch_destroy_channel(struct ibv_comp_channel *channel)
{
	return ibv_destroy_comp_channel(channel);
}

/**
 * compch_is_native() - is a channel one of the kernel module's?
 * @channel: any channel
 *
 * Return: 1, or 0 for a stock one
 */
COMPCH_EXPORT int compch_is_native(struct ibv_comp_channel *channel)
{
	struct compch_channel *ch = compch_channel_use(channel);

	if (!ch)
		return 0;
	compch_channel_unuse(ch);
	return 1;
}

/**
 * compch_query_channel() - what the kernel knows of a channel
 * @channel: the channel
 * @info: set to that
 *
 * Errors:
 *  EOPNOTSUPP	it is a stock channel
 *  EIO		its device has been removed, or its context closed
 *  EBADF	it is destroyed
 *  ENOMEM
 */
COMPCH_EXPORT int compch_query_channel(struct ibv_comp_channel *channel,
				       struct compch_channel_info *info)
{
	struct compch_channel *ch = compch_channel_use(channel);
	struct compch_context *ctx;
	int ret;

	if (!ch)
		return EOPNOTSUPP;
	ret = compch_channel_context(ch, &ctx);
	if (!ret) {
		ret = compch_ioctl_channel_query(ctx, ch->base.fd, info);
		compch_context_put(ctx);
	}
	compch_channel_unuse(ch);
	return ret;
}

/**
 * compch_cancel() - have one wait for events return
 * @channel: a channel of the kernel module's, or a stock one
 *
 * One compch_get_events() or compch_wait_cq() returns ECANCELED; of a channel
 * of the module's that may also be an ibv_get_cq_event() or a read().  If none
 * waits, it is the next one.
 *
 * Errors:
 *  EIO		the channel is closed: nobody waits
 *  EBADF	it is destroyed
 *  EOVERFLOW	there are too many cancels that nobody has got yet
 *  ENOMEM, EMFILE, ENFILE (of a stock channel's first call)
 */
COMPCH_EXPORT int compch_cancel(struct ibv_comp_channel *channel)
{
	struct compch_channel *ch = compch_channel_use(channel);
	struct compch_stock *stock;
	struct compch_context *ctx;
	int ret;

	if (!ch) {
		ret = compch_stock_get(channel, &stock);
		if (ret)
			return ret;
		ret = compch_stock_cancel(stock);
		compch_stock_put(stock);
		return ret;
	}
	ret = compch_channel_context(ch, &ctx);
	if (!ret) {
		ret = compch_ioctl_channel_cancel(ctx, ch->base.fd);
		compch_context_put(ctx);
	}
	compch_channel_unuse(ch);
	return ret;
}

/**
 * compch_attach_cq() - put a CQ that exists on a channel
 * @cq: the CQ; it may have been created with a stock channel, or with none
 * @channel: a channel of the kernel module's, of any context and device
 *
 * Errors:
 *  EOPNOTSUPP	the channel is a stock one, or the CQ's device has no extension
 *  EBUSY	the CQ is on a channel of the module's, or a thread is in
 *		compch_wait_cq() for it
 *  EMFILE, ENFILE
 *  and those of compch_cq_attach()
 */
COMPCH_EXPORT int compch_attach_cq(struct ibv_cq *cq,
				   struct ibv_comp_channel *channel)
{
	struct ibv_comp_channel *old;
	struct compch_stock *stock = NULL;
	struct compch_channel *ch, *ours;
	int ret = 0;

	ch = compch_channel_get(channel);
	if (!ch)
		return EOPNOTSUPP;
	/* Another thread may be about to do the same. */
	old = __atomic_load_n(&cq->channel, __ATOMIC_ACQUIRE);
	ours = old ? compch_channel_get(old) : NULL;
	if (ours) {
		compch_channel_put(ours);
		ret = EBUSY;
	} else if (old) {
		ret = compch_stock_get(old, &stock);
	}
	if (stock) {
		pthread_mutex_lock(&stock->waiters.lock);
		if (compch_waiters_of(&stock->waiters, cq))
			ret = EBUSY;
	}
	if (!ret)
		ret = compch_cq_attach(cq, ch);
	if (stock) {
		pthread_mutex_unlock(&stock->waiters.lock);
		compch_stock_put(stock);
	}
	compch_channel_put(ch);
	return ret;
}

/*
 * The CQ's channel, whose waiters are locked and do not wait for the CQ: none
 * comes until they are unlocked, by which time the CQ is on another one.
 */
static int lock_waiters(struct compch_cq *c, struct compch_channel **on)
{
	struct compch_channel *ch;

	for (;;) {
		compch_registry_lock();
		ch = c->ch;
		compch_registry_unlock();
		if (!ch)
			return EINVAL;
		/* Its memory stays. */
		pthread_mutex_lock(&ch->waiters.lock);
		compch_registry_lock();
		*on = c->ch;
		compch_registry_unlock();
		if (*on == ch)
			break;
		pthread_mutex_unlock(&ch->waiters.lock);
	}
	if (!compch_waiters_of(&ch->waiters, c->cq))
		return 0;
	pthread_mutex_unlock(&ch->waiters.lock);
	return EBUSY;
}

/**
 * compch_detach_cq() - take a CQ off its channel
 * @cq: the CQ
 * @balance: set to what became of its events, or NULL
 *
 * Its further events go to the stock channel that it was created with, if any;
 * events that it has reported are to be acknowledged as before.
 *
 * Errors:
 *  EINVAL	it is on no channel of the kernel module's
 *  EBUSY	a thread is in compch_wait_cq() for it
 *  and those of compch_cq_detach()
 */
COMPCH_EXPORT int compch_detach_cq(struct ibv_cq *cq,
				   struct compch_assoc_destroy_resp *balance)
{
	struct compch_assoc_destroy_resp unused;
	struct compch_cq *c = compch_cq_get(cq);
	struct compch_channel *on;
	int ret;

	if (!c)
		return EINVAL;
	ret = lock_waiters(c, &on);
	if (!ret) {
		ret = compch_cq_detach(c, balance ? balance : &unused);
		pthread_mutex_unlock(&on->waiters.lock);
	}
	compch_cq_put(c);
	return ret;
}

/**
 * compch_move_cq() - move a CQ to another channel
 * @cq: the CQ, on a channel of the kernel module's
 * @channel: another one, of any context and device
 *
 * Events that wait to be read move as well: each is read once, from one of the
 * two channels.
 *
 * Errors:
 *  EOPNOTSUPP	the channel is a stock one
 *  EINVAL	the CQ is on no channel of the module's
 *  EBUSY	a thread is in compch_wait_cq() for it
 *  and those of compch_cq_move()
 */
COMPCH_EXPORT int compch_move_cq(struct ibv_cq *cq,
				 struct ibv_comp_channel *channel)
{
	struct compch_channel *ch, *on;
	struct compch_cq *c;
	int ret = EINVAL;

	ch = compch_channel_get(channel);
	if (!ch)
		return EOPNOTSUPP;
	c = compch_cq_get(cq);
	if (c) {
		ret = lock_waiters(c, &on);
		if (!ret) {
			ret = compch_cq_move(c, ch);
			pthread_mutex_unlock(&on->waiters.lock);
		}
		compch_cq_put(c);
	}
	compch_channel_put(ch);
	return ret;
}

/**
 * compch_query_cq() - the events of a CQ
 * @cq: the CQ
 * @info: set to their counts
 *
 * Errors:
 *  EINVAL	it is on no channel of the kernel module's
 *  EIO		its device has been removed
 */
COMPCH_EXPORT int compch_query_cq(struct ibv_cq *cq,
				  struct compch_cq_info *info)
{
	struct compch_cq *c = compch_cq_get(cq);
	int ret;

	if (!c)
		return EINVAL;
	ret = compch_cq_query(c, info);
	compch_cq_put(c);
	return ret;
}
