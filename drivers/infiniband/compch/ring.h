/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The event ring of a queue: what is shared with a program, and how it is used
 * on this side.  How the program uses it stands in compch-abi.h.
 *
 * A source has a slot, which counts its events.  The cells are a queue of
 * slots that have events: whoever makes a slot's count 1 pushes the slot, and
 * whoever pops it takes one event, and pushes it again if there are more.  So a
 * slot is in a cell, or in the hands of who has popped it, exactly as long as
 * its count is not 0; and as many cells as there are slots are never full.
 *
 * When a source leaves, its slot may be in a cell still, out of reach.  The
 * slot is marked COMPCH_RING_STALE then, and can be given to another source at
 * once: it needs not be pushed, and who pops it removes the mark.  (That source
 * takes over the place in the cells as well.  Slots that have been left first are
 * used first, so most have been popped by then.)
 *
 * Programs and the kernel do all of that in the same way, without a lock, so
 * that a program that dies or sleeps in the middle stops nobody.
 *
 * Nothing that can be read from the shared memory is trusted.  What makes the
 * kernel loop, or use memory, is bounded or kept here: so a program can make a
 * ring useless, but only to itself.  Whoever cannot push a slot, for others are
 * always faster, leaves it in @unpushed, and who looks for events next pushes it.
 * A program that is killed may have had slots in its hands; only one process
 * at a time maps a ring, and compch_queue_repair() follows it.
 */
#ifndef _COMPCH_RING_H
#define _COMPCH_RING_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "../../../include/uapi/rdma/compch-abi.h"

struct compch_source;

/* Said in @hungry by who has looked under the lock of the queue; programs say 1 */
#define COMPCH_RING_HUNGRY_HERE	2u

/* How often others may be faster before somebody gives up */
#define COMPCH_RING_TRIES	256

/* How often who only wants to know looks, before others have to wait for him */
#define COMPCH_QUERY_TRIES	16

/**
 * struct compch_ring_own - what the kernel knows of a slot
 * @events:	its count there
 * @place:	where it is there, as cells say it
 * @source:	to which it belongs, or NULL
 * @posted:	events that have been posted here
 * @merged:	of those, the ones that merged with another
 * @read:	events that were read by system calls
 */
struct compch_ring_own {
	atomic64_t *events;
	u32 place;
	struct compch_source *source;
	atomic64_t posted;
	atomic64_t merged;
	u64 read;
};

/**
 * struct compch_ring - an event ring
 * @shared:	what is mapped; the beginning of it
 * @slots:	the slots there
 * @cells:	the cells there
 * @own:	by slot
 * @cqs:	number of slots
 * @nr_cells:	number of cells, a power of two
 * @put_back:	a slot was put back by who looks, under the lock of the queue
 * @late:	there is something in @unpushed
 * @unpushed:	slots that could not be pushed, a bitmap
 * @queued:	for compch_queue_repair(), a bitmap
 * @nr_unused:	number of slots that belong to no source
 * @first_unused: where in @unused the first of them is
 * @unused:	those, in the order in which they have been left, and then again
 *		from the beginning of the array
 */
struct compch_ring {
	struct compch_ring_head *shared;
	struct compch_ring_slot *slots;
	atomic64_t *cells;
	struct compch_ring_own *own;
	u32 cqs;
	u32 nr_cells;
	bool put_back;
	bool late;
	unsigned long *unpushed;
	unsigned long *queued;
	u32 nr_unused;
	u32 first_unused;
	u32 *unused;
};

static_assert(sizeof(atomic64_t) == sizeof(__u64));

static inline atomic64_t *compch_ring_head(struct compch_ring *ring)
{
	return (atomic64_t *)&ring->shared->head;
}

static inline atomic64_t *compch_ring_tail(struct compch_ring *ring)
{
	return (atomic64_t *)&ring->shared->tail;
}

/* The slot that stands there; if it is none, one that is out of range */
static inline u32 compch_ring_cell_slot(u64 cell)
{
	return ror32(cell, ilog2(sizeof(struct compch_ring_slot)));
}

static inline u32 compch_ring_slots_offset(void)
{
	return sizeof(struct compch_ring_head);
}

static inline u32 compch_ring_cells_offset(u32 cqs)
{
	return ALIGN(compch_ring_slots_offset() +
		     cqs * sizeof(struct compch_ring_slot), 64);
}

/* Bytes that a ring for @cqs CQs shares with a program */
static inline size_t compch_ring_size(u32 cqs)
{
	return compch_ring_cells_offset(cqs) +
	       roundup_pow_of_two(cqs) * sizeof(u64);
}

/**
 * compch_ring_init() - Make an empty ring.
 * @ring: zeroed; with zeroed memory for all of its arrays
 * @shared: zeroed memory of compch_ring_size()
 * @cqs: sources that it is to have room for, 1 to COMPCH_RING_MAX_CQS
 */
static inline void compch_ring_init(struct compch_ring *ring, void *shared,
				    u32 cqs)
{
	u32 cells = roundup_pow_of_two(cqs);
	u32 i;

	ring->shared = shared;
	ring->slots = shared + compch_ring_slots_offset();
	ring->cells = shared + compch_ring_cells_offset(cqs);
	ring->cqs = cqs;
	ring->nr_cells = cells;
	ring->nr_unused = cqs;
	for (i = 0; i < cqs; i++) {
		ring->unused[i] = i;
		ring->own[i].events = (atomic64_t *)&ring->slots[i].events;
		ring->own[i].place = i * sizeof(struct compch_ring_slot);
	}
	/* As if they had been taken once */
	for (i = 0; i < cells; i++)
		atomic64_set(&ring->cells[i], (u64)(i - cells) << 32);
	ring->shared->cqs = cqs;
	ring->shared->cells = cells;
	ring->shared->slots_offset = compch_ring_slots_offset();
	ring->shared->cells_offset = compch_ring_cells_offset(cqs);
}

/*
 * Queues a slot whose count has become 1, or that is put back.
 *
 *	here				somebody else
 *	----				-------------
 *	tail: t
 *	cell t: free			tail: t
 *	cell t = slot			cell t: filled
 *					tail = t + 1
 *	tail = t + 1: fails, is done	next cell
 *
 * The cell is what counts.  Nobody waits for who has filled it and has not come
 * to increment tail yet.  All of these are full barriers.
 *
 * Context: any.
 */
static inline void compch_ring_push(struct compch_ring *ring,
				    const struct compch_ring_own *own)
{
	unsigned int tries;
	atomic64_t *cell;
	u64 tail;
	s64 seen;
	u32 lap;

	for (tries = 0; tries < COMPCH_RING_TRIES; tries++) {
		tail = atomic64_read_acquire(compch_ring_tail(ring));
		cell = &ring->cells[tail & (ring->nr_cells - 1)];
		seen = atomic64_read_acquire(cell);
		lap = (u32)tail - (u32)((u64)seen >> 32);
		if (likely(lap == ring->nr_cells)) {
			if (likely(atomic64_try_cmpxchg(cell, &seen,
							tail << 32 | own->place))) {
				atomic64_cmpxchg(compch_ring_tail(ring), tail,
						 tail + 1);
				return;
			}
		} else if (!lap) {
			atomic64_cmpxchg(compch_ring_tail(ring), tail,
					 tail + 1);
		}
	}
	set_bit(compch_ring_cell_slot(own->place), ring->unpushed);
	/* Pairs with compch_ring_push_late(). */
	smp_mb__after_atomic();
	WRITE_ONCE(ring->late, true);
	/* Pairs with compch_queue_attend(). */
	smp_mb();
	/* Programs must come to the kernel. */
	WRITE_ONCE(ring->shared->attention, true);
	/* As behind the cell: see compch_source_fire(). */
	smp_mb();
}

/*
 * Pushes what could not be pushed, up to the first that still cannot: a program
 * may see to it that none can.  Only one at a time.
 *
 * Return: whether there may have been something.
 */
static inline bool compch_ring_push_late(struct compch_ring *ring)
{
	u32 slot;

	if (likely(!READ_ONCE(ring->late)))
		return false;
	WRITE_ONCE(ring->late, false);
	/* Pairs with compch_ring_push(). */
	smp_mb();
	for_each_set_bit(slot, ring->unpushed, ring->cqs) {
		clear_bit(slot, ring->unpushed);
		compch_ring_push(ring, &ring->own[slot]);
		/* Then it has set late, for the rest as well. */
		if (unlikely(test_bit(slot, ring->unpushed)))
			break;
	}
	return true;
}

/*
 * The next slot to be served, and in @head where it is.  Programs may take it at
 * the same time: see compch_ring_claim().
 *
 * Return: the slot, -ENOENT if there is none, or -EAGAIN if it always was
 * another one.
 */
static inline s64 compch_ring_peek(struct compch_ring *ring, u64 *head)
{
	unsigned int tries;
	u64 again;
	u64 cell;

	*head = atomic64_read_acquire(compch_ring_head(ring));
	for (tries = 0; tries < COMPCH_RING_TRIES; tries++) {
		cell = atomic64_read_acquire(&ring->cells[*head & (ring->nr_cells - 1)]);
		if (cell >> 32 == (u32)*head)
			return compch_ring_cell_slot(cell);
		/* Has it been taken, and filled anew? */
		again = atomic64_read_acquire(compch_ring_head(ring));
		if (again == *head)
			return -ENOENT;
		*head = again;
	}
	return -EAGAIN;
}

static inline bool compch_ring_claim(struct compch_ring *ring, u64 head)
{
	return atomic64_cmpxchg(compch_ring_head(ring), head, head + 1) == head;
}

/* Removes the mark from a slot that has been claimed, and returns its count. */
static inline s64 compch_ring_unmark(struct compch_ring_own *own)
{
	s64 had = atomic64_read(own->events);

	if (unlikely(had & COMPCH_RING_STALE))
		had = atomic64_fetch_andnot(COMPCH_RING_STALE, own->events) &
		      ~COMPCH_RING_STALE;
	return had;
}

/* Puts a slot back that has been claimed.  Only one at a time. */
static inline void compch_ring_give_back(struct compch_ring *ring,
					const struct compch_ring_own *own)
{
	compch_ring_push(ring, own);
	ring->put_back = true;
}

/*
 * Takes an event of a slot that has been claimed.  The caller sees to it that
 * its source does not leave meanwhile.
 *
 * Return: whether there was one.
 */
static inline bool compch_ring_take(struct compch_ring *ring,
				    struct compch_ring_own *own)
{
	s64 had = compch_ring_unmark(own);

	if (unlikely(!had))
		return false;
	/* Only who has the slot in his hands takes events. */
	had = atomic64_fetch_dec(own->events);
	if (unlikely(had < 1)) {
		atomic64_set(own->events, 0);
		return false;
	}
	if (had > 1)
		compch_ring_give_back(ring, own);
	return true;
}

/*
 * Is there an event to be taken?  Cells that have none, for their source has
 * left, are removed.  Only one at a time.
 */
static inline bool compch_ring_has_events(struct compch_ring *ring)
{
	u32 budget = ring->nr_cells;
	struct compch_ring_own *own;
	u64 head;
	s64 slot;

	do {
		slot = compch_ring_peek(ring, &head);
		if (slot < 0)
			return slot != -ENOENT;
		own = slot < ring->cqs ? &ring->own[slot] : NULL;
		if (likely(own && own->source &&
			   (atomic64_read(own->events) & ~COMPCH_RING_STALE)))
			return true;
		/* It may have got one meanwhile. */
		if (compch_ring_claim(ring, head) && own &&
		    compch_ring_unmark(own))
			compch_ring_give_back(ring, own);
	} while (budget--);
	/* It is being filled faster. */
	return true;
}

/*
 * Adds events to a slot.  A full barrier.
 *
 * Return: whether it had one already.
 */
static inline bool compch_ring_add(struct compch_ring *ring,
				   const struct compch_ring_own *own, u64 n)
{
	if (atomic64_fetch_add(n, own->events))
		return true;
	compch_ring_push(ring, own);
	return false;
}

/* The same where events merge */
static inline bool compch_ring_set(struct compch_ring *ring,
				   const struct compch_ring_own *own)
{
	s64 had = atomic64_fetch_or(1, own->events);

	if (!had)
		compch_ring_push(ring, own);
	return had & ~COMPCH_RING_STALE;
}

/**
 * struct compch_ring_counts - events of a slot, of those that are posted there
 * @left:	that nobody has read or taken
 * @reported:	that have been
 * @merged:	that merged with another one
 */
struct compch_ring_counts {
	u64 left;
	u64 reported;
	u64 merged;
};

/*
 * Counts the events of a slot.  One that is just being posted may be there, or be
 * counted as merged, and not as posted yet: for counts that are of one moment see
 * compch_source_count_ring().
 */
static inline void compch_ring_count(const struct compch_ring_own *own,
				     struct compch_ring_counts *counts)
{
	s64 counted = atomic64_read(&own->posted);

	counts->merged = atomic64_read(&own->merged);
	counted = max_t(s64, counted - counts->merged, 0);
	counts->left = min_t(u64, atomic64_read(own->events) &
				  ~COMPCH_RING_STALE, counted);
	counts->reported = counted - counts->left;
}

/*
 * Gives a slot to a source.
 *
 * Return: the slot; there must be one that is not used.
 */
static inline struct compch_ring_own *
compch_ring_join(struct compch_ring *ring, struct compch_source *source,
		 u64 cookie)
{
	struct compch_ring_own *own;
	u32 slot;

	slot = ring->unused[ring->first_unused];
	ring->first_unused = (ring->first_unused + 1) % ring->cqs;
	ring->nr_unused--;
	own = &ring->own[slot];
	own->source = source;
	own->read = 0;
	atomic64_set(&own->posted, 0);
	atomic64_set(&own->merged, 0);
	/* Pairs with who takes an event, after there is one. */
	WRITE_ONCE(ring->slots[slot].cookie, cookie);
	return own;
}

/*
 * Takes a slot from its source, for which nobody posts any more.
 *
 * Return: the events that nobody has taken, nor will; @reported is how many have
 * been read or taken.
 */
static inline u64 compch_ring_leave(struct compch_ring *ring,
				    struct compch_ring_own *own, u64 *reported)
{
	u64 counted = atomic64_read(&own->posted) - atomic64_read(&own->merged);
	u64 left;

	left = atomic64_xchg(own->events, COMPCH_RING_STALE);
	/* Then it is not in a cell, and in nobody's hands. */
	if (!left)
		atomic64_set(own->events, 0);
	own->source = NULL;
	ring->unused[(ring->first_unused + ring->nr_unused++) % ring->cqs] =
		own - ring->own;
	left = min(left & ~COMPCH_RING_STALE, counted);
	*reported = counted - left;
	return left;
}

#endif /* _COMPCH_RING_H */
