// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The association object: it binds a CQ to a channel, and carries the CQ's
 * completion events there.
 *
 * Only cq->comp_handler is replaced.  cq->cq_context is left alone: uverbs
 * needs it when it frees the CQ, and drivers load the two fields one after the
 * other.  The handler finds the association by the CQ's address.
 */

#include <linux/seq_file.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "../../../include/uapi/rdma/compch-abi.h"
#include "compch.h"
#include "trace.h"

#define UVERBS_MODULE_NAME compch
#include <rdma/uverbs_named_ioctl.h>

/**
 * struct compch_assoc - the association of a CQ with a channel
 * @uobj: what uverbs knows of it; must be first.  uverbs frees it all, after an
 *	RCU grace period, as sources and table entries need.
 * @source: the CQ's events
 * @entry: in compch_assocs, by the CQ's address
 * @stock_handler: the CQ's own completion handler
 * @balance: from the destruction of the object to the end of ASSOC DESTROY
 * @owner: who has made it
 */
struct compch_assoc {
	struct ib_uobject uobj;
	struct compch_source source;
	struct compch_table_entry entry;
	ib_comp_handler stock_handler;
	struct compch_assoc_destroy_resp balance;
	struct compch_owner owner;
};

static struct ib_cq *compch_assoc_cq(const struct compch_assoc *assoc)
{
	return assoc->entry.key;
}

/**
 * compch_source_cq() - Whose events are they?
 * @source: that of an association
 *
 * Return: the CQ; the caller knows that it is still there.
 */
const struct ib_cq *compch_source_cq(const struct compch_source *source)
{
	return compch_assoc_cq(container_of(source, const struct compch_assoc,
					    source));
}

/* Its lock: see compch.h. */
static struct compch_table compch_assocs;

/**
 * compch_assoc_size() - Memory that an association takes, uverbs' part of it
 * included.
 *
 * Return: bytes.
 */
size_t compch_assoc_size(void)
{
	return sizeof(struct compch_assoc);
}

static void compch_comp_handler(struct ib_cq *cq, void *cq_context);

static bool compch_assoc_fire(struct compch_table_entry *entry)
{
	struct compch_assoc *assoc =
		container_of(entry, struct compch_assoc, entry);

	return compch_source_fire(&assoc->source);
}

/*
 * An event of a CQ whose association has just gone, or is just coming.
 *
 * No event falls between two chairs.  If there is no association for the CQ, or
 * it is detached or not attached yet, the CQ's handler is not ours any more and
 * gets the event; if it is ours again, there is an association to be found:
 *
 *	here				ASSOC DESTROY, then ASSOC CREATE
 *	----				--------------------------------
 *					comp_handler = stock
 *					source is detached, leaves the table
 *	look up: none, or detached
 *					new one enters the table
 *					comp_handler = ours (release)
 *	comp_handler (acquire)
 *	  stock: call it
 *	  ours: look up again, finds the new one
 */
static noinline void compch_comp_handler_again(struct ib_cq *cq,
					       void *cq_context)
{
	struct compch_table_entry *entry;
	ib_comp_handler handler;
	bool fired = false;

	rcu_read_lock();
	do {
		/*
		 * Pairs with the smp_store_release() in compch_assoc_publish()
		 * and compch_assoc_unpublish().
		 */
		handler = smp_load_acquire(&cq->comp_handler);
		if (handler != compch_comp_handler)
			break;
		entry = compch_table_lookup(&compch_assocs, cq);
		if (entry)
			fired = compch_assoc_fire(entry);
	} while (!fired);
	rcu_read_unlock();

	if (fired)
		compch_stat_add(COMPCH_STAT_EVENTS, 1);
	else
		handler(cq, cq_context);
}

/* The comp_handler of an associated CQ. */
static void compch_comp_handler(struct ib_cq *cq, void *cq_context)
{
	struct compch_table_entry *entry;

	rcu_read_lock();
	entry = compch_table_lookup(&compch_assocs, cq);
	if (likely(entry) && likely(compch_assoc_fire(entry))) {
		rcu_read_unlock();
		compch_stat_add(COMPCH_STAT_EVENTS, 1);
		return;
	}
	rcu_read_unlock();
	compch_comp_handler_again(cq, cq_context);
}

/* Associates the CQ; the caller keeps it from being destroyed meanwhile. */
static int compch_assoc_publish(struct compch_assoc *assoc,
				struct compch_channel *channel)
{
	struct ib_cq *cq = compch_assoc_cq(assoc);
	int ret;

	mutex_lock(&compch_assocs.lock);
	ret = compch_table_insert(&compch_assocs, &assoc->entry);
	if (ret) {
		ret = -EBUSY;
		goto unlock;
	}
	/* A handler that was called for an association before may find it. */
	ret = compch_source_attach(&assoc->source, &channel->queue);
	if (ret)
		goto remove;

	atomic_inc(&cq->usecnt);
	assoc->stock_handler = cq->comp_handler;
	trace_compch_associate(&assoc->source, &channel->queue);
	/* Pairs with the smp_load_acquire() in compch_comp_handler(). */
	smp_store_release(&cq->comp_handler, compch_comp_handler);
	mutex_unlock(&compch_assocs.lock);
	return 0;

remove:
	compch_table_remove(&compch_assocs, &assoc->entry);
unlock:
	mutex_unlock(&compch_assocs.lock);
	return ret;
}

/*
 * Undoes compch_assoc_publish().  The reference on the channel where the CQ is
 * by now goes to the caller.
 */
static struct compch_channel *compch_assoc_unpublish(struct compch_assoc *assoc)
{
	struct ib_cq *cq = compch_assoc_cq(assoc);
	struct compch_queue *queue;
	u64 reported, discarded;

	mutex_lock(&compch_assocs.lock);
	/* Pairs with the smp_load_acquire() in compch_comp_handler(). */
	smp_store_release(&cq->comp_handler, assoc->stock_handler);
	queue = compch_source_detach(&assoc->source, &reported, &discarded);
	compch_table_remove(&compch_assocs, &assoc->entry);
	mutex_unlock(&compch_assocs.lock);
	/* Now the CQ may go. */
	atomic_dec(&cq->usecnt);

	compch_stat_add(COMPCH_STAT_DISCARDED, discarded);
	if (queue->flags & COMPCH_QUEUE_COALESCE)
		compch_stat_add(COMPCH_STAT_MERGED,
				compch_queue_take_merged(queue));
	if (queue->ring)
		compch_stat_add(COMPCH_STAT_REPORTED,
				compch_queue_take_taken(queue));
	assoc->balance.events_reported = reported;
	assoc->balance.events_discarded = discarded;
	return compch_channel_of(queue);
}

/* Whatever makes ASSOC DESTROY fail must be found before anything is undone. */
static int compch_assoc_may_destroy(struct compch_assoc *assoc,
				    struct uverbs_attr_bundle *attrs)
{
	const struct compch_assoc_destroy_resp balance = {};
	u32 flags;
	int ret;

	ret = uverbs_get_flags32(&flags, attrs,
				 COMPCH_ATTR_ASSOC_DESTROY_FLAGS,
				 COMPCH_ASSOC_DESTROY_IF_UNUSED);
	if (ret)
		return ret;
	if ((flags & COMPCH_ASSOC_DESTROY_IF_UNUSED) &&
	    atomic_read(&compch_assoc_cq(assoc)->usecnt) > 1)
		return -EBUSY;
	return uverbs_copy_to_struct_or_zero(attrs,
					     COMPCH_ATTR_ASSOC_DESTROY_RESP,
					     &balance, sizeof(balance));
}

static int compch_assoc_destroy_uobj(struct ib_uobject *uobj,
				     enum rdma_remove_reason why,
				     struct uverbs_attr_bundle *attrs)
{
	struct compch_assoc *assoc =
		container_of(uobj, struct compch_assoc, uobj);
	int ret;

	/* In all other cases @attrs has no attributes. */
	if (why == RDMA_REMOVE_DESTROY) {
		ret = compch_assoc_may_destroy(assoc, attrs);
		if (ret)
			return ret;
	}

	compch_channel_put(compch_assoc_unpublish(assoc));
	compch_live_dec(COMPCH_LIVE_ASSOCS);
	return 0;
}

static int UVERBS_HANDLER(COMPCH_METHOD_ASSOC_CREATE)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs, COMPCH_ATTR_ASSOC_CREATE_HANDLE);
	struct ib_uobject *cq_uobj =
		uverbs_attr_get_uobject(attrs, COMPCH_ATTR_ASSOC_CREATE_CQ);
	struct compch_assoc *assoc =
		container_of(uobj, struct compch_assoc, uobj);
	u64 cookie = cq_uobj->user_handle;
	struct compch_channel *channel;
	int ret;

	ret = uverbs_copy_from(&cookie, attrs, COMPCH_ATTR_ASSOC_CREATE_COOKIE);
	if (IS_UVERBS_COPY_ERR(ret))
		return ret;

	channel = compch_channel_get_by_attr(attrs,
					     COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD);
	if (IS_ERR(channel))
		return PTR_ERR(channel);

	compch_source_init(&assoc->source, cookie);
	assoc->entry.key = cq_uobj->object;
	compch_owner_set(&assoc->owner);
	ret = compch_assoc_publish(assoc, channel);
	if (ret) {
		compch_channel_put(channel);
		return ret;
	}

	/* The association keeps the reference on the channel. */
	compch_live_inc(COMPCH_LIVE_ASSOCS);
	uobj->object = assoc;
	uverbs_finalize_uobj_create(attrs, COMPCH_ATTR_ASSOC_CREATE_HANDLE);
	return 0;
}

static int UVERBS_HANDLER(COMPCH_METHOD_ASSOC_MOVE)(
	struct uverbs_attr_bundle *attrs)
{
	struct compch_assoc *assoc =
		uverbs_attr_get_obj(attrs, COMPCH_ATTR_ASSOC_MOVE_HANDLE);
	struct compch_channel *channel;
	struct compch_queue *from;
	u64 merged;

	channel = compch_channel_get_by_attr(attrs,
					     COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD);
	if (IS_ERR(channel))
		return PTR_ERR(channel);

	/* The lock of the uobject keeps ASSOC DESTROY away. */
	from = compch_source_move(&assoc->source, &channel->queue, &merged);
	if (IS_ERR(from)) {
		compch_channel_put(channel);
		return PTR_ERR(from);
	}
	compch_stat_add(COMPCH_STAT_MERGED, merged);
	if (from->ring)
		compch_stat_add(COMPCH_STAT_REPORTED,
				compch_queue_take_taken(from));
	/* The association has the new reference, this is its old one. */
	compch_channel_put(compch_channel_of(from));
	return 0;
}

static int UVERBS_HANDLER(COMPCH_METHOD_ASSOC_DESTROY)(
	struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj =
		uverbs_attr_get_uobject(attrs,
					COMPCH_ATTR_ASSOC_DESTROY_HANDLE);
	struct compch_assoc *assoc =
		container_of(uobj, struct compch_assoc, uobj);

	/* compch_assoc_destroy_uobj() has run. */
	return uverbs_copy_to_struct_or_zero(attrs,
					     COMPCH_ATTR_ASSOC_DESTROY_RESP,
					     &assoc->balance,
					     sizeof(assoc->balance));
}

static int UVERBS_HANDLER(COMPCH_METHOD_ASSOC_QUERY)(
	struct uverbs_attr_bundle *attrs)
{
	struct compch_assoc *assoc =
		uverbs_attr_get_obj(attrs, COMPCH_ATTR_ASSOC_QUERY_HANDLE);
	struct compch_assoc_info info = {};
	struct compch_source_state state;

	compch_source_query(&assoc->source, &state);
	info.cookie = state.cookie;
	info.pending = state.pending;
	info.reported = state.reported;
	info.merged = state.merged;

	return uverbs_copy_to_struct_or_zero(attrs,
					     COMPCH_ATTR_ASSOC_QUERY_RESP,
					     &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_ASSOC_CREATE,
	UVERBS_ATTR_IDR(COMPCH_ATTR_ASSOC_CREATE_HANDLE,
			COMPCH_OBJECT_ASSOC,
			UVERBS_ACCESS_NEW,
			UA_MANDATORY),
	UVERBS_ATTR_IDR(COMPCH_ATTR_ASSOC_CREATE_CQ,
			UVERBS_OBJECT_CQ,
			UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_RAW_FD(COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD,
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(COMPCH_ATTR_ASSOC_CREATE_COOKIE,
			   UVERBS_ATTR_TYPE(u64),
			   UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_ASSOC_MOVE,
	UVERBS_ATTR_IDR(COMPCH_ATTR_ASSOC_MOVE_HANDLE,
			COMPCH_OBJECT_ASSOC,
			UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_RAW_FD(COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD,
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_ASSOC_DESTROY,
	UVERBS_ATTR_IDR(COMPCH_ATTR_ASSOC_DESTROY_HANDLE,
			COMPCH_OBJECT_ASSOC,
			UVERBS_ACCESS_DESTROY,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(COMPCH_ATTR_ASSOC_DESTROY_RESP,
			    UVERBS_ATTR_STRUCT(struct compch_assoc_destroy_resp,
					       events_discarded),
			    UA_MANDATORY),
	UVERBS_ATTR_FLAGS_IN(COMPCH_ATTR_ASSOC_DESTROY_FLAGS,
			     enum compch_assoc_destroy_flags));

DECLARE_UVERBS_NAMED_METHOD(
	COMPCH_METHOD_ASSOC_QUERY,
	UVERBS_ATTR_IDR(COMPCH_ATTR_ASSOC_QUERY_HANDLE,
			COMPCH_OBJECT_ASSOC,
			UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(COMPCH_ATTR_ASSOC_QUERY_RESP,
			    UVERBS_ATTR_STRUCT(struct compch_assoc_info,
					       merged),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(
	COMPCH_OBJECT_ASSOC,
	UVERBS_TYPE_ALLOC_IDR_SZ(sizeof(struct compch_assoc),
				 compch_assoc_destroy_uobj),
	&UVERBS_METHOD(COMPCH_METHOD_ASSOC_CREATE),
	&UVERBS_METHOD(COMPCH_METHOD_ASSOC_MOVE),
	&UVERBS_METHOD(COMPCH_METHOD_ASSOC_DESTROY),
	&UVERBS_METHOD(COMPCH_METHOD_ASSOC_QUERY));

const struct uapi_definition compch_assoc_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(COMPCH_OBJECT_ASSOC),
	{}
};

/*
 * Of the file "cqs": the table is locked, so the CQ is there.  It may be moved
 * to another channel at any moment.
 */
static void compch_assoc_show(struct seq_file *m,
			      struct compch_table_entry *entry)
{
	struct compch_assoc *assoc =
		container_of(entry, struct compch_assoc, entry);
	const struct ib_cq *cq = compch_assoc_cq(assoc);
	struct compch_source_state state;
	u64 channel;

	rcu_read_lock();
	channel = compch_queue_id(rcu_dereference(assoc->source.queue));
	rcu_read_unlock();
	compch_source_query(&assoc->source, &state);
	seq_printf(m, "device=%s cqn=%u channel=%llu cookie=%#llx",
		   cq->device->name, cq->res.id, channel,
		   state.cookie);
	seq_printf(m, " pending=%llu reported=%llu merged=%llu longest=%llu",
		   state.pending, state.reported, state.merged, state.longest);
	compch_age_show(m, " idle_ms=", state.last_read);
	compch_owner_show(m, &assoc->owner);
	seq_putc(m, '\n');
}

const struct compch_listing compch_assoc_listing = {
	.table = &compch_assocs,
	.show = compch_assoc_show,
};

/**
 * compch_assoc_init() - Make the table of associations.
 *
 * Return: 0 or a negative errno.
 */
int compch_assoc_init(void)
{
	return compch_table_init(&compch_assocs);
}

/** compch_assoc_exit() - Undo compch_assoc_init(). */
void compch_assoc_exit(void)
{
	compch_table_exit(&compch_assocs);
}
