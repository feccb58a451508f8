/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Private to the module.
 *
 * Who holds what
 * --------------
 *  - An extended device holds the module, from add_dev to remove_dev.  Its
 *    ioctl tree, and the comp_handler of its associated CQs, point into the
 *    module's text.
 *  - A channel's file holds the module (fops owner), and one reference on the
 *    channel from CHANNEL CREATE to the file's release.  The uobject holds one
 *    until uverbs destroys it, which may come before or after that.
 *  - An association holds one reference on the channel that it is attached to,
 *    and counts in cq->usecnt, so that its CQ cannot be destroyed.
 *  - A mapping of a channel's ring holds the channel's file.  The ring goes with
 *    the channel's last reference, by RCU as well: see compch_ring_destroy().
 *  - A channel is freed, by RCU, with its last reference.  An association is
 *    freed by RCU when its uobject is destroyed: newest objects go first, so
 *    always before its CQ.
 *  - The completion handler holds nothing.  It runs on a CQ that its driver
 *    keeps alive meanwhile, and finds the association, and through it the
 *    queue, under RCU.
 *
 * Locks, from the outside in
 * --------------------------
 *  1. uverbs' own: hw_destroy_rwsem, the lock of a uobject.
 *  2. The lock of the table of associations, for those who change it.  It makes
 *     "the CQ is not associated yet" and "the channel is open" one step for
 *     ASSOC CREATE.
 *     The lock of the table of channels, for those who add one, take one out
 *     or go through them all.  Never held together with the other one.
 *  3. The locks of queues: see queue.h.  They are also taken under mmap_lock,
 *     when a ring is unmapped, and no page is faulted in under them.
 *  The lock of struct compch_ring_memory has nothing inside.
 *  The class mutex of the infiniband class covers all of device.c.
 */
#ifndef _COMPCH_H
#define _COMPCH_H

#include <linux/err.h>
#include <linux/container_of.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "listing.h"
#include "queue.h"
#include "stats.h"
#include "table.h"

/**
 * struct compch_channel - a completion channel
 * @queue: its events
 * @ref: the file, the uobject and every association hold one
 * @rcu: for the final free
 * @entry: in the table of all channels
 * @id: its number, which no other one has had
 * @owner: who has made it
 * @device: the name that the device had on which it was made
 */
struct compch_channel {
	struct compch_queue queue;
	refcount_t ref;
	struct rcu_head rcu;
	struct compch_table_entry entry;
	u64 id;
	struct compch_owner owner;
	char device[IB_DEVICE_NAME_MAX];
};

extern const struct uapi_definition compch_channel_defs[];
extern const struct uapi_definition compch_assoc_defs[];
extern const struct compch_listing compch_channel_listing;
extern const struct compch_listing compch_assoc_listing;

struct compch_channel *
compch_channel_get_by_attr(const struct uverbs_attr_bundle *attrs, u16 id);
void compch_channel_put(struct compch_channel *channel);
int compch_channel_init(void);
void compch_channel_exit(void);

struct vm_area_struct;

struct compch_ring *compch_ring_create(struct compch_queue *queue, u32 cqs);
void compch_ring_destroy(struct compch_ring *ring);
void compch_ring_exit(void);
size_t compch_ring_mapped_size(struct compch_ring *ring);
int compch_ring_mmap(struct compch_ring *ring, struct vm_area_struct *vma);

int compch_assoc_init(void);
void compch_assoc_exit(void);
size_t compch_assoc_size(void);

int compch_device_init(void);
void compch_device_exit(void);

const struct ib_cq *compch_source_cq(const struct compch_source *source);

static inline struct compch_channel *
compch_channel_of(struct compch_queue *queue)
{
	return container_of(queue, struct compch_channel, queue);
}

static inline u64 compch_queue_id(const struct compch_queue *queue)
{
	return container_of(queue, const struct compch_channel, queue)->id;
}

#endif /* _COMPCH_H */
