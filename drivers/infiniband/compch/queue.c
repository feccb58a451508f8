// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The event queue of a completion channel: see queue.h for what it is and for
 * its lock rules.
 */

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "compat/iov_iter.h"
#include "queue.h"
#include "queue_trace.h"
#include "ring.h"

/* Events that are copied to a reader under one hold of the lock. */
#define COMPCH_READ_CHUNK	64

/*
 * A blocked reader, on its own stack.  It is on queue->readers until something
 * wakes it: taking it off the list and waking it are one step under the lock of
 * the pollers, so each event or cancel wakes a different reader.  The reader
 * takes that lock again as soon as it runs, so the waker's pointer stays good.
 */
struct compch_reader {
	struct list_head node;
	struct task_struct *task;
	bool cancelled;
};

/**
 * compch_queue_init() - Make an open, empty queue.
 * @queue: zeroed memory, freed after an RCU grace period
 * @flags: COMPCH_QUEUE_*
 * @ring: empty, and there as long as the queue; or NULL
 */
void compch_queue_init(struct compch_queue *queue, u32 flags,
		       struct compch_ring *ring)
{
	init_llist_head(&queue->incoming);
	init_waitqueue_head(&queue->pollers);
	INIT_LIST_HEAD(&queue->readers);
	spin_lock_init(&queue->lock);
	INIT_HLIST_HEAD(&queue->ready);
	INIT_LIST_HEAD(&queue->sources);
	queue->flags = flags;
	queue->ring = ring;
}

static void compch_queue_count_wakeup(struct compch_queue *queue)
{
	/* Who only looks at it does not take the lock. */
	WRITE_ONCE(queue->wakeups, queue->wakeups + 1);
}

/* For an event of @source, or NULL */
static bool compch_queue_wake_reader(struct compch_queue *queue,
				     const struct compch_source *source)
{
	struct compch_reader *reader;

	lockdep_assert_held(&queue->pollers.lock);

	reader = list_first_entry_or_null(&queue->readers,
					  struct compch_reader, node);
	if (!reader)
		return false;
	list_del_init(&reader->node);
	queue->waking++;
	compch_queue_count_wakeup(queue);
	trace_compch_wake(queue, source, reader->task);
	wake_up_process(reader->task);
	return true;
}

/* Events of a source that a reader will get; the rest of @pending has merged. */
static u64 compch_queue_keeps(const struct compch_queue *queue, s64 pending)
{
	return queue->flags & COMPCH_QUEUE_COALESCE && pending ? 1 : pending;
}

/* Does compch_queue_wake() wake everybody? */
static bool compch_queue_wakes_all(struct compch_queue *queue)
{
	const struct wait_queue_entry *last;

	lockdep_assert_held(&queue->pollers.lock);

	if (!list_empty(&queue->readers) && !list_is_singular(&queue->readers))
		return false;
	/* Exact, under the lock */
	if (!waitqueue_active(&queue->pollers))
		return true;
	/* Of those who wait exclusively, one is; they stand at the end. */
	last = list_last_entry(&queue->pollers.head, struct wait_queue_entry,
			       entry);
	return !(last->flags & WQ_FLAG_EXCLUSIVE);
}

/**
 * compch_queue_wake() - Wake who waits for an event.
 * @queue: the queue, where one has just been fired
 * @source: who fired it; needed only while that is traced
 *
 * Whoever begins to wait sets @watched, under the lock, after he is to be found
 * by those who look under it.
 *
 * Context: any, under rcu_read_lock() or with a reference.
 */
void compch_queue_wake(struct compch_queue *queue,
		       const struct compch_source *source)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->pollers.lock, flags);
	/* Before anybody runs, and says it anew, as a program may. */
	if (queue->ring && compch_queue_wakes_all(queue))
		WRITE_ONCE(queue->ring->shared->hungry, 0);
	/* Exact, under the lock, here and below */
	if (waitqueue_active(&queue->pollers)) {
		trace_compch_wake(queue, source, NULL);
		wake_up_locked_poll(&queue->pollers, EPOLLIN | EPOLLRDNORM);
		compch_queue_count_wakeup(queue);
	}
	compch_queue_wake_reader(queue, source);
	/* Nobody is left. */
	if (!waitqueue_active(&queue->pollers) && list_empty(&queue->readers) &&
	    !READ_ONCE(queue->fasync))
		WRITE_ONCE(queue->watched, false);
	spin_unlock_irqrestore(&queue->pollers.lock, flags);

	kill_fasync(&queue->fasync, SIGIO, POLL_IN);
}

/**
 * compch_queue_watch() - Have events look for somebody to wake.
 * @queue: the queue, to whose @pollers or @fasync somebody has been added
 */
void compch_queue_watch(struct compch_queue *queue)
{
	spin_lock_irq(&queue->pollers.lock);
	WRITE_ONCE(queue->watched, true);
	spin_unlock_irq(&queue->pollers.lock);
}

/* Whatever waits on the queue must look at it again. */
static void compch_queue_wake_all(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->pollers.lock);

	wake_up_all_locked(&queue->pollers);
	while (compch_queue_wake_reader(queue, NULL))
		;
}

/* --- sources that are ready ----------------------------------------------- */

static bool compch_ready_empty(const struct compch_queue *queue)
{
	return hlist_empty(&queue->ready);
}

static void compch_ready_append(struct compch_queue *queue,
				struct compch_source *source)
{
	lockdep_assert_held(&queue->lock);

	if (queue->last)
		hlist_add_behind(&source->ready, queue->last);
	else
		hlist_add_head(&source->ready, &queue->ready);
	queue->last = &source->ready;
	queue->nr_ready++;
}

static void compch_ready_remove(struct compch_queue *queue,
				struct compch_source *source)
{
	struct hlist_node **link = source->ready.pprev;

	lockdep_assert_held(&queue->lock);

	if (queue->last == &source->ready) {
		if (link == &queue->ready.first)
			queue->last = NULL;
		else
			queue->last = container_of(link, struct hlist_node,
						   next);
	}
	hlist_del_init(&source->ready);
	queue->nr_ready--;
}

/* The sources that have come in, the oldest first */
static struct llist_node *compch_queue_collect(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	if (llist_empty(&queue->incoming))
		return NULL;
	return llist_reverse_order(llist_del_all(&queue->incoming));
}

static void compch_ready_append_all(struct compch_queue *queue,
				    struct llist_node *first)
{
	struct compch_source *source, *next;

	llist_for_each_entry_safe(source, next, first, incoming)
		compch_ready_append(queue, source);
}

static void compch_queue_gather(struct compch_queue *queue)
{
	compch_ready_append_all(queue, compch_queue_collect(queue));
}

/* --- the ring -------------------------------------------------------------- */

/**
 * compch_queue_post() - Post an event that has been counted in @pending.
 * @queue: a queue with a ring
 * @source: attached to it
 *
 * Context: any, preemption disabled, under rcu_read_lock().
 * Return: whether it merged with another one, and so has nobody to wake.
 */
bool compch_queue_post(struct compch_queue *queue, struct compch_source *source)
{
	struct compch_ring *ring = queue->ring;
	struct compch_ring_own *own = source->own;
	bool merged = false;

	/* Full barriers, as in compch_source_fire(). */
	if (likely(!(queue->flags & COMPCH_QUEUE_COALESCE))) {
		compch_ring_add(ring, own, 1);
	} else {
		merged = compch_ring_set(ring, own);
		if (merged)
			atomic64_inc(&own->merged);
	}
	/* Pairs with compch_source_posted(): now the source may leave. */
	smp_mb__before_atomic();
	atomic64_inc(&own->posted);
	return merged;
}

/* Programs must leave the ring alone, and read. */
static void compch_queue_attend(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	if (!queue->ring)
		return;
	WRITE_ONCE(queue->ring->shared->attention,
		   queue->cancels || queue->closed);
	/* Pairs with compch_ring_push(), which sets both. */
	smp_mb();
	if (READ_ONCE(queue->ring->late))
		WRITE_ONCE(queue->ring->shared->attention, true);
}

/* Before who looks for events looks at the cells */
static void compch_queue_push_late(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	if (compch_ring_push_late(queue->ring))
		compch_queue_attend(queue);
}

/*
 * Waits until all events of a source of a ring are posted that were fired
 * before the call, and counted in @fired.
 */
static void compch_source_posted(struct compch_source *source, u64 fired)
{
	/* Pairs with compch_queue_post(). */
	while (atomic64_read_acquire(&source->own->posted) != fired)
		cpu_relax();
}

/* What a source has pending whose @fired events are in @queue */
static u64 compch_source_pending(const struct compch_queue *queue, u64 fired)
{
	return queue->ring ? COMPCH_SOURCE_POSTS + fired : fired;
}

/*
 * Keeps the events to come of an attached source from being posted, until
 * compch_source_release().  Nobody waits for that: they are counted only.
 * Returns what has been fired into its queue so far.
 */
static u64 compch_source_hold(struct compch_source *source)
{
	return atomic64_xchg(&source->pending, COMPCH_SOURCE_HELD) &
	       ~COMPCH_SOURCE_POSTS;
}

/*
 * Undoes compch_source_hold(), for a source that has @fired events now in its
 * @queue, maybe another one.  Returns how many were fired meanwhile; they
 * are for the caller to post.
 */
static u64 compch_source_release(struct compch_source *source,
				 const struct compch_queue *queue, u64 fired)
{
	u64 base = compch_source_pending(queue, fired);
	s64 pending = atomic64_read(&source->pending);
	u64 more;

	do {
		more = pending - COMPCH_SOURCE_HELD;
	} while (!atomic64_try_cmpxchg(&source->pending, &pending,
				       base + more));
	return more;
}

/* Posts @n events that who fired them has left to us. */
static void compch_ring_post(struct compch_queue *queue,
			     struct compch_source *source, u64 n)
{
	struct compch_ring *ring = queue->ring;
	struct compch_ring_own *own = source->own;

	lockdep_assert_held(&queue->lock);

	if (!n)
		return;
	if (queue->flags & COMPCH_QUEUE_COALESCE)
		atomic64_add(n - !compch_ring_set(ring, own),
			     &own->merged);
	else
		compch_ring_add(ring, own, n);
	atomic64_add(n, &own->posted);
}

/*
 * Counts the events that a source has on the ring of its queue, as they are at
 * one moment: what somebody has taken by now is reported, and no other event is.
 *
 *	here				compch_source_fire(), programs
 *	----				------------------------------
 *	look at posted: n		pending + 1
 *	look at the slot		to the slot (a full barrier)
 *	look at pending: n fired	from the slot
 *					posted + 1
 *
 * If both are the same no event was on its way in between: in the slot, or taken
 * from there, and not counted as posted.  If there always is one, others have to
 * wait, as where a source is moved.
 */
static void compch_source_count_ring(struct compch_queue *queue,
				     struct compch_source *source,
				     struct compch_ring_counts *counts)
{
	const struct compch_ring_own *own = source->own;
	u64 posted, fired, more;
	unsigned int tries;

	lockdep_assert_held(&queue->lock);

	for (tries = 0; tries < COMPCH_QUERY_TRIES; tries++) {
		/* Pairs with compch_queue_post(). */
		posted = atomic64_read_acquire(&own->posted);
		compch_ring_count(own, counts);
		/* Pairs with the barriers of compch_ring_add() and _set(). */
		smp_rmb();
		fired = atomic64_read(&source->pending) & ~COMPCH_SOURCE_POSTS;
		if (likely(posted == fired))
			return;
		cpu_relax();
	}

	fired = compch_source_hold(source);
	compch_source_posted(source, fired);
	compch_ring_count(own, counts);
	more = compch_source_release(source, queue, fired);
	compch_ring_post(queue, source, more);
	if (more)
		compch_queue_wake(queue, NULL);
}

/*
 * Takes a source, which nobody posts for any more, off the ring of its queue.
 * Returns how many events it had left; @merged is how many have merged there.
 */
static u64 compch_queue_leave_ring(struct compch_queue *queue,
				   struct compch_source *source, u64 *merged)
{
	struct compch_ring_own *own = source->own;
	u64 left, reported;

	lockdep_assert_held(&queue->lock);

	left = compch_ring_leave(queue->ring, own, &reported);
	*merged = atomic64_read(&own->merged);
	source->reported += reported;
	queue->reported += reported;
	queue->taken += reported - min(own->read, reported);
	return left;
}

/* Which slots are in a cell, or about to be? */
static void compch_ring_find_queued(struct compch_ring *ring)
{
	u64 head = atomic64_read(compch_ring_head(ring));
	u32 i, slot;
	u64 cell;

	bitmap_copy(ring->queued, ring->unpushed, ring->cqs);
	for (i = 0; i < ring->nr_cells; i++, head++) {
		cell = atomic64_read(&ring->cells[head & (ring->nr_cells - 1)]);
		slot = compch_ring_cell_slot(cell);
		if (cell >> 32 == (u32)head && slot < ring->cqs)
			__set_bit(slot, ring->queued);
	}
}

/**
 * compch_queue_repair() - Queue slots that have events and are in no cell.
 * @queue: a queue with a ring, which no program has mapped any more
 *
 * One may have been killed that had slots in its hands.
 *
 * Context: process context.
 */
void compch_queue_repair(struct compch_queue *queue)
{
	struct compch_ring *ring = queue->ring;
	struct compch_source *source;
	struct compch_ring_own *own;
	u64 posted, more;
	u32 slot;

	spin_lock(&queue->lock);
	list_for_each_entry(source, &queue->sources, node)
		compch_source_posted(source, compch_source_hold(source));

	compch_ring_find_queued(ring);
	for (slot = 0; slot < ring->cqs; slot++) {
		own = &ring->own[slot];
		if (test_bit(slot, ring->queued))
			continue;
		if (!own->source)
			atomic64_set(own->events, 0);
		if (!atomic64_read(own->events))
			continue;
		/* If one could not be pushed, thousands could not. */
		if (READ_ONCE(ring->late))
			set_bit(slot, ring->unpushed);
		else
			compch_ring_push(ring, own);
	}

	list_for_each_entry(source, &queue->sources, node) {
		posted = atomic64_read(&source->own->posted);
		more = compch_source_release(source, queue, posted);
		compch_ring_post(queue, source, more);
	}
	spin_unlock(&queue->lock);

	compch_queue_wake(queue, NULL);
}

/*
 * Whoever has taken from the cells, or removed some, had slots in his hands, and
 * has put them back, as a program does; and has to ask the same as a program: see
 * compch_queue_look().  That concerns programs that have looked at the cells
 * meanwhile, and not who looks under the lock.
 */
static void compch_queue_feed(struct compch_queue *queue)
{
	struct compch_ring *ring = queue->ring;

	lockdep_assert_held(&queue->lock);

	if (likely(!ring->put_back))
		return;
	ring->put_back = false;
	/* Pairs with a program that says that it is hungry. */
	smp_mb();
	if (READ_ONCE(ring->shared->hungry) & ~COMPCH_RING_HUNGRY_HERE)
		compch_queue_wake(queue, NULL);
}

static noinline bool compch_queue_ring_has_events(struct compch_queue *queue)
{
	bool events;

	compch_queue_push_late(queue);
	events = compch_ring_has_events(queue->ring);
	compch_queue_feed(queue);
	return events;
}

/* --- what both kinds have in common ---------------------------------------- */

/* Is there an event to be read? */
static bool compch_queue_has_events(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	if (!llist_empty(&queue->incoming) || !compch_ready_empty(queue))
		return true;
	return unlikely(queue->ring) && compch_queue_ring_has_events(queue);
}

/*
 * The same for who waits otherwise.  A program may have a slot in its hands that
 * has more events, and then nobody fires:
 *
 *	here				the program
 *	----				-----------
 *	hungry				push
 *	  (full barrier)		  (full barrier)
 *	look at the cells		look at hungry: CHANNEL WAKE
 *
 * What a program has said stays, for compch_queue_feed().
 */
static bool compch_queue_look(struct compch_queue *queue)
{
	struct compch_ring *ring = queue->ring;

	if (compch_queue_has_events(queue))
		return true;
	if (likely(!ring))
		return false;
	cmpxchg(&ring->shared->hungry, 0, COMPCH_RING_HUNGRY_HERE);
	/* Pairs with what a program does behind its put-back. */
	smp_mb();
	return compch_queue_has_events(queue);
}

/*
 * A reader leaves.  If it leaves events behind, no other may sleep on, though
 * each event has woken one: that reader may have left without an event, or have
 * slept again, for it was woken when the source was counted and not yet pushed.
 * One that is on its way is enough: it will come here too.
 */
static void compch_queue_pass_on(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	/* None can go to sleep while the lock is held. */
	if (list_empty(&queue->readers) || !compch_queue_has_events(queue))
		return;
	spin_lock_irq(&queue->pollers.lock);
	if (!queue->waking)
		compch_queue_wake_reader(queue, NULL);
	spin_unlock_irq(&queue->pollers.lock);
}

/**
 * compch_queue_cancel() - Make exactly one read return -ECANCELED.
 * @queue: the queue
 *
 * A reader that is blocked returns it, or else the next one to come.
 *
 * Return: 0, -EIO if the queue is closed, -EOVERFLOW if too many cancels wait.
 */
int compch_queue_cancel(struct compch_queue *queue)
{
	struct compch_reader *reader;
	bool kept = false;
	int ret = 0;

	spin_lock(&queue->lock);
	spin_lock_irq(&queue->pollers.lock);
	reader = list_first_entry_or_null(&queue->readers,
					  struct compch_reader, node);
	if (queue->closed) {
		ret = -EIO;
	} else if (reader) {
		/* Its own: no reader that comes later can snatch it. */
		reader->cancelled = true;
		trace_compch_cancel(queue, reader->task);
		compch_queue_wake_reader(queue, NULL);
	} else if (queue->cancels == U32_MAX) {
		ret = -EOVERFLOW;
	} else {
		queue->cancels++;
		compch_queue_attend(queue);
		kept = true;
		trace_compch_cancel(queue, NULL);
		wake_up_all_locked(&queue->pollers);
	}
	spin_unlock_irq(&queue->pollers.lock);
	spin_unlock(&queue->lock);

	if (kept)
		kill_fasync(&queue->fasync, SIGIO, POLL_IN);
	return ret;
}

/**
 * compch_queue_close() - Let nothing be attached and no reader block any more.
 * @queue: the queue
 * @force: close it even if sources are attached; they go on counting
 *
 * Return: 0, -EIO if the queue is closed already, -EBUSY if sources are
 * attached.
 */
int compch_queue_close(struct compch_queue *queue, bool force)
{
	int ret = 0;

	spin_lock(&queue->lock);
	if (queue->closed) {
		ret = -EIO;
	} else if (queue->nr_sources && !force) {
		ret = -EBUSY;
	} else {
		spin_lock_irq(&queue->pollers.lock);
		queue->closed = true;
		queue->cancels = 0;
		compch_queue_attend(queue);
		trace_compch_close(queue, force);
		compch_queue_wake_all(queue);
		spin_unlock_irq(&queue->pollers.lock);
	}
	spin_unlock(&queue->lock);

	if (!ret)
		kill_fasync(&queue->fasync, SIGIO, POLL_IN);
	return ret;
}

/* Somebody has found so many sources with events. */
static void compch_queue_found(struct compch_queue *queue, u32 sources)
{
	if (sources > queue->longest)
		queue->longest = sources;
}

/* Somebody has found so many events of a source. */
static void compch_source_found(struct compch_source *source, u64 pending)
{
	if (pending > source->longest)
		source->longest = pending;
}

static void compch_source_query_locked(struct compch_source *source,
				       struct compch_queue *queue,
				       struct compch_source_state *state)
{
	struct compch_ring_counts counts;
	u64 pending;

	lockdep_assert_held(&queue->lock);

	state->cookie = source->cookie;
	state->reported = source->reported;
	state->merged = source->merged;
	state->last_read = source->last_read;
	if (queue->ring) {
		compch_source_count_ring(queue, source, &counts);
		pending = counts.left;
		state->pending = pending;
		state->reported += counts.reported;
		state->merged += counts.merged;
	} else {
		pending = atomic64_read(&source->pending);
		state->pending = compch_queue_keeps(queue, pending);
		state->merged += pending - state->pending;
	}
	/* They may be taken away before a reader finds them. */
	compch_source_found(source, pending);
	state->longest = max(source->longest, (u64)!!state->reported);
}

/**
 * compch_queue_query() - Copy the state of a queue.
 * @queue: the queue
 * @state: where to
 */
void compch_queue_query(struct compch_queue *queue,
			struct compch_queue_state *state)
{
	struct compch_source_state one;
	struct compch_source *source;
	u32 waiting = 0;

	state->pending = 0;
	spin_lock(&queue->lock);
	state->reported = queue->reported;
	state->merged = queue->merged;
	list_for_each_entry(source, &queue->sources, node) {
		compch_source_query_locked(source, queue, &one);
		state->pending += one.pending;
		state->merged += one.merged - source->merged;
		if (queue->ring)
			state->reported += one.reported - source->reported;
		waiting += !!one.pending;
	}
	state->discarded = queue->discarded;
	state->last_read = queue->last_read;
	state->wakeups = READ_ONCE(queue->wakeups);
	compch_queue_found(queue, waiting);
	state->longest = queue->longest;
	state->nr_sources = queue->nr_sources;
	state->cancels = queue->cancels;
	state->flags = queue->flags;
	state->closed = queue->closed;
	spin_unlock(&queue->lock);
}

/**
 * compch_queue_poll() - The poll() method.
 * @queue: the queue
 * @file: the file that is polled
 * @wait: the table
 *
 * Agrees with compch_queue_read() in every state.
 *
 * Return: the events.
 */
__poll_t compch_queue_poll(struct compch_queue *queue, struct file *file,
			   poll_table *wait)
{
	__poll_t events = 0;

	poll_wait(file, &queue->pollers, wait);
	/* This thread's own entry is seen; if it waits for nothing, it has none. */
	if (waitqueue_active(&queue->pollers))
		compch_queue_watch(queue);
	/* Pairs with compch_source_fire(). */
	smp_mb();

	spin_lock(&queue->lock);
	if (queue->cancels)
		events = EPOLLIN;
	else if (compch_queue_look(queue))
		events = EPOLLIN | EPOLLRDNORM;
	else if (queue->closed)
		events = EPOLLERR;
	spin_unlock(&queue->lock);

	return events;
}

/*
 * A reader has got an event of a source.  Where @pending goes down to 0, the
 * next event pushes the source to @incoming again, maybe at once.
 *
 * Return: whether the source has more events.
 */
static bool compch_queue_commit(struct compch_queue *queue,
				struct compch_source *source, u64 now)
{
	u64 merged, left;

	source->reported++;
	source->last_read = now;
	if (!(queue->flags & COMPCH_QUEUE_COALESCE)) {
		left = atomic64_dec_return(&source->pending);
		compch_source_found(source, left + 1);
		trace_compch_report(source, queue, left);
		return left;
	}
	merged = atomic64_xchg(&source->pending, 0) - 1;
	compch_source_found(source, merged + 1);
	if (merged)
		trace_compch_coalesced(source, queue, merged);
	source->merged += merged;
	queue->merged += merged;
	trace_compch_report(source, queue, 0);
	return false;
}

/**
 * struct compch_room - where events are copied to
 * @to:		the rest of what the reader has
 * @user:	the current piece of that, if it is user memory, or NULL
 * @max:	events that fit into that piece, or into @to, and into a chunk
 * @fault:	it cannot be written
 */
struct compch_room {
	struct iov_iter *to;
	u64 __user *user;
	unsigned int max;
	bool fault;
};

/*
 * Sources that have just come in, as long as none has a second event: that is
 * what most reads are about, and why it is made of so few instructions.
 *
 * Return: the number of events, and @fresh is advanced.
 */
static unsigned int compch_queue_serve_fresh(struct compch_queue *queue,
					     struct compch_room *room,
					     struct llist_node **fresh)
{
	struct llist_node *node = *fresh;
	struct compch_source *source = NULL;
	u64 now = get_jiffies_64();
	unsigned int n = 0;
	s64 left = 0;

	if (!user_write_access_begin(room->user, room->max * sizeof(u64))) {
		room->fault = true;
		return 0;
	}
	do {
		source = llist_entry(node, struct compch_source, incoming);
		unsafe_put_user(source->cookie, room->user + n, fault);
		/* After the last event, the node is no longer ours. */
		node = node->next;
		source->reported++;
		source->last_read = now;
		left = atomic64_dec_return(&source->pending);
	} while (++n < room->max && node && !left);
	user_write_access_end();
	queue->last_read = now;
	compch_queue_found(queue, n);

	if (left) {
		compch_source_found(source, left + 1);
		compch_ready_append_all(queue, node);
		node = NULL;
		compch_ready_append(queue, source);
		/* It is among those that have been served, too. */
		compch_queue_found(queue, n - 1 + queue->nr_ready);
	}
	*fresh = node;
	return n;

fault:
	user_write_access_end();
	room->fault = true;
	if (n)
		queue->last_read = now;
	*fresh = node;
	return n;
}

static __always_inline bool compch_room_put(struct compch_room *room,
					    unsigned int n,
					    const struct compch_source *source)
{
	size_t copied;

	if (room->user) {
		room->fault = put_user(source->cookie, room->user + n);
	} else {
		copied = copy_to_iter(&source->cookie, sizeof(u64), room->to);
		room->fault = copied < sizeof(u64);
		if (room->fault)
			iov_iter_revert(room->to, copied);
	}
	return !room->fault;
}

/* One event of each source that is ready, in turn, from the @n-th event on */
static unsigned int compch_queue_serve_ready(struct compch_queue *queue,
					     struct compch_room *room,
					     unsigned int n)
{
	u64 now = get_jiffies_64();
	struct compch_source *source;
	unsigned int before = n;
	bool more;

	for (; n < room->max && !compch_ready_empty(queue); n++) {
		source = hlist_entry(queue->ready.first, struct compch_source,
				     ready);
		if (!compch_room_put(room, n, source))
			break;
		more = compch_queue_commit(queue, source, now);
		if (more && queue->last == &source->ready)
			continue;
		compch_ready_remove(queue, source);
		if (more)
			compch_ready_append(queue, source);
	}
	if (n > before)
		queue->last_read = now;
	return n;
}

/* How many events a slot has, of all that have been fired */
static u64 compch_ring_more(const struct compch_ring_own *own,
			    const struct compch_source *source)
{
	return min_t(u64, atomic64_read(own->events) & ~COMPCH_RING_STALE,
		     atomic64_read(&source->pending) & ~COMPCH_SOURCE_POSTS);
}

/* The same from the ring.  What is not ours after all is overwritten. */
static noinline unsigned int compch_queue_serve_ring(struct compch_queue *queue,
					    struct compch_room *room)
{
	struct compch_ring *ring = queue->ring;
	unsigned int n = 0, budget = ring->nr_cells + room->max;
	struct compch_ring_own *own;
	u64 now = get_jiffies_64();
	u64 head, left;
	bool taken;
	s64 slot;

	while (n < room->max && budget--) {
		slot = compch_ring_peek(ring, &head);
		if (slot < 0)
			break;
		taken = false;
		/* Whatever else is in the cell is the program's own doing. */
		own = slot < ring->cqs ? &ring->own[slot] : NULL;
		if (own && own->source && !compch_room_put(room, n, own->source))
			break;
		if (compch_ring_claim(ring, head) && own)
			taken = compch_ring_take(ring, own);
		if (taken && own->source) {
			own->read++;
			own->source->last_read = now;
			left = compch_ring_more(own, own->source);
			compch_source_found(own->source, left + 1);
			trace_compch_report(own->source, queue, left);
			n++;
		} else if (!room->user && own && own->source) {
			iov_iter_revert(room->to, sizeof(u64));
		}
	}
	if (n)
		queue->last_read = now;
	compch_queue_feed(queue);
	return n;
}

/*
 * Serves one event of each source in turn, until the room is filled or cannot
 * be written.  Returns the number of events.
 */
static unsigned int compch_queue_serve(struct compch_queue *queue,
				       struct compch_room *room)
{
	struct llist_node *fresh;
	unsigned int n = 0;

	lockdep_assert_held(&queue->lock);

	fresh = compch_queue_collect(queue);

	if (likely(fresh && compch_ready_empty(queue) && room->user &&
		   !(queue->flags & COMPCH_QUEUE_COALESCE)) &&
	    /* Nothing can be called while user memory is open. */
	    !trace_compch_report_enabled())
		n = compch_queue_serve_fresh(queue, room, &fresh);
	else if (queue->ring)
		return compch_queue_serve_ring(queue, room);
	compch_ready_append_all(queue, fresh);
	if (fresh || !n)
		compch_queue_found(queue, n + queue->nr_ready);
	if (!room->fault && !compch_ready_empty(queue))
		n = compch_queue_serve_ready(queue, room, n);
	queue->reported += n;

	return n;
}

/*
 * Copies what fits, at most a chunk, to @to.  The lock is held all the time,
 * so that an event is off the queue and counted exactly when the reader has
 * it, and none is read after its source has been detached.  Page faults are
 * therefore off, and the caller must fault the page in when 0 comes back.
 *
 * Return: bytes copied, a multiple of 8; @short_copy tells whether @to could not
 * be written.
 */
static size_t compch_queue_copy(struct compch_queue *queue,
				struct iov_iter *to, bool *short_copy)
{
	struct compch_room room = { .to = to };
	unsigned int n;
	size_t len;

	lockdep_assert_held(&queue->lock);

	room.user = compat_iter_user_addr(to, &len);
	room.max = min_t(size_t, COMPCH_READ_CHUNK, len / sizeof(u64));
	if (unlikely(!room.max ||
		     !IS_ALIGNED((unsigned long)room.user, sizeof(u64)))) {
		/* Or where an event falls into two pieces. */
		room.user = NULL;
		room.max = min_t(size_t, COMPCH_READ_CHUNK,
				 iov_iter_count(to) / sizeof(u64));
	}
	pagefault_disable();
	n = compch_queue_serve(queue, &room);
	pagefault_enable();
	if (room.user)
		iov_iter_advance(to, n * sizeof(u64));
	*short_copy = room.fault;

	return n * sizeof(u64);
}

/*
 * Waits until there are events to read.
 *
 * No wake-up can be lost:
 *
 *	here				compch_source_fire()
 *	----				--------------------
 *	on the list, watched = true	pending + 1, push to incoming
 *	  (full barrier)		  (full barrier)
 *	look at incoming		look at watched
 *
 * One of the two sees the other.  And a reader that was woken sees to it that
 * the next one is, if need be, when it leaves: see compch_queue_pass_on().
 *
 * Return: 0 with events on the queue, or -ECANCELED, -EIO, -EAGAIN,
 * -ERESTARTSYS; the lock is held in any case.
 */
static noinline int compch_queue_wait(struct compch_queue *queue, bool nonblock)
	__must_hold(&queue->lock)
{
	struct compch_reader reader = { .task = current };
	bool waited = false, killed = false;
	int ret;

	lockdep_assert_held(&queue->lock);

	for (;;) {
		if (waited && fatal_signal_pending(current)) {
			/* Nobody would see what this reader takes. */
			killed = true;
			ret = -ERESTARTSYS;
			break;
		}
		if (reader.cancelled) {
			ret = -ECANCELED;
			break;
		}
		if (queue->cancels) {
			queue->cancels--;
			compch_queue_attend(queue);
			ret = -ECANCELED;
			break;
		}
		if (compch_queue_has_events(queue)) {
			ret = 0;
			break;
		}
		if (queue->closed) {
			ret = -EIO;
			break;
		}
		if (nonblock) {
			/* He may wait for an edge, of epoll or SIGIO. */
			ret = compch_queue_look(queue) ? 0 : -EAGAIN;
			break;
		}
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}

		spin_lock_irq(&queue->pollers.lock);
		/* Woken in vain, a reader is still the oldest. */
		if (waited)
			list_add(&reader.node, &queue->readers);
		else
			list_add_tail(&reader.node, &queue->readers);
		waited = true;
		WRITE_ONCE(queue->watched, true);
		/* A full barrier, which pairs with compch_source_fire(). */
		set_current_state(TASK_INTERRUPTIBLE);
		spin_unlock_irq(&queue->pollers.lock);

		/* Nothing is ready: it could only have come in. */
		if (!compch_queue_look(queue)) {
			spin_unlock(&queue->lock);
			schedule();
			spin_lock(&queue->lock);
		} else {
			__set_current_state(TASK_RUNNING);
		}

		/* What comes from now on wakes others. */
		spin_lock_irq(&queue->pollers.lock);
		if (list_empty(&reader.node))
			queue->waking--;
		else
			list_del(&reader.node);
		spin_unlock_irq(&queue->pollers.lock);
	}
	if (killed && reader.cancelled) {
		spin_unlock(&queue->lock);
		compch_queue_cancel(queue);
		spin_lock(&queue->lock);
	}

	return ret;
}

/*
 * Makes room for at least one event in the page that @to points at.  Only a
 * write tells whether a write will succeed: a page may be there and still
 * refuse it (memory tags, protection keys).
 */
static int compch_queue_fault_in(struct iov_iter *to)
{
	size_t written = iov_iter_zero(sizeof(u64), to);

	iov_iter_revert(to, written);
	return written < sizeof(u64) ? -EFAULT : 0;
}

/*
 * Copies what is queued and fits.  The lock is held at the beginning and at
 * the end, but not all the time: others may want it between two chunks.
 *
 * Return: 0 or an errno; @done is what was copied in any case, and is 0 without
 * an errno if other readers were faster.
 */
static int compch_queue_fill(struct compch_queue *queue, struct iov_iter *to,
			     size_t *done)
	__must_hold(&queue->lock)
{
	unsigned int stuck = 0;
	bool short_copy;
	size_t copied;
	int ret = 0;

	lockdep_assert_held(&queue->lock);

	for (;;) {
		copied = compch_queue_copy(queue, to, &short_copy);
		*done += copied;
		if (iov_iter_count(to) < sizeof(u64))
			break;
		if (!compch_queue_has_events(queue))
			break;
		spin_unlock(&queue->lock);
		/* There may be gigabytes to copy. */
		cond_resched();
		if (*done && fatal_signal_pending(current)) {
			spin_lock(&queue->lock);
			break;
		}
		if (short_copy)
			ret = compch_queue_fault_in(to);
		/*
		 * The page may go away again, or a program be faster with what
		 * is in the ring, time after time.
		 */
		if (!copied && stuck++ && !ret && signal_pending(current))
			ret = -ERESTARTSYS;
		spin_lock(&queue->lock);
		if (ret || queue->cancels || !compch_queue_has_events(queue))
			break;
	}

	return ret;
}

/**
 * compch_queue_read() - Read events.
 * @queue: the queue
 * @to: where to; an array of u64 cookies is written
 * @nonblock: do not sleep
 *
 * As many events are read as are queued and fit.  An event that could not be
 * copied stays queued, and is not counted as reported.
 *
 * Context: process context, may sleep.
 * Return: the number of bytes, or -EINVAL if @to is shorter than a cookie,
 * -ECANCELED, -EIO if the queue is empty and closed, -EAGAIN if it is empty,
 * -ERESTARTSYS, -EFAULT.
 */
ssize_t compch_queue_read(struct compch_queue *queue, struct iov_iter *to,
			  bool nonblock)
{
	unsigned int vain = 0;
	size_t done = 0;
	int ret;

	if (iov_iter_count(to) < sizeof(u64))
		return -EINVAL;

	spin_lock(&queue->lock);
	do {
		if (queue->cancels || !compch_queue_has_events(queue)) {
			ret = compch_queue_wait(queue, nonblock);
			if (ret)
				break;
		}
		ret = compch_queue_fill(queue, to, &done);
		/* A program may take events, or pretend to, time after time. */
	} while (!ret && !done && !(vain++ && signal_pending(current)));
	compch_queue_pass_on(queue);
	spin_unlock(&queue->lock);

	ret = ret ?: -ERESTARTSYS;
	trace_compch_read(queue, done / sizeof(u64), done ? 0 : ret);
	return done ?: ret;
}

/**
 * compch_queue_take_merged() - How many events have merged with others?
 * @queue: the queue
 *
 * Return: those on this queue, by reads and by detaching, since the last call.
 */
u64 compch_queue_take_merged(struct compch_queue *queue)
{
	u64 merged;

	spin_lock(&queue->lock);
	merged = queue->merged - queue->merged_taken;
	queue->merged_taken = queue->merged;
	spin_unlock(&queue->lock);

	return merged;
}

/**
 * compch_queue_take_taken() - How many events did programs take from the ring?
 * @queue: the queue
 *
 * Return: those of sources that have left since the last call.
 */
u64 compch_queue_take_taken(struct compch_queue *queue)
{
	u64 taken;

	spin_lock(&queue->lock);
	taken = queue->taken;
	queue->taken = 0;
	spin_unlock(&queue->lock);

	return taken;
}

/**
 * compch_source_init() - Make a source that is attached to nothing.
 * @source: zeroed memory, freed after an RCU grace period
 * @cookie: what a reader gets for an event of this source
 */
void compch_source_init(struct compch_source *source, u64 cookie)
{
	atomic64_set(&source->pending, COMPCH_SOURCE_DETACHED);
	INIT_HLIST_NODE(&source->ready);
	source->cookie = cookie;
}

static int compch_queue_accepts(const struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	if (queue->closed)
		return -EIO;
	if (queue->ring && !queue->ring->nr_unused)
		return -ENOSPC;
	return 0;
}

/**
 * compch_source_attach() - Attach a new source to a queue.
 * @source: the source; until then it fires as a detached one does
 * @queue: the queue; the source keeps a pointer to it, the caller a reference
 *
 * Return: 0, -EIO if the queue is closed, or -ENOSPC if its ring is full.
 */
int compch_source_attach(struct compch_source *source,
			 struct compch_queue *queue)
{
	int ret;

	spin_lock(&queue->lock);
	ret = compch_queue_accepts(queue);
	if (!ret) {
		if (queue->ring)
			source->own = compch_ring_join(queue->ring, source,
							source->cookie);
		rcu_assign_pointer(source->queue, queue);
		list_add_tail(&source->node, &queue->sources);
		queue->nr_sources++;
		/* Pairs with the increment in compch_source_fire(). */
		atomic64_set_release(&source->pending,
				     compch_source_pending(queue, 0));
	}
	spin_unlock(&queue->lock);

	return ret;
}

static bool compch_source_on(struct compch_source *source,
			     struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	return rcu_access_pointer(source->queue) == queue;
}

/*
 * Locks the queue that the source is, or was, attached to.
 *
 *	here				compch_source_move()
 *	----				--------------------
 *	queue = source->queue
 *					lock(old), lock(new)
 *	lock(queue)			source->queue = new
 *	  spins				unlock(old)
 *	source->queue != queue
 *	  unlock and try again
 *
 * The old queue cannot be freed before the caller's RCU read side ends.  Once
 * the pointer is seen unchanged under the lock it cannot change until unlock.
 */
static struct compch_queue *compch_source_lock(struct compch_source *source)
	__acquires(&source->queue->lock)
{
	struct compch_queue *queue;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "queue may go away");

	for (;;) {
		queue = rcu_dereference(source->queue);
		spin_lock(&queue->lock);
		if (likely(compch_source_on(source, queue)))
			return queue;
		spin_unlock(&queue->lock);
	}
}

/*
 * Waits until a source that has events is on the list of those that are ready,
 * of the one or the other queue (which may be the same).
 *
 * Whoever has made @pending 1 is just about to push it, to the one if he has
 * not seen yet that it was moved to the other.  He does not sleep before he has,
 * and is not in an interrupt of this processor.
 *
 * Return: that queue, or NULL if it has no events.
 */
static struct compch_queue *compch_source_settle(struct compch_source *source,
						 struct compch_queue *one,
						 struct compch_queue *other)
{
	while (atomic64_read(&source->pending)) {
		compch_queue_gather(one);
		if (!hlist_unhashed(&source->ready))
			return one;
		compch_queue_gather(other);
		if (!hlist_unhashed(&source->ready))
			return other;
		cpu_relax();
	}
	return NULL;
}

static void compch_source_trace(const struct compch_source *source,
				const struct compch_queue *queue, u64 pending)
{
	trace_compch_event(source, queue, pending);
}

/**
 * compch_source_fire_traced() - compch_source_fire() while it is traced.
 * @source: see there
 *
 * Return: see there
 */
bool compch_source_fire_traced(struct compch_source *source)
{
	return __compch_source_fire(source, compch_source_trace);
}

/**
 * compch_source_detach() - Detach a source for good.
 * @source: an attached source
 * @reported: set to how many of its events have been read
 * @discarded: set to how many of its events were queued and now are not
 *
 * Afterwards no read returns an event of this source, and compch_source_fire()
 * returns false.
 *
 * Return: the queue that it was attached to, for the caller to drop the
 * reference.
 */
struct compch_queue *compch_source_detach(struct compch_source *source,
					  u64 *reported, u64 *discarded)
{
	struct compch_queue *queue;
	u64 pending, merged = 0;

	rcu_read_lock();
	queue = compch_source_lock(source);
	/* Whoever fires from now on sees it, whoever has fired is waited for. */
	pending = atomic64_xchg(&source->pending, COMPCH_SOURCE_DETACHED);
	if (queue->ring) {
		compch_source_posted(source, pending & ~COMPCH_SOURCE_POSTS);
		pending = compch_queue_leave_ring(queue, source, &merged);
	} else if (pending) {
		compch_source_settle(source, queue, queue);
		compch_ready_remove(queue, source);
	}
	list_del(&source->node);
	queue->nr_sources--;
	*reported = source->reported;
	*discarded = compch_queue_keeps(queue, pending);
	merged += pending - *discarded;
	if (merged)
		trace_compch_coalesced(source, queue, merged);
	source->merged += merged;
	queue->merged += merged;
	queue->discarded += *discarded;
	trace_compch_dissociate(source, queue, *discarded);
	spin_unlock(&queue->lock);
	rcu_read_unlock();

	return queue;
}

/* Locks two different queues, the one at the lower address first. */
static void compch_queue_lock_two(struct compch_queue *a,
				  struct compch_queue *b)
	__acquires(&a->lock) __acquires(&b->lock)
{
	if (a > b)
		swap(a, b);
	spin_lock(&a->lock);
	spin_lock_nested(&b->lock, SINGLE_DEPTH_NESTING);
}

/* Events have come by a move. */
static void compch_queue_wake_many(struct compch_queue *queue,
				   const struct compch_source *source,
				   u64 events)
{
	lockdep_assert_held(&queue->lock);

	spin_lock_irq(&queue->pollers.lock);
	wake_up_all_locked(&queue->pollers);
	while (events && compch_queue_wake_reader(queue, source))
		events--;
	spin_unlock_irq(&queue->pollers.lock);
}

/*
 * Takes the source off one queue and puts it on another, events and all.
 * Returns how many events it has there; @merged is how many merged.
 *
 *	here				compch_source_fire()
 *	----				--------------------
 *	source->queue = to		pending + 1
 *	  (full barrier)		  (full barrier)
 *	look at pending			look at source->queue
 *
 * An event that is not seen here goes to the new queue, and wakes there.
 */
static u64 compch_source_transfer(struct compch_source *source,
				  struct compch_queue *from,
				  struct compch_queue *to, u64 *merged)
{
	struct compch_queue *on;
	u64 pending, keeps;

	lockdep_assert_held(&from->lock);
	lockdep_assert_held(&to->lock);

	from->nr_sources--;
	to->nr_sources++;
	list_move_tail(&source->node, &to->sources);
	rcu_assign_pointer(source->queue, to);
	/* Pairs with compch_source_fire(). */
	smp_mb();
	on = compch_source_settle(source, from, to);
	if (!on)
		return 0;
	compch_ready_remove(on, source);
	/* Behind those that are there. */
	compch_queue_gather(to);
	compch_ready_append(to, source);

	/* What has merged on the old queue stays so. */
	pending = atomic64_read(&source->pending);
	keeps = min(compch_queue_keeps(from, pending),
		    compch_queue_keeps(to, pending));
	*merged = pending - keeps;
	if (*merged) {
		compch_source_found(source, pending);
		trace_compch_coalesced(source, from, *merged);
		source->merged += *merged;
		atomic64_sub(*merged, &source->pending);
		/* The caller knows of them, nobody needs to take them. */
		from->merged += *merged;
		from->merged_taken += *merged;
	}
	return keeps;
}

/*
 * The same where one of the queues has a ring, or both have.  What is fired
 * meanwhile is only counted, and follows.
 *
 *	here, to a ring			compch_source_fire()
 *	----				--------------------
 *					pending: 1 -> 2
 *	hold: 2 events
 *	source->queue = to
 *	post 2 events
 *					look at source->queue: has a ring
 *
 * That one must not post the event, and does not: it was counted without
 * COMPCH_SOURCE_POSTS.  Where @pending has that, those who fire are waited for.
 */
static u64 compch_source_carry(struct compch_source *source,
			       struct compch_queue *from,
			       struct compch_queue *to, u64 *merged)
{
	u64 left, keeps, more;

	lockdep_assert_held(&from->lock);
	lockdep_assert_held(&to->lock);

	left = compch_source_hold(source);
	if (from->ring) {
		compch_source_posted(source, left);
		left = compch_queue_leave_ring(from, source, merged);
	} else if (left) {
		compch_source_settle(source, from, from);
		compch_ready_remove(from, source);
	}
	from->nr_sources--;
	to->nr_sources++;
	list_move_tail(&source->node, &to->sources);
	rcu_assign_pointer(source->queue, to);

	keeps = min(compch_queue_keeps(from, left),
		    compch_queue_keeps(to, left));
	*merged += left - keeps;
	compch_source_found(source, left);
	if (*merged)
		trace_compch_coalesced(source, from, *merged);
	source->merged += *merged;
	/* The caller knows of them, nobody needs to take them. */
	from->merged += *merged;
	from->merged_taken += *merged;
	if (to->ring) {
		source->own = compch_ring_join(to->ring, source,
						source->cookie);
		compch_ring_post(to, source, keeps);
		more = compch_source_release(source, to, keeps);
		compch_ring_post(to, source, more);
	} else {
		more = compch_source_release(source, to, keeps);
		/* Behind those that are there. */
		compch_queue_gather(to);
		if (keeps + more)
			compch_ready_append(to, source);
	}

	return compch_queue_keeps(to, keeps + more);
}

/**
 * compch_source_move() - Move a source to another queue.
 * @source: an attached source, which the caller keeps from being detached
 * @to: the queue; may be the one where the source is
 * @merged: set to how many events have merged with others, and will not be
 *	told by compch_queue_take_merged(); from a ring, all that did there
 *
 * Pending events and counts go along.
 *
 * Return: the queue where it was, for the caller to drop the reference, or, if
 * @to is another one, ERR_PTR(-EIO) if that is closed, or ERR_PTR(-ENOSPC) if
 * its ring is full.
 */
struct compch_queue *compch_source_move(struct compch_source *source,
					struct compch_queue *to, u64 *merged)
{
	struct compch_queue *from;
	u64 events = 0;
	bool there;
	int ret;

	*merged = 0;
	rcu_read_lock();
	do {
		from = rcu_dereference(source->queue);
		ret = 0;
		if (from == to)
			break;
		compch_queue_lock_two(from, to);
		there = compch_source_on(source, from);
		/* Or it is on @to by now, and has taken the last place. */
		if (there)
			ret = compch_queue_accepts(to);
		if (there && !ret) {
			if (from->ring || to->ring)
				events = compch_source_carry(source, from, to,
							     merged);
			else
				events = compch_source_transfer(source, from,
								to, merged);
			trace_compch_move(source, from, to, events, *merged);
			if (events)
				compch_queue_wake_many(to, source, events);
		}
		spin_unlock(&from->lock);
		spin_unlock(&to->lock);
	} while (!there);

	/* Another move may drop the last reference on @to: still under RCU. */
	if (events)
		kill_fasync(&to->fasync, SIGIO, POLL_IN);
	rcu_read_unlock();

	return ret ? ERR_PTR(ret) : from;
}

/**
 * compch_source_query() - Copy the state of a source.
 * @source: an attached source
 * @state: where to
 */
void compch_source_query(struct compch_source *source,
			 struct compch_source_state *state)
{
	struct compch_queue *queue;

	rcu_read_lock();
	queue = compch_source_lock(source);
	compch_source_query_locked(source, queue, state);
	spin_unlock(&queue->lock);
	rcu_read_unlock();
}
