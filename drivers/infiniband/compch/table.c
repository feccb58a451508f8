// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A hash table that completion handlers look things up in: see table.h. */

#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "table.h"

#define COMPCH_TABLE_MIN_BITS	6
#define COMPCH_TABLE_MAX_BITS	20

static struct compch_buckets *compch_buckets_alloc(unsigned int bits,
						   unsigned int set, gfp_t gfp)
{
	struct compch_buckets *buckets;

	buckets = kvzalloc(struct_size(buckets, head, 1UL << bits), gfp);
	if (!buckets)
		return NULL;
	buckets->bits = bits;
	buckets->set = set;
	return buckets;
}

static struct hlist_head *compch_buckets_head(struct compch_buckets *buckets,
					      const void *key)
{
	return &buckets->head[hash_ptr(key, buckets->bits)];
}

static struct compch_buckets *compch_table_buckets(struct compch_table *table)
{
	return rcu_dereference_protected(table->buckets,
					 lockdep_is_held(&table->lock));
}

/**
 * compch_table_init() - Make an empty table.
 * @table: the table
 *
 * Return: 0 or -ENOMEM.
 */
int compch_table_init(struct compch_table *table)
{
	struct compch_buckets *buckets;

	buckets = compch_buckets_alloc(COMPCH_TABLE_MIN_BITS, 0, GFP_KERNEL);
	if (!buckets)
		return -ENOMEM;
	mutex_init(&table->lock);
	table->count = 0;
	RCU_INIT_POINTER(table->buckets, buckets);
	return 0;
}

/**
 * compch_table_exit() - Undo compch_table_init().
 * @table: the table, which is empty, and which nobody can look up in any more
 */
void compch_table_exit(struct compch_table *table)
{
	WARN_ON(table->count);
	kvfree(rcu_dereference_protected(table->buckets, true));
	mutex_destroy(&table->lock);
}

/*
 * Twice as many buckets.  Without memory for them the table stays as it is:
 * look-ups get slower, nothing fails, and nobody is killed for it.
 */
static void compch_table_grow(struct compch_table *table)
{
	struct compch_buckets *old = compch_table_buckets(table);
	struct compch_table_entry *entry;
	struct compch_buckets *new;
	unsigned long i;

	new = compch_buckets_alloc(old->bits + 1, !old->set,
				   GFP_KERNEL | __GFP_NOWARN |
				   __GFP_RETRY_MAYFAIL);
	if (!new)
		return;
	for (i = 0; i < 1UL << old->bits; i++)
		hlist_for_each_entry(entry, &old->head[i], node[old->set])
			hlist_add_head(&entry->node[new->set],
				       compch_buckets_head(new, entry->key));
	rcu_assign_pointer(table->buckets, new);

	/*
	 * Nobody may be on the old lists when they are freed, nor when the next
	 * growth uses their nodes again.
	 */
	synchronize_rcu();
	kvfree(old);
}

/**
 * compch_table_insert() - Put an entry into a table.
 * @table: the table, locked
 * @entry: the entry; look-ups may find it before this function returns
 *
 * Return: 0, or -EEXIST if there is one with the same key.
 */
int compch_table_insert(struct compch_table *table,
			struct compch_table_entry *entry)
{
	struct compch_buckets *buckets;
	struct compch_table_entry *other;
	struct hlist_head *head;

	lockdep_assert_held(&table->lock);

	buckets = compch_table_buckets(table);
	if (table->count >> buckets->bits &&
	    buckets->bits < COMPCH_TABLE_MAX_BITS)
		compch_table_grow(table);

	buckets = compch_table_buckets(table);
	head = compch_buckets_head(buckets, entry->key);
	hlist_for_each_entry(other, head, node[buckets->set])
		if (other->key == entry->key)
			return -EEXIST;
	hlist_add_head_rcu(&entry->node[buckets->set], head);
	table->count++;
	return 0;
}

/**
 * compch_table_remove() - Take an entry out of a table.
 * @table: the table, locked
 * @entry: the entry, to be freed after an RCU grace period
 */
void compch_table_remove(struct compch_table *table,
			 struct compch_table_entry *entry)
{
	lockdep_assert_held(&table->lock);

	hlist_del_rcu(&entry->node[compch_table_buckets(table)->set]);
	table->count--;
}

/*
 * The order in which a table is gone through.  It is that of the buckets, for
 * their number is the beginning of the same hash; and so it stays the same when
 * the table grows.
 */
static bool compch_table_is_before(const void *a, const void *b)
{
	u32 hash_a = hash_ptr(a, 32), hash_b = hash_ptr(b, 32);

	return hash_a == hash_b ? a < b : hash_a < hash_b;
}

/**
 * compch_table_next() - Go through a table.
 * @table: the table, locked
 * @key: NULL, or that of an entry that may have been removed meanwhile
 *
 * Whoever starts at NULL and goes on from the key of what he gets, with or
 * without the lock in between, comes to each entry that is in the table all the
 * time exactly once.
 *
 * Return: the next entry, or NULL.
 */
struct compch_table_entry *compch_table_next(struct compch_table *table,
					     const void *key)
{
	struct compch_table_entry *entry, *next = NULL;
	struct compch_buckets *buckets;
	unsigned long i;

	lockdep_assert_held(&table->lock);

	buckets = compch_table_buckets(table);
	for (i = hash_ptr(key, buckets->bits); i < 1UL << buckets->bits; i++) {
		hlist_for_each_entry(entry, &buckets->head[i],
				     node[buckets->set])
			if ((!key || compch_table_is_before(key, entry->key)) &&
			    (!next || compch_table_is_before(entry->key,
							     next->key)))
				next = entry;
		if (next)
			break;
	}
	return next;
}
