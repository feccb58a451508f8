// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The event queue of a completion channel: see queue.h for what it is and for
 * its lock rules.
 */

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "queue.h"

/* Events that are copied to a reader under one hold of the lock. */
#define COMPCH_READ_CHUNK	32

/*
 * A blocked reader, on its own stack.  It is on queue->readers until something
 * wakes it: taking it off the list and waking it are one step under the lock,
 * so each event or cancel wakes a different reader.  The reader takes the lock
 * again before it returns, so the waker's pointer stays good.
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
 */
void compch_queue_init(struct compch_queue *queue, u32 flags)
{
	init_waitqueue_head(&queue->pollers);
	INIT_LIST_HEAD(&queue->ready);
	INIT_LIST_HEAD(&queue->readers);
	queue->flags = flags;
}

static bool compch_queue_wake_reader(struct compch_queue *queue)
{
	struct compch_reader *reader;

	lockdep_assert_held(&queue->pollers.lock);

	reader = list_first_entry_or_null(&queue->readers,
					  struct compch_reader, node);
	if (!reader)
		return false;
	list_del_init(&reader->node);
	wake_up_process(reader->task);
	return true;
}

/* An event has just been queued. */
static void compch_queue_wake(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->pollers.lock);

	/* Exact, for poll_wait() takes the lock as well. */
	if (waitqueue_active(&queue->pollers))
		wake_up_locked_poll(&queue->pollers, EPOLLIN | EPOLLRDNORM);
	compch_queue_wake_reader(queue);
}

/* Whatever waits on the queue must look at it again. */
static void compch_queue_wake_all(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->pollers.lock);

	wake_up_all_locked(&queue->pollers);
	while (compch_queue_wake_reader(queue))
		;
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

	spin_lock_irq(&queue->pollers.lock);
	reader = list_first_entry_or_null(&queue->readers,
					  struct compch_reader, node);
	if (queue->closed) {
		ret = -EIO;
	} else if (reader) {
		/* Its own: no reader that comes later can snatch it. */
		reader->cancelled = true;
		compch_queue_wake_reader(queue);
	} else if (queue->cancels == U32_MAX) {
		ret = -EOVERFLOW;
	} else {
		queue->cancels++;
		kept = true;
		wake_up_all_locked(&queue->pollers);
	}
	spin_unlock_irq(&queue->pollers.lock);

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

	spin_lock_irq(&queue->pollers.lock);
	if (queue->closed) {
		ret = -EIO;
	} else if (queue->nr_sources && !force) {
		ret = -EBUSY;
	} else {
		queue->closed = true;
		queue->cancels = 0;
		compch_queue_wake_all(queue);
	}
	spin_unlock_irq(&queue->pollers.lock);

	if (!ret)
		kill_fasync(&queue->fasync, SIGIO, POLL_IN);
	return ret;
}

/**
 * compch_queue_query() - Copy the state of a queue.
 * @queue: the queue
 * @state: where to
 */
void compch_queue_query(struct compch_queue *queue,
			struct compch_queue_state *state)
{
	spin_lock_irq(&queue->pollers.lock);
	state->pending = queue->pending;
	state->reported = queue->reported;
	state->nr_sources = queue->nr_sources;
	state->cancels = queue->cancels;
	state->flags = queue->flags;
	state->closed = queue->closed;
	spin_unlock_irq(&queue->pollers.lock);
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

	spin_lock_irq(&queue->pollers.lock);
	if (queue->cancels)
		events = EPOLLIN;
	else if (!list_empty(&queue->ready))
		events = EPOLLIN | EPOLLRDNORM;
	else if (queue->closed)
		events = EPOLLERR;
	spin_unlock_irq(&queue->pollers.lock);

	return events;
}

/*
 * Takes up to @max events off the queue, one of each source in turn: a source
 * with more goes to the end.  The sources are noted for
 * compch_queue_untake(), which must run under the same hold of the lock.
 */
static unsigned int compch_queue_take(struct compch_queue *queue, u64 *cookies,
				      struct compch_source **sources,
				      unsigned int max)
{
	struct compch_source *source;
	unsigned int n;

	lockdep_assert_held(&queue->pollers.lock);

	for (n = 0; n < max && !list_empty(&queue->ready); n++) {
		source = list_first_entry(&queue->ready, struct compch_source,
					  ready);
		cookies[n] = source->cookie;
		sources[n] = source;
		source->reported++;
		if (--source->pending)
			list_move_tail(&source->ready, &queue->ready);
		else
			list_del_init(&source->ready);
	}
	queue->pending -= n;
	queue->reported += n;

	return n;
}

/*
 * Undoes the last @count steps of compch_queue_take(), backwards: a source
 * that still has events was moved to the end, where it must be now, and goes
 * back to the front.  The queue is then what it would be without those steps.
 */
static void compch_queue_untake(struct compch_queue *queue,
				struct compch_source **sources,
				unsigned int count)
{
	struct compch_source *source;
	unsigned int i;

	lockdep_assert_held(&queue->pollers.lock);

	for (i = count; i-- > 0;) {
		source = sources[i];
		source->reported--;
		source->pending++;
		list_move(&source->ready, &queue->ready);
	}
	queue->pending += count;
	queue->reported -= count;
}

/*
 * Copies what fits, at most a chunk, to @to.  The lock is held all the time,
 * so that an event is off the queue and counted exactly when the reader has
 * it, and none is read after its source has been detached.  Page faults are
 * therefore off, and the caller must fault the page in when 0 comes back.
 *
 * Return: bytes copied, a multiple of 8; @short_copy tells whether it was less
 * than there was to copy.
 */
static size_t compch_queue_copy(struct compch_queue *queue,
				struct iov_iter *to, bool *short_copy)
{
	struct compch_source *sources[COMPCH_READ_CHUNK];
	u64 cookies[COMPCH_READ_CHUNK];
	unsigned int taken, given;
	size_t copied;

	lockdep_assert_held(&queue->pollers.lock);

	taken = compch_queue_take(queue, cookies, sources,
				  min_t(size_t, COMPCH_READ_CHUNK,
					iov_iter_count(to) / sizeof(u64)));
	pagefault_disable();
	copied = copy_to_iter(cookies, taken * sizeof(u64), to);
	pagefault_enable();

	given = copied / sizeof(u64);
	*short_copy = given < taken;
	if (*short_copy) {
		iov_iter_revert(to, copied % sizeof(u64));
		compch_queue_untake(queue, sources + given, taken - given);
	}

	return given * sizeof(u64);
}

/*
 * Waits until there are events to read.
 *
 * No wake-up can be lost.  The reader goes on the list, and the list is
 * looked at by whoever queues an event, under the same lock; and a reader that
 * was woken takes an event, finds that another reader has taken it, or passes
 * the wake-up on.
 *
 * Return: 0 with events on the queue, or -ECANCELED, -EIO, -EAGAIN,
 * -ERESTARTSYS; the lock is held in any case.  @cancelled is set if the reader
 * was given a cancel that it does not return: the caller must pass it on.
 */
static int compch_queue_wait(struct compch_queue *queue, bool nonblock,
			     bool *cancelled)
	__must_hold(&queue->pollers.lock)
{
	struct compch_reader reader = {
		.node = LIST_HEAD_INIT(reader.node),
		.task = current,
	};
	bool waited = false;
	int ret;

	lockdep_assert_held(&queue->pollers.lock);

	for (;;) {
		if (waited && fatal_signal_pending(current)) {
			/* Nobody would see what this reader takes. */
			*cancelled = reader.cancelled;
			if (!reader.cancelled && !list_empty(&queue->ready))
				compch_queue_wake_reader(queue);
			ret = -ERESTARTSYS;
			break;
		}
		if (reader.cancelled) {
			ret = -ECANCELED;
			break;
		}
		if (queue->cancels) {
			queue->cancels--;
			ret = -ECANCELED;
			break;
		}
		if (!list_empty(&queue->ready)) {
			ret = 0;
			break;
		}
		if (queue->closed) {
			ret = -EIO;
			break;
		}
		if (nonblock) {
			ret = -EAGAIN;
			break;
		}
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}

		/* Woken in vain, a reader is still the oldest. */
		if (!waited)
			list_add_tail(&reader.node, &queue->readers);
		else if (list_empty(&reader.node))
			list_add(&reader.node, &queue->readers);
		waited = true;

		set_current_state(TASK_INTERRUPTIBLE);
		spin_unlock_irq(&queue->pollers.lock);
		schedule();
		spin_lock_irq(&queue->pollers.lock);
	}
	list_del_init(&reader.node);

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
	__must_hold(&queue->pollers.lock)
{
	unsigned int stuck = 0;
	bool short_copy;
	size_t copied;
	int ret = 0;

	lockdep_assert_held(&queue->pollers.lock);

	do {
		copied = compch_queue_copy(queue, to, &short_copy);
		*done += copied;
		spin_unlock_irq(&queue->pollers.lock);
		/* There may be gigabytes to copy. */
		cond_resched();
		if (iov_iter_count(to) < sizeof(u64) ||
		    (*done && fatal_signal_pending(current))) {
			spin_lock_irq(&queue->pollers.lock);
			break;
		}
		if (short_copy) {
			stuck = copied ? 0 : stuck + 1;
			ret = compch_queue_fault_in(to);
			/* The page may go away again, time after time. */
			if (!ret && stuck > 1 && signal_pending(current))
				ret = -ERESTARTSYS;
		}
		spin_lock_irq(&queue->pollers.lock);
	} while (!ret && !queue->cancels && !list_empty(&queue->ready));

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
	bool cancelled = false;
	size_t done = 0;
	int ret;

	if (iov_iter_count(to) < sizeof(u64))
		return -EINVAL;

	spin_lock_irq(&queue->pollers.lock);
	do {
		ret = compch_queue_wait(queue, nonblock, &cancelled);
		if (ret)
			break;
		ret = compch_queue_fill(queue, to, &done);
		/* The event that this reader may have been woken for. */
		if (ret && !done && !list_empty(&queue->ready))
			compch_queue_wake_reader(queue);
	} while (!ret && !done);
	spin_unlock_irq(&queue->pollers.lock);

	if (cancelled)
		compch_queue_cancel(queue);
	return done ?: ret;
}

/**
 * compch_source_init() - Make a source that is attached to nothing.
 * @source: zeroed memory, freed after an RCU grace period
 * @cookie: what a reader gets for an event of this source
 */
void compch_source_init(struct compch_source *source, u64 cookie)
{
	INIT_LIST_HEAD(&source->ready);
	source->cookie = cookie;
}

/**
 * compch_source_attach() - Attach a new source to a queue.
 * @source: the source; until then it fires as a dead one does
 * @queue: the queue; the source keeps a pointer to it, the caller a reference
 *
 * Return: 0, or -EIO if the queue is closed.
 */
int compch_source_attach(struct compch_source *source,
			 struct compch_queue *queue)
{
	int ret = 0;

	spin_lock_irq(&queue->pollers.lock);
	if (queue->closed) {
		ret = -EIO;
	} else {
		rcu_assign_pointer(source->queue, queue);
		queue->nr_sources++;
	}
	spin_unlock_irq(&queue->pollers.lock);

	return ret;
}

static bool compch_source_on(struct compch_source *source,
			     struct compch_queue *queue)
{
	lockdep_assert_held(&queue->pollers.lock);

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
static struct compch_queue *compch_source_lock(struct compch_source *source,
					       unsigned long *flags)
	__acquires(&source->queue->pollers.lock)
{
	struct compch_queue *queue;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "queue may go away");

	for (;;) {
		queue = rcu_dereference(source->queue);
		spin_lock_irqsave(&queue->pollers.lock, *flags);
		if (likely(compch_source_on(source, queue)))
			return queue;
		spin_unlock_irqrestore(&queue->pollers.lock, *flags);
	}
}

/**
 * compch_source_detach() - Detach a source for good.
 * @source: an attached source
 * @reported: set to how many of its events have been read
 * @discarded: set to how many of its events were queued and now are not
 *
 * Afterwards no read returns an event of this source, and compch_source_fire()
 * returns COMPCH_FIRED_DEAD.
 *
 * Return: the queue that it was attached to, for the caller to drop the
 * reference.
 */
struct compch_queue *compch_source_detach(struct compch_source *source,
					  u64 *reported, u64 *discarded)
{
	struct compch_queue *queue;
	unsigned long flags;

	rcu_read_lock();
	queue = compch_source_lock(source, &flags);
	*reported = source->reported;
	*discarded = source->pending;
	queue->pending -= source->pending;
	queue->nr_sources--;
	source->pending = 0;
	source->dead = true;
	list_del_init(&source->ready);
	spin_unlock_irqrestore(&queue->pollers.lock, flags);
	rcu_read_unlock();

	return queue;
}

/* Locks two different queues, the one at the lower address first. */
static void compch_queue_lock_two(struct compch_queue *a,
				  struct compch_queue *b)
	__acquires(&a->pollers.lock) __acquires(&b->pollers.lock)
{
	if (a > b)
		swap(a, b);
	spin_lock_irq(&a->pollers.lock);
	spin_lock_nested(&b->pollers.lock, SINGLE_DEPTH_NESTING);
}

/*
 * Takes the source off one queue and puts it on another, events and all.
 * Returns how many of them merged.
 */
static u64 compch_source_transfer(struct compch_source *source,
				  struct compch_queue *from,
				  struct compch_queue *to)
{
	u64 merged = 0;
	u64 wake;

	lockdep_assert_held(&from->pollers.lock);
	lockdep_assert_held(&to->pollers.lock);

	from->nr_sources--;
	from->pending -= source->pending;
	rcu_assign_pointer(source->queue, to);
	to->nr_sources++;
	if (!source->pending)
		return 0;

	if (to->flags & COMPCH_QUEUE_COALESCE) {
		merged = source->pending - 1;
		source->merged += merged;
		source->pending = 1;
	}
	to->pending += source->pending;
	list_move_tail(&source->ready, &to->ready);
	wake_up_all_locked(&to->pollers);
	for (wake = source->pending; wake && compch_queue_wake_reader(to);)
		wake--;
	return merged;
}

/**
 * compch_source_move() - Move a source to another queue.
 * @source: an attached source, which the caller keeps from being detached
 * @to: the queue; may be the one where the source is
 * @merged: set to how many pending events merged with others
 *
 * Pending events and counts go along.
 *
 * Return: the queue where it was, for the caller to drop the reference, or
 * ERR_PTR(-EIO) if @to is another one and closed.
 */
struct compch_queue *compch_source_move(struct compch_source *source,
					struct compch_queue *to, u64 *merged)
{
	struct compch_queue *from;
	bool there, closed;
	u64 pending = 0;

	*merged = 0;
	rcu_read_lock();
	do {
		from = rcu_dereference(source->queue);
		closed = false;
		if (from == to)
			break;
		compch_queue_lock_two(from, to);
		there = compch_source_on(source, from);
		closed = to->closed;
		if (there && !closed) {
			*merged = compch_source_transfer(source, from, to);
			pending = source->pending;
		}
		spin_unlock(&from->pollers.lock);
		spin_unlock_irq(&to->pollers.lock);
	} while (!there && !closed);

	/* Another move may drop the last reference on @to: still under RCU. */
	if (pending)
		kill_fasync(&to->fasync, SIGIO, POLL_IN);
	rcu_read_unlock();

	return closed ? ERR_PTR(-EIO) : from;
}

/**
 * compch_source_fire() - Queue an event.
 * @source: the source
 *
 * Context: any, hard interrupt included.  Allocates nothing; its cost depends
 * neither on the number of sources nor on that of pending events.
 * Return: what became of the event.
 */
enum compch_fired compch_source_fire(struct compch_source *source)
{
	enum compch_fired fired = COMPCH_FIRED_QUEUED;
	struct compch_queue *queue;
	unsigned long flags;

	/* Once attached, it always has a queue. */
	if (unlikely(!rcu_access_pointer(source->queue)))
		return COMPCH_FIRED_DEAD;

	rcu_read_lock();
	queue = compch_source_lock(source, &flags);
	if (unlikely(source->dead)) {
		fired = COMPCH_FIRED_DEAD;
	} else if (source->pending && (queue->flags & COMPCH_QUEUE_COALESCE)) {
		source->merged++;
		fired = COMPCH_FIRED_MERGED;
	} else {
		if (!source->pending++)
			list_add_tail(&source->ready, &queue->ready);
		queue->pending++;
		compch_queue_wake(queue);
	}
	spin_unlock_irqrestore(&queue->pollers.lock, flags);

	if (fired == COMPCH_FIRED_QUEUED)
		kill_fasync(&queue->fasync, SIGIO, POLL_IN);
	rcu_read_unlock();

	return fired;
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
	unsigned long flags;

	rcu_read_lock();
	queue = compch_source_lock(source, &flags);
	state->cookie = source->cookie;
	state->pending = source->pending;
	state->reported = source->reported;
	state->merged = source->merged;
	spin_unlock_irqrestore(&queue->pollers.lock, flags);
	rcu_read_unlock();
}
