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

/*
 * Asks to be woken, before looking once more: for who waits for an edge next,
 * and has found nothing.
 */
static inline void compch_ring_ask(struct compch_ring_user *ring)
{
	__atomic_store_n(&ring->head->hungry, 1, __ATOMIC_RELAXED);
	/* Pairs with compch_ring_take_events() of another thread. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Must read() be used instead? */
static inline bool compch_ring_attention(const struct compch_ring_user *ring)
{
	return __atomic_load_n(&ring->head->attention, __ATOMIC_ACQUIRE);
}

static inline struct compch_ring_slot *
compch_ring_slot_at(const struct compch_ring_user *ring, __u64 place)
{
	return (void *)((char *)ring->slots + place);
}

/*
 * Takes the cells of up to @max slots, or of as many as there are, and sets
 * @places to where these are.  At the end of the cells it may be fewer.
 */
static inline unsigned int compch_ring_grab(struct compch_ring_user *ring,
					    __u64 *places, unsigned int max)
{
	__u64 head = __atomic_load_n(&ring->head->head, __ATOMIC_ACQUIRE);
	__u64 *cells, want, place, again;
	/* As long as an address, so that the loop is short */
	unsigned long n, end;

	for (;;) {
		cells = &ring->cells[head & ring->mask];
		end = ring->mask + 1 - (head & ring->mask);
		if (end > max)
			end = max;
		want = head << 32;
#pragma GCC unroll 4
		for (n = 0; n < end; n++, want += 1ull << 32) {
			place = __atomic_load_n(&cells[n], __ATOMIC_ACQUIRE) -
				want;
			if (place > 0xffffffff)
				break;
			places[n] = place;
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
 * Takes the event of a slot that has been grabbed and has exactly one; that is
 * what most are like.
 */
static inline bool compch_ring_take_only(struct compch_ring_slot *slot,
					 __u64 *cookie)
{
	/* Without the mark, the slot stays its CQ's until we succeed. */
	__u64 seen = __atomic_load_n(&slot->cookie, __ATOMIC_RELAXED);
	__u64 had = 1;

	if (!__atomic_compare_exchange_n(&slot->events, &had, 0, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	*cookie = seen;
	return true;
}

/*
 * Takes up to @most events of a slot that has been grabbed, and sets @taken to
 * how many these are.
 *
 * Return: how many are left.
 */
static inline __u64 compch_ring_take_some(struct compch_ring_slot *slot,
					  __u64 *cookies, unsigned int most,
					  unsigned int *taken)
{
	__u64 had = __atomic_load_n(&slot->events, __ATOMIC_ACQUIRE);
	unsigned int n, i;
	__u64 cookie;

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
		n = had < most ? had : most;
		if (!n)
			break;
		/* Without the mark, the slot stays its CQ's until we succeed. */
		cookie = __atomic_load_n(&slot->cookie, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&slot->events, &had, had - n,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			break;
	}
	for (i = 0; i < n; i++)
		cookies[i] = cookie;
	*taken = n;
	return had - n;
}

/*
 * Takes one.
 *
 * Return: how many are left, or -1 if there was none.
 */
static inline __s64 compch_ring_take_one(struct compch_ring_slot *slot,
					 __u64 *cookie)
{
	unsigned int taken;
	__s64 left = compch_ring_take_some(slot, cookie, 1, &taken);

	return taken ? left : -1;
}

static inline void compch_ring_put_back(struct compch_ring_user *ring,
					__u64 place)
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
						   tail << 32 | place, false,
						   __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED);
		if (done || !lap)
			__atomic_compare_exchange_n(&ring->head->tail, &tail,
						    tail + 1, false,
						    __ATOMIC_ACQ_REL,
						    __ATOMIC_RELAXED);
	} while (!done);
}

/* Is there a slot in the cells? */
static inline bool compch_ring_queued(const struct compch_ring_user *ring)
{
	__u64 head = __atomic_load_n(&ring->head->head, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&ring->cells[head & ring->mask],
			       __ATOMIC_ACQUIRE) >> 32 == (__u32)head;
}

/*
 * Takes one event each of @held slots that have been grabbed, in their order, as
 * long as @cookies has room; or several if there is no other slot.  Sets @held
 * to how many have more, which are at the beginning of @places then.  Those that
 * there was no room for are put back.
 *
 * Return: the number of events.
 */
static inline unsigned int compch_ring_round(struct compch_ring_user *ring,
					     __u64 *places, unsigned int *held,
					     __u64 *cookies, unsigned int room)
{
	unsigned int most = *held > 1 || compch_ring_queued(ring) ? 1 : room;
	unsigned int n = 0, kept = 0, taken, i;

	for (i = 0; i < *held && n < room; i++) {
		if (compch_ring_take_some(compch_ring_slot_at(ring, places[i]),
					  &cookies[n], most, &taken))
			places[kept++] = places[i];
		n += taken;
	}
	/* Not served in this round, and so ahead of the others */
	for (; i < *held; i++)
		compch_ring_put_back(ring, places[i]);
	*held = kept;
	return n;
}

/* The rest of compch_ring_take_events(): what has not exactly one event */
static __attribute__((__noinline__)) unsigned int
compch_ring_take_rest(struct compch_ring_user *ring, __u64 *places,
		      unsigned int held, __u64 *cookies, unsigned int room,
		      bool *put)
{
	unsigned int n = 0;

	/* Round after round, as long as it is nobody else's turn */
	do {
		n += compch_ring_round(ring, places, &held, cookies + n,
				       room - n);
	} while (held && n < room && !compch_ring_queued(ring));
	/* Nobody has seen what was in our hands. */
	*put = true;
	while (held)
		compch_ring_put_back(ring, *places++), held--;
	return n;
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
	__u64 places[COMPCH_RING_HANDS], *out;
	char *slots = (char *)ring->slots;
	unsigned long held, i;
	unsigned int n = 0;
	bool put = false;

	*wake = false;
	while (n < max) {
		held = compch_ring_grab(ring, places,
					max - n < COMPCH_RING_HANDS ?
					max - n : COMPCH_RING_HANDS);
		if (!held)
			break;
		out = cookies + n;
#pragma GCC unroll 4
		for (i = 0; i < held; i++) {
			if (!compch_ring_take_only((void *)(slots + places[i]),
						   &out[i]))
				break;
		}
		n += i;
		if (i < held)
			n += compch_ring_take_rest(ring, places + i, held - i,
						   cookies + n, max - n, &put);
	}
	if (__builtin_expect(put, 0)) {
		/* Pairs with compch_queue_look() in the kernel, and compch_ring_ask(). */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		*wake = __atomic_load_n(&ring->head->hungry, __ATOMIC_RELAXED);
	}
	return n;
}

#endif /* COMPCH_RING_USER_H */
