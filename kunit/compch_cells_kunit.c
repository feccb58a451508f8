// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event rings by themselves: slots and cells, a program on the other side, and
 * one that is killed, or destroys its ring.
 */

#define COMPCH_SUITE compch_cells_kunit
#define COMPCH_TEST_RINGS 1
#include "compch_queue_test.h"

#include <linux/irq_work.h>
#include <linux/module.h>

#include "../userspace/libcompch/ring.h"

#define NR_SOURCES	3
#define NR_CELLS	4

/**
 * struct cells_test - what each test starts with
 * @queue: open, with a ring for NR_SOURCES
 * @other: open, without
 * @source: attached to @queue, with the cookies 1, 2, ...
 * @spare: not attached, with the cookie 9
 * @ring: the ring
 * @user: the same for the program
 * @got: to take to
 * @in_flight: an event that is counted, and not posted yet
 * @ticks: for how long nobody has waited for it
 * @fired_then: there was another one when somebody did
 * @poller: waits by poll(), once added
 * @wakeups: how often it has been woken
 * @hungry_then: what the ring said when it was, the last time
 * @read_then: what had been read of the first source
 * @reader: a thread that reads
 */
struct cells_test {
	struct compch_queue queue;
	struct compch_queue other;
	struct compch_source source[NR_SOURCES];
	struct compch_source spare;
	struct compch_ring *ring;
	struct compch_ring_user user;
	u64 got[64];
	struct irq_work in_flight;
	unsigned int ticks;
	bool fired_then;
	struct wait_queue_entry poller;
	unsigned int wakeups;
	u32 hungry_then;
	u64 read_then;
	struct compch_test_reader reader;
};

static int cells_init(struct kunit *test)
{
	struct cells_test *t;
	int i;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->ring = compch_test_ring(test, 0, NR_SOURCES);
	compch_queue_init(&t->queue, 0, t->ring);
	compch_queue_init(&t->other, 0, NULL);
	compch_ring_user_init(&t->user, t->ring->shared);
	for (i = 0; i < NR_SOURCES; i++) {
		compch_source_init(&t->source[i], i + 1);
		KUNIT_ASSERT_EQ(test, 0, compch_source_attach(&t->source[i],
							      &t->queue));
	}
	compch_source_init(&t->spare, 9);
	test->priv = t;
	return 0;
}

static void fire(struct kunit *test, struct compch_source *source,
		 unsigned int count)
{
	while (count--)
		KUNIT_EXPECT_TRUE(test, compch_test_fire(source));
}

/* The program takes what there is: @want[0], @want[1], ... up to a 0. */
static void expect_take(struct kunit *test, unsigned int max, const u64 *want)
{
	struct cells_test *t = test->priv;
	unsigned int i, n;
	bool wake;

	n = compch_ring_take_events(&t->user, (__u64 *)t->got, max, &wake);
	for (i = 0; want[i]; i++)
		KUNIT_EXPECT_EQ(test, i < n ? t->got[i] : 0, want[i]);
	KUNIT_EXPECT_EQ(test, i, n);
	if (wake)
		compch_queue_wake(&t->queue, NULL);
}

#define TAKES(test, max, ...) \
	expect_take(test, max, (const u64[]){ __VA_ARGS__, 0 })
#define TAKES_NONE(test) expect_take(test, 64, (const u64[]){ 0 })

static bool readable(struct cells_test *t)
{
	bool events;

	spin_lock(&t->queue.lock);
	events = compch_queue_has_events(&t->queue);
	spin_unlock(&t->queue.lock);
	return events;
}

static void expect_source(struct kunit *test, struct compch_source *source,
			  u64 pending, u64 reported)
{
	struct compch_source_state state;

	compch_source_query(source, &state);
	KUNIT_EXPECT_EQ(test, state.pending, pending);
	KUNIT_EXPECT_EQ(test, state.reported, reported);
}

/* To be attached once more, as a new one */
static void renew(struct compch_source *source, u64 cookie)
{
	memset(source, 0, sizeof(*source));
	compch_source_init(source, cookie);
}

static void detach(struct kunit *test, struct compch_source *source,
		   u64 want_reported, u64 want_discarded)
{
	struct cells_test *t = test->priv;
	u64 reported = 77, discarded = 77;

	KUNIT_EXPECT_PTR_EQ(test, compch_source_detach(source, &reported,
						       &discarded), &t->queue);
	KUNIT_EXPECT_EQ(test, reported, want_reported);
	KUNIT_EXPECT_EQ(test, discarded, want_discarded);
}

/* The slot that the program has taken out of its cell */
static u32 grab(struct kunit *test)
{
	struct cells_test *t = test->priv;
	__u64 place = 77;

	KUNIT_ASSERT_EQ(test, compch_ring_grab(&t->user, &place, 1), 1U);
	KUNIT_ASSERT_EQ(test, place % sizeof(struct compch_ring_slot), 0ULL);
	place /= sizeof(struct compch_ring_slot);
	KUNIT_ASSERT_LT(test, place, (__u64)NR_SOURCES);
	return place;
}

/* --- a program that takes --------------------------------------------------- */

static void cells_take(struct kunit *test)
{
	struct cells_test *t = test->priv;

	TAKES_NONE(test);
	fire(test, &t->source[1], 1);
	fire(test, &t->source[0], 3);
	fire(test, &t->source[2], 2);
	TAKES(test, 4, 2, 1, 3, 1);
	expect_source(test, &t->source[0], 1, 2);
	/* What is put back goes behind. */
	fire(test, &t->source[1], 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 3LL);
	TAKES(test, 64, 1, 2);
	TAKES_NONE(test);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	detach(test, &t->source[0], 3, 0);
	detach(test, &t->source[1], 2, 0);
	fire(test, &t->source[2], 1);
	detach(test, &t->source[2], 2, 1);
	/* One was read. */
	KUNIT_EXPECT_EQ(test, compch_queue_take_taken(&t->queue), 6ULL);
	KUNIT_EXPECT_EQ(test, compch_queue_take_taken(&t->queue), 0ULL);
	KUNIT_EXPECT_EQ(test, t->queue.reported, 7ULL);
}

/* Where a position ends, or half of it, nothing happens. */
static void cells_positions_wrap(struct kunit *test)
{
	static const u64 before[] = {
		BIT_ULL(32) - 5, BIT_ULL(33) - 1, -6ULL,
	};
	struct cells_test *t = test->priv;
	unsigned int i, j, k;

	for (i = 0; i < ARRAY_SIZE(before); i++) {
		t->ring->shared->head = before[i];
		t->ring->shared->tail = before[i];
		for (j = 0; j < NR_CELLS; j++)
			atomic64_set(&t->ring->cells[(before[i] + j) %
						     NR_CELLS],
				     (before[i] + j - NR_CELLS) << 32);
		for (k = 0; k < 5; k++) {
			for (j = 0; j < NR_SOURCES; j++)
				fire(test, &t->source[j], 2);
			TAKES(test, 2, 1, 2);
			KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 3LL);
			TAKES(test, 64, 1, 2, 3);
			KUNIT_EXPECT_FALSE(test, readable(t));
		}
	}
}

/* Whoever has filled a cell, and sleeps before he increments tail, stops nobody. */
static void cells_tail_is_late(struct kunit *test)
{
	struct cells_test *t = test->priv;

	fire(test, &t->source[0], 1);
	t->ring->shared->tail--;
	TAKES(test, 1, 1);
	fire(test, &t->source[1], 1);
	t->ring->shared->tail--;
	fire(test, &t->source[0], 1);
	fire(test, &t->source[2], 2);
	t->ring->shared->tail--;
	TAKES(test, 2, 2, 1);
	/* To put it back as well */
	TAKES(test, 1, 3);
	TAKES(test, 1, 3);
	KUNIT_EXPECT_EQ(test, t->ring->shared->head, t->ring->shared->tail);
}

static int poller_woken(struct wait_queue_entry *entry, unsigned int mode,
			int flags, void *key)
{
	struct cells_test *t = container_of(entry, struct cells_test, poller);

	t->wakeups++;
	t->hungry_then = t->ring->shared->hungry;
	t->read_then = t->source[0].own->read;
	return 1;
}

/*
 * A read has a slot in its hands for a moment, and a program may have looked
 * just then: it is told when the slot is put back, and not without reason.
 */
static void cells_read_puts_back(struct kunit *test)
{
	struct cells_test *t = test->priv;

	init_waitqueue_func_entry(&t->poller, poller_woken);
	add_wait_queue(&t->queue.pollers, &t->poller);
	compch_queue_watch(&t->queue);
	fire(test, &t->source[0], 3);
	KUNIT_EXPECT_EQ(test, t->wakeups, 3U);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, t->wakeups, 3U);
	compch_ring_ask(&t->user);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, t->wakeups, 4U);
	/* It may be run, and ask again, before the reader goes on. */
	KUNIT_EXPECT_EQ(test, t->hungry_then, 0U);
	compch_ring_ask(&t->user);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, t->wakeups, 4U);
	remove_wait_queue(&t->queue.pollers, &t->poller);
}

/*
 * It is told before the reader, who has a lot to read, lets go of the lock: he
 * may have to wait for a page.
 */
static void cells_read_puts_back_early(struct kunit *test)
{
	struct cells_test *t = test->priv;
	u64 *events = kunit_kcalloc(test, 3 * COMPCH_READ_CHUNK, sizeof(u64),
				    GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, events);
	init_waitqueue_func_entry(&t->poller, poller_woken);
	add_wait_queue(&t->queue.pollers, &t->poller);
	compch_queue_watch(&t->queue);
	fire(test, &t->source[0], 2 * COMPCH_READ_CHUNK);
	t->wakeups = 0;
	compch_ring_ask(&t->user);
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, events,
					       3 * COMPCH_READ_CHUNK *
					       sizeof(u64)),
			(ssize_t)(2 * COMPCH_READ_CHUNK * sizeof(u64)));
	KUNIT_EXPECT_EQ(test, t->wakeups, 1U);
	KUNIT_EXPECT_EQ(test, t->read_then, (u64)COMPCH_READ_CHUNK);
	remove_wait_queue(&t->queue.pollers, &t->poller);
}

/* --- a source that leaves --------------------------------------------------- */

static void cells_stale(struct kunit *test)
{
	struct cells_test *t = test->priv;

	fire(test, &t->source[0], 2);
	fire(test, &t->source[1], 1);
	detach(test, &t->source[0], 0, 2);
	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->spare, &t->queue));
	/* Its cell is no event, for the kernel and for the program. */
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);
	fire(test, &t->source[2], 1);
	fire(test, &t->spare, 1);
	detach(test, &t->spare, 0, 1);
	renew(&t->spare, 9);
	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->spare, &t->queue));
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->got, 64),
			(ssize_t)sizeof(u64));
	KUNIT_EXPECT_EQ(test, t->got[0], 3ULL);
	detach(test, &t->spare, 0, 0);
	fire(test, &t->source[1], 1);
	detach(test, &t->source[1], 1, 1);
	KUNIT_EXPECT_FALSE(test, readable(t));
	TAKES_NONE(test);

	fire(test, &t->source[2], 1);
	detach(test, &t->source[2], 1, 1);
	TAKES_NONE(test);
	KUNIT_EXPECT_EQ(test, t->ring->shared->head, t->ring->shared->tail);
}

/* The one that has its slot next is served from where the old one was. */
static void cells_stale_is_used(struct kunit *test)
{
	struct cells_test *t = test->priv;
	int i;

	for (i = 0; i < 3; i++) {
		renew(&t->spare, 9);
		fire(test, &t->source[0], 2);
		detach(test, &t->source[0], 0, 2);
		KUNIT_EXPECT_EQ(test, 0,
				compch_source_attach(&t->spare, &t->queue));
		fire(test, &t->spare, 2);
		if (i) {
			TAKES(test, 64, 9, 9);
		} else {
			KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 9LL);
			KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 9LL);
			KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue),
					(s64)-EAGAIN);
		}
		detach(test, &t->spare, 2, 0);
		renew(&t->source[0], 1);
		KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->source[0],
							      &t->queue));
		KUNIT_EXPECT_FALSE(test, readable(t));
	}
}

/* What is in the program's hands */
static void cells_in_hands(struct kunit *test)
{
	struct cells_test *t = test->priv;
	u64 cookie;
	u32 slot;

	fire(test, &t->source[0], 2);
	slot = grab(test);
	KUNIT_EXPECT_FALSE(test, readable(t));
	detach(test, &t->source[0], 0, 2);
	KUNIT_EXPECT_EQ(test, -1LL,
			compch_ring_take_one(&t->user.slots[slot], &cookie));

	fire(test, &t->source[1], 2);
	slot = grab(test);
	detach(test, &t->source[1], 0, 2);
	/* Slots that were left first come first. */
	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->spare, &t->queue));
	KUNIT_EXPECT_PTR_NE(test, t->spare.own, &t->ring->own[slot]);
	renew(&t->source[1], 2);
	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->source[1],
						      &t->queue));
	KUNIT_EXPECT_PTR_EQ(test, t->source[1].own, &t->ring->own[slot]);
	fire(test, &t->source[1], 1);
	KUNIT_EXPECT_FALSE(test, readable(t));
	KUNIT_EXPECT_EQ(test, 0LL,
			compch_ring_take_one(&t->user.slots[slot], &cookie));
	KUNIT_EXPECT_EQ(test, cookie, 2ULL);
	fire(test, &t->source[1], 1);
	TAKES(test, 64, 2);
}

/* --- held back -------------------------------------------------------------- */

static void cells_held(struct kunit *test)
{
	struct cells_test *t = test->priv;
	struct compch_source *source = &t->source[0];
	u64 more;

	fire(test, source, 2);
	spin_lock(&t->queue.lock);
	KUNIT_EXPECT_EQ(test, compch_source_hold(source), 2ULL);
	spin_unlock(&t->queue.lock);
	/* They are not lost, and not to be seen. */
	fire(test, source, 3);
	TAKES(test, 64, 1, 1);
	spin_lock(&t->queue.lock);
	more = compch_source_release(source, &t->queue, 2);
	compch_ring_post(&t->queue, source, more);
	spin_unlock(&t->queue.lock);
	/* Or detaching it would never end. */
	KUNIT_ASSERT_EQ(test, more, 3ULL);
	expect_source(test, source, 3, 2);
	fire(test, source, 1);
	TAKES(test, 64, 1, 1, 1, 1);
	detach(test, source, 6, 0);
	KUNIT_EXPECT_FALSE(test, compch_test_fire(source));
}

static void cells_land(struct irq_work *work)
{
	struct cells_test *t = container_of(work, struct cells_test, in_flight);
	struct compch_source *source = &t->source[0];

	/* At each tick, until he waits who has to */
	if (atomic64_read(&source->pending) >= 0) {
		irq_work_queue(work);
		return;
	}
	compch_queue_post(&t->queue, source);
}

/* An event that is counted, and posted only later, is waited for. */
static void cells_in_flight(struct kunit *test)
{
	struct cells_test *t = test->priv;

	fire(test, &t->source[0], 1);
	atomic64_inc(&t->source[0].pending);
	t->in_flight = IRQ_WORK_INIT_LAZY(cells_land);
	irq_work_queue(&t->in_flight);
	detach(test, &t->source[0], 0, 2);
	irq_work_sync(&t->in_flight);
	TAKES_NONE(test);
}

static void cells_posted(struct irq_work *work)
{
	struct cells_test *t = container_of(work, struct cells_test, in_flight);
	struct compch_source *source = &t->source[0];

	/* Until somebody waits for it, or, which is a fault, does not */
	if (atomic64_read(&source->pending) >= 0 && ++t->ticks < 50) {
		irq_work_queue(work);
		return;
	}
	t->fired_then = compch_test_fire(source);
	atomic64_inc(&source->own->posted);
}

/* An event that is there, and counted as posted when it is waited for */
static void fire_slowly(struct cells_test *t)
{
	t->ticks = 0;
	t->fired_then = false;
	atomic64_inc(&t->source[0].pending);
	compch_ring_add(t->ring, t->source[0].own, 1);
	t->in_flight = IRQ_WORK_INIT_LAZY(cells_posted);
	irq_work_queue(&t->in_flight);
}

/*
 * An event on its way takes nothing from what is reported, be it there still or
 * taken; and what comes while it is waited for is neither lost nor slept through.
 */
static void cells_in_flight_query(struct kunit *test)
{
	struct cells_test *t = test->priv;
	struct compch_queue_state state;

	init_waitqueue_func_entry(&t->poller, poller_woken);
	add_wait_queue(&t->queue.pollers, &t->poller);
	fire(test, &t->source[0], 1);
	TAKES(test, 64, 1);
	compch_queue_watch(&t->queue);
	t->wakeups = 0;
	fire_slowly(t);
	expect_source(test, &t->source[0], 1, 1);
	irq_work_sync(&t->in_flight);
	KUNIT_EXPECT_LT(test, t->ticks, 50U);
	KUNIT_EXPECT_TRUE(test, t->fired_then);
	KUNIT_EXPECT_EQ(test, t->wakeups, 1U);
	expect_source(test, &t->source[0], 2, 1);

	fire_slowly(t);
	compch_queue_query(&t->queue, &state);
	irq_work_sync(&t->in_flight);
	KUNIT_EXPECT_EQ(test, state.reported, 1ULL);
	KUNIT_EXPECT_EQ(test, state.pending, 3ULL);
	TAKES(test, 64, 1, 1, 1, 1);

	fire_slowly(t);
	TAKES(test, 64, 1);
	expect_source(test, &t->source[0], 0, 6);
	irq_work_sync(&t->in_flight);
	TAKES(test, 64, 1);
	detach(test, &t->source[0], 7, 0);
	remove_wait_queue(&t->queue.pollers, &t->poller);
}

/* Readers tell, and so does who asks. */
static void cells_longest(struct kunit *test)
{
	struct cells_test *t = test->priv;
	struct compch_source_state source;
	struct compch_queue_state queue;
	int i;

	fire(test, &t->source[0], 3);
	fire(test, &t->source[1], 2);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_GT(test, compch_test_next(&t->queue), 0LL);
	compch_source_query(&t->source[0], &source);
	KUNIT_EXPECT_EQ(test, source.longest, 3ULL);

	fire(test, &t->source[0], 4);
	fire(test, &t->source[1], 1);
	compch_queue_query(&t->queue, &queue);
	KUNIT_EXPECT_EQ(test, queue.longest, 2U);
	TAKES(test, 64, 1, 2, 1, 1, 1);
	compch_queue_query(&t->queue, &queue);
	KUNIT_EXPECT_EQ(test, queue.longest, 2U);
	compch_source_query(&t->source[0], &source);
	KUNIT_EXPECT_EQ(test, source.longest, 4ULL);
}

/* Counted where there is no ring, an event moves to one, and is not posted again. */
static void cells_counted_before_move(struct kunit *test)
{
	struct cells_test *t = test->priv;
	struct compch_source *source = &t->source[0];
	u64 merged;
	s64 before;

	KUNIT_EXPECT_PTR_EQ(test, compch_source_move(source, &t->other, &merged),
			    &t->queue);
	fire(test, source, 1);
	rcu_read_lock();
	preempt_disable();
	before = atomic64_fetch_inc(&source->pending);
	KUNIT_EXPECT_PTR_EQ(test, compch_source_move(source, &t->queue, &merged),
			    &t->other);
	KUNIT_EXPECT_TRUE(test, compch_source_fired(source, before));
	rcu_read_unlock();
	/* Otherwise who detaches it waits for ever. */
	KUNIT_ASSERT_EQ(test, atomic64_read(&source->own->posted), 2LL);
	expect_source(test, source, 2, 0);
	TAKES(test, 64, 1, 1);
	detach(test, source, 2, 0);
}

/* --- a program that was killed ----------------------------------------------- */

static void cells_repair(struct kunit *test)
{
	struct cells_test *t = test->priv;
	u64 cookie;
	u32 slot;

	/* One is in its hands, one is in its cell, and one has no events. */
	fire(test, &t->source[0], 3);
	fire(test, &t->source[1], 2);
	slot = grab(test);
	KUNIT_EXPECT_EQ(test, 2LL,
			compch_ring_take_one(&t->user.slots[slot], &cookie));
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);
	KUNIT_EXPECT_FALSE(test, readable(t));
	fire(test, &t->source[1], 1);
	compch_queue_repair(&t->queue);
	compch_queue_repair(&t->queue);
	TAKES(test, 64, 2, 1, 1, 1);
	KUNIT_EXPECT_FALSE(test, readable(t));

	/* One that nobody has any more */
	fire(test, &t->source[2], 1);
	slot = grab(test);
	detach(test, &t->source[2], 0, 1);
	compch_queue_repair(&t->queue);
	KUNIT_EXPECT_EQ(test, t->ring->slots[slot].events, 0ULL);
	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->spare, &t->queue));
	fire(test, &t->spare, 1);
	TAKES(test, 64, 9);
}

/* --- a program that destroys its ring ----------------------------------------- */

/* Nobody can push: the next one who looks does it. */
static void cells_late(struct kunit *test)
{
	struct cells_test *t = test->priv;
	u64 tail = t->ring->shared->tail;
	s64 cell = atomic64_read(&t->ring->cells[tail % NR_CELLS]);

	atomic64_set(&t->ring->cells[tail % NR_CELLS], (tail + 99) << 32);
	fire(test, &t->source[0], 2);
	KUNIT_EXPECT_TRUE(test, t->ring->late);
	KUNIT_EXPECT_TRUE(test, compch_ring_attention(&t->user));
	TAKES_NONE(test);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	KUNIT_EXPECT_TRUE(test, compch_ring_attention(&t->user));
	compch_queue_repair(&t->queue);

	atomic64_set(&t->ring->cells[tail % NR_CELLS], cell);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_FALSE(test, compch_ring_attention(&t->user));
	TAKES(test, 64, 1);
	expect_source(test, &t->source[0], 0, 2);
}

static void cells_garbage(struct kunit *test)
{
	static const u32 places[] = { NR_SOURCES * 16, 8, 1, U32_MAX };
	struct cells_test *t = test->priv;
	unsigned int i;
	u64 tail;

	/* Cells that name no slot, and before one that does */
	detach(test, &t->source[2], 0, 0);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		tail = t->ring->shared->tail;
		atomic64_set(&t->ring->cells[tail % NR_CELLS],
			     tail << 32 | places[i]);
		fire(test, &t->source[0], 1);
		if (i)
			KUNIT_EXPECT_TRUE(test, readable(t));
		KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
		KUNIT_EXPECT_FALSE(test, readable(t));
	}
	/* A slot that is nobody's, with events */
	tail = t->ring->shared->tail;
	t->ring->slots[2].events = 5;
	atomic64_set(&t->ring->cells[tail % NR_CELLS], tail << 32 | 2 * 16);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);

	/* Counts that are none */
	fire(test, &t->source[0], 3);
	t->ring->slots[0].events = 1000000;
	expect_source(test, &t->source[0], 7, 0);
	t->ring->slots[0].events = 0;
	expect_source(test, &t->source[0], 0, 7);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	fire(test, &t->source[0], 1);
	t->ring->slots[0].events = -1ULL;
	detach(test, &t->source[0], 0, 8);

	/* All of it */
	memset(t->ring->shared, 0xa5, compch_ring_size(NR_SOURCES));
	fire(test, &t->source[1], 3);
	compch_test_next(&t->queue);
	compch_queue_repair(&t->queue);
	KUNIT_EXPECT_PTR_EQ(test, compch_source_move(&t->source[1], &t->other,
						     &(u64){ 0 }), &t->queue);
	KUNIT_EXPECT_PTR_EQ(test, compch_source_move(&t->source[1], &t->queue,
						     &(u64){ 0 }), &t->other);
	fire(test, &t->source[1], 1);
	readable(t);
}

/*
 * A read whose buffer is the ring: each cookie that is copied there moves head
 * on, so nothing is ever taken.  That ends with a signal.
 */
static void cells_read_into_ring(struct kunit *test)
{
	static const u64 cookies[] = { BIT_ULL(32) + 1, BIT_ULL(33) + 2 };
	struct cells_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		detach(test, &t->source[i], 0, 0);
		renew(&t->source[i], cookies[i]);
		KUNIT_ASSERT_EQ(test, 0, compch_source_attach(&t->source[i],
							      &t->queue));
		fire(test, &t->source[i], 1);
	}
	for (i = 0; i < 3; i++)
		atomic64_set(&t->ring->cells[i],
			     (u64)i << 32 | t->source[i % 2].own->place);
	t->ring->shared->head = 0;

	t->reader.into = &t->ring->shared->head;
	KUNIT_ASSERT_TRUE(test, compch_test_reader_run(&t->reader, &t->queue, 0,
						       sizeof(u64)));
	KUNIT_EXPECT_TRUE(test,
			  compch_test_until(READ_ONCE(t->ring->shared->head)));
	KUNIT_EXPECT_FALSE(test, try_wait_for_completion(&t->reader.done));
	send_sig(SIGKILL, t->reader.task, 1);
	KUNIT_EXPECT_TRUE(test, compch_test_reader_returns(&t->reader));
	KUNIT_EXPECT_EQ(test, t->reader.ret, (ssize_t)-ERESTARTSYS);
	/* Or the suite would never end. */
	for (i = 0; i < NR_CELLS; i++)
		atomic64_set(&t->ring->cells[i], 0);
	t->ring->shared->head = 77;
	compch_queue_close(&t->queue, true);
	compch_test_reader_stop(&t->reader);
}

/* What a look takes if none of @slots slots can be pushed, in nanoseconds */
static u64 late_look(struct kunit *test, struct compch_queue *queue, u32 slots)
{
	u64 best = U64_MAX, start;
	unsigned int i;

	bitmap_zero(queue->ring->unpushed, queue->ring->cqs);
	bitmap_set(queue->ring->unpushed, 0, slots);
	queue->ring->late = true;
	for (i = 0; i < 5; i++) {
		start = ktime_get_ns();
		KUNIT_EXPECT_EQ(test, compch_test_next(queue), (s64)-EAGAIN);
		best = min(best, ktime_get_ns() - start);
	}
	KUNIT_EXPECT_EQ(test, bitmap_weight(queue->ring->unpushed,
					    queue->ring->cqs), slots);
	KUNIT_EXPECT_TRUE(test, queue->ring->late);
	KUNIT_EXPECT_NE(test, queue->ring->shared->attention, 0U);
	return best;
}

/* That nothing can be pushed costs the same, however much there is. */
static void cells_late_for_ever(struct kunit *test)
{
	const u32 cqs = 4096;
	struct compch_queue *queue = kunit_kzalloc(test, sizeof(*queue),
						   GFP_KERNEL);
	u64 one, all;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	compch_queue_init(queue, 0, compch_test_ring(test, 0, cqs));
	atomic64_set(&queue->ring->cells[0], 99ULL << 32);
	one = late_look(test, queue, 1);
	all = late_look(test, queue, cqs);
	/* It would be thousands. */
	KUNIT_EXPECT_LT(test, all, 100 * one);
}

static struct kunit_case cells_cases[] = {
	KUNIT_CASE(cells_take),
	KUNIT_CASE(cells_positions_wrap),
	KUNIT_CASE(cells_tail_is_late),
	KUNIT_CASE(cells_read_puts_back),
	KUNIT_CASE(cells_read_puts_back_early),
	KUNIT_CASE(cells_stale),
	KUNIT_CASE(cells_stale_is_used),
	KUNIT_CASE(cells_in_hands),
	KUNIT_CASE(cells_held),
	KUNIT_CASE(cells_in_flight),
	KUNIT_CASE(cells_in_flight_query),
	KUNIT_CASE(cells_longest),
	KUNIT_CASE(cells_counted_before_move),
	KUNIT_CASE(cells_repair),
	KUNIT_CASE(cells_late),
	KUNIT_CASE(cells_garbage),
	KUNIT_CASE(cells_read_into_ring),
	KUNIT_CASE(cells_late_for_ever),
	{}
};

static struct kunit_suite cells_suite = {
	.name = "compch_cells",
	.init = cells_init,
	.test_cases = cells_cases,
};

kunit_test_suite(cells_suite);

MODULE_DESCRIPTION("KUnit tests of the event ring of a completion channel");
MODULE_LICENSE("Dual BSD/GPL");
