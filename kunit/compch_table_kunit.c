// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table in which completion handlers look CQs up: what is in it is found
 * at any moment, also while the table grows.
 */

#define compch_table_exit	compch_table_kunit_exit
#define compch_table_init	compch_table_kunit_init
#define compch_table_insert	compch_table_kunit_insert
#define compch_table_next	compch_table_kunit_next
#define compch_table_remove	compch_table_kunit_remove

#include "../drivers/infiniband/compch/table.c"

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>

/* So many that the table grows five times. */
#define NR_ENTRIES	(20UL << COMPCH_TABLE_MIN_BITS)

/* Neighbours in an array, as keys are in practice. */
struct table_key {
	char space[64];
};

/**
 * struct table_test - what each test starts with
 * @table: empty
 * @key: of @entry; never looked at
 * @entry: in no table
 * @work: looks up what is in the table, in a hard interrupt
 * @present: entries up to here are in the table
 * @lookups: how often @work has run
 * @missed: what it has not found
 */
struct table_test {
	struct compch_table table;
	struct table_key key[NR_ENTRIES];
	struct compch_table_entry entry[NR_ENTRIES];
	struct irq_work work;
	unsigned long present;
	atomic_t lookups;
	atomic_t missed;
};

static void table_look(struct irq_work *work)
{
	struct table_test *t = container_of(work, struct table_test, work);
	unsigned long present = READ_ONCE(t->present);
	unsigned long i;

	rcu_read_lock();
	for (i = 0; i < present; i += 1 + i / 16)
		if (compch_table_lookup(&t->table, &t->key[i]) != &t->entry[i])
			atomic_inc(&t->missed);
	rcu_read_unlock();
	atomic_inc(&t->lookups);
}

static int table_test_init(struct kunit *test)
{
	struct table_test *t;
	unsigned long i;

	t = kvzalloc(sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->work = IRQ_WORK_INIT(table_look);
	KUNIT_ASSERT_EQ(test, 0, compch_table_init(&t->table));
	for (i = 0; i < NR_ENTRIES; i++)
		t->entry[i].key = &t->key[i];
	return 0;
}

static void table_test_exit(struct kunit *test)
{
	struct table_test *t = test->priv;

	if (!t)
		return;
	irq_work_sync(&t->work);
	if (rcu_access_pointer(t->table.buckets)) {
		t->table.count = 0;
		compch_table_exit(&t->table);
	}
	kvfree(t);
}

static int insert(struct table_test *t, unsigned long i)
{
	int ret;

	mutex_lock(&t->table.lock);
	ret = compch_table_insert(&t->table, &t->entry[i]);
	mutex_unlock(&t->table.lock);
	return ret;
}

static void take_out(struct table_test *t, unsigned long i)
{
	mutex_lock(&t->table.lock);
	compch_table_remove(&t->table, &t->entry[i]);
	mutex_unlock(&t->table.lock);
}

static struct compch_table_entry *look_up(struct table_test *t,
					  unsigned long i)
{
	struct compch_table_entry *entry;

	rcu_read_lock();
	entry = compch_table_lookup(&t->table, &t->key[i]);
	rcu_read_unlock();
	return entry;
}

static unsigned int bits(struct table_test *t)
{
	unsigned int bits;

	rcu_read_lock();
	bits = rcu_dereference(t->table.buckets)->bits;
	rcu_read_unlock();
	return bits;
}

static void table_insert_remove(struct kunit *test)
{
	struct table_test *t = test->priv;

	KUNIT_EXPECT_NULL(test, look_up(t, 0));
	KUNIT_EXPECT_EQ(test, 0, insert(t, 0));
	KUNIT_EXPECT_EQ(test, 0, insert(t, 1));
	KUNIT_EXPECT_PTR_EQ(test, look_up(t, 0), &t->entry[0]);
	KUNIT_EXPECT_PTR_EQ(test, look_up(t, 1), &t->entry[1]);
	KUNIT_EXPECT_NULL(test, look_up(t, 2));
	take_out(t, 0);
	KUNIT_EXPECT_NULL(test, look_up(t, 0));
	KUNIT_EXPECT_PTR_EQ(test, look_up(t, 1), &t->entry[1]);
	synchronize_rcu();
	KUNIT_EXPECT_EQ(test, 0, insert(t, 0));
	KUNIT_EXPECT_PTR_EQ(test, look_up(t, 0), &t->entry[0]);
	KUNIT_EXPECT_EQ(test, t->table.count, 2UL);
}

static void table_insert_twice(struct kunit *test)
{
	struct table_test *t = test->priv;

	t->entry[1].key = t->entry[0].key;
	KUNIT_EXPECT_EQ(test, 0, insert(t, 0));
	KUNIT_EXPECT_EQ(test, -EEXIST, insert(t, 1));
	KUNIT_EXPECT_EQ(test, t->table.count, 1UL);
	KUNIT_EXPECT_PTR_EQ(test, look_up(t, 0), &t->entry[0]);
	take_out(t, 0);
	KUNIT_EXPECT_NULL(test, look_up(t, 0));
	KUNIT_EXPECT_EQ(test, 0, insert(t, 1));
	KUNIT_EXPECT_PTR_EQ(test, look_up(t, 0), &t->entry[1]);
}

/* Grown or not, it has what was put in and not taken out, and nothing else. */
static void table_grow(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned long i, missing = 0, left = 0;

	KUNIT_EXPECT_EQ(test, bits(t), (unsigned int)COMPCH_TABLE_MIN_BITS);
	for (i = 0; i < NR_ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, 0, insert(t, i));
	KUNIT_EXPECT_EQ(test, t->table.count, NR_ENTRIES);
	/* About one entry a bucket */
	KUNIT_EXPECT_GE(test, 1UL << bits(t), NR_ENTRIES);
	KUNIT_EXPECT_LT(test, 1UL << bits(t), 2 * NR_ENTRIES);
	for (i = 0; i < NR_ENTRIES; i++)
		if (look_up(t, i) != &t->entry[i])
			missing++;
	KUNIT_EXPECT_EQ(test, missing, 0UL);

	for (i = 0; i < NR_ENTRIES; i += 2)
		take_out(t, i);
	for (i = 0; i < NR_ENTRIES; i++)
		if (look_up(t, i) != (i % 2 ? &t->entry[i] : NULL))
			left++;
	KUNIT_EXPECT_EQ(test, left, 0UL);
	KUNIT_EXPECT_EQ(test, t->table.count, NR_ENTRIES / 2);
}

/* An interrupt finds all that is there, whatever it interrupts. */
static void table_lookup_while_growing(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned long end = jiffies + 20 * HZ;
	unsigned long i;

	for (i = 0; i < NR_ENTRIES; i++) {
		irq_work_queue(&t->work);
		KUNIT_ASSERT_EQ(test, 0, insert(t, i));
		WRITE_ONCE(t->present, i + 1);
	}
	while (atomic_read(&t->lookups) < 10 && time_before(jiffies, end)) {
		irq_work_queue(&t->work);
		schedule_timeout_uninterruptible(1);
	}
	irq_work_sync(&t->work);
	KUNIT_EXPECT_GE(test, atomic_read(&t->lookups), 10);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->missed), 0);
}

static struct compch_table_entry *next(struct table_test *t, const void *key)
{
	struct compch_table_entry *entry;

	mutex_lock(&t->table.lock);
	entry = compch_table_next(&t->table, key);
	mutex_unlock(&t->table.lock);
	return entry;
}

/*
 * Whoever goes through the table comes to each entry once, while others are put
 * in, more than it had, and taken out, the one that he stands on included.
 */
static void table_next_while_changing(struct kunit *test)
{
	struct table_test *t = test->priv;
	unsigned long i, at = NR_ENTRIES / 8, seen = 0, twice = 0, strange = 0;
	struct compch_table_entry *entry;
	const void *key = NULL;

	KUNIT_EXPECT_NULL(test, next(t, NULL));
	for (i = 0; i < at; i++)
		KUNIT_ASSERT_EQ(test, 0, insert(t, i));
	while ((entry = next(t, key))) {
		i = entry - t->entry;
		if (i < NR_ENTRIES / 8) {
			if (READ_ONCE(t->key[i].space[0]))
				twice++;
			t->key[i].space[0] = 1;
			seen++;
			/* What has been seen may go. */
			if (i % 2)
				take_out(t, i);
		} else if (i >= at) {
			strange++;
		}
		key = entry->key;
		for (i = 0; i < 7 && at < NR_ENTRIES; i++)
			KUNIT_ASSERT_EQ(test, 0, insert(t, at++));
	}
	KUNIT_EXPECT_EQ(test, at, NR_ENTRIES);
	KUNIT_EXPECT_GT(test, bits(t), (unsigned int)COMPCH_TABLE_MIN_BITS + 2);
	KUNIT_EXPECT_EQ(test, seen, NR_ENTRIES / 8);
	KUNIT_EXPECT_EQ(test, twice, 0UL);
	KUNIT_EXPECT_EQ(test, strange, 0UL);
	KUNIT_EXPECT_NULL(test, next(t, key));
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(table_insert_remove),
	KUNIT_CASE(table_insert_twice),
	KUNIT_CASE(table_grow),
	KUNIT_CASE(table_lookup_while_growing),
	KUNIT_CASE(table_next_while_changing),
	{}
};

static struct kunit_suite table_suite = {
	.name = "compch_table",
	.init = table_test_init,
	.exit = table_test_exit,
	.test_cases = table_cases,
};

kunit_test_suite(table_suite);

MODULE_DESCRIPTION("KUnit tests of the table of completion handlers");
MODULE_LICENSE("Dual BSD/GPL");
