// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A source is moved just when somebody has found its queue, and has not locked
 * it yet.  On a single processor nothing gets in there, so this suite does it
 * itself: in its copy of the core, a function can be called before a lock is
 * taken.
 */

/* All that the core includes is to take its locks as ever. */
#include <linux/fs.h>
#include <linux/lockdep.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

/* Called once */
static void (*retry_hook)(void);

static void retry_before_lock(void)
{
	void (*hook)(void) = retry_hook;

	retry_hook = NULL;
	if (hook)
		hook();
}

static inline unsigned long retry_lock_irqsave(spinlock_t *lock)
	__acquires(lock)
{
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	return flags;
}

#undef spin_lock_irqsave
#define spin_lock_irqsave(lock, flags)					\
do {									\
	retry_before_lock();						\
	flags = retry_lock_irqsave(lock);				\
} while (0)
#define spin_lock_irq(lock)						\
do {									\
	retry_before_lock();						\
	(spin_lock_irq)(lock);						\
} while (0)

#define COMPCH_SUITE compch_retry_kunit
#include "compch_queue_test.h"

#include <linux/module.h>

#define COOKIE	7

/**
 * struct retry_test - what each test starts with
 * @queue: the queues
 * @source: attached to the first one, with an event
 * @hooks: how often a hook was called
 */
struct retry_test {
	struct compch_queue queue[3];
	struct compch_source source;
	unsigned int hooks;
};

/* For the hooks, which have no argument */
static struct retry_test *retry_now;

static int retry_init(struct kunit *test)
{
	struct retry_test *t;
	unsigned int i;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < ARRAY_SIZE(t->queue); i++)
		compch_queue_init(&t->queue[i], 0);
	compch_source_init(&t->source, COOKIE);
	KUNIT_ASSERT_EQ(test, 0, compch_source_attach(&t->source,
						      &t->queue[0]));
	KUNIT_ASSERT_EQ(test, (int)COMPCH_FIRED_QUEUED,
			(int)compch_source_fire(&t->source));
	test->priv = t;
	retry_now = t;
	return 0;
}

static void retry_exit(struct kunit *test)
{
	retry_hook = NULL;
}

static void retry_move_to(unsigned int i)
{
	u64 merged;

	compch_source_move(&retry_now->source, &retry_now->queue[i], &merged);
}

static void retry_moved(void)
{
	retry_now->hooks++;
	retry_move_to(1);
}

static void retry_moved_and_back(void)
{
	retry_now->hooks++;
	retry_move_to(1);
	retry_move_to(0);
}

static void retry_closed(void)
{
	retry_now->hooks++;
	compch_queue_close(&retry_now->queue[2], false);
}

/* The source is on queue @i, with so many events, and on no other one. */
static void expect_on(struct kunit *test, int i, u64 pending)
{
	struct retry_test *t = test->priv;
	int j;

	KUNIT_EXPECT_EQ(test, t->hooks, 1U);
	for (j = 0; j < (int)ARRAY_SIZE(t->queue); j++) {
		u64 want = j == i ? pending : 0;

		KUNIT_EXPECT_EQ(test, t->queue[j].nr_sources, j == i ? 1U : 0U);
		KUNIT_EXPECT_EQ(test, t->queue[j].pending, want);
		KUNIT_EXPECT_EQ(test, list_empty(&t->queue[j].ready), !want);
	}
	while (pending--)
		KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[i]),
				(s64)COOKIE);
}

static void retry_fire(struct kunit *test)
{
	struct retry_test *t = test->priv;

	retry_hook = retry_moved;
	KUNIT_EXPECT_EQ(test, (int)compch_source_fire(&t->source),
			(int)COMPCH_FIRED_QUEUED);
	expect_on(test, 1, 2);
}

/* Nobody can tell, and nobody needs to. */
static void retry_fire_moved_back(struct kunit *test)
{
	struct retry_test *t = test->priv;

	retry_hook = retry_moved_and_back;
	KUNIT_EXPECT_EQ(test, (int)compch_source_fire(&t->source),
			(int)COMPCH_FIRED_QUEUED);
	expect_on(test, 0, 2);
}

static void retry_query(struct kunit *test)
{
	struct retry_test *t = test->priv;
	struct compch_source_state state;

	retry_hook = retry_moved;
	compch_source_query(&t->source, &state);
	KUNIT_EXPECT_EQ(test, state.pending, 1ULL);
	KUNIT_EXPECT_EQ(test, state.cookie, (u64)COOKIE);
	expect_on(test, 1, 1);
}

static void retry_detach(struct kunit *test)
{
	struct retry_test *t = test->priv;
	u64 reported, discarded;

	retry_hook = retry_moved;
	KUNIT_EXPECT_PTR_EQ(test, compch_source_detach(&t->source, &reported,
						       &discarded),
			    &t->queue[1]);
	KUNIT_EXPECT_EQ(test, reported, 0ULL);
	KUNIT_EXPECT_EQ(test, discarded, 1ULL);
	expect_on(test, -1, 0);
}

static void retry_move(struct kunit *test)
{
	struct retry_test *t = test->priv;
	u64 merged;

	retry_hook = retry_moved;
	KUNIT_EXPECT_PTR_EQ(test, compch_source_move(&t->source, &t->queue[2],
						     &merged),
			    &t->queue[1]);
	expect_on(test, 2, 1);
}

/* Somebody else was faster: it is there already. */
static void retry_move_to_same(struct kunit *test)
{
	struct retry_test *t = test->priv;
	u64 merged;

	retry_hook = retry_moved;
	KUNIT_EXPECT_PTR_EQ(test, compch_source_move(&t->source, &t->queue[1],
						     &merged),
			    &t->queue[1]);
	expect_on(test, 1, 1);
}

static void retry_move_to_closed(struct kunit *test)
{
	struct retry_test *t = test->priv;
	struct compch_queue *from;
	u64 merged;

	retry_hook = retry_closed;
	from = compch_source_move(&t->source, &t->queue[2], &merged);
	KUNIT_EXPECT_EQ(test, PTR_ERR(from), (long)-EIO);
	expect_on(test, 0, 1);
}

static struct kunit_case retry_cases[] = {
	KUNIT_CASE(retry_fire),
	KUNIT_CASE(retry_fire_moved_back),
	KUNIT_CASE(retry_query),
	KUNIT_CASE(retry_detach),
	KUNIT_CASE(retry_move),
	KUNIT_CASE(retry_move_to_same),
	KUNIT_CASE(retry_move_to_closed),
	{}
};

static struct kunit_suite retry_suite = {
	.name = "compch_retry",
	.init = retry_init,
	.exit = retry_exit,
	.test_cases = retry_cases,
};
kunit_test_suite(retry_suite);

MODULE_DESCRIPTION("KUnit tests of a source that is moved behind somebody's back");
MODULE_LICENSE("Dual BSD/GPL");
