/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The event queue of a completion channel.
 *
 * A queue counts and orders the events of its sources.  It knows nothing of
 * RDMA: a source is whatever fires events, here an associated CQ.
 *
 * Locking
 * -------
 * One spinlock for each queue, that of its wait queue @pollers, guards all
 * state of the queue and of the sources attached to it.  It is taken with
 * interrupts off, for sources fire in any context.  Wake-ups happen under it,
 * so it nests outside epoll's own locks.
 *
 * Two queue locks are held together only by compch_source_move(), the one at
 * the lower address first.  Nothing else is acquired under a queue lock but
 * what a wake-up needs; nothing under it allocates, sleeps, or takes time that
 * grows with the number of sources or pending events.
 *
 * source->queue changes only under the locks of both queues.  Whoever starts
 * from a source therefore reads it under RCU, locks that queue, and looks
 * again: see compch_source_lock().  Memory that holds a queue must be freed
 * after an RCU grace period, as must memory that holds a source.
 */
#ifndef _COMPCH_QUEUE_H
#define _COMPCH_QUEUE_H

#include <linux/list.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/wait.h>

struct fasync_struct;
struct file;
struct iov_iter;

/* At most one event of a source is queued; further ones merge with it. */
#define COMPCH_QUEUE_COALESCE	BIT(0)

/**
 * struct compch_queue - an ordered queue of events that can be read
 * @pollers:	who waits by poll(); its lock guards the queue
 * @ready:	sources with pending events, the next to be served first
 * @readers:	blocked readers that nothing has woken yet, the oldest first
 * @fasync:	who wants SIGIO
 * @pending:	events queued, of all sources
 * @reported:	events that have been read from this queue
 * @nr_sources:	sources attached
 * @cancels:	cancels that no reader has used up
 * @flags:	COMPCH_QUEUE_*
 * @closed:	nothing can be attached, and no reader blocks any more
 */
struct compch_queue {
	wait_queue_head_t pollers;
	struct list_head ready;
	struct list_head readers;
	struct fasync_struct *fasync;
	u64 pending;
	u64 reported;
	u32 nr_sources;
	u32 cancels;
	u32 flags;
	bool closed;
};

/**
 * struct compch_source - what fires events into a queue
 * @queue:	the queue that it is attached to
 * @ready:	on the queue's @ready list while @pending is not zero
 * @cookie:	what a reader gets for an event of this source
 * @pending:	events queued
 * @reported:	events that have been read
 * @merged:	events that merged with a queued one
 * @dead:	detached for good
 */
struct compch_source {
	struct compch_queue __rcu *queue;
	struct list_head ready;
	u64 cookie;
	u64 pending;
	u64 reported;
	u64 merged;
	bool dead;
};

/**
 * enum compch_fired - what became of an event
 * @COMPCH_FIRED_QUEUED: a reader will get it
 * @COMPCH_FIRED_MERGED: a queued event stands for it
 * @COMPCH_FIRED_DEAD:   the source is detached, or not attached yet; the event
 *			 is still the caller's
 */
enum compch_fired {
	COMPCH_FIRED_QUEUED,
	COMPCH_FIRED_MERGED,
	COMPCH_FIRED_DEAD,
};

/**
 * struct compch_queue_state - a consistent copy of a queue's state
 * @pending:	see struct compch_queue
 * @reported:	see struct compch_queue
 * @nr_sources:	see struct compch_queue
 * @cancels:	see struct compch_queue
 * @flags:	see struct compch_queue
 * @closed:	see struct compch_queue
 */
struct compch_queue_state {
	u64 pending;
	u64 reported;
	u32 nr_sources;
	u32 cancels;
	u32 flags;
	bool closed;
};

/**
 * struct compch_source_state - a consistent copy of a source's state
 * @cookie:	see struct compch_source
 * @pending:	see struct compch_source
 * @reported:	see struct compch_source
 * @merged:	see struct compch_source
 */
struct compch_source_state {
	u64 cookie;
	u64 pending;
	u64 reported;
	u64 merged;
};

void compch_queue_init(struct compch_queue *queue, u32 flags);
ssize_t compch_queue_read(struct compch_queue *queue, struct iov_iter *to,
			  bool nonblock);
__poll_t compch_queue_poll(struct compch_queue *queue, struct file *file,
			   poll_table *wait);
int compch_queue_cancel(struct compch_queue *queue);
int compch_queue_close(struct compch_queue *queue, bool force);
void compch_queue_query(struct compch_queue *queue,
			struct compch_queue_state *state);

void compch_source_init(struct compch_source *source, u64 cookie);
int compch_source_attach(struct compch_source *source,
			 struct compch_queue *queue);
struct compch_queue *compch_source_detach(struct compch_source *source,
					  u64 *reported, u64 *discarded);
struct compch_queue *compch_source_move(struct compch_source *source,
					struct compch_queue *to, u64 *merged);
enum compch_fired compch_source_fire(struct compch_source *source);
void compch_source_query(struct compch_source *source,
			 struct compch_source_state *state);

#endif /* _COMPCH_QUEUE_H */
