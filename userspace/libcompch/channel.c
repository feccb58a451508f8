// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Channels: a struct ibv_comp_channel whose file descriptor is the kernel
 * module's.  Stock ibv_get_cq_event() reads from it as from any other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compch-private.h"

/*
 * Channels that the program has destroyed, oldest first.  Their memory is used
 * for new channels only, and they can be found in the registry until then.  So
 * a thread that passes a channel to a verb just when another thread destroys it
 * gets an error, whichever comes first.
 */
static struct compch_channel *channel_dead;			/* [R] */
static struct compch_channel **channel_dead_end = &channel_dead; /* [R] */

/*
 * A new channel's memory.  It may be a dead one's, which stays findable, and
 * dead, until all of the new one is in place: the program may still pass it to a
 * verb, in another thread.
 */
static struct compch_channel *channel_alloc(void)
{
	struct compch_channel *ch, **link;

	compch_registry_lock();
	for (link = &channel_dead; (ch = *link); link = &ch->next_dead) {
		/* With a context it still has its file descriptor as well. */
		if (ch->refs || ch->ctx ||
		    __atomic_load_n(&ch->users, __ATOMIC_SEQ_CST))
			continue;
		*link = ch->next_dead;
		if (!*link)
			channel_dead_end = link;
		break;
	}
	compch_registry_unlock();
	if (!ch) {
		ch = calloc(1, sizeof(*ch));
		if (ch)
			compch_waiters_init(&ch->waiters);
	}
	return ch;
}

/* The opposite of channel_alloc(), of a channel that is in the registry. */
static void channel_bury_locked(struct compch_channel *ch)
{
	/* Pairs with compch_channel_use(). */
	__atomic_store_n(&ch->dead, true, __ATOMIC_SEQ_CST);
	ch->next_dead = NULL;
	*channel_dead_end = ch;
	channel_dead_end = &ch->next_dead;
}

/**
 * compch_channel_fork_child() - put the list of dead channels in order
 *
 * Another thread of the parent may have been changing it.  The list itself is
 * changed by single stores, so at worst a channel's memory is lost.
 */
void compch_channel_fork_child(void)
{
	struct compch_channel **link = &channel_dead;

	while (*link)
		link = &(*link)->next_dead;
	channel_dead_end = link;
}

/* Maps the ring of a channel; 0 or an errno value. */
static int ring_map(const struct compch_context *ctx, int fd, void **map,
		    size_t *size)
{
	struct compch_channel_info info;
	int saved = errno;
	int ret;

	ret = compch_ioctl_channel_query(ctx, fd, &info);
	if (ret)
		return ret;
	*map = mmap(NULL, info.ring_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (*map == MAP_FAILED) {
		ret = errno;
		errno = saved;
		return ret;
	}
	*size = info.ring_size;
	return 0;
}

/**
 * compch_channel_create() - create a channel
 * @ctx: the context that it is to belong to, which is supported
 * @flags: enum compch_channel_flags
 * @ring_cqs: CQs that its event ring is to have room for, or 0: no ring
 *
 * Errors: ENOMEM, and those of CHANNEL_CREATE in <rdma/compch-abi.h>;
 * EPROTONOSUPPORT and ENOTTY mean that the context cannot have one.
 */
struct compch_channel *compch_channel_create(struct compch_context *ctx,
					     uint32_t flags, uint32_t ring_cqs)
{
	struct compch_channel *ch;
	size_t ring_size = 0;
	void *ring = NULL;
	int ret, fd;

	ret = compch_ioctl_channel_create(ctx, flags, ring_cqs, &fd);
	if (ret) {
		errno = ret;
		return NULL;
	}
	if (ring_cqs) {
		ret = ring_map(ctx, fd, &ring, &ring_size);
		if (ret)
			goto close_fd;
	}
	/* Nothing may fail later: this memory is never given back. */
	ch = channel_alloc();
	if (!ch) {
		ret = ENOMEM;
		goto unmap_ring;
	}
	/* The lock is for late calls of its former life. */
	compch_registry_lock();
	ch->base.fd = fd;
	ch->base.context = ctx->context;
	ch->base.refcnt = 0;
	ch->ctx = ctx;
	ch->process = compch_process();
	ch->refs++; /* the program's; late calls may have some */
	ch->destroying = false;
	ch->lost = false;
	if (ring)
		compch_ring_user_init(&ch->ring, ring);
	else
		ch->ring.head = NULL;
	ch->ring_size = ring_size;
	compch_context_ref_locked(ctx);
	/* Pairs with compch_channel_use() and its callers. */
	__atomic_store_n(&ch->dead, false, __ATOMIC_SEQ_CST);
	if (!ch->node.key)
		compch_registry_add(&ch->node, COMPCH_CHANNEL, &ch->base);
	compch_registry_unlock();
	return ch;

unmap_ring:
	if (ring)
		munmap(ring, ring_size);
close_fd:
	compch_close(fd);
	errno = ret;
	return NULL;
}

/**
 * compch_channel_context() - a context to call the kernel with
 * @ch: a channel, in use
 * @ctx: set to that, with a reference
 *
 * Return: 0, EBADF if the channel is destroyed, EIO if its context is closed,
 * and so the channel.
 */
int compch_channel_context(struct compch_channel *ch,
			   struct compch_context **ctx)
{
	int ret = 0;

	compch_registry_lock();
	*ctx = ch->ctx;
	if (ch->dead || !*ctx)
		ret = EBADF;
	else if (!(*ctx)->context)
		ret = EIO;
	else
		compch_context_ref_locked(*ctx);
	compch_registry_unlock();
	return ret;
}

/**
 * compch_channel_get() - the channel of ours behind a program's pointer
 * @channel: what the program passed
 *
 * Return: a reference, to be dropped with compch_channel_put(), or NULL if the
 * channel is a stock one.  The channel may be dead.  Does not change errno.
 */
struct compch_channel *compch_channel_get(struct ibv_comp_channel *channel)
{
	struct compch_channel *ch = NULL;
	struct compch_node *node;

	compch_registry_lock();
	node = compch_registry_find(COMPCH_CHANNEL, channel);
	if (node) {
		ch = compch_container_of(node, struct compch_channel, node);
		ch->refs++;
	}
	compch_registry_unlock();
	return ch;
}

/* Of a channel that has no reference left, and that nobody uses */
static void channel_release(struct compch_channel *ch, unsigned int refs)
{
	struct compch_context *ctx = NULL;
	int saved = errno;
	bool last_ctx = false;
	void *ring = NULL;
	size_t ring_size = 0;
	int fd = -1;

	compch_registry_lock();
	ch->refs -= refs;
	/* Pairs with compch_channel_use() and compch_channel_unuse(). */
	if (!ch->refs && ch->ctx &&
	    !__atomic_load_n(&ch->users, __ATOMIC_SEQ_CST)) {
		if (!ch->lost)
			fd = ch->base.fd;
		ring = ch->ring.head;
		ring_size = ch->ring_size;
		ch->ring.head = NULL;
		ctx = ch->ctx;
		ch->ctx = NULL;
		last_ctx = compch_context_put_locked(ctx);
	}
	compch_registry_unlock();
	if (ring)
		munmap(ring, ring_size);
	if (fd >= 0)
		compch_close(fd);
	if (last_ctx)
		free(ctx);
	errno = saved;
}

/**
 * compch_channel_put() - drop a reference
 * @ch: what to drop it of
 *
 * Only the last one closes the file descriptor: see compch-private.h.
 */
void compch_channel_put(struct compch_channel *ch)
{
	channel_release(ch, 1);
}

/**
 * compch_channel_use() - the channel of ours behind a program's pointer
 * @channel: what the program passed
 *
 * As compch_channel_get(), but no lock is taken, so that threads with channels
 * of their own do not meet.  Until compch_channel_unuse() the file descriptor
 * is not closed:
 *
 *	use				destroy, then put
 *	---				-----------------
 *	users++				dead = true
 *	dead (seq_cst)			users (seq_cst)
 *	  true: gives up		  not 0: leaves it to unuse
 *
 * Return: NULL if the channel is a stock one.  If it is dead the file
 * descriptor must not be used.
 */
struct compch_channel *compch_channel_use(struct ibv_comp_channel *channel)
{
	struct compch_node *node;
	struct compch_channel *ch;

	node = compch_registry_peek(COMPCH_CHANNEL, channel);
	if (!node) {
		compch_registry_lock();
		node = compch_registry_find(COMPCH_CHANNEL, channel);
		compch_registry_unlock();
		if (!node)
			return NULL;
	}
	ch = compch_container_of(node, struct compch_channel, node);
	__atomic_add_fetch(&ch->users, 1, __ATOMIC_SEQ_CST);
	return ch;
}

/**
 * compch_channel_unuse() - end what compch_channel_use() began
 * @ch: what it returned
 */
void compch_channel_unuse(struct compch_channel *ch)
{
	if (!__atomic_sub_fetch(&ch->users, 1, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&ch->dead, __ATOMIC_SEQ_CST))
		channel_release(ch, 0);
}

/**
 * compch_channel_destroy() - destroy a channel
 * @ch: the channel; the caller keeps its reference
 *
 * Errors:
 *  EBUSY	a CQ is associated with it, or is just being destroyed
 *  EBADF	it has been destroyed before
 *  ENOMEM, EFAULT, EINTR and the like: nothing has changed
 * The removal of its device is none of them.
 *
 * The kernel decides between this and a CQ that another thread creates on the
 * channel: one of the two fails.
 */
int compch_channel_destroy(struct compch_channel *ch)
{
	bool own = ch->process == compch_process();
	struct compch_context *ctx;
	bool lost = false, open = false;
	int ret = 0;

	compch_registry_lock();
	ctx = ch->ctx; /* not NULL if it is not dead */
	if (ch->dead) {
		ret = EBADF;
	} else if (ch->base.refcnt || ch->destroying) {
		ret = EBUSY;
	} else {
		ch->destroying = true;
		open = ctx->context;
	}
	compch_registry_unlock();
	if (ret)
		return ret;

	/*
	 * A child that inherited the channel only closes its descriptor: the
	 * parent goes on.  The kernel closed the channel with its context.
	 */
	if (own && open)
		ret = compch_ioctl_channel_destroy(ctx, ch->base.fd);

	switch (ret) {
	case 0:
	case EIO:	/* the device has been removed, the channel closed */
	case ENODEV:
		break;
	case EBADF:
		/* The program has closed it; the number may be another file. */
		lost = true;
		break;
	default:
		compch_registry_lock();
		ch->destroying = false;
		compch_registry_unlock();
		return ret;
	}

	compch_registry_lock();
	ch->lost = lost;
	channel_bury_locked(ch);
	compch_registry_unlock();
	compch_channel_put(ch); /* the program's reference */
	return 0;
}
