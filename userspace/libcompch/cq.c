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
 *			is compared with what the association reported, and
 *			zero when libibverbs compares it with uverbs' count
 */
#include <errno.h>
#include <stdlib.h>

#include "compch-private.h"

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

static void cq_publish(struct compch_cq *c)
{
	c->cq->channel = &c->ch->base;
	compch_registry_lock();
	compch_registry_add(&c->node, COMPCH_CQ, c->cq);
	compch_registry_unlock();
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
	bool dead;
	int ret;

	compch_registry_lock();
	dead = ch->dead;
	compch_registry_unlock();
	if (dead) {
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
	c = calloc(1, sizeof(*c));
	if (!c)
		goto put_context;
	pthread_mutex_init(&c->lock, NULL);
	c->ch = ch;
	c->ctx = ctx;
	c->refs = 1; /* the program's */
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
	compch_registry_lock();
	ch->refs++;
	ch->base.refcnt++;
	compch_registry_unlock();
	cq_publish(c); /* it now owns the reference on the context, too */
	errno = saved;
	return cq;

destroy:
	compch_real()->destroy_cq(cq);
	errno = cq_assoc_error(ch, ret);
free:
	pthread_mutex_destroy(&c->lock);
	free(c);
put_context:
	compch_context_put(ctx);
	return NULL;
}

/**
 * compch_cq_get() - what the library keeps for a CQ on a channel of ours
 * @cq: what the program passed
 *
 * Return: a reference, to be dropped with compch_cq_put(), or NULL if the CQ is
 * on a stock channel or on none.  Does not change errno.
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
	compch_channel_put(c->ch);
	compch_context_put(c->ctx);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The channel no longer counts this CQ. */
static void cq_release(struct compch_cq *c)
{
	compch_registry_lock();
	c->ch->base.refcnt--;
	compch_registry_unlock();
	compch_cq_put(c); /* the program's reference */
}

/* Waits for the acknowledgement of all events that a read() has returned. */
static void cq_wait_acknowledged(struct ibv_cq *cq, uint64_t reported)
{
	pthread_mutex_lock(&cq->mutex);
	while (cq->comp_events_completed != (uint32_t)reported)
		pthread_cond_wait(&cq->cond, &cq->mutex);
	pthread_mutex_unlock(&cq->mutex);
}

/* Whether a method that failed has changed nothing, and can be called again. */
static bool cq_nothing_changed(int ret)
{
	return ret == EBUSY || ret == ENOMEM || ret == EFAULT || ret == EINTR ||
	       ret == EAGAIN;
}

/*
 * libibverbs could not destroy the CQ: it must deliver its events as before.
 * Their counts begin anew, on both sides.  Only a program that uses the CQ
 * while it destroys it, or a device that is being removed, gets us here.
 */
static void cq_restore(struct compch_cq *c)
{
	int ret;

	pthread_mutex_lock(&c->lock);
	ret = compch_ioctl_assoc_create(c->ctx, c->cq->handle, c->ch->base.fd,
					&c->handle);
	c->detached = ret;
	pthread_mutex_unlock(&c->lock);
	if (ret)
		cq_release(c);
	else
		cq_publish(c);
}

/**
 * compch_cq_destroy() - destroy a CQ that is on a channel of ours
 * @c: the CQ; the caller keeps its reference
 *
 * Waits until every event of the CQ that has been read is acknowledged.
 *
 * EBUSY: a QP or an SRQ uses the CQ; it goes on delivering.  Others: those of
 * libibverbs' ibv_destroy_cq().
 */
int compch_cq_destroy(struct compch_cq *c)
{
	struct compch_assoc_destroy_resp resp = {};
	struct ibv_cq *cq = c->cq;
	bool had;
	int ret;

	pthread_mutex_lock(&c->lock);
	if (c->detached) {
		/* By another thread: the program must not do this. */
		pthread_mutex_unlock(&c->lock);
		return EINVAL;
	}
	ret = compch_ioctl_assoc_destroy(c->ctx, c->handle,
					 COMPCH_ASSOC_DESTROY_IF_UNUSED, &resp);
	c->detached = !cq_nothing_changed(ret);
	pthread_mutex_unlock(&c->lock);
	if (cq_nothing_changed(ret))
		return ret;

	/*
	 * Without an association, since the device has been removed or a child
	 * process has destroyed the CQ, there is no balance to wait for.
	 */
	had = !ret;
	if (had)
		cq_wait_acknowledged(cq, resp.events_reported);

	/*
	 * Out of the registry first: as soon as it is destroyed, another
	 * thread can create a CQ at the same address.
	 */
	compch_registry_lock();
	compch_registry_del(&c->node);
	compch_registry_unlock();
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed = 0;
	pthread_mutex_unlock(&cq->mutex);
	cq->channel = c->stock;
	ret = compch_real()->destroy_cq(cq);
	if (ret && ret != EIO && had)
		cq_restore(c);
	else
		cq_release(c);
	return ret;
}

struct cq_forget {
	struct compch_context *ctx;
	struct compch_node *list;
};

static void cq_forget_one(struct compch_node *node, void *arg)
{
	struct compch_cq *c = compch_container_of(node, struct compch_cq, node);
	struct cq_forget *forget = arg;

	if (c->ctx != forget->ctx)
		return;
	compch_registry_del(node);
	c->ch->base.refcnt--;
	node->next = forget->list;
	forget->list = node;
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
	struct compch_node *node;

	compch_registry_lock();
	compch_registry_for_each(COMPCH_CQ, cq_forget_one, &forget);
	compch_registry_unlock();

	while ((node = forget.list)) {
		forget.list = node->next;
		compch_cq_put(compch_container_of(node, struct compch_cq,
						  node));
	}
}
