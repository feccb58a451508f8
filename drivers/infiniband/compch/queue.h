/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The event queue of a completion channel.
 *
 * A queue counts and orders the events of its sources.  It knows nothing of
 * RDMA: a source is whatever fires events, here an associated CQ.
 *
 * How an event gets to a reader
 * -----------------------------
 * Whoever fires takes no lock: he adds one to the source's @pending, and if it
 * was 0, pushes the source to the queue's @incoming.  A reader takes what has
 * come in over to @ready, in its order, and from there one event of each source
 * in turn.  So a source is in @incoming or on @ready while it has events, and in
 * one of them only.
 *
 * Between the two steps of firing the source is in neither: for a few
 * instructions, with preemption off, so that compch_source_settle() can wait
 * for it, spinning.
 *
 * Where the queue has a ring, the events of its sources are posted there
 * instead, for programs to take them from mapped memory: see ring.h.  @incoming
 * and @ready then stay empty, and a source's @pending counts what has been
 * fired into the ring, read or not.
 *
 * Locking
 * -------
 *  queue->lock		guards what readers and others in process context
 *	change, of the queue and of the sources that are attached to it.  Never
 *	taken by who fires, so interrupts stay on.  Two of them are held
 *	together by compch_source_move() only, the one at the lower address
 *	first.
 *
 *  queue->pollers.lock	guards who waits: @pollers, @readers, @waking, and
 *	changes of @watched.  Taken with interrupts off, for events wake in any context.
 *	Nests in queue->lock, and outside of epoll's own locks.  @cancels and
 *	@closed change under both locks, and so does compch_reader.cancelled.
 *
 * Nothing under either allocates, sleeps, or takes time that grows with the
 * number of pending events.  Taking over what has come in takes time for each
 * source in there, which has been fired since the last time.  The exceptions: to
 * query a queue takes time for each of its sources; compch_queue_repair(), after
 * a program was killed that had mapped the ring, for each slot; and so may a
 * look at a ring, where a program has filled the cells with what is not there.
 *
 * source->queue changes only under the locks of both queues.  Whoever starts
 * from a source therefore reads it under RCU, locks that queue, and looks
 * again: see compch_source_lock().  Memory that holds a queue must be freed
 * after an RCU grace period, as must memory that holds a source.
 */
#ifndef _COMPCH_QUEUE_H
#define _COMPCH_QUEUE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/tracepoint-defs.h>
#include <linux/types.h>
#include <linux/wait.h>

struct compch_ring;
struct compch_ring_own;
struct fasync_struct;
struct file;
struct iov_iter;

#ifndef COMPCH_QUEUE_ALONE
DECLARE_TRACEPOINT(compch_event);
DECLARE_TRACEPOINT(compch_wake);
#define compch_fire_is_traced() \
	(tracepoint_enabled(compch_event) || tracepoint_enabled(compch_wake))
#else
#define compch_fire_is_traced()		false
#endif

/* At most one event of a source is queued; further ones merge with it. */
#define COMPCH_QUEUE_COALESCE	BIT(0)

/**
 * struct compch_queue - an ordered queue of events that can be read
 * @incoming:	sources that have got their first event, the newest first
 * @ring:	where events are posted instead, or NULL
 * @flags:	COMPCH_QUEUE_*
 * @watched:	somebody may have to be woken: there are @pollers, @readers or
 *		@fasync; cleared by an event that finds none of them
 * @pollers:	who waits by poll()
 * @readers:	blocked readers that nothing has woken yet, the oldest first
 * @waking:	readers that have been woken and are on their way to the queue
 * @fasync:	who wants SIGIO
 * @lock:	see above; guards what follows
 * @ready:	sources with events, the next to be served first
 * @last:	the last one of those, or NULL
 * @sources:	all that are attached
 * @reported:	events that have been read from this queue; with a ring, of
 *		sources that have left
 * @merged:	events that merged here; with a ring, of sources that have left
 * @merged_taken: of these, what compch_queue_take_merged() has returned
 * @taken:	events that were taken from the ring by programs, of sources
 *		that have left, since compch_queue_take_taken()
 * @discarded:	events that were queued when their source was detached
 * @last_read:	when the last one was read, in jiffies; 0 if none was
 * @wakeups:	readers that have been woken, and events that have woken who
 *		waits by poll(); changed under the lock of the pollers
 * @longest:	the most sources with events that a reader has found, without a
 *		ring, or compch_queue_query()
 * @nr_ready:	sources on @ready
 * @nr_sources:	sources attached
 * @cancels:	cancels that no reader has used up
 * @closed:	nothing can be attached, and no reader blocks any more
 */
struct compch_queue {
	struct llist_head incoming;
	struct compch_ring *ring;
	u32 flags;
	bool watched;
	wait_queue_head_t pollers;
	struct list_head readers;
	u32 waking;
	struct fasync_struct *fasync;
	spinlock_t lock;
	struct hlist_head ready;
	struct hlist_node *last;
	struct list_head sources;
	u64 reported;
	u64 merged;
	u64 merged_taken;
	u64 taken;
	u64 discarded;
	u64 last_read;
	u64 wakeups;
	u32 longest;
	u32 nr_ready;
	u32 nr_sources;
	u32 cancels;
	bool closed;
};

/* What a source that is attached to nothing has pending, and any event added */
#define COMPCH_SOURCE_DETACHED	S64_MIN
/* The same of one whose events somebody is about to move */
#define COMPCH_SOURCE_HELD	(S64_MIN / 2)
/* What one has in addition whose queue has a ring */
#define COMPCH_SOURCE_POSTS	(1LL << 62)

/**
 * struct compch_source - what fires events into a queue
 * @pending:	events fired and not read, whether or not they will merge; with
 *		a ring, COMPCH_SOURCE_POSTS and all that have been fired into
 *		it; or another of COMPCH_SOURCE_*, and what has been fired since
 * @queue:	the queue that it is attached to
 * @incoming:	in the queue's @incoming
 * @ready:	on the queue's @ready list
 * @node:	on the queue's @sources list
 * @own:	its slot in the queue's @ring
 * @cookie:	what a reader gets for an event of this source
 * @reported:	events that have been read; from another ring than its own
 * @merged:	events that merged with a queued one; likewise
 * @last_read:	when the last one was read, in jiffies; 0 if none was
 * @longest:	the most events that a reader has found, if more than one, or
 *		a query
 */
struct compch_source {
	atomic64_t pending;
	struct compch_queue __rcu *queue;
	struct llist_node incoming;
	struct hlist_node ready;
	struct list_head node;
	struct compch_ring_own *own;
	u64 cookie;
	u64 reported;
	u64 merged;
	u64 last_read;
	u64 longest;
};

/**
 * struct compch_queue_state - a consistent copy of a queue's state; with a ring,
 * that of each source is
 * @pending:	see struct compch_queue
 * @reported:	see struct compch_queue
 * @merged:	see struct compch_queue; those that are pending and will merge
 *		included
 * @discarded:	see struct compch_queue
 * @last_read:	see struct compch_queue
 * @wakeups:	see struct compch_queue
 * @longest:	the most sources with events that there were at once
 * @nr_sources:	see struct compch_queue
 * @cancels:	see struct compch_queue
 * @flags:	see struct compch_queue
 * @closed:	see struct compch_queue
 */
struct compch_queue_state {
	u64 pending;
	u64 reported;
	u64 merged;
	u64 discarded;
	u64 last_read;
	u64 wakeups;
	u32 longest;
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
 * @last_read:	see struct compch_source
 * @longest:	the most events that were pending at once
 */
struct compch_source_state {
	u64 cookie;
	u64 pending;
	u64 reported;
	u64 merged;
	u64 last_read;
	u64 longest;
};

void compch_queue_init(struct compch_queue *queue, u32 flags,
		       struct compch_ring *ring);
ssize_t compch_queue_read(struct compch_queue *queue, struct iov_iter *to,
			  bool nonblock);
u64 compch_queue_take_merged(struct compch_queue *queue);
u64 compch_queue_take_taken(struct compch_queue *queue);
__poll_t compch_queue_poll(struct compch_queue *queue, struct file *file,
			   poll_table *wait);
void compch_queue_wake(struct compch_queue *queue,
		       const struct compch_source *source);
void compch_queue_watch(struct compch_queue *queue);
bool compch_queue_post(struct compch_queue *queue,
		       struct compch_source *source);
void compch_queue_repair(struct compch_queue *queue);
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
void compch_source_query(struct compch_source *source,
			 struct compch_source_state *state);
bool compch_source_fire_traced(struct compch_source *source);

typedef void (*compch_trace_fn)(const struct compch_source *source,
				const struct compch_queue *queue, u64 pending);

/*
 * See compch_source_fired().  @trace is called before the event can be read, if
 * it is the only one of its source that is pending.
 */
static __always_inline bool
__compch_source_fired(struct compch_source *source, s64 before,
		      compch_trace_fn trace)
{
	struct compch_queue *queue;

	if (unlikely(before < 0)) {
		if (trace && before >= COMPCH_SOURCE_HELD)
			trace(source, rcu_dereference(source->queue), 0);
		preempt_enable();
		/* Who holds it posts it: see compch_source_release(). */
		return before >= COMPCH_SOURCE_HELD;
	}
	queue = rcu_dereference(source->queue);
	if (trace)
		trace(source, queue,
		      before >= COMPCH_SOURCE_POSTS ? 0 : before + 1);
	/*
	 * The queue may have been changed since, for one with a ring, and the
	 * event with it: whether to post it is told by what has counted it.
	 */
	if (unlikely(before >= COMPCH_SOURCE_POSTS))
		before = compch_queue_post(queue, source);
	else if (!before)
		llist_add(&source->incoming, &queue->incoming);
	preempt_enable();

	if (unlikely(READ_ONCE(queue->watched)) &&
	    !(before && (queue->flags & COMPCH_QUEUE_COALESCE)))
		compch_queue_wake(queue, trace ? source : NULL);
	return true;
}

/*
 * The rest of compch_source_fire(), of an event that has been counted on top of
 * @before.  Enables preemption.
 */
static inline bool compch_source_fired(struct compch_source *source, s64 before)
{
	return __compch_source_fired(source, before, NULL);
}

static __always_inline bool
__compch_source_fire(struct compch_source *source, compch_trace_fn trace)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "source may go away");

	/* See compch_source_settle(). */
	preempt_disable();
	/*
	 * A full barrier, as is llist_add(): they pair with those in
	 * compch_queue_wait(), compch_queue_poll(), and
	 * compch_source_transfer().
	 */
	return __compch_source_fired(source,
				     atomic64_fetch_inc(&source->pending),
				     trace);
}

/**
 * compch_source_fire() - Queue an event.
 * @source: the source
 *
 * Context: any, hard interrupt included, under rcu_read_lock().  Takes no lock
 * unless somebody waits, allocates nothing; its cost depends neither on the
 * number of sources nor on that of pending events.
 * Return: false if the source is detached, or not attached yet: the event is
 * still the caller's.
 */
static inline bool compch_source_fire(struct compch_source *source)
{
	/* Apart, so that it does not cost the other one a register. */
	if (compch_fire_is_traced())
		return compch_source_fire_traced(source);
	return __compch_source_fire(source, NULL);
}

#endif /* _COMPCH_QUEUE_H */
