// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The channel object: a file descriptor that delivers completion events.
 *
 * uverbs gives an FD object's file to the module for the time between its
 * creation and its release, but frees the uobject itself, and destroys it
 * early when its context or its device goes away.  A channel must outlive
 * that: its file may still be open, with events to read, and CQs of other
 * contexts may be associated with it.  Nor can the file own it: uverbs destroys
 * the uobject after the file's release, if it is cleaning the context up just
 * then.  So the channel is memory of its own, and both hold a reference.
 */

#include <linux/atomic.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "../../../include/uapi/rdma/compch-abi.h"
#include "compch.h"
#include "ring.h"
#include "trace.h"

#define UVERBS_MODULE_NAME compch
#include <rdma/uverbs_named_ioctl.h>

static_assert(sizeof(struct ib_uverbs_comp_event_desc) == sizeof(u64));
static_assert(COMPCH_CHANNEL_COALESCE == COMPCH_QUEUE_COALESCE);

/**
 * struct compch_channel_uobject - what uverbs knows of a channel
 * @uobj: must be first
 * @channel: set by CHANNEL CREATE and valid as long as the file is
 */
struct compch_channel_uobject {
	struct ib_uobject uobj;
	struct compch_channel *channel;
};

static const struct file_operations compch_channel_fops;

/* All channels, by their addresses: for the listing. */
static struct compch_table compch_channels;

static atomic64_t compch_channel_last_id;

static struct compch_channel *compch_channel_of_file(struct file *file)
{
	return container_of((struct ib_uobject *)file->private_data,
			    struct compch_channel_uobject, uobj)->channel;
}

/* With a ring for @cqs CQs, if not 0 */
static struct compch_channel *compch_channel_alloc(u32 flags, u32 cqs,
						   const struct ib_device *dev)
{
	struct compch_ring *ring = NULL;
	struct compch_channel *channel;

	channel = kzalloc(sizeof(*channel), GFP_KERNEL_ACCOUNT);
	if (!channel)
		return ERR_PTR(-ENOMEM);
	if (cqs) {
		ring = compch_ring_create(&channel->queue, cqs);
		if (IS_ERR(ring)) {
			kfree(channel);
			return ERR_CAST(ring);
		}
	}
	compch_queue_init(&channel->queue, flags, ring);
	/* One for the file, one for the uobject. */
	refcount_set(&channel->ref, 2);
	channel->id = atomic64_inc_return(&compch_channel_last_id);
	compch_owner_set(&channel->owner);
	/* Not dev_name(): that is freed when the device is renamed. */
	strscpy(channel->device, dev->name, sizeof(channel->device));
	compch_live_inc(COMPCH_LIVE_CHANNELS);

	channel->entry.key = channel;
	mutex_lock(&compch_channels.lock);
	compch_table_insert(&compch_channels, &channel->entry);
	mutex_unlock(&compch_channels.lock);
	trace_compch_create(channel);

	return channel;
}

/**
 * compch_channel_put() - Drop a reference on a channel.
 * @channel: the channel
 *
 * A completion handler may still look at its lock: see compch_source_lock().
 */
void compch_channel_put(struct compch_channel *channel)
{
	if (!refcount_dec_and_test(&channel->ref))
		return;
	mutex_lock(&compch_channels.lock);
	compch_table_remove(&compch_channels, &channel->entry);
	mutex_unlock(&compch_channels.lock);
	trace_compch_destroy(channel);
	compch_live_dec(COMPCH_LIVE_CHANNELS);
	compch_ring_destroy(channel->queue.ring);
	kfree_rcu(channel, rcu);
}

static struct compch_channel *compch_channel_get_by_fd(int fd)
{
	struct compch_channel *channel;
	struct file *file;

	file = fget(fd);
	if (!file)
		return ERR_PTR(-EBADF);
	if (file->f_op != &compch_channel_fops) {
		fput(file);
		return ERR_PTR(-EBADF);
	}
	channel = compch_channel_of_file(file);
	refcount_inc(&channel->ref);
	fput(file);

	return channel;
}

/**
 * compch_channel_get_by_attr() - Find the channel that an attribute names.
 * @attrs: the attributes of a call
 * @id: a raw-fd attribute
 *
 * The channel may belong to any context of any device, or to another process.
 *
 * Return: the channel, with a reference, or an ERR_PTR: -EBADF if the fd is
 * not one of a channel, -EINVAL if the calling context has not been opened,
 * -EIO if its device is gone.
 */
struct compch_channel *
compch_channel_get_by_attr(const struct uverbs_attr_bundle *attrs, u16 id)
{
	struct ib_ucontext *ucontext;
	int fd;
	int ret;

	/* uverbs itself looks only if there is a handle among the attributes. */
	ucontext = ib_uverbs_get_ucontext(attrs);
	if (IS_ERR(ucontext))
		return ERR_CAST(ucontext);

	ret = uverbs_get_raw_fd(&fd, attrs, id);
	if (ret)
		return ERR_PTR(ret);
	return compch_channel_get_by_fd(fd);
}

static ssize_t compch_channel_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct compch_channel *channel = compch_channel_of_file(iocb->ki_filp);
	bool nonblock = (iocb->ki_flags & IOCB_NOWAIT) ||
			(iocb->ki_filp->f_flags & O_NONBLOCK);
	ssize_t ret;

	ret = compch_queue_read(&channel->queue, to, nonblock);
	if (ret > 0)
		compch_stat_add(COMPCH_STAT_REPORTED, ret / sizeof(u64));
	if (channel->queue.flags & COMPCH_QUEUE_COALESCE)
		compch_stat_add(COMPCH_STAT_MERGED,
				compch_queue_take_merged(&channel->queue));
	return ret;
}

static __poll_t compch_channel_poll(struct file *file, poll_table *wait)
{
	struct compch_channel *channel = compch_channel_of_file(file);

	return compch_queue_poll(&channel->queue, file, wait);
}

static int compch_channel_fasync(int fd, struct file *file, int on)
{
	struct compch_channel *channel = compch_channel_of_file(file);

	int ret;

	ret = fasync_helper(fd, file, on, &channel->queue.fasync);
	compch_queue_watch(&channel->queue);
	return ret;
}

static int compch_channel_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct compch_channel *channel = compch_channel_of_file(file);

	if (!channel->queue.ring)
		return -ENODEV;
	return compch_ring_mmap(channel->queue.ring, vma);
}

static void compch_channel_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct compch_channel *channel = compch_channel_of_file(file);
	struct compch_queue_state state;

	compch_queue_query(&channel->queue, &state);
	seq_printf(m, "compch-state:\t%s\n", state.closed ? "closed" : "open");
	seq_printf(m, "compch-flags:\t%x\n", state.flags);
	seq_printf(m, "compch-associations:\t%u\n", state.nr_sources);
	seq_printf(m, "compch-pending:\t%llu\n", state.pending);
	seq_printf(m, "compch-reported:\t%llu\n", state.reported);
	seq_printf(m, "compch-cancels:\t%u\n", state.cancels);
	seq_printf(m, "compch-id:\t%llu\n", channel->id);
	seq_printf(m, "compch-merged:\t%llu\n", state.merged);
	seq_printf(m, "compch-discarded:\t%llu\n", state.discarded);
	seq_printf(m, "compch-wakeups:\t%llu\n", state.wakeups);
	seq_printf(m, "compch-longest:\t%u\n", state.longest);
	compch_age_show(m, "compch-idle-ms:\t", state.last_read);
	seq_putc(m, '\n');
}

/* Of the file "channels": the table is locked, so the channel is there. */
static void compch_channel_show(struct seq_file *m,
				struct compch_table_entry *entry)
{
	struct compch_channel *channel =
		container_of(entry, struct compch_channel, entry);
	struct compch_queue_state state;

	compch_queue_query(&channel->queue, &state);
	seq_printf(m, "channel=%llu device=%s state=%s flags=%x cqs=%u",
		   channel->id, channel->device,
		   state.closed ? "closed" : "open", state.flags,
		   state.nr_sources);
	seq_printf(m, " pending=%llu reported=%llu merged=%llu discarded=%llu",
		   state.pending, state.reported, state.merged,
		   state.discarded);
	seq_printf(m, " wakeups=%llu longest=%u cancels=%u", state.wakeups,
		   state.longest, state.cancels);
	compch_age_show(m, " idle_ms=", state.last_read);
	compch_owner_show(m, &channel->owner);
	seq_putc(m, '\n');
}

const struct compch_listing compch_channel_listing = {
	.table = &compch_channels,
	.show = compch_channel_show,
};

static int compch_channel_release(struct inode *inode, struct file *file)
{
	struct compch_channel *channel = compch_channel_of_file(file);
	int ret;

	/* May free the uobject. */
	ret = uverbs_uobject_fd_release(inode, file);
	compch_channel_put(channel);
	return ret;
}

#define COMPCH_CHANNEL_FOPS(_release)				\
	{							\
		.owner = THIS_MODULE,				\
		.read_iter = compch_channel_read_iter,		\
		.poll = compch_channel_poll,			\
		.fasync = compch_channel_fasync,		\
		.mmap = compch_channel_mmap,			\
		.show_fdinfo = compch_channel_show_fdinfo,	\
		.release = _release,				\
	}

/*
 * What the file is created with: uverbs insists on its own release method.
 * Nobody can have the file open with it, for CHANNEL CREATE either fails or
 * sets compch_channel_fops before the fd is installed.
 */
static const struct file_operations compch_channel_new_fops =
	COMPCH_CHANNEL_FOPS(uverbs_uobject_fd_release);

static const struct file_operations compch_channel_fops =
	COMPCH_CHANNEL_FOPS(compch_channel_release);

/*
 * The file is released, or the context that created the channel goes away.
 * In the latter case the file may still be open, and queued events of other
 * contexts' CQs can still be read.  uverbs calls this once.
 */
static void compch_channel_destroy_uobj(struct ib_uobject *uobj,
					enum rdma_remove_reason why)
{
	struct compch_channel_uobject *cuobj =
		container_of(uobj, struct compch_channel_uobject, uobj);

	compch_queue_close(&cuobj->channel->queue, true);
	compch_channel_put(cuobj->channel);
}

static int UVERBS_HANDLER(COMPCH_METHOD_CHANNEL_CREATE)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, COMPCH_ATTR_CHANNEL_CREATE_FD);
	struct compch_channel_uobject *cuobj =
		container_of(uobj, struct compch_channel_uobject, uobj);
	struct compch_channel *channel;
	struct file *file = uobj->object;
	u32 flags, cqs = 0;
	int ret;

	ret = uverbs_get_flags32(&flags, attrs,
				 COMPCH_ATTR_CHANNEL_CREATE_FLAGS,
				 COMPCH_CHANNEL_COALESCE);
	if (ret)
		return ret;

	ret = uverbs_copy_from(&cqs, attrs, COMPCH_ATTR_CHANNEL_CREATE_RING);
	if (IS_UVERBS_COPY_ERR(ret))
		return ret;
	/* A ring for no CQ is none, and not what was asked for. */
	if (!ret && !cqs)
		return -EINVAL;

	channel = compch_channel_alloc(flags, cqs, uobj->context->device);
	if (IS_ERR(channel))
		return PTR_ERR(channel);

	/*
	 * Nothing can fail any more.  The references are given back by
	 * compch_channel_release() and compch_channel_destroy_uobj().
	 */
	cuobj->channel = channel;
	file->f_mode |= FMODE_NOWAIT;
	file->f_op = &compch_channel_fops;
	return 0;
}

static int UVERBS_HANDLER(COMPCH_METHOD_CHANNEL_DESTROY)(
	struct uverbs_attr_bundle *attrs)
{
	struct compch_channel *channel;
	int ret;

	channel = compch_channel_get_by_attr(attrs,
					     COMPCH_ATTR_CHANNEL_DESTROY_FD);
	if (IS_ERR(channel))
		return PTR_ERR(channel);

	ret = compch_queue_close(&channel->queue, false);
	compch_channel_put(channel);
	return ret;
}

static int UVERBS_HANDLER(COMPCH_METHOD_CHANNEL_CANCEL)(
	struct uverbs_attr_bundle *attrs)
{
	struct compch_channel *channel;
	int ret;

	channel = compch_channel_get_by_attr(attrs,
					     COMPCH_ATTR_CHANNEL_CANCEL_FD);
	if (IS_ERR(channel))
		return PTR_ERR(channel);

	ret = compch_queue_cancel(&channel->queue);
	compch_channel_put(channel);
	return ret;
}

static int UVERBS_HANDLER(COMPCH_METHOD_CHANNEL_QUERY)(
	struct uverbs_attr_bundle *attrs)
{
	struct compch_channel_info info = {};
	struct compch_queue_state state;
	struct compch_channel *channel;

	channel = compch_channel_get_by_attr(attrs,
					     COMPCH_ATTR_CHANNEL_QUERY_FD);
	if (IS_ERR(channel))
		return PTR_ERR(channel);

	compch_queue_query(&channel->queue, &state);
	if (channel->queue.ring) {
		info.ring_cqs = channel->queue.ring->cqs;
		info.ring_size = compch_ring_mapped_size(channel->queue.ring);
	}
	compch_channel_put(channel);

	info.flags = state.flags;
	info.state = state.closed ? COMPCH_CHANNEL_CLOSED : COMPCH_CHANNEL_OPEN;
	info.associations = state.nr_sources;
	info.cancels = state.cancels;
	info.pending = state.pending;
	info.reported = state.reported;

	return uverbs_copy_to_struct_or_zero(attrs,
					     COMPCH_ATTR_CHANNEL_QUERY_RESP,
					     &info, sizeof(info));
}

static int UVERBS_HANDLER(COMPCH_METHOD_CHANNEL_WAKE)(
	struct uverbs_attr_bundle *attrs)
{
	struct compch_channel *channel;

	channel = compch_channel_get_by_attr(attrs,
					     COMPCH_ATTR_CHANNEL_WAKE_FD);
	if (IS_ERR(channel))
		return PTR_ERR(channel);

	compch_queue_wake(&channel->queue, NULL);
	compch_channel_put(channel);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_CHANNEL_CREATE,
	UVERBS_ATTR_FD(COMPCH_ATTR_CHANNEL_CREATE_FD,
		       COMPCH_OBJECT_CHANNEL,
		       UVERBS_ACCESS_NEW,
		       UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(COMPCH_ATTR_CHANNEL_CREATE_FLAGS,
			     enum compch_channel_flags),
	UVERBS_ATTR_PTR_IN(COMPCH_ATTR_CHANNEL_CREATE_RING,
			   UVERBS_ATTR_TYPE(u32),
			   UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_CHANNEL_DESTROY,
	UVERBS_ATTR_RAW_FD(COMPCH_ATTR_CHANNEL_DESTROY_FD,
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_CHANNEL_CANCEL,
	UVERBS_ATTR_RAW_FD(COMPCH_ATTR_CHANNEL_CANCEL_FD,
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_CHANNEL_QUERY,
	UVERBS_ATTR_RAW_FD(COMPCH_ATTR_CHANNEL_QUERY_FD,
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(COMPCH_ATTR_CHANNEL_QUERY_RESP,
			    UVERBS_ATTR_STRUCT(struct compch_channel_info,
					       reported),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_CHANNEL_WAKE,
	UVERBS_ATTR_RAW_FD(COMPCH_ATTR_CHANNEL_WAKE_FD,
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(
	COMPCH_OBJECT_CHANNEL,
	UVERBS_TYPE_ALLOC_FD(sizeof(struct compch_channel_uobject),
			     compch_channel_destroy_uobj,
			     &compch_channel_new_fops,
			     "[compch]",
			     O_RDWR),
	&UVERBS_METHOD(COMPCH_METHOD_CHANNEL_CREATE),
	&UVERBS_METHOD(COMPCH_METHOD_CHANNEL_DESTROY),
	&UVERBS_METHOD(COMPCH_METHOD_CHANNEL_CANCEL),
	&UVERBS_METHOD(COMPCH_METHOD_CHANNEL_QUERY),
	&UVERBS_METHOD(COMPCH_METHOD_CHANNEL_WAKE));

const struct uapi_definition compch_channel_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(COMPCH_OBJECT_CHANNEL),
	{}
};

/**
 * compch_channel_init() - Make the table of channels.
 *
 * Return: 0 or a negative errno.
 */
int compch_channel_init(void)
{
	return compch_table_init(&compch_channels);
}

/** compch_channel_exit() - Undo compch_channel_init(). */
void compch_channel_exit(void)
{
	compch_table_exit(&compch_channels);
}
