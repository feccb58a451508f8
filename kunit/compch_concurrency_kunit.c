// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Everything at once: sources fire in hard interrupts, soft interrupts and
 * threads, while others read, move, cancel, detach and close.  Afterwards
 * every event that was fired must be accounted for, exactly.
 */

#ifndef COMPCH_SUITE
#define COMPCH_SUITE compch_concurrency_kunit
#define CONCURRENCY_SUITE_NAME "compch_concurrency"
#endif
#include "compch_queue_test.h"

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/mutex.h>

#define NR_QUEUES	2
#define NR_SOURCES	3
#define NR_READERS	2	/* of each queue */

/*
 * A producer is done when its source has fired that often from its thread, and
 * has been interrupted that often; on some machines only a clock tick
 * interrupts.
 */
#define RACE_ROUNDS	300
#define RACE_IRQS	25

/* Events fired at once. */
#define RACE_BURST	3

struct race;

/**
 * struct race_source - a source, and what fires it
 * @source: the source; the cookie is its index
 * @race: of which race
 * @lock: makes move and detach exclude each other
 * @detached: it has been detached
 * @hard: fires in a hard interrupt
 * @soft: fires in a soft interrupt
 * @thread: fires by itself, and makes the others fire
 * @irqs: how often @hard has run
 * @softs: how often @soft has run
 * @fired: events fired
 * @dead: of these, those that came after the source had been detached
 * @merged_by_move: those that compch_source_move() said had merged
 * @merged_by_detach: those that compch_source_detach() said had merged
 * @reported: what compch_source_detach() said
 * @discarded: what compch_source_detach() said
 */
struct race_source {
	struct compch_source source;
	struct race *race;
	struct mutex lock;	/* for move and detach */
	bool detached;
	struct irq_work hard;
	struct tasklet_struct soft;
	struct task_struct *thread;
	atomic_t irqs;
	atomic_t softs;
	atomic64_t fired;
	atomic64_t dead;
	u64 merged_by_move;
	u64 merged_by_detach;
	u64 reported;
	u64 discarded;
};

/**
 * struct race_reader - a thread that reads until its queue is closed
 * @race: of which race
 * @queue: from where
 * @task: the thread
 * @done: it has read -EIO, or failed
 * @seen: how many events of each source it has read
 * @merged: how many events merged with those
 * @cancelled: how often it has read -ECANCELED
 * @ret: what ended it
 * @buf: where to
 */
struct race_reader {
	struct race *race;
	struct compch_queue *queue;
	struct task_struct *task;
	struct completion done;
	u64 seen[NR_SOURCES];
	u64 merged;
	u64 cancelled;
	ssize_t ret;
	u64 buf[70];
};

/**
 * struct race - one of them
 * @queue: the queues
 * @source: the sources, all attached to the first queue at the beginning
 * @reader: the readers, of both queues in turn
 * @mover: moves sources back and forth, in some races
 * @canceller: cancels reads, in some races
 * @moves: how often that worked
 * @cancels: how often that worked
 * @producing: producers that are not done
 * @produced: there are none
 */
struct race {
	struct compch_queue queue[NR_QUEUES];
	struct race_source source[NR_SOURCES];
	struct race_reader reader[NR_QUEUES * NR_READERS];
	struct task_struct *mover;
	struct task_struct *canceller;
	u64 moves;
	u64 cancels;
	atomic_t producing;
	struct completion produced;
};

/* --- who takes part ------------------------------------------------------- */

static void race_fire(struct race_source *rs, unsigned int count)
{
	while (count--) {
		atomic64_inc(&rs->fired);
		if (!compch_test_fire(&rs->source))
			atomic64_inc(&rs->dead);
	}
}

static void race_hard(struct irq_work *work)
{
	struct race_source *rs = container_of(work, struct race_source, hard);

	WARN_ON_ONCE(!in_hardirq());
	race_fire(rs, RACE_BURST);
	atomic_inc(&rs->irqs);
	/* It runs on the way out, over whatever was interrupted. */
	tasklet_schedule(&rs->soft);
}

static void race_soft(struct tasklet_struct *tasklet)
{
	struct race_source *rs = container_of(tasklet, struct race_source,
					      soft);

	WARN_ON_ONCE(!in_serving_softirq());
	race_fire(rs, RACE_BURST);
	atomic_inc(&rs->softs);
}

static void race_idle(void)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
}

static int race_producer(void *arg)
{
	unsigned long end = jiffies + COMPCH_TEST_DEADLINE;
	struct race_source *rs = arg;
	unsigned int round;

	for (round = 0; round < RACE_ROUNDS ||
	     atomic_read(&rs->irqs) < RACE_IRQS; round++) {
		if (kthread_should_stop() || time_after(jiffies, end))
			break;
		irq_work_queue(&rs->hard);
		race_fire(rs, 1);
		if (round % 16 == 0) {
			local_bh_disable();
			tasklet_schedule(&rs->soft);
			local_bh_enable();
		}
		cond_resched();
	}
	irq_work_sync(&rs->hard);
	tasklet_kill(&rs->soft);
	if (atomic_dec_and_test(&rs->race->producing))
		complete(&rs->race->produced);
	race_idle();
	return 0;
}

static int race_reader(void *arg)
{
	struct race_reader *reader = arg;
	unsigned int n, i;
	struct kvec kvec;
	struct iov_iter to;

	for (n = 1;; n++) {
		kvec.iov_base = reader->buf;
		kvec.iov_len = (n % ARRAY_SIZE(reader->buf) + 1) * sizeof(u64);
		if (n % 3 == 0)
			kvec.iov_len = sizeof(u64);
		iov_iter_kvec(&to, READ, &kvec, 1, kvec.iov_len);
		reader->ret = compch_queue_read(reader->queue, &to, false);
		reader->merged += compch_queue_take_merged(reader->queue);
		if (reader->ret == -ECANCELED) {
			reader->cancelled++;
			continue;
		}
		if (reader->ret <= 0)
			break;
		for (i = 0; i < reader->ret / sizeof(u64); i++)
			if (reader->buf[i] < NR_SOURCES)
				reader->seen[reader->buf[i]]++;
			else
				WARN(1, "cookie %llu\n", reader->buf[i]);
		cond_resched();
	}
	complete(&reader->done);
	race_idle();
	return 0;
}

static void race_move(struct race *race, struct race_source *rs,
		      struct compch_queue *to)
{
	struct compch_queue *from;
	u64 merged;

	mutex_lock(&rs->lock);
	if (!rs->detached) {
		from = compch_source_move(&rs->source, to, &merged);
		rs->merged_by_move += merged;
		if (!IS_ERR(from))
			race->moves++;
		else
			WARN_ON_ONCE(PTR_ERR(from) != -EIO);
	}
	mutex_unlock(&rs->lock);
}

static int race_mover(void *arg)
{
	struct race *race = arg;
	unsigned int n;

	for (n = 0; !kthread_should_stop(); n++) {
		race_move(race, &race->source[n % NR_SOURCES],
			  &race->queue[n / NR_SOURCES % NR_QUEUES]);
		cond_resched();
	}
	return 0;
}

/* Of the first queue, which is never closed before this has ended. */
static int race_canceller(void *arg)
{
	struct race *race = arg;

	while (!kthread_should_stop()) {
		if (!compch_queue_cancel(&race->queue[0]))
			race->cancels++;
		schedule_timeout_interruptible(1);
	}
	return 0;
}

static void race_detach(struct race_source *rs)
{
	struct compch_queue *queue;

	mutex_lock(&rs->lock);
	if (!rs->detached) {
		queue = compch_source_detach(&rs->source, &rs->reported,
					     &rs->discarded);
		rs->merged_by_detach = compch_queue_take_merged(queue);
	}
	rs->detached = true;
	mutex_unlock(&rs->lock);
}

/* --- the race ------------------------------------------------------------- */

struct race_case {
	const char *name;
	u32 flags[NR_QUEUES];
	bool move;
	bool cancel;
	bool detach;
	bool close;
};

static const struct race_case race_cases[] = {
	{ .name = "read" },
	{ .name = "read, coalescing", .flags = { COMPCH_QUEUE_COALESCE } },
	{ .name = "read, cancel", .cancel = true },
	{ .name = "move", .move = true },
	{ .name = "move, one coalescing", .move = true,
	  .flags = { 0, COMPCH_QUEUE_COALESCE } },
	{ .name = "detach", .detach = true },
	{ .name = "detach, move", .detach = true, .move = true },
	{ .name = "close, move", .close = true, .move = true },
	{ .name = "all", .move = true, .cancel = true, .detach = true,
	  .close = true, .flags = { 0, COMPCH_QUEUE_COALESCE } },
};

static void race_case_desc(const struct race_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(race, race_cases, race_case_desc);

static void race_stop(struct task_struct **task)
{
	if (*task)
		kthread_stop(*task);
	*task = NULL;
}

static int race_init(struct kunit *test)
{
	const struct race_case *c = test->param_value;
	struct race *race;
	int i;

	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);
	init_completion(&race->produced);
	for (i = 0; i < NR_QUEUES; i++)
		compch_queue_init(&race->queue[i], c->flags[i],
				  compch_test_ring(test, i, NR_SOURCES));
	for (i = 0; i < NR_SOURCES; i++) {
		struct race_source *rs = &race->source[i];

		rs->race = race;
		mutex_init(&rs->lock);
		rs->hard = IRQ_WORK_INIT(race_hard);
		tasklet_setup(&rs->soft, race_soft);
		compch_source_init(&rs->source, i);
		KUNIT_ASSERT_EQ(test, 0,
				compch_source_attach(&rs->source,
						     &race->queue[0]));
	}
	for (i = 0; i < NR_QUEUES * NR_READERS; i++) {
		race->reader[i].race = race;
		race->reader[i].queue = &race->queue[i % NR_QUEUES];
		init_completion(&race->reader[i].done);
	}
	test->priv = race;
	return 0;
}

static void race_exit(struct kunit *test)
{
	struct race *race = test->priv;
	int i;

	if (!race)
		return;
	for (i = 0; i < NR_SOURCES; i++)
		race_stop(&race->source[i].thread);
	race_stop(&race->mover);
	race_stop(&race->canceller);
	for (i = 0; i < NR_QUEUES; i++)
		compch_queue_close(&race->queue[i], true);
	for (i = 0; i < NR_QUEUES * NR_READERS; i++)
		race_stop(&race->reader[i].task);
	synchronize_rcu();
}

static struct task_struct *race_run(struct kunit *test, int (*main)(void *),
				    void *arg)
{
	struct task_struct *task = kthread_run(main, arg, "compch_race");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	return task;
}

static u64 race_fired(struct race *race)
{
	u64 fired = 0;
	int i;

	for (i = 0; i < NR_SOURCES; i++)
		fired += atomic64_read(&race->source[i].fired);
	return fired;
}

static u64 race_pending(struct race *race)
{
	struct compch_queue_state state;
	u64 pending = 0;
	int i;

	for (i = 0; i < NR_QUEUES; i++) {
		compch_queue_query(&race->queue[i], &state);
		pending += state.pending;
	}
	return pending;
}

static u32 race_cancels_left(struct race *race)
{
	struct compch_queue_state state;

	compch_queue_query(&race->queue[0], &state);
	return state.cancels;
}

/* While the producers are at work, which takes them at least @c's share. */
static void race_interfere(struct kunit *test, const struct race_case *c)
{
	const u64 share = NR_SOURCES * RACE_ROUNDS / 5;
	struct race *race = test->priv;

	KUNIT_EXPECT_TRUE(test, compch_test_until(race_fired(race) > share));
	if (c->close)
		KUNIT_EXPECT_EQ(test, 0,
				compch_queue_close(&race->queue[1], true));
	KUNIT_EXPECT_TRUE(test,
			  compch_test_until(race_fired(race) > 2 * share));
	if (c->detach)
		race_detach(&race->source[0]);
	KUNIT_EXPECT_TRUE(test,
			  compch_test_until(race_fired(race) > 3 * share));
	if (c->detach)
		race_detach(&race->source[1]);
}

static void race_expect_source(struct kunit *test, unsigned int i)
{
	struct race *race = test->priv;
	struct race_source *rs = &race->source[i];
	u64 fired = atomic64_read(&rs->fired);
	u64 dead = atomic64_read(&rs->dead);
	u64 seen = 0;
	int r;

	for (r = 0; r < NR_QUEUES * NR_READERS; r++)
		seen += race->reader[r].seen[i];

	KUNIT_EXPECT_GT(test, atomic_read(&rs->irqs), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&rs->softs), 0);
	/* Nothing was read after it had been detached, or twice, or lost. */
	KUNIT_EXPECT_EQ_MSG(test, seen, rs->reported, "source %u", i);
	KUNIT_EXPECT_EQ_MSG(test, fired - dead, rs->reported + rs->discarded +
			    rs->source.merged, "source %u", i);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&rs->source.ready));
}

static void concurrency_race(struct kunit *test)
{
	const struct race_case *c = test->param_value;
	bool merges = c->flags[0] || c->flags[1];
	struct race *race = test->priv;
	u64 cancelled = 0, seen = 0, merged = 0, told = 0;
	int i, j;

	for (i = 0; i < NR_QUEUES * NR_READERS; i++)
		race->reader[i].task = race_run(test, race_reader,
						&race->reader[i]);
	if (c->move)
		race->mover = race_run(test, race_mover, race);
	if (c->cancel)
		race->canceller = race_run(test, race_canceller, race);
	/* Those who fire may be through before anybody else on this CPU begins. */
	KUNIT_EXPECT_TRUE(test,
			  compch_test_until((!c->move || READ_ONCE(race->moves)) &&
					    (!c->cancel ||
					     READ_ONCE(race->cancels))));
	atomic_set(&race->producing, NR_SOURCES);
	for (i = 0; i < NR_SOURCES; i++)
		race->source[i].thread = race_run(test, race_producer,
						  &race->source[i]);

	race_interfere(test, c);
	KUNIT_EXPECT_NE(test,
			wait_for_completion_timeout(&race->produced,
						    COMPCH_TEST_DEADLINE),
			0UL);
	race_stop(&race->mover);
	race_stop(&race->canceller);

	/* Woken by nobody, the readers would leave something. */
	if (!c->close)
		KUNIT_EXPECT_TRUE(test, compch_test_until(!race_pending(race)));
	KUNIT_EXPECT_TRUE(test, compch_test_until(!race_cancels_left(race)));

	for (i = 0; i < NR_SOURCES; i++)
		race_detach(&race->source[i]);
	KUNIT_EXPECT_EQ(test, race_pending(race), 0ULL);
	for (i = 0; i < NR_QUEUES; i++)
		compch_queue_close(&race->queue[i], false);
	for (i = 0; i < NR_QUEUES * NR_READERS; i++) {
		KUNIT_ASSERT_NE(test,
				wait_for_completion_timeout(&race->reader[i].done,
							    COMPCH_TEST_DEADLINE),
				0UL);
		KUNIT_EXPECT_EQ(test, race->reader[i].ret, (ssize_t)-EIO);
		cancelled += race->reader[i].cancelled;
		told += race->reader[i].merged;
		for (j = 0; j < NR_SOURCES; j++)
			seen += race->reader[i].seen[j];
	}

	for (i = 0; i < NR_SOURCES; i++) {
		race_expect_source(test, i);
		merged += race->source[i].source.merged;
		told += race->source[i].merged_by_move +
			race->source[i].merged_by_detach;
	}
	/* Whoever makes events merge is told of them. */
	KUNIT_EXPECT_EQ(test, merged, told);
	for (i = 0; i < NR_QUEUES; i++) {
		KUNIT_EXPECT_TRUE(test, hlist_empty(&race->queue[i].ready));
		KUNIT_EXPECT_TRUE(test, llist_empty(&race->queue[i].incoming));
	}
	KUNIT_EXPECT_EQ(test, seen,
			race->queue[0].reported + race->queue[1].reported);
	KUNIT_EXPECT_EQ(test, race->queue[0].waking, 0U);
	KUNIT_EXPECT_EQ(test, race->queue[1].waking, 0U);
	KUNIT_EXPECT_EQ(test, race->queue[0].nr_sources, 0U);
	KUNIT_EXPECT_EQ(test, race->queue[1].nr_sources, 0U);
	KUNIT_EXPECT_EQ(test, race->cancels, cancelled);
	if (!merges)
		KUNIT_EXPECT_EQ(test, merged, 0ULL);

	/* Did it happen at all? */
	KUNIT_EXPECT_GT(test, seen, 0ULL);
	KUNIT_EXPECT_EQ(test, c->move, race->moves > 0);
	KUNIT_EXPECT_EQ(test, c->cancel, race->cancels > 0);
}

static struct kunit_case concurrency_cases[] = {
	KUNIT_CASE_PARAM(concurrency_race, race_gen_params),
	{}
};

static struct kunit_suite concurrency_suite = {
	.name = CONCURRENCY_SUITE_NAME,
	.init = race_init,
	.exit = race_exit,
	.test_cases = concurrency_cases,
};

kunit_test_suite(concurrency_suite);

MODULE_DESCRIPTION("KUnit tests of the event queue under concurrency");
MODULE_LICENSE("Dual BSD/GPL");
