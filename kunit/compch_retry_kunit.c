// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Something happens just when somebody is between two steps: a source is moved
 * when its queue has been found and is not locked yet, an event comes when a
 * reader is about to sleep.  On a single processor nothing gets in there, so
 * this suite does it itself: its copy of the core calls a function at certain
 * places.
 */

/* All others are to do as ever: whatever this and the core include. */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

/**
 * enum retry_place - where a hook can be called
 * @RETRY_LOCK: before a queue's lock is taken
 * @RETRY_POLLERS_LOCK: before the lock of those who wait is taken
 * @RETRY_KILLED: before looking whether the reader is killed
 * @RETRY_SIGNALLED: before looking whether the reader has a signal
 * @RETRY_PUSH: before a source is pushed to those that have come in
 * @RETRY_COPY: before events are copied to the reader
 * @RETRY_COPIED: after one has been copied, and before it is counted
 * @RETRY_COUNTED: after that
 */
enum retry_place {
	RETRY_LOCK,
	RETRY_POLLERS_LOCK,
	RETRY_KILLED,
	RETRY_SIGNALLED,
	RETRY_PUSH,
	RETRY_COPY,
	RETRY_COPIED,
	RETRY_COUNTED,
};

typedef void (*retry_fn)(void);

/* Called once, at @retry_at: in the test's thread, or in that of a reader. */
static retry_fn retry_hook;
static enum retry_place retry_at;
static bool retry_in_reader;
static struct task_struct *retry_task;

static void retry_place(enum retry_place place)
{
	retry_fn hook = READ_ONCE(retry_hook);

	if (!hook || place != retry_at ||
	    retry_in_reader != (current != retry_task))
		return;
	WRITE_ONCE(retry_hook, NULL);
	hook();
}

/* The same where user memory may be written: a hook may not. */
static __always_inline void retry_place_user(enum retry_place place)
{
	unsigned long flags = user_access_save();

	retry_place(place);
	user_access_restore(flags);
}

static __always_inline s64 retry_count(atomic64_t *pending)
{
	s64 left;

	retry_place_user(RETRY_COPIED);
	left = atomic64_dec_return(pending);
	retry_place_user(RETRY_COUNTED);
	return left;
}

#define spin_lock(lock)							\
do {									\
	retry_place(RETRY_LOCK);					\
	(spin_lock)(lock);						\
} while (0)
#define spin_lock_irq(lock)						\
do {									\
	retry_place(RETRY_POLLERS_LOCK);				\
	(spin_lock_irq)(lock);						\
} while (0)
#define fatal_signal_pending(task)					\
	(retry_place(RETRY_KILLED), fatal_signal_pending(task))
#define signal_pending(task)						\
	(retry_place(RETRY_SIGNALLED), signal_pending(task))
#define llist_add(node, head)						\
	(retry_place(RETRY_PUSH), llist_add(node, head))
#define copy_to_iter(from, size, to)					\
	(retry_place(RETRY_COPY), copy_to_iter(from, size, to))
#undef atomic64_dec_return
#define atomic64_dec_return(pending)	retry_count(pending)

#define COMPCH_SUITE compch_retry_kunit
#include "compch_queue_test.h"

#define COOKIE	7

/**
 * struct retry_test - what each test starts with
 * @queue: the queues
 * @source: attached to the first one, with an event
 * @other: another one, attached to nothing
 * @reader: not started
 * @hooks: how often a hook was called
 * @fired: how often a hook has fired
 */
struct retry_test {
	struct compch_queue queue[3];
	struct compch_source source;
	struct compch_source other;
	struct compch_test_reader reader[2];
	unsigned int hooks;
	unsigned int fired;
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
		compch_queue_init(&t->queue[i], 0, NULL);
	compch_source_init(&t->source, COOKIE);
	compch_source_init(&t->other, COOKIE + 1);
	KUNIT_ASSERT_EQ(test, 0, compch_source_attach(&t->source,
						      &t->queue[0]));
	KUNIT_ASSERT_TRUE(test, compch_test_fire(&t->source));
	test->priv = t;
	retry_now = t;
	return 0;
}

static void retry_exit(struct kunit *test)
{
	struct retry_test *t = test->priv;
	unsigned int i;

	WRITE_ONCE(retry_hook, NULL);
	if (!t)
		return;
	for (i = 0; i < ARRAY_SIZE(t->queue); i++)
		compch_queue_close(&t->queue[i], true);
	for (i = 0; i < ARRAY_SIZE(t->reader); i++)
		compch_test_reader_stop(&t->reader[i]);
	synchronize_rcu();
}

static void retry_set(enum retry_place place, void (*hook)(void))
{
	retry_task = current;
	retry_at = place;
	retry_in_reader = false;
	WRITE_ONCE(retry_hook, hook);
}

static void retry_set_reader(enum retry_place place, void (*hook)(void))
{
	retry_task = current;
	retry_at = place;
	retry_in_reader = true;
	WRITE_ONCE(retry_hook, hook);
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

static void retry_fired(void)
{
	retry_now->hooks++;
	retry_now->fired += compch_test_fire(&retry_now->source);
}

/* The source is on queue @i, with so many events, and on no other one. */
static void expect_on(struct kunit *test, int i, u64 pending)
{
	struct retry_test *t = test->priv;
	struct compch_queue_state state;
	int j;

	KUNIT_EXPECT_EQ(test, t->hooks, 1U);
	for (j = 0; j < (int)ARRAY_SIZE(t->queue); j++) {
		u64 want = j == i ? pending : 0;

		compch_queue_query(&t->queue[j], &state);
		KUNIT_EXPECT_EQ(test, state.nr_sources,
				j == i ? 1U : 0U);
		KUNIT_EXPECT_EQ(test, state.pending, want);
		KUNIT_EXPECT_EQ(test, hlist_empty(&t->queue[j].ready) &&
				llist_empty(&t->queue[j].incoming), !want);
	}
	while (pending--)
		KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[i]),
				(s64)COOKIE);
	if (i >= 0)
		KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[i]),
				(s64)-EAGAIN);
}

/* --- a move --------------------------------------------------------------- */

static void retry_query(struct kunit *test)
{
	struct retry_test *t = test->priv;
	struct compch_source_state state;

	retry_set(RETRY_LOCK, retry_moved);
	compch_source_query(&t->source, &state);
	KUNIT_EXPECT_EQ(test, state.pending, 1ULL);
	KUNIT_EXPECT_EQ(test, state.cookie, (u64)COOKIE);
	expect_on(test, 1, 1);
}

/* Nobody can tell, and nobody needs to. */
static void retry_query_moved_back(struct kunit *test)
{
	struct retry_test *t = test->priv;
	struct compch_source_state state;

	retry_set(RETRY_LOCK, retry_moved_and_back);
	compch_source_query(&t->source, &state);
	KUNIT_EXPECT_EQ(test, state.pending, 1ULL);
	expect_on(test, 0, 1);
}

static void retry_detach(struct kunit *test)
{
	struct retry_test *t = test->priv;
	u64 reported, discarded;

	retry_set(RETRY_LOCK, retry_moved);
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

	retry_set(RETRY_LOCK, retry_moved);
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

	retry_set(RETRY_LOCK, retry_moved);
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

	retry_set(RETRY_LOCK, retry_closed);
	from = compch_source_move(&t->source, &t->queue[2], &merged);
	KUNIT_EXPECT_EQ(test, PTR_ERR(from), (long)-EIO);
	expect_on(test, 0, 1);
}

/* --- an event ------------------------------------------------------------- */

/* As an interrupt does: the source is counted twice, and queued once. */
static void retry_fire_twice(struct kunit *test)
{
	struct retry_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)COOKIE);
	retry_set(RETRY_PUSH, retry_fired);
	KUNIT_EXPECT_TRUE(test, compch_test_fire(&t->source));
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	expect_on(test, 0, 2);
}

/* It is not read with the one before it, nor lost. */
static void retry_fire_while_copying(struct kunit *test)
{
	struct retry_test *t = test->priv;

	retry_set(RETRY_COPY, retry_fired);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)COOKIE);
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	expect_on(test, 0, 1);
}

static void retry_fire_while_copying_user(struct kunit *test)
{
	struct retry_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);
	u64 cookie = 0;

	KUNIT_ASSERT_NE(test, addr, 0UL);
	retry_set(RETRY_COPIED, retry_fired);
	KUNIT_EXPECT_EQ(test,
			compch_test_read_user(&t->queue[0], addr,
					      sizeof(cookie), true, &cookie),
			(ssize_t)sizeof(cookie));
	KUNIT_EXPECT_EQ(test, cookie, (u64)COOKIE);
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	expect_on(test, 0, 1);
	compch_test_unmap(addr, 1);
}

/* It is read too, if there is room. */
static void retry_fire_while_copying_more(struct kunit *test)
{
	struct retry_test *t = test->priv;
	u64 cookies[3] = {};

	retry_set(RETRY_COPY, retry_fired);
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue[0], cookies,
					       sizeof(cookies)),
			(ssize_t)(2 * sizeof(u64)));
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	KUNIT_EXPECT_EQ(test, cookies[1], (u64)COOKIE);
	KUNIT_EXPECT_EQ(test, cookies[2], 0ULL);
	expect_on(test, 0, 0);
}

/* It is not first in line again. */
static void retry_fire_while_copying_order(struct kunit *test)
{
	struct retry_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->other, &t->queue[0]));
	KUNIT_EXPECT_TRUE(test, compch_test_fire(&t->other));
	retry_set(RETRY_COPY, retry_fired);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)COOKIE);
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]),
			(s64)COOKIE + 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)COOKIE);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)-EAGAIN);
}

/*
 * Its source has just been read, and had nothing more: it comes in again, while
 * the reader is not through with those that came in with it before.
 */
static void retry_fire_when_read(struct kunit *test)
{
	struct retry_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);
	u64 cookies[2] = {};

	KUNIT_ASSERT_NE(test, addr, 0UL);
	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(&t->other, &t->queue[0]));
	KUNIT_EXPECT_TRUE(test, compch_test_fire(&t->other));
	retry_set(RETRY_COUNTED, retry_fired);
	KUNIT_EXPECT_EQ(test,
			compch_test_read_user(&t->queue[0], addr,
					      sizeof(cookies), true, cookies),
			(ssize_t)sizeof(cookies));
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	KUNIT_EXPECT_EQ(test, cookies[0], (u64)COOKIE);
	KUNIT_EXPECT_EQ(test, cookies[1], (u64)COOKIE + 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)COOKIE);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)-EAGAIN);
	compch_test_unmap(addr, 1);
}

/* On a coalescing queue, it merges with the one that is not read yet. */
static void retry_fire_while_copying_merges(struct kunit *test)
{
	struct retry_test *t = test->priv;
	struct compch_source_state state;
	u64 cookie;

	t->queue[0].flags = COMPCH_QUEUE_COALESCE;
	retry_set(RETRY_COPY, retry_fired);
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue[0], &cookie,
					       sizeof(cookie)),
			(ssize_t)sizeof(cookie));
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	KUNIT_EXPECT_EQ(test, compch_queue_take_merged(&t->queue[0]), 1ULL);
	compch_source_query(&t->source, &state);
	KUNIT_EXPECT_EQ(test, state.reported, 1ULL);
	KUNIT_EXPECT_EQ(test, state.merged, 1ULL);
	expect_on(test, 0, 0);
	/* The next one is another. */
	KUNIT_EXPECT_TRUE(test, compch_test_fire(&t->source));
	expect_on(test, 0, 1);
}

/* --- a reader that sleeps, or is about to --------------------------------- */

static void start_reader(struct kunit *test, unsigned int i)
{
	struct retry_test *t = test->priv;

	KUNIT_ASSERT_TRUE(test,
			  compch_test_reader_start(&t->reader[i], &t->queue[0],
						   0, sizeof(u64)));
}

static void expect_returns(struct kunit *test, unsigned int i, ssize_t ret)
{
	struct retry_test *t = test->priv;

	KUNIT_EXPECT_TRUE(test, compch_test_reader_returns(&t->reader[i]));
	KUNIT_EXPECT_EQ(test, t->reader[i].ret, ret);
}

/* It has looked, and does not wait yet, so nobody wakes it: it looks again. */
static void retry_fire_before_sleep(struct kunit *test)
{
	struct retry_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)COOKIE);
	retry_set_reader(RETRY_POLLERS_LOCK, retry_fired);
	KUNIT_EXPECT_TRUE(test,
			  compch_test_reader_run(&t->reader[0], &t->queue[0], 0,
						 sizeof(u64)));
	expect_returns(test, 0, sizeof(u64));
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	expect_on(test, 0, 0);
}

/*
 * It has been woken by a signal, and has looked: the event must wake another
 * one, for it leaves without it.
 */
static void expect_passed_on(struct kunit *test, enum retry_place place,
			     int signal)
{
	struct retry_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue[0]), (s64)COOKIE);
	start_reader(test, 0);
	start_reader(test, 1);
	KUNIT_EXPECT_TRUE(test, compch_test_is_oldest(&t->reader[0]));
	retry_set_reader(place, retry_fired);
	send_sig(signal, t->reader[0].task, 1);
	expect_returns(test, 0, -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, t->fired, 1U);
	expect_returns(test, 1, sizeof(u64));
	expect_on(test, 0, 0);
}

static void retry_fire_before_signal(struct kunit *test)
{
	expect_passed_on(test, RETRY_SIGNALLED, SIGUSR1);
}

static void retry_fire_before_kill(struct kunit *test)
{
	expect_passed_on(test, RETRY_KILLED, SIGKILL);
}

static struct kunit_case retry_cases[] = {
	KUNIT_CASE(retry_query),
	KUNIT_CASE(retry_query_moved_back),
	KUNIT_CASE(retry_detach),
	KUNIT_CASE(retry_move),
	KUNIT_CASE(retry_move_to_same),
	KUNIT_CASE(retry_move_to_closed),
	KUNIT_CASE(retry_fire_twice),
	KUNIT_CASE(retry_fire_while_copying),
	KUNIT_CASE(retry_fire_while_copying_user),
	KUNIT_CASE(retry_fire_while_copying_more),
	KUNIT_CASE(retry_fire_while_copying_order),
	KUNIT_CASE(retry_fire_when_read),
	KUNIT_CASE(retry_fire_while_copying_merges),
	KUNIT_CASE(retry_fire_before_sleep),
	KUNIT_CASE(retry_fire_before_signal),
	KUNIT_CASE(retry_fire_before_kill),
	{}
};

static struct kunit_suite retry_suite = {
	.name = "compch_retry",
	.suite_init = compch_test_get_mm,
	.suite_exit = compch_test_put_mm,
	.init = retry_init,
	.exit = retry_exit,
	.test_cases = retry_cases,
};
kunit_test_suite(retry_suite);

MODULE_DESCRIPTION("KUnit tests of what comes between two steps");
MODULE_LICENSE("Dual BSD/GPL");
