/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A program's side of an event ring, as <rdma/compch-abi.h> describes it.  It
 * stands by itself: the tests of the kernel module use it too.
 */
#ifndef COMPCH_RING_USER_H
#define COMPCH_RING_USER_H

#ifndef __KERNEL__
#include <stdbool.h>
#endif
#include <rdma/compch-abi.h>

/* Slots that are taken at once */
#define COMPCH_RING_HANDS 64

/**
 * struct compch_ring_user - a mapped ring
 * @head: the beginning of it
 * @slots: the slots
 * @cells: the cells
 * @mask: number of cells, less 1
 */
struct compch_ring_user {
	struct compch_ring_head *head;
	struct compch_ring_slot *slots;
	__u64 *cells;
	__u64 mask;
};

static inline void compch_ring_user_init(struct compch_ring_user *ring,
					 void *map)
{
	ring->head = map;
	ring->slots = (void *)((char *)map + ring->head->slots_offset);
	ring->cells = (void *)((char *)map + ring->head->cells_offset);
	ring->mask = ring->head->cells - 1;
}

/* Must read() be used instead? */
static inline bool compch_ring_attention(const struct compch_ring_user *ring)
{
	return __atomic_load_n(&ring->head->attention, __ATOMIC_ACQUIRE);
}

/* Takes the cells of up to @max slots, all of them or as many as there are. */
static inline unsigned int compch_ring_grab(struct compch_ring_user *ring,
					    __u32 *slots, unsigned int max)
{
	__u64 head = __atomic_load_n(&ring->head->head, __ATOMIC_ACQUIRE);
	__u64 cell, again;
	unsigned int n;

	for (;;) {
		for (n = 0; n < max; n++) {
			cell = __atomic_load_n(&ring->cells[(head + n) &
							    ring->mask],
					       __ATOMIC_ACQUIRE);
			if (cell >> 32 != (__u32)(head + n))
				break;
			slots[n] = cell;
		}
		if (n) {
			if (__atomic_compare_exchange_n(&ring->head->head,
							&head, head + n, false,
							__ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return n;
		} else {
			again = __atomic_load_n(&ring->head->head,
						__ATOMIC_ACQUIRE);
			if (again == head)
				return 0;
			head = again;
		}
	}
}

/*
 * Takes an event of a slot that has been grabbed.
 *
 * Return: how many are left, or -1 if there was none.
 */
static inline __s64 compch_ring_take_one(struct compch_ring_slot *slot,
					 __u64 *cookie)
{
	__u64 had = __atomic_load_n(&slot->events, __ATOMIC_ACQUIRE);
	__u64 seen;

	for (;;) {
		if (__builtin_expect(had & COMPCH_RING_STALE, 0)) {
			if (__atomic_compare_exchange_n(&slot->events, &had,
							had & ~COMPCH_RING_STALE,
							false, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				had &= ~COMPCH_RING_STALE;
			else
				continue;
		}
		if (!had)
			return -1;
		/* Without the mark, the slot stays its CQ's until we succeed. */
		seen = __atomic_load_n(&slot->cookie, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&slot->events, &had, had - 1,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			*cookie = seen;
			return had - 1;
		}
	}
}

static inline void compch_ring_put_back(struct compch_ring_user *ring,
					__u32 slot)
{
	__u64 tail, *cell, had;
	__u32 lap;
	bool done;

	do {
		tail = __atomic_load_n(&ring->head->tail, __ATOMIC_ACQUIRE);
		cell = &ring->cells[tail & ring->mask];
		had = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
		lap = (__u32)tail - (__u32)(had >> 32);
		done = lap == ring->mask + 1 &&
		       __atomic_compare_exchange_n(cell, &had,
						   tail << 32 | slot, false,
						   __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED);
		if (done || !lap)
			__atomic_compare_exchange_n(&ring->head->tail, &tail,
						    tail + 1, false,
						    __ATOMIC_ACQ_REL,
						    __ATOMIC_RELAXED);
	} while (!done);
}

/**
 * compch_ring_take_events() - take events from a ring
 * @ring: the ring
 * @cookies: filled with the cookie of each event
 * @max: the room in @cookies
 * @wake: set to whether CHANNEL_WAKE must be called
 *
 * CQs are served in the order in which they became ready, one event of each in
 * turn, as read() does.
 *
 * Return: the number of events.
 */
static inline unsigned int
compch_ring_take_events(struct compch_ring_user *ring, __u64 *cookies,
			unsigned int max, bool *wake)
{
	__u32 slots[COMPCH_RING_HANDS];
	unsigned int n = 0, held, kept, i;
	bool put = false;
	__s64 left;

	*wake = false;
	while (n < max) {
		held = compch_ring_grab(ring, slots, max - n < COMPCH_RING_HANDS ?
					max - n : COMPCH_RING_HANDS);
		if (!held)
			break;
		/* Round after round, of those that have more */
		do {
			kept = 0;
			for (i = 0; i < held && n < max; i++) {
				left = compch_ring_take_one(&ring->slots[slots[i]],
							    &cookies[n]);
				n += left >= 0;
				if (left > 0)
					slots[kept++] = slots[i];
			}
			/* Not served in this round, and so ahead of the others */
			while (i < held) {
				compch_ring_put_back(ring, slots[i++]);
				put = true;
			}
			held = kept;
		} while (held && n < max);
		for (i = 0; i < held; i++) {
			compch_ring_put_back(ring, slots[i]);
			put = true;
		}
	}
	if (put) {
		/* Pairs with compch_queue_look() in the kernel. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		*wake = __atomic_load_n(&ring->head->hungry, __ATOMIC_RELAXED);
	}
	return n;
}

#endif /* COMPCH_RING_USER_H */
