// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The event queue by itself: order, counts, wake-ups, and what happens when
 * they go wrong.
 */

#ifndef COMPCH_SUITE
#define COMPCH_SUITE compch_queue_kunit
#define QUEUE_SUITE_NAME "compch_queue"
#endif
#include "compch_queue_test.h"

#include <linux/anon_inodes.h>
#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string.h>

#define NR_SOURCES	4
#define NR_READERS	5
#define NR_CQS		(NR_SOURCES + 1)	/* that a ring has room for */

/**
 * struct queue_test - what each test starts with
 * @queue: open
 * @other: another one, open
 * @coalescing: one with COMPCH_QUEUE_COALESCE, open
 * @source: attached to @queue, with the cookies 1, 2, ...
 * @reader: not started
 * @buf: to read to
 * @poller: waits by poll() on @queue, once added
 * @poll_wakeups: how often it has been woken
 * @poll_key: the events with which it was woken last
 * @untold: events that have merged in a ring, which tells when its source leaves
 */
struct queue_test {
	struct compch_queue queue;
	struct compch_queue other;
	struct compch_queue coalescing;
	struct compch_source source[NR_SOURCES];
	struct compch_test_reader reader[NR_READERS];
	u64 buf[128];
	struct wait_queue_entry poller;
	unsigned int poll_wakeups;
	__poll_t poll_key;
	u64 untold;
};

static int queue_test_init(struct kunit *test)
{
	struct queue_test *t;
	int i;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	compch_queue_init(&t->queue, 0, compch_test_ring(test, 0, NR_CQS));
	compch_queue_init(&t->other, 0, compch_test_ring(test, 1, NR_CQS));
	compch_queue_init(&t->coalescing, COMPCH_QUEUE_COALESCE,
			  compch_test_ring(test, 2, NR_CQS));
	for (i = 0; i < NR_SOURCES; i++) {
		compch_source_init(&t->source[i], i + 1);
		KUNIT_ASSERT_EQ(test, 0, compch_source_attach(&t->source[i],
							      &t->queue));
	}
	test->priv = t;
	return 0;
}

static void queue_test_exit(struct kunit *test)
{
	struct queue_test *t = test->priv;
	int i;

	if (!t)
		return;
	compch_queue_close(&t->queue, true);
	compch_queue_close(&t->other, true);
	compch_queue_close(&t->coalescing, true);
	for (i = 0; i < NR_READERS; i++)
		compch_test_reader_stop(&t->reader[i]);
	synchronize_rcu();
}

/*
 * Reads into user memory at @addr, or into kernel memory if that is 0: the core
 * has two ways.
 */
static ssize_t read_at(struct compch_queue *queue, unsigned long addr,
		       void *buf, size_t size)
{
	return addr ? compch_test_read_user(queue, addr, size, true, buf) :
		      compch_test_read(queue, buf, size);
}

static s64 next_at(struct compch_queue *queue, unsigned long addr)
{
	u64 cookie = 0;
	ssize_t ret = read_at(queue, addr, &cookie, sizeof(cookie));

	return ret < 0 ? ret : ret == sizeof(cookie) ? cookie : 0;
}

static void fire(struct kunit *test, struct compch_source *source,
		 unsigned int count)
{
	while (count--)
		KUNIT_EXPECT_TRUE(test, compch_test_fire(source));
}

static void start_reader(struct kunit *test, unsigned int i)
{
	struct queue_test *t = test->priv;

	KUNIT_ASSERT_TRUE(test,
			  compch_test_reader_start(&t->reader[i], &t->queue, 0,
						   sizeof(u64)));
}

/* That many readers are blocked, or will be before the deadline. */
static void expect_blocked(struct kunit *test, unsigned int count)
{
	struct queue_test *t = test->priv;

	KUNIT_EXPECT_TRUE(test, compch_test_until(compch_test_blocked(&t->queue) == count));
}

static void expect_read(struct kunit *test, struct compch_test_reader *reader,
			u64 cookie)
{
	KUNIT_EXPECT_TRUE(test, compch_test_reader_returns(reader));
	KUNIT_EXPECT_EQ(test, reader->ret, (ssize_t)sizeof(u64));
	KUNIT_EXPECT_EQ(test, reader->cookies[0], cookie);
}

static void expect_returns(struct kunit *test,
			   struct compch_test_reader *reader, ssize_t ret)
{
	KUNIT_EXPECT_TRUE(test, compch_test_reader_returns(reader));
	KUNIT_EXPECT_EQ(test, reader->ret, ret);
}

/* The queue has @pending events, and has reported @reported. */
static void expect_queue(struct kunit *test, struct compch_queue *queue,
			 u64 pending, u64 reported)
{
	struct compch_queue_state state;

	compch_queue_query(queue, &state);
	KUNIT_EXPECT_EQ(test, state.pending, pending);
	KUNIT_EXPECT_EQ(test, state.reported, reported);
}

static void expect_source(struct kunit *test, struct compch_source *source,
			  u64 pending, u64 reported, u64 merged)
{
	struct compch_source_state state;

	compch_source_query(source, &state);
	KUNIT_EXPECT_EQ(test, state.pending, pending);
	KUNIT_EXPECT_EQ(test, state.reported, reported);
	KUNIT_EXPECT_EQ(test, state.merged, merged);
}

static u32 nr_sources(struct compch_queue *queue)
{
	struct compch_queue_state state;

	compch_queue_query(queue, &state);
	return state.nr_sources;
}

static u32 nr_cancels(struct compch_queue *queue)
{
	struct compch_queue_state state;

	compch_queue_query(queue, &state);
	return state.cancels;
}

static int poller_woken(struct wait_queue_entry *entry, unsigned int mode,
			int flags, void *key)
{
	struct queue_test *t = container_of(entry, struct queue_test, poller);

	t->poll_wakeups++;
	t->poll_key = key_to_poll(key);
	return 1;
}

static void add_poller(struct queue_test *t, struct compch_queue *queue)
{
	init_waitqueue_func_entry(&t->poller, poller_woken);
	add_wait_queue(&queue->pollers, &t->poller);
	compch_queue_watch(queue);
}

static void remove_poller(struct queue_test *t, struct compch_queue *queue)
{
	remove_wait_queue(&queue->pollers, &t->poller);
}

/* Half of what compch_source_fire() does: it wakes nobody. */
static void queue_silently(struct compch_queue *queue,
			   struct compch_source *source)
{
	bool pending = atomic64_fetch_inc(&source->pending);

	if (queue->ring) {
		compch_ring_add(queue->ring, source->own, 1);
		atomic64_inc(&source->own->posted);
	} else if (!pending) {
		llist_add(&source->incoming, &queue->incoming);
	}
}

/*
 * What compch_queue_cancel() does to the reader that is blocked.  Who holds the
 * queue's lock can do more: readers that are woken wait for it.
 */
static void cancel_locked(struct compch_queue *queue)
{
	lockdep_assert_held(&queue->lock);

	spin_lock_irq(&queue->pollers.lock);
	list_first_entry(&queue->readers, struct compch_reader,
			 node)->cancelled = true;
	compch_queue_wake_reader(queue, NULL);
	spin_unlock_irq(&queue->pollers.lock);
}

/* Moves the source, and expects that @want of its events merge. */
static struct compch_queue *move(struct kunit *test,
				 struct compch_source *source,
				 struct compch_queue *to, u64 want)
{
	struct compch_queue *from;
	u64 merged = 77;

	from = compch_source_move(source, to, &merged);
	KUNIT_EXPECT_EQ(test, merged, want);
	return from;
}

/* Detaches the source from @queue, and expects these counts. */
static void detach(struct kunit *test, struct compch_source *source,
		   struct compch_queue *queue, u64 want_reported,
		   u64 want_discarded, u64 want_merged)
{
	struct queue_test *t = test->priv;
	u64 reported = 77, discarded = 77;

	want_merged += t->untold;
	t->untold = 0;
	KUNIT_EXPECT_PTR_EQ(test, compch_source_detach(source, &reported,
						       &discarded), queue);
	KUNIT_EXPECT_EQ(test, reported, want_reported);
	KUNIT_EXPECT_EQ(test, discarded, want_discarded);
	KUNIT_EXPECT_EQ(test, compch_queue_take_merged(queue), want_merged);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&source->ready));
}

/* Expects that so many events have merged, and that somebody has been told. */
static void expect_told(struct kunit *test, struct compch_queue *queue,
			u64 merged)
{
	struct queue_test *t = test->priv;

	if (queue->ring) {
		t->untold += merged;
		merged = 0;
	}
	KUNIT_EXPECT_EQ(test, compch_queue_take_merged(queue), merged);
}

/* Reads @want[0], @want[1], ... up to a 0, and expects so many to merge. */
static void expect_merged_read(struct kunit *test, struct compch_queue *queue,
			       const u64 *want, u64 want_merged)
{
	struct queue_test *t = test->priv;
	ssize_t size = 0;
	int i;

	for (i = 0; want[i]; i++)
		size += sizeof(u64);
	KUNIT_EXPECT_EQ(test, compch_test_read(queue, t->buf, sizeof(t->buf)),
			size ?: -EAGAIN);
	for (i = 0; want[i]; i++)
		KUNIT_EXPECT_EQ(test, t->buf[i], want[i]);
	expect_told(test, queue, want_merged);
}

/* --- order ---------------------------------------------------------------- */

static void queue_new_is_empty(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_queue_state state;

	compch_queue_query(&t->coalescing, &state);
	KUNIT_EXPECT_EQ(test, state.pending, 0ULL);
	KUNIT_EXPECT_EQ(test, state.reported, 0ULL);
	KUNIT_EXPECT_EQ(test, state.nr_sources, 0U);
	KUNIT_EXPECT_EQ(test, state.cancels, 0U);
	KUNIT_EXPECT_EQ(test, state.flags, (u32)COMPCH_QUEUE_COALESCE);
	KUNIT_EXPECT_FALSE(test, state.closed);
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), (u32)NR_SOURCES);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
}

/* In the order in which they became ready, not in that of anything else. */
static void queue_read_order(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[2], 1);
	fire(test, &t->source[0], 1);
	fire(test, &t->source[3], 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 3LL);
	fire(test, &t->source[2], 1);
	fire(test, &t->source[1], 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 4LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 3LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
}

struct fair_case {
	const char *name;
	/* Fired one source after the other */
	unsigned int events[NR_SOURCES];
	/* A digit for each event: the source's cookie */
	const char *order;
};

static const struct fair_case fair_cases[] = {
	{ "one source", { 5 }, "11111" },
	{ "one each", { 1, 1, 1, 1 }, "1234" },
	{ "equal", { 2, 2, 2, 2 }, "12341234" },
	{ "one busy", { 6, 1, 1, 1 }, "123411111" },
	{ "the last busy", { 1, 1, 1, 6 }, "123444444" },
	{ "different", { 3, 1, 4, 2 }, "1234134133" },
	{ "two busy", { 0, 4, 0, 4 }, "24242424" },
};

static void fair_case_desc(const struct fair_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(fair, fair_cases, fair_case_desc);

static void read_fair(struct kunit *test, unsigned long addr)
{
	const struct fair_case *c = test->param_value;
	struct queue_test *t = test->priv;
	unsigned int total = strlen(c->order);
	unsigned int batch, i, got;
	ssize_t ret;

	for (batch = 1; batch <= total + 1; batch++) {
		for (i = 0; i < NR_SOURCES; i++)
			fire(test, &t->source[i], c->events[i]);
		for (got = 0; got < total; got += ret / sizeof(u64)) {
			ret = read_at(&t->queue, addr, t->buf + got,
				      batch * sizeof(u64));
			KUNIT_ASSERT_EQ(test, ret,
					(ssize_t)(min(batch, total - got) *
						  sizeof(u64)));
		}
		KUNIT_EXPECT_EQ(test, got, total);
		for (i = 0; i < total; i++)
			KUNIT_EXPECT_EQ_MSG(test, t->buf[i],
					    (u64)(c->order[i] - '0'),
					    "event %u in batches of %u", i,
					    batch);
	}
}

/* One event of each source in turn, however much is read at a time, ... */
static void queue_read_fair(struct kunit *test)
{
	read_fair(test, 0);
}

/* ... and wherever to. */
static void queue_read_fair_user(struct kunit *test)
{
	unsigned long addr = compch_test_map(1, 1);

	KUNIT_ASSERT_NE(test, addr, 0UL);
	read_fair(test, addr);
	compch_test_unmap(addr, 1);
}

static void read_no_starving(struct kunit *test, unsigned long addr)
{
	struct queue_test *t = test->priv;
	int i;

	fire(test, &t->source[0], 2);
	for (i = 0; i < 10; i++) {
		fire(test, &t->source[0], 1);
		fire(test, &t->source[1], 1);
		KUNIT_EXPECT_EQ(test, next_at(&t->queue, addr), 1LL);
		KUNIT_EXPECT_EQ(test, next_at(&t->queue, addr), 2LL);
	}
}

/* A source that fires all the time does not keep others waiting, ... */
static void queue_read_no_starving(struct kunit *test)
{
	read_no_starving(test, 0);
}

/* ... nor do events that come overtake those that are there. */
static void queue_read_no_starving_user(struct kunit *test)
{
	unsigned long addr = compch_test_map(1, 1);

	KUNIT_ASSERT_NE(test, addr, 0UL);
	read_no_starving(test, addr);
	compch_test_unmap(addr, 1);
}

struct batch_case {
	unsigned int pending;
	size_t size;
	ssize_t ret;
};

static const struct batch_case batch_cases[] = {
	{ 0, 8, -EAGAIN },
	{ 0, 1024, -EAGAIN },
	{ 1, 8, 8 },
	{ 1, 15, 8 },
	{ 1, 1024, 8 },
	{ 2, 8, 8 },
	{ 2, 15, 8 },
	{ 2, 16, 16 },
	{ 2, 23, 16 },
	{ 31, 1024, 248 },
	{ 32, 1024, 256 },
	{ 33, 1024, 264 },
	{ 33, 256, 256 },
	{ 33, 263, 256 },
	{ 64, 1024, 512 },
	{ 65, 1024, 520 },
	{ 65, 512, 512 },
	{ 128, 1024, 1024 },
	{ 200, 1024, 1024 },
};

static void batch_case_desc(const struct batch_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u pending, %zu bytes",
		 c->pending, c->size);
}

KUNIT_ARRAY_PARAM(batch, batch_cases, batch_case_desc);

/* As many whole events as are queued and fit; nothing is written behind them. */
static void queue_read_batch(struct kunit *test)
{
	const struct batch_case *c = test->param_value;
	struct queue_test *t = test->priv;
	unsigned int got = c->ret > 0 ? c->ret / sizeof(u64) : 0;
	unsigned int i;

	fire(test, &t->source[0], c->pending);
	memset(t->buf, 0xa5, sizeof(t->buf));
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, c->size),
			c->ret);
	for (i = 0; i < got; i++)
		KUNIT_EXPECT_EQ_MSG(test, t->buf[i], 1ULL, "event %u", i);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->buf + got, 0xa5,
					   sizeof(t->buf) - got * sizeof(u64)));
	expect_queue(test, &t->queue, c->pending - got, got);
	expect_source(test, &t->source[0], c->pending - got, got, 0);
}

static void queue_read_short_buffer(struct kunit *test)
{
	struct queue_test *t = test->priv;
	size_t size;

	for (size = 0; size < sizeof(u64); size++)
		KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, size),
				(ssize_t)-EINVAL);
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	for (size = 0; size < sizeof(u64); size++)
		KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, size),
				(ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), 1U);
	expect_queue(test, &t->queue, 1, 0);
}

/* --- counts --------------------------------------------------------------- */

static void queue_counts_exact(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 7);
	fire(test, &t->source[1], 2);
	expect_queue(test, &t->queue, 9, 0);
	expect_source(test, &t->source[0], 7, 0, 0);
	expect_source(test, &t->source[1], 2, 0, 0);

	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, 40),
			(ssize_t)40);
	expect_queue(test, &t->queue, 4, 5);
	expect_source(test, &t->source[0], 4, 3, 0);
	expect_source(test, &t->source[1], 0, 2, 0);

	detach(test, &t->source[0], &t->queue, 3, 4, 0);
	expect_queue(test, &t->queue, 0, 5);
}

#if !COMPCH_TEST_RINGS
/* 64 bits are 64 bits, on the way up and on the way down. */
static void queue_counts_wrap(struct kunit *test)
{
	const u64 many = BIT_ULL(32) + 1;
	struct queue_test *t = test->priv;

	/* As if that many events had been fired, and read. */
	fire(test, &t->source[0], 1);
	atomic64_set(&t->source[0].pending, many);
	t->source[0].reported = U64_MAX - 1;
	t->queue.reported = U64_MAX - 2;

	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, 32),
			(ssize_t)32);
	expect_queue(test, &t->queue, many - 4, 1);
	expect_source(test, &t->source[0], many - 4, 2, 0);
	fire(test, &t->source[0], 4);
	expect_queue(test, &t->queue, many, 1);

	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->other, 0),
			    &t->queue);
	expect_queue(test, &t->queue, 0, 1);
	expect_queue(test, &t->other, many, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), 1LL);
	expect_source(test, &t->source[0], many - 1, 3, 0);

	detach(test, &t->source[0], &t->other, 3, many - 1, 0);
	expect_queue(test, &t->other, 0, 1);
}

static void queue_counts_wrap_merged(struct kunit *test)
{
	const u64 many = BIT_ULL(33);
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 1);
	atomic64_set(&t->source[0].pending, many);
	t->source[0].merged = U64_MAX;
	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->coalescing,
				       many - 1), &t->queue);
	expect_source(test, &t->source[0], 1, 0, many - 2);
	expect_queue(test, &t->queue, 0, 0);
	expect_queue(test, &t->coalescing, 1, 0);
}

#endif

/* --- coalescing ----------------------------------------------------------- */

static void queue_coalesce(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_source *source = &t->source[0];

	move(test, source, &t->coalescing, 0);
	move(test, &t->source[1], &t->coalescing, 0);

	/* Only with one of the same source. */
	fire(test, source, 3);
	fire(test, &t->source[1], 1);
	expect_source(test, source, 1, 0, 2);
	expect_source(test, &t->source[1], 1, 0, 0);
	expect_queue(test, &t->coalescing, 2, 0);
	expect_merged_read(test, &t->coalescing, (u64[]){ 1, 2, 0 }, 2);
	expect_merged_read(test, &t->coalescing, (u64[]){ 0 }, 0);
	expect_source(test, source, 0, 1, 2);

	/* After a read, the next event is one of its own again. */
	fire(test, source, 2);
	expect_source(test, source, 1, 1, 3);
	detach(test, source, &t->coalescing, 1, 1, 1);
	expect_queue(test, &t->coalescing, 0, 2);
	KUNIT_EXPECT_EQ(test, source->merged, 3ULL);
}

static void queue_coalesce_user(struct kunit *test)
{
	struct queue_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);

	KUNIT_ASSERT_NE(test, addr, 0UL);
	move(test, &t->source[0], &t->coalescing, 0);
	move(test, &t->source[1], &t->coalescing, 0);
	fire(test, &t->source[0], 3);
	fire(test, &t->source[1], 1);
	KUNIT_EXPECT_EQ(test, read_at(&t->coalescing, addr, t->buf, 64),
			(ssize_t)16);
	KUNIT_EXPECT_EQ(test, t->buf[0], 1ULL);
	KUNIT_EXPECT_EQ(test, t->buf[1], 2ULL);
	expect_told(test, &t->coalescing, 2);
	expect_source(test, &t->source[0], 0, 1, 2);
	expect_source(test, &t->source[1], 0, 1, 0);
	compch_test_unmap(addr, 1);
}

/* What has merged is counted where it ceases to be pending, and only there. */
static void queue_coalesce_exact(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_source *source = &t->source[0];

	move(test, source, &t->coalescing, 0);
	fire(test, source, 3);
	move(test, source, &t->queue, 2);
	expect_source(test, source, 1, 0, 2);
	fire(test, source, 3);
	expect_source(test, source, 4, 0, 2);
	move(test, source, &t->coalescing, 3);
	expect_source(test, source, 1, 0, 5);
	fire(test, source, 4);
	expect_source(test, source, 1, 0, 9);
	expect_merged_read(test, &t->coalescing, (u64[]){ 1, 0 }, 4);
	expect_source(test, source, 0, 1, 9);
	fire(test, source, 6);
	/* 16 were fired. */
	detach(test, source, &t->coalescing, 1, 1, 5);
	KUNIT_EXPECT_EQ(test, source->merged, 14ULL);
}

/* An event that merges has nobody to wake. */
static void queue_coalesce_wakes_once(struct kunit *test)
{
	struct queue_test *t = test->priv;

	t->queue.flags = COMPCH_QUEUE_COALESCE;
	start_reader(test, 0);
	add_poller(t, &t->queue);
	/* There for another reader, who has been woken and is on its way. */
	queue_silently(&t->queue, &t->source[0]);
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 0U);
	remove_poller(t, &t->queue);
}

/* --- wake-ups ------------------------------------------------------------- */

struct wake_case {
	unsigned int readers;
	unsigned int events;
};

static const struct wake_case wake_cases[] = {
	{ 1, 1 }, { 2, 1 }, { 5, 1 }, { 5, 2 }, { 5, 4 }, { 5, 5 }, { 2, 3 },
};

static void wake_case_desc(const struct wake_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u readers, %u events",
		 c->readers, c->events);
}

KUNIT_ARRAY_PARAM(wake, wake_cases, wake_case_desc);

/* One event wakes one reader, the oldest; no reader but those is woken. */
static void queue_wake_one_each(struct kunit *test)
{
	const struct wake_case *c = test->param_value;
	unsigned int woken = min(c->readers, c->events);
	struct queue_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < c->readers; i++)
		start_reader(test, i);
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), c->readers);

	for (i = 0; i < c->events; i++) {
		/* Each from a source of its own, so that it can be told. */
		fire(test, &t->source[i % NR_SOURCES], 1);
		KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue),
				c->readers - min(i + 1, c->readers));
		if (i >= c->readers)
			continue;
		expect_read(test, &t->reader[i], i % NR_SOURCES + 1);
	}
	for (i = woken; i < c->readers; i++)
		KUNIT_EXPECT_FALSE_MSG(test,
				       completion_done(&t->reader[i].done),
				       "reader %u", i);
	if (woken < c->readers)
		KUNIT_EXPECT_TRUE(test,
				  compch_test_is_oldest(&t->reader[woken]));
	expect_queue(test, &t->queue, c->events - woken, woken);
}

/* Two events at once wake two readers, though neither has run meanwhile. */
static void queue_wake_burst(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	start_reader(test, 1);
	start_reader(test, 2);
	spin_lock(&t->queue.lock);
	compch_test_fire(&t->source[0]);
	compch_test_fire(&t->source[1]);
	spin_unlock(&t->queue.lock);
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
	expect_returns(test, &t->reader[0], sizeof(u64));
	expect_returns(test, &t->reader[1], sizeof(u64));
	/* Who left the second one there has not woken another: one was coming. */
	KUNIT_EXPECT_TRUE(test, compch_test_is_oldest(&t->reader[2]));
	expect_queue(test, &t->queue, 0, 2);
	KUNIT_EXPECT_EQ(test, t->queue.waking, 0U);
}

/* A reader that finds its event gone waits on, and does not lose its place. */
static void queue_wake_in_vain(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct kvec kvec = { .iov_base = t->buf, .iov_len = sizeof(u64) };
	struct iov_iter to;
	struct compch_room room = { .to = &to, .max = 1 };

	start_reader(test, 0);
	start_reader(test, 1);
	spin_lock(&t->queue.lock);
	compch_test_fire(&t->source[0]);
	/* What another reader does. */
	iov_iter_kvec(&to, READ, &kvec, 1, sizeof(u64));
	KUNIT_EXPECT_EQ(test, compch_queue_serve(&t->queue, &room), 1U);
	spin_unlock(&t->queue.lock);

	expect_blocked(test, 2);
	KUNIT_EXPECT_TRUE(test, compch_test_is_oldest(&t->reader[0]));
	fire(test, &t->source[1], 1);
	expect_read(test, &t->reader[0], 2);
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
}

/* Who polls is woken by each event, by a kept cancel, and by closing. */
static void queue_wake_pollers(struct kunit *test)
{
	struct queue_test *t = test->priv;

	add_poller(t, &t->queue);
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 1U);
	KUNIT_EXPECT_EQ(test, t->poll_key,
			EPOLLIN | EPOLLRDNORM);
	fire(test, &t->source[0], 1);
	fire(test, &t->source[1], 1);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 3U);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 4U);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->queue, true));
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 5U);
	remove_poller(t, &t->queue);
}

/* Moving events to a queue wakes there whom firing them would have woken. */
static void queue_wake_by_move(struct kunit *test)
{
	struct queue_test *t = test->priv;
	int i;

	move(test, &t->source[0], &t->other, 0);
	fire(test, &t->source[0], 2);
	add_poller(t, &t->queue);
	for (i = 0; i < 3; i++)
		start_reader(test, i);
	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->queue, 0),
			    &t->other);
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 1U);
	expect_read(test, &t->reader[0], 1);
	expect_read(test, &t->reader[1], 1);
	/* Nothing to read, nobody to wake. */
	move(test, &t->source[1], &t->other, 0);
	move(test, &t->source[1], &t->queue, 0);
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 1U);
	remove_poller(t, &t->queue);
}

/* Events look for somebody to wake only as long as there may be somebody. */
static void queue_watched(struct kunit *test)
{
	struct queue_test *t = test->priv;

	KUNIT_EXPECT_FALSE(test, t->queue.watched);
	start_reader(test, 0);
	start_reader(test, 1);
	KUNIT_EXPECT_TRUE(test, t->queue.watched);
	fire(test, &t->source[0], 1);
	/* There is still the other one. */
	KUNIT_EXPECT_TRUE(test, t->queue.watched);
	expect_read(test, &t->reader[0], 1);
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_FALSE(test, t->queue.watched);
	expect_read(test, &t->reader[1], 1);

	add_poller(t, &t->queue);
	KUNIT_EXPECT_TRUE(test, t->queue.watched);
	fire(test, &t->source[0], 2);
	KUNIT_EXPECT_TRUE(test, t->queue.watched);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 2U);
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, 64),
			(ssize_t)16);
	remove_poller(t, &t->queue);
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 2U);
	KUNIT_EXPECT_FALSE(test, t->queue.watched);

	/* Who comes after it was cleared is found again. */
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	start_reader(test, 2);
	fire(test, &t->source[1], 1);
	expect_read(test, &t->reader[2], 2);
}

static const struct file_operations fasync_fops;

/* SIGIO comes for each event, and for a cancel that is kept. */
static void queue_fasync(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_source *source = &t->source[0];
	struct file *file;
	int i;

	file = anon_inode_getfile("[compch_test]", &fasync_fops, NULL, O_RDWR);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_GE(test, fasync_helper(-1, file, 1, &t->queue.fasync), 0);
	compch_queue_watch(&t->queue);
	for (i = 0; i < 3; i++) {
		struct compch_test_reader *reader = &t->reader[i];

		/* It waits for the signal only. */
		KUNIT_EXPECT_TRUE(test,
				  compch_test_reader_start(reader, &t->other, 0,
							   sizeof(u64)));
		__f_setown(file, task_pid(reader->task), PIDTYPE_PID, 1);
		if (i < 2)
			fire(test, source, 1);
		else
			KUNIT_EXPECT_EQ(test, 0,
					compch_queue_cancel(&t->queue));
		expect_returns(test, reader, -ERESTARTSYS);
		KUNIT_EXPECT_TRUE(test, t->queue.watched);
	}
	fasync_helper(-1, file, 0, &t->queue.fasync);
	fire(test, source, 1);
	KUNIT_EXPECT_FALSE(test, t->queue.watched);
	fput(file);
	flush_delayed_fput();
}

/* --- cancel --------------------------------------------------------------- */

static void queue_cancel_kept(struct kunit *test)
{
	struct queue_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), 2U);
	/* Each for exactly one read, and before any event. */
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-ECANCELED);
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), 1U);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-ECANCELED);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	expect_queue(test, &t->queue, 0, 1);
}

/* It is for the reader that is blocked, not for one that comes later. */
static void queue_cancel_blocked(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	start_reader(test, 1);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), 0U);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	expect_returns(test, &t->reader[0], -ECANCELED);
	KUNIT_EXPECT_FALSE(test, completion_done(&t->reader[1].done));
	fire(test, &t->source[0], 1);
	expect_read(test, &t->reader[1], 1);
}

/* As many readers as cancels, and one cancel more. */
static void queue_cancel_burst(struct kunit *test)
{
	struct queue_test *t = test->priv;
	int i;

	for (i = 0; i < 3; i++)
		start_reader(test, i);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	for (i = 0; i < 3; i++)
		expect_returns(test, &t->reader[i], -ECANCELED);
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), 1U);
}

/* A reader with an event to come and a cancel to come gets one of the two. */
static void queue_cancel_and_event(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	spin_lock(&t->queue.lock);
	cancel_locked(&t->queue);
	compch_test_fire(&t->source[0]);
	spin_unlock(&t->queue.lock);
	expect_returns(test, &t->reader[0], -ECANCELED);
	expect_queue(test, &t->queue, 1, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
}

static void queue_cancel_overflow(struct kunit *test)
{
	struct queue_test *t = test->priv;

	t->queue.cancels = U32_MAX - 1;
	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	KUNIT_EXPECT_EQ(test, -EOVERFLOW, compch_queue_cancel(&t->queue));
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), U32_MAX);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-ECANCELED);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), U32_MAX);
}

static void queue_cancel_closed(struct kunit *test)
{
	struct queue_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->other));
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->other, false));
	/* What waited is dropped. */
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->other), 0U);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), (s64)-EIO);
	KUNIT_EXPECT_EQ(test, -EIO, compch_queue_cancel(&t->other));
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->other), 0U);
}

/* --- close ---------------------------------------------------------------- */

static void queue_close_busy(struct kunit *test)
{
	struct queue_test *t = test->priv;
	int i;

	for (i = 0; i < NR_SOURCES; i++) {
		KUNIT_EXPECT_EQ(test, nr_sources(&t->queue),
				(u32)NR_SOURCES - i);
		KUNIT_EXPECT_EQ(test, -EBUSY,
				compch_queue_close(&t->queue, false));
		KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue),
				(s64)-EAGAIN);
		detach(test, &t->source[i], &t->queue, 0, 0, 0);
	}
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), 0U);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->queue, false));
	KUNIT_EXPECT_EQ(test, -EIO, compch_queue_close(&t->queue, false));
	KUNIT_EXPECT_EQ(test, -EIO, compch_queue_close(&t->queue, true));
}

static void queue_close_wakes_all(struct kunit *test)
{
	struct queue_test *t = test->priv;
	int i;

	for (i = 0; i < NR_READERS; i++)
		start_reader(test, i);
	KUNIT_EXPECT_EQ(test, -EBUSY, compch_queue_close(&t->queue, false));
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), (u32)NR_READERS);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->queue, true));
	for (i = 0; i < NR_READERS; i++)
		expect_returns(test, &t->reader[i], -EIO);
}

/* Closed by force, a queue still delivers, what was queued and what comes. */
static void queue_close_force(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 2);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->queue, true));
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), (u32)NR_SOURCES);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	fire(test, &t->source[1], 1);
	expect_queue(test, &t->queue, 2, 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EIO);

	fire(test, &t->source[1], 3);
	detach(test, &t->source[1], &t->queue, 1, 3, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EIO);
}

static void queue_attach_closed(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_source *source;

	source = kunit_kzalloc(test, sizeof(*source), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, source);
	compch_source_init(source, 9);
	/* Attached to nothing, it has nobody to tell. */
	KUNIT_EXPECT_FALSE(test, compch_test_fire(source));
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->other, false));
	KUNIT_EXPECT_EQ(test, -EIO, compch_source_attach(source, &t->other));
	KUNIT_EXPECT_EQ(test, nr_sources(&t->other), 0U);
	KUNIT_EXPECT_FALSE(test, compch_test_fire(source));
	expect_queue(test, &t->other, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, compch_source_attach(source, &t->queue));
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), NR_SOURCES + 1U);
	/* What came before is not in there. */
	expect_queue(test, &t->queue, 0, 0);
	fire(test, source, 1);
	expect_source(test, source, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 9LL);
}

/* --- move ----------------------------------------------------------------- */

static void queue_move_with_events(struct kunit *test)
{
	struct queue_test *t = test->priv;

	move(test, &t->source[3], &t->other, 0);
	fire(test, &t->source[3], 2);
	fire(test, &t->source[0], 1);
	fire(test, &t->source[1], 3);
	fire(test, &t->source[2], 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);

	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[1], &t->other, 0),
			    &t->queue);
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), NR_SOURCES - 2U);
	KUNIT_EXPECT_EQ(test, nr_sources(&t->other), 2U);
	expect_queue(test, &t->queue, 1, 2);
	expect_queue(test, &t->other, 4, 0);
	expect_source(test, &t->source[1], 2, 1, 0);

	/* It queues up there behind the others, and is gone here. */
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), 4LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), 2LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), 4LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), 2LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), (s64)-EAGAIN);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 3LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);

	/* What it fires from now on comes there. */
	fire(test, &t->source[1], 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), 2LL);
	expect_source(test, &t->source[1], 0, 4, 0);
	expect_queue(test, &t->other, 0, 5);
}

/* Both ways, for the locks are taken by address. */
static void queue_move_both_ways(struct kunit *test)
{
	struct queue_test *t = test->priv;
	int i;

	fire(test, &t->source[0], 1);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->other,
					       0), &t->queue);
		KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->queue,
					       0), &t->other);
	}
	expect_queue(test, &t->other, 0, 0);
	KUNIT_EXPECT_EQ(test, nr_sources(&t->other), 0U);
	expect_queue(test, &t->queue, 1, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
}

static void queue_move_to_coalescing(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 5);
	fire(test, &t->source[1], 1);
	move(test, &t->source[0], &t->coalescing, 4);
	move(test, &t->source[1], &t->coalescing, 0);
	move(test, &t->source[2], &t->coalescing, 0);
	expect_queue(test, &t->queue, 0, 0);
	expect_queue(test, &t->coalescing, 2, 0);
	expect_source(test, &t->source[0], 1, 0, 4);
	expect_source(test, &t->source[1], 1, 0, 0);
	expect_source(test, &t->source[2], 0, 0, 0);

	/* Back again, what has merged stays so. */
	move(test, &t->source[0], &t->queue, 0);
	expect_source(test, &t->source[0], 1, 0, 4);
	fire(test, &t->source[0], 1);
	expect_source(test, &t->source[0], 2, 0, 4);
	expect_queue(test, &t->queue, 2, 0);
	expect_queue(test, &t->coalescing, 1, 0);
}

static void queue_move_to_same(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 2);
	fire(test, &t->source[1], 1);
	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->queue, 0),
			    &t->queue);
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), (u32)NR_SOURCES);
	expect_queue(test, &t->queue, 3, 0);
	/* It has not lost its place either. */
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
}

static void queue_move_to_closed(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_queue *from;

	fire(test, &t->source[0], 2);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->other, false));
	from = move(test, &t->source[0], &t->other, 0);
	KUNIT_EXPECT_TRUE(test, IS_ERR(from));
	KUNIT_EXPECT_EQ(test, PTR_ERR(from), (long)-EIO);
	/* It stays where it was. */
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), (u32)NR_SOURCES);
	KUNIT_EXPECT_EQ(test, nr_sources(&t->other), 0U);
	expect_queue(test, &t->queue, 2, 0);
	expect_queue(test, &t->other, 0, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	fire(test, &t->source[0], 1);
	expect_queue(test, &t->queue, 2, 1);
}

static void queue_move_from_closed(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 2);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_close(&t->queue, true));
	/* To where it is has no effect, closed or not. */
	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->queue, 0),
			    &t->queue);
	expect_queue(test, &t->queue, 2, 0);
	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->other, 0),
			    &t->queue);
	expect_queue(test, &t->other, 2, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), 1LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EIO);
}

/* The lock at the lower address first, whichever way: lockdep knows. */
static void queue_move_lock_order(struct kunit *test)
{
#ifdef CONFIG_LOCKDEP
	struct queue_test *t = test->priv;
	struct compch_queue *low = min(&t->queue, &t->other);
	struct compch_queue *high = max(&t->queue, &t->other);
	struct lockdep_map *first, *second;
	int depth;
	int i;

	for (i = 0; i < 2; i++) {
		first = NULL;
		second = NULL;
		compch_queue_lock_two(i ? high : low, i ? low : high);
		depth = current->lockdep_depth;
		if (debug_locks && depth >= 2) {
			first = current->held_locks[depth - 2].instance;
			second = current->held_locks[depth - 1].instance;
		}
		spin_unlock(&high->lock);
		spin_unlock(&low->lock);

		if (!first)
			kunit_skip(test, "lockdep is off");
		KUNIT_EXPECT_PTR_EQ(test, first, &low->lock.dep_map);
		KUNIT_EXPECT_PTR_EQ(test, second, &high->lock.dep_map);
	}
#else
	kunit_skip(test, "this kernel has no lockdep");
#endif
}

/**
 * struct race_fire - a thread on another CPU that fires
 * @source: what it fires
 * @fired: how often it has
 * @done: that was all
 */
struct race_fire {
	struct compch_source *source;
	unsigned int fired;
	struct completion done;
};

#define RACE_EVENTS	100000

static int race_fire_main(void *arg)
{
	struct race_fire *race = arg;

	while (race->fired < RACE_EVENTS && compch_test_fire(race->source))
		WRITE_ONCE(race->fired, race->fired + 1);
	complete(&race->done);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/* Wherever an event finds its source, it is pending once. */
static void queue_move_while_firing(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct race_fire race = { .source = &t->source[0] };
	unsigned int cpu, moves = 0;
	struct task_struct *task;

	cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "it takes two CPUs");
	init_completion(&race.done);
	task = kthread_create(race_fire_main, &race, "compch_fire");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	get_task_struct(task);
	wake_up_process(task);
	KUNIT_EXPECT_TRUE(test, compch_test_until(READ_ONCE(race.fired)));
	do {
		move(test, &t->source[0], moves++ % 2 ? &t->queue : &t->other,
		     0);
		/* Off the queue, so that the next event is a first one. */
		compch_test_next(moves % 2 ? &t->other : &t->queue);
	} while (!completion_done(&race.done));
	kthread_stop(task);
	put_task_struct(task);

	KUNIT_EXPECT_GT(test, moves, 1U);
	KUNIT_EXPECT_EQ(test, race.fired, RACE_EVENTS);
	expect_source(test, &t->source[0],
		      RACE_EVENTS - t->queue.reported - t->other.reported,
		      t->queue.reported + t->other.reported, 0);
	move(test, &t->source[0], &t->queue, 0);
	while (compch_test_next(&t->queue) > 0)
		;
	expect_source(test, &t->source[0], 0, RACE_EVENTS, 0);
	KUNIT_EXPECT_EQ(test, t->queue.reported + t->other.reported,
			(u64)RACE_EVENTS);
}

/* --- detach --------------------------------------------------------------- */

static void queue_detach(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 1);
	fire(test, &t->source[1], 3);
	fire(test, &t->source[2], 2);
	detach(test, &t->source[1], &t->queue, 0, 3, 0);
	KUNIT_EXPECT_EQ(test, nr_sources(&t->queue), NR_SOURCES - 1U);
	expect_queue(test, &t->queue, 3, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 3LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 3LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);

	/* The events of one that is detached are its owner's. */
	KUNIT_EXPECT_FALSE(test, compch_test_fire(&t->source[1]));
	KUNIT_EXPECT_FALSE(test, compch_test_fire(&t->source[1]));
	KUNIT_EXPECT_TRUE(test, llist_empty(&t->queue.incoming));
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	expect_queue(test, &t->queue, 0, 3);
}

/* Neither does one that is detached wake anybody. */
static void queue_detach_wakes_nobody(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	add_poller(t, &t->queue);
	detach(test, &t->source[0], &t->queue, 0, 0, 0);
	KUNIT_EXPECT_FALSE(test, compch_test_fire(&t->source[0]));
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
	KUNIT_EXPECT_EQ(test, t->poll_wakeups, 0U);
	remove_poller(t, &t->queue);
}

#if !COMPCH_TEST_RINGS
/* The last event is discarded: its reader waits on. */
static void queue_detach_before_read(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	spin_lock(&t->queue.lock);
	compch_test_fire(&t->source[0]);
	/* What compch_source_detach() does. */
	compch_queue_gather(&t->queue);
	atomic64_set(&t->source[0].pending, 0);
	compch_ready_remove(&t->queue, &t->source[0]);
	spin_unlock(&t->queue.lock);
	expect_blocked(test, 1);
	fire(test, &t->source[1], 1);
	expect_read(test, &t->reader[0], 2);
}
#endif

#if !COMPCH_TEST_RINGS
/* --- an event between the two steps of compch_source_fire() ----------------- */

/**
 * struct in_flight - an event that is counted, but whose source is not queued
 * @work: queues it, once somebody is there to wait for that; in a hard
 *	interrupt, for a softirq may be put off as long as he spins
 * @source: the source
 * @queue: where it goes
 * @moved_to: whoever waits moves the source there; or NULL, and he detaches it
 * @pushed: it has been queued
 */
struct in_flight {
	struct irq_work work;
	struct compch_source *source;
	struct compch_queue *queue;
	struct compch_queue *moved_to;
	bool pushed;
};

/* At each tick */
static void in_flight_land(struct irq_work *work)
{
	struct in_flight *f = container_of(work, struct in_flight, work);
	struct compch_source *source = f->source;

	if (f->moved_to ? rcu_access_pointer(source->queue) != f->moved_to :
			  atomic64_read(&source->pending) >= 0) {
		irq_work_queue(work);
		return;
	}
	WRITE_ONCE(f->pushed, true);
	llist_add(&source->incoming, &f->queue->incoming);
}

static struct in_flight *in_flight_start(struct kunit *test,
					 struct compch_queue *queue,
					 struct compch_queue *moved_to)
{
	struct queue_test *t = test->priv;
	struct in_flight *f;

	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->source = &t->source[0];
	f->queue = queue;
	f->moved_to = moved_to;
	KUNIT_EXPECT_EQ(test, atomic64_fetch_inc(&f->source->pending), 0LL);
	/* It comes second, so it has nothing to do but to count. */
	fire(test, f->source, 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	expect_source(test, f->source, 2, 0, 0);
	f->work = IRQ_WORK_INIT_LAZY(in_flight_land);
	irq_work_queue(&f->work);
	return f;
}

static void in_flight_end(struct kunit *test, struct in_flight *f)
{
	struct queue_test *t = test->priv;

	/* He who ought to have waited has returned. */
	KUNIT_EXPECT_TRUE(test, READ_ONCE(f->pushed));
	/* The work must not outlive the test. */
	KUNIT_EXPECT_TRUE(test, compch_test_until(READ_ONCE(f->pushed)));
	irq_work_sync(&f->work);
	KUNIT_EXPECT_TRUE(test, llist_empty(&t->queue.incoming));
	KUNIT_EXPECT_TRUE(test, llist_empty(&t->other.incoming));
}

static void queue_in_flight_detach(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct in_flight *f;

	f = in_flight_start(test, &t->queue, NULL);
	fire(test, &t->source[1], 1);
	detach(test, &t->source[0], &t->queue, 0, 2, 0);
	in_flight_end(test, f);
	KUNIT_EXPECT_FALSE(test, compch_test_fire(&t->source[0]));
	expect_queue(test, &t->queue, 1, 0);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 2LL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
}

static void in_flight_move(struct kunit *test, struct compch_queue *queue)
{
	struct queue_test *t = test->priv;
	struct in_flight *f;

	f = in_flight_start(test, queue, &t->other);
	KUNIT_EXPECT_PTR_EQ(test, move(test, &t->source[0], &t->other, 0),
			    &t->queue);
	in_flight_end(test, f);
	KUNIT_EXPECT_TRUE(test, hlist_empty(&t->queue.ready));
	expect_queue(test, &t->queue, 0, 0);
	expect_queue(test, &t->other, 2, 0);
	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->other, t->buf, 64),
			(ssize_t)24);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-EAGAIN);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->other), (s64)-EAGAIN);
	expect_source(test, &t->source[0], 0, 3, 0);
}

/* Whoever fires has read @queue before it changed, ... */
static void queue_in_flight_move_old(struct kunit *test)
{
	struct queue_test *t = test->priv;

	in_flight_move(test, &t->queue);
}

/* ... or after. */
static void queue_in_flight_move_new(struct kunit *test)
{
	struct queue_test *t = test->priv;

	in_flight_move(test, &t->other);
}

/*
 * Whoever fires second wakes a reader in vain.  The first one wakes it for one
 * event, and there are two: no other reader may sleep on.
 */
static void queue_in_flight_wakes(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_source *source = &t->source[0];

	start_reader(test, 0);
	start_reader(test, 1);
	start_reader(test, 2);
	KUNIT_EXPECT_EQ(test, atomic64_fetch_inc(&source->pending), 0LL);
	fire(test, source, 1);
	/* Woken in vain, it has come back. */
	expect_blocked(test, 3);
	KUNIT_EXPECT_TRUE(test, compch_test_is_oldest(&t->reader[0]));
	llist_add(&source->incoming, &t->queue.incoming);
	compch_queue_wake(&t->queue, source);
	expect_read(test, &t->reader[0], 1);
	expect_read(test, &t->reader[1], 1);
	KUNIT_EXPECT_TRUE(test, compch_test_is_oldest(&t->reader[2]));
	expect_queue(test, &t->queue, 0, 2);
}
#endif

/* --- what is counted besides ---------------------------------------------- */

/* A ring does not tell. */
#if !COMPCH_TEST_RINGS
static void expect_longest(struct kunit *test, struct compch_queue *queue,
			   u32 sources, struct compch_source *source,
			   u64 events)
{
	struct compch_queue_state state;
	struct compch_source_state source_state;

	compch_queue_query(queue, &state);
	compch_source_query(source, &source_state);
	KUNIT_EXPECT_EQ(test, state.longest, sources);
	KUNIT_EXPECT_EQ(test, source_state.longest, events);
}

/* Reads at most @events, of which there is at least one. */
static void read_to(struct kunit *test, struct compch_queue *queue,
		    unsigned long addr, unsigned int events)
{
	struct queue_test *t = test->priv;

	KUNIT_EXPECT_GT(test, read_at(queue, addr, t->buf,
				      events * sizeof(u64)), (ssize_t)0);
}

/*
 * The longest queue is that of the worst moment, whether a reader has come since
 * or not.  One read may find sources that have just come in, others that
 * have been ready, and some that it comes to twice.
 */
static void longest(struct kunit *test, bool user)
{
	struct queue_test *t = test->priv;
	unsigned long addr = 0;
	int i;

	if (user) {
		addr = compch_test_map(1, 1);
		KUNIT_ASSERT_NE(test, addr, 0UL);
	}
	expect_longest(test, &t->queue, 0, &t->source[0], 0);
	fire(test, &t->source[0], 1);
	expect_longest(test, &t->queue, 1, &t->source[0], 1);
	read_to(test, &t->queue, addr, 8);
	expect_longest(test, &t->queue, 1, &t->source[0], 1);

	fire(test, &t->source[0], 3);
	fire(test, &t->source[1], 1);
	fire(test, &t->source[2], 1);
	expect_longest(test, &t->queue, 3, &t->source[0], 3);
	/* One event of each, and the first one comes again. */
	for (i = 0; i < 5; i++)
		read_to(test, &t->queue, addr, 1);
	expect_longest(test, &t->queue, 3, &t->source[0], 3);
	expect_longest(test, &t->queue, 3, &t->source[1], 1);

	fire(test, &t->source[1], 2);
	read_to(test, &t->queue, addr, 64);
	expect_longest(test, &t->queue, 3, &t->source[1], 2);
	for (i = 0; i < NR_SOURCES; i++)
		fire(test, &t->source[i], 1);
	read_to(test, &t->queue, addr, 1);
	expect_longest(test, &t->queue, 4, &t->source[0], 3);
	read_to(test, &t->queue, addr, 64);
	expect_longest(test, &t->queue, 4, &t->source[3], 1);
	expect_queue(test, &t->queue, 0, 12);
	if (addr)
		compch_test_unmap(addr, 1);
}

static void queue_longest(struct kunit *test)
{
	longest(test, false);
}

static void queue_longest_user(struct kunit *test)
{
	longest(test, true);
}

/* Who asks has seen what nobody reads then. */
static void queue_longest_unread(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 3);
	fire(test, &t->source[1], 2);
	expect_longest(test, &t->queue, 2, &t->source[0], 3);
	move(test, &t->source[0], &t->other, 0);
	detach(test, &t->source[1], &t->queue, 0, 2, 0);
	expect_longest(test, &t->queue, 2, &t->source[2], 0);
	expect_longest(test, &t->other, 1, &t->source[0], 3);
}
#endif

static void queue_last_read(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_source_state source;
	struct compch_queue_state queue;
	u64 before = get_jiffies_64();

	fire(test, &t->source[0], 1);
	compch_queue_query(&t->queue, &queue);
	compch_source_query(&t->source[0], &source);
	KUNIT_EXPECT_EQ(test, queue.last_read, 0ULL);
	KUNIT_EXPECT_EQ(test, source.last_read, 0ULL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	compch_queue_query(&t->queue, &queue);
	compch_source_query(&t->source[0], &source);
	KUNIT_EXPECT_GE(test, queue.last_read, before);
	KUNIT_EXPECT_LE(test, queue.last_read, get_jiffies_64());
	KUNIT_EXPECT_EQ(test, source.last_read, queue.last_read);
	compch_source_query(&t->source[1], &source);
	KUNIT_EXPECT_EQ(test, source.last_read, 0ULL);
}

static u64 wakeups(struct compch_queue *queue)
{
	struct compch_queue_state state;

	compch_queue_query(queue, &state);
	return state.wakeups;
}

static void queue_wakeups(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 1);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), 1LL);
	KUNIT_EXPECT_EQ(test, wakeups(&t->queue), 0ULL);
	start_reader(test, 0);
	start_reader(test, 1);
	fire(test, &t->source[0], 1);
	expect_read(test, &t->reader[0], 1);
	KUNIT_EXPECT_EQ(test, wakeups(&t->queue), 1ULL);
	KUNIT_EXPECT_EQ(test, 0, compch_queue_cancel(&t->queue));
	KUNIT_EXPECT_TRUE(test, compch_test_reader_returns(&t->reader[1]));
	KUNIT_EXPECT_EQ(test, wakeups(&t->queue), 2ULL);
}

#if !COMPCH_TEST_RINGS
/* What has merged or been discarded is counted by the queue where it was. */
static void queue_merged_discarded(struct kunit *test)
{
	struct queue_test *t = test->priv;
	struct compch_queue_state state;
	u64 unused, merged;

	compch_source_move(&t->source[0], &t->coalescing, &merged);
	fire(test, &t->source[0], 4);
	compch_queue_query(&t->coalescing, &state);
	KUNIT_EXPECT_EQ(test, state.merged, 3ULL);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->coalescing), 1LL);
	KUNIT_EXPECT_EQ(test, compch_queue_take_merged(&t->coalescing), 3ULL);
	KUNIT_EXPECT_EQ(test, compch_queue_take_merged(&t->coalescing), 0ULL);
	compch_queue_query(&t->coalescing, &state);
	KUNIT_EXPECT_EQ(test, state.merged, 3ULL);
	fire(test, &t->source[0], 3);
	compch_source_move(&t->source[0], &t->queue, &merged);
	KUNIT_EXPECT_EQ(test, merged, 2ULL);
	compch_queue_query(&t->coalescing, &state);
	KUNIT_EXPECT_EQ(test, state.merged, 5ULL);
	/* By the move itself, which has said so. */
	KUNIT_EXPECT_EQ(test, compch_queue_take_merged(&t->coalescing), 0ULL);
	fire(test, &t->source[0], 1);
	compch_source_detach(&t->source[0], &unused, &unused);
	compch_queue_query(&t->queue, &state);
	KUNIT_EXPECT_EQ(test, state.discarded, 2ULL);
	KUNIT_EXPECT_EQ(test, state.merged, 0ULL);
}
#endif

/* --- signals -------------------------------------------------------------- */

static void queue_signal(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	start_reader(test, 1);
	send_sig(SIGUSR1, t->reader[0].task, 1);
	expect_returns(test, &t->reader[0], -ERESTARTSYS);
	/* It is off the list. */
	KUNIT_EXPECT_EQ(test, compch_test_blocked(&t->queue), 1U);
	fire(test, &t->source[0], 1);
	expect_read(test, &t->reader[1], 1);
}

/* An event comes before a signal that can be handled. */
static void queue_signal_with_event(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	spin_lock(&t->queue.lock);
	send_sig(SIGUSR1, t->reader[0].task, 1);
	compch_test_fire(&t->source[0]);
	spin_unlock(&t->queue.lock);
	expect_read(test, &t->reader[0], 1);
	expect_queue(test, &t->queue, 0, 1);
}

/* Who is killed takes nothing along: neither the event ... */
static void queue_kill_with_event(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	start_reader(test, 1);
	spin_lock(&t->queue.lock);
	compch_test_fire(&t->source[0]);
	send_sig(SIGKILL, t->reader[0].task, 1);
	spin_unlock(&t->queue.lock);
	expect_returns(test, &t->reader[0], -ERESTARTSYS);
	expect_read(test, &t->reader[1], 1);
	expect_queue(test, &t->queue, 0, 1);
}

/* ... nor the cancel that it was woken for. */
static void queue_kill_with_cancel(struct kunit *test)
{
	struct queue_test *t = test->priv;

	start_reader(test, 0);
	start_reader(test, 1);
	spin_lock(&t->queue.lock);
	cancel_locked(&t->queue);
	send_sig(SIGKILL, t->reader[0].task, 1);
	spin_unlock(&t->queue.lock);
	expect_returns(test, &t->reader[0], -ERESTARTSYS);
	expect_returns(test, &t->reader[1], -ECANCELED);

	/* Alone, it leaves the cancel for the next read. */
	start_reader(test, 2);
	spin_lock(&t->queue.lock);
	cancel_locked(&t->queue);
	send_sig(SIGKILL, t->reader[2].task, 1);
	spin_unlock(&t->queue.lock);
	expect_returns(test, &t->reader[2], -ERESTARTSYS);
	KUNIT_EXPECT_EQ(test, nr_cancels(&t->queue), 1U);
	KUNIT_EXPECT_EQ(test, compch_test_next(&t->queue), (s64)-ECANCELED);
}

/* --- buffers that cannot be written --------------------------------------- */

/* The order in which fire_mixed()'s events must be read, whatever happens. */
static const u64 mixed[] = { 1, 2, 3, 4, 1, 3, 4, 1, 3, 1, 3, 3, 3 };

static void fire_mixed(struct kunit *test)
{
	struct queue_test *t = test->priv;

	fire(test, &t->source[0], 4);
	fire(test, &t->source[1], 1);
	fire(test, &t->source[2], 6);
	fire(test, &t->source[3], 2);
}

static void expect_mixed(struct kunit *test, unsigned int from,
			 unsigned int count)
{
	struct queue_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < count; i++)
		KUNIT_EXPECT_EQ_MSG(test, t->buf[i], mixed[from + i],
				    "event %u", from + i);
}

/* One that is not there costs no event, and no place in the queue. */
static void queue_fault_nothing_fits(struct kunit *test)
{
	struct queue_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);
	int i;

	KUNIT_ASSERT_NE(test, addr, 0UL);
	fire_mixed(test);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test,
				compch_test_read_user(&t->queue,
						      addr + PAGE_SIZE, 64,
						      true, NULL),
				(ssize_t)-EFAULT);
		expect_queue(test, &t->queue, ARRAY_SIZE(mixed), 0);
		expect_source(test, &t->source[0], 4, 0, 0);
		expect_source(test, &t->source[1], 1, 0, 0);
		expect_source(test, &t->source[2], 6, 0, 0);
		expect_source(test, &t->source[3], 2, 0, 0);
	}
	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, 1024),
			(ssize_t)sizeof(mixed));
	expect_mixed(test, 0, ARRAY_SIZE(mixed));
	compch_test_unmap(addr, 1);
}

/* An address that no program has is refused before anything is written. */
static void queue_fault_no_address(struct kunit *test)
{
	struct queue_test *t = test->priv;

	compch_test_fire(&t->source[0]);
	KUNIT_EXPECT_EQ(test,
			compch_test_read_user(&t->queue, -PAGE_SIZE, 64, true,
					      NULL),
			(ssize_t)-EFAULT);
	expect_queue(test, &t->queue, 1, 0);
	expect_source(test, &t->source[0], 1, 0, 0);
}

struct fault_case {
	/* Bytes that can be written, of a longer buffer */
	unsigned int room;
	unsigned int events;
};

static const struct fault_case fault_cases[] = {
	{ 8, 1 }, { 9, 1 }, { 15, 1 }, { 16, 2 }, { 24, 3 }, { 28, 3 },
	{ 31, 3 }, { 40, 5 }, { 44, 5 }, { 64, 8 }, { 100, 12 }, { 103, 12 },
};

static void fault_case_desc(const struct fault_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes", c->room);
}

KUNIT_ARRAY_PARAM(fault, fault_cases, fault_case_desc);

/* What fits is read, the rest stays, in order and uncounted. */
static void queue_fault_some_fit(struct kunit *test)
{
	const struct fault_case *c = test->param_value;
	struct queue_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);
	unsigned int left = ARRAY_SIZE(mixed) - c->events;
	struct compch_source_state state;
	u64 pending = 0, reported = 0;
	int i;

	KUNIT_ASSERT_NE(test, addr, 0UL);
	fire_mixed(test);
	KUNIT_EXPECT_EQ(test,
			compch_test_read_user(&t->queue,
					      addr + PAGE_SIZE - c->room, 512,
					      true, t->buf),
			(ssize_t)(c->events * sizeof(u64)));
	expect_mixed(test, 0, c->events);
	expect_queue(test, &t->queue, left, c->events);
	for (i = 0; i < NR_SOURCES; i++) {
		compch_source_query(&t->source[i], &state);
		pending += state.pending;
		reported += state.reported;
	}
	KUNIT_EXPECT_EQ(test, pending, (u64)left);
	KUNIT_EXPECT_EQ(test, reported, (u64)c->events);

	KUNIT_EXPECT_EQ(test, compch_test_read(&t->queue, t->buf, 1024),
			(ssize_t)(left * sizeof(u64)));
	expect_mixed(test, c->events, left);
	compch_test_unmap(addr, 1);
}

/* The same with one event of each source. */
static void queue_fault_one_each(struct kunit *test)
{
	struct queue_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);
	u64 events = 0, reads = 0;
	unsigned int fit, i;

	KUNIT_ASSERT_NE(test, addr, 0UL);
	for (fit = 0; fit < NR_SOURCES; fit++) {
		for (i = 0; i < NR_SOURCES; i++)
			fire(test, &t->source[i], 1);
		KUNIT_EXPECT_EQ(test,
				read_at(&t->queue, addr + PAGE_SIZE - fit * 8,
					t->buf, 64),
				fit ? (ssize_t)(fit * 8) : -EFAULT);
		expect_queue(test, &t->queue, NR_SOURCES - fit, events + fit);
		for (i = 0; i < NR_SOURCES; i++)
			expect_source(test, &t->source[i], i >= fit,
				      reads + (i < fit), 0);
		KUNIT_EXPECT_EQ(test,
				compch_test_read(&t->queue, t->buf + fit, 64),
				(ssize_t)((NR_SOURCES - fit) * 8));
		for (i = 0; i < NR_SOURCES; i++)
			KUNIT_EXPECT_EQ(test, t->buf[i], i + 1ULL);
		events += NR_SOURCES;
		reads++;
	}
	expect_queue(test, &t->queue, 0, events);
	compch_test_unmap(addr, 1);
}

/* A page that only has to be faulted in makes no difference at all. */
static void queue_fault_page_absent(struct kunit *test)
{
	struct queue_test *t = test->priv;
	unsigned long addr = compch_test_map(2, 0);
	unsigned long addr2 = compch_test_map(2, 1);

	KUNIT_ASSERT_NE(test, addr, 0UL);
	KUNIT_ASSERT_NE(test, addr2, 0UL);
	fire_mixed(test);
	KUNIT_EXPECT_EQ(test, compch_test_read_user(&t->queue, addr, 512, true,
						    t->buf),
			(ssize_t)sizeof(mixed));
	expect_mixed(test, 0, ARRAY_SIZE(mixed));

	/* The first five fit before the page that is not there, and a bit. */
	fire_mixed(test);
	KUNIT_EXPECT_EQ(test,
			compch_test_read_user(&t->queue, addr2 + PAGE_SIZE - 44,
					      512, true, t->buf),
			(ssize_t)sizeof(mixed));
	expect_mixed(test, 0, ARRAY_SIZE(mixed));
	expect_queue(test, &t->queue, 0, 2 * ARRAY_SIZE(mixed));
	compch_test_unmap(addr, 2);
	compch_test_unmap(addr2, 2);
}

/* Several chunks, of which a later one cannot be copied. */
static void queue_fault_later_chunk(struct kunit *test)
{
	struct queue_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);

	KUNIT_ASSERT_NE(test, addr, 0UL);
	fire(test, &t->source[0], 100);
	KUNIT_EXPECT_EQ(test,
			compch_test_read_user(&t->queue,
					      addr + PAGE_SIZE - 40 * 8, 1024,
					      true, t->buf),
			(ssize_t)320);
	expect_queue(test, &t->queue, 60, 40);
	expect_source(test, &t->source[0], 60, 40, 0);
	compch_test_unmap(addr, 1);
}

/* Woken for an event that it cannot take, a reader wakes the next one. */
static void queue_fault_passes_on(struct kunit *test)
{
	struct queue_test *t = test->priv;
	unsigned long addr = compch_test_map(1, 1);

	KUNIT_ASSERT_NE(test, addr, 0UL);
	KUNIT_EXPECT_TRUE(test,
			  compch_test_reader_start(&t->reader[0], &t->queue,
						   addr + PAGE_SIZE, 8));
	KUNIT_EXPECT_TRUE(test,
			  compch_test_reader_start(&t->reader[1], &t->queue, 0,
						   8));
	fire(test, &t->source[0], 1);
	expect_returns(test, &t->reader[0], -EFAULT);
	expect_read(test, &t->reader[1], 1);
	expect_queue(test, &t->queue, 0, 1);
	compch_test_unmap(addr, 1);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(queue_new_is_empty),
	KUNIT_CASE(queue_read_order),
	KUNIT_CASE_PARAM(queue_read_fair, fair_gen_params),
	KUNIT_CASE_PARAM(queue_read_fair_user, fair_gen_params),
	KUNIT_CASE(queue_read_no_starving),
	KUNIT_CASE(queue_read_no_starving_user),
	KUNIT_CASE_PARAM(queue_read_batch, batch_gen_params),
	KUNIT_CASE(queue_read_short_buffer),
	KUNIT_CASE(queue_counts_exact),
#if !COMPCH_TEST_RINGS
	KUNIT_CASE(queue_counts_wrap),
	KUNIT_CASE(queue_counts_wrap_merged),
#endif
	KUNIT_CASE(queue_coalesce),
	KUNIT_CASE(queue_coalesce_user),
	KUNIT_CASE(queue_coalesce_exact),
	KUNIT_CASE(queue_coalesce_wakes_once),
	KUNIT_CASE_PARAM(queue_wake_one_each, wake_gen_params),
	KUNIT_CASE(queue_wake_burst),
	KUNIT_CASE(queue_wake_in_vain),
	KUNIT_CASE(queue_wake_pollers),
	KUNIT_CASE(queue_wake_by_move),
	KUNIT_CASE(queue_watched),
	KUNIT_CASE(queue_fasync),
	KUNIT_CASE(queue_cancel_kept),
	KUNIT_CASE(queue_cancel_blocked),
	KUNIT_CASE(queue_cancel_burst),
	KUNIT_CASE(queue_cancel_and_event),
	KUNIT_CASE(queue_cancel_overflow),
	KUNIT_CASE(queue_cancel_closed),
	KUNIT_CASE(queue_close_busy),
	KUNIT_CASE(queue_close_wakes_all),
	KUNIT_CASE(queue_close_force),
	KUNIT_CASE(queue_attach_closed),
	KUNIT_CASE(queue_move_with_events),
	KUNIT_CASE(queue_move_both_ways),
	KUNIT_CASE(queue_move_to_coalescing),
	KUNIT_CASE(queue_move_to_same),
	KUNIT_CASE(queue_move_to_closed),
	KUNIT_CASE(queue_move_from_closed),
	KUNIT_CASE(queue_move_lock_order),
	KUNIT_CASE(queue_move_while_firing),
	KUNIT_CASE(queue_detach),
	KUNIT_CASE(queue_detach_wakes_nobody),
#if !COMPCH_TEST_RINGS
	KUNIT_CASE(queue_detach_before_read),
	KUNIT_CASE(queue_in_flight_detach),
	KUNIT_CASE(queue_in_flight_move_old),
	KUNIT_CASE(queue_in_flight_move_new),
	KUNIT_CASE(queue_in_flight_wakes),
#endif
#if !COMPCH_TEST_RINGS
	KUNIT_CASE(queue_longest),
	KUNIT_CASE(queue_longest_user),
	KUNIT_CASE(queue_longest_unread),
#endif
	KUNIT_CASE(queue_last_read),
	KUNIT_CASE(queue_wakeups),
#if !COMPCH_TEST_RINGS
	KUNIT_CASE(queue_merged_discarded),
#endif
	KUNIT_CASE(queue_signal),
	KUNIT_CASE(queue_signal_with_event),
	KUNIT_CASE(queue_kill_with_event),
	KUNIT_CASE(queue_kill_with_cancel),
	KUNIT_CASE(queue_fault_nothing_fits),
	KUNIT_CASE(queue_fault_no_address),
	KUNIT_CASE_PARAM(queue_fault_some_fit, fault_gen_params),
	KUNIT_CASE(queue_fault_one_each),
	KUNIT_CASE(queue_fault_page_absent),
	KUNIT_CASE(queue_fault_later_chunk),
	KUNIT_CASE(queue_fault_passes_on),
	{}
};

static struct kunit_suite queue_suite = {
	.name = QUEUE_SUITE_NAME,
	.suite_init = compch_test_get_mm,
	.suite_exit = compch_test_put_mm,
	.init = queue_test_init,
	.exit = queue_test_exit,
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);

MODULE_DESCRIPTION("KUnit tests of the event queue of a completion channel");
MODULE_LICENSE("Dual BSD/GPL");
