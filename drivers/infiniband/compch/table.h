/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A hash table that completion handlers look things up in.
 *
 * A look-up may interrupt a writer at any point, in hard interrupt context and
 * on the same CPU, and must not wait for it.  (That rules out rhashtable, whose
 * look-up of an entry that is just being rehashed goes round until the writer
 * has finished.)  So an entry has two list nodes: the table grows by linking
 * all entries into the new buckets with the nodes that the old buckets do not
 * use.  The lists of old and new buckets never mix.
 *
 * Writers hold the table's lock.  Look-ups need RCU only, and find every entry
 * that is in the table all the time.  An entry is freed after an RCU grace
 * period.
 */
#ifndef _COMPCH_TABLE_H
#define _COMPCH_TABLE_H

#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rculist.h>

/**
 * struct compch_table_entry - something that is found by an address
 * @key: the address
 * @node: one for the buckets in use, one for those that replace them
 */
struct compch_table_entry {
	void *key;
	struct hlist_node node[2];
};

/**
 * struct compch_buckets - the lists of a table
 * @bits: binary logarithm of their number
 * @set: which node of an entry they use
 * @head: the lists
 */
struct compch_buckets {
	unsigned int bits;
	unsigned int set;
	struct hlist_head head[];
};

/**
 * struct compch_table - a hash table
 * @lock: guards all changes
 * @buckets: changed under @lock
 * @count: entries, guarded by @lock
 */
struct compch_table {
	struct mutex lock;	/* held by writers */
	struct compch_buckets __rcu *buckets;
	unsigned long count;
};

int compch_table_init(struct compch_table *table);
void compch_table_exit(struct compch_table *table);
int compch_table_insert(struct compch_table *table,
			struct compch_table_entry *entry);
void compch_table_remove(struct compch_table *table,
			 struct compch_table_entry *entry);
struct compch_table_entry *compch_table_next(struct compch_table *table,
					     const void *key);

/**
 * compch_table_lookup() - Find an entry.
 * @table: the table
 * @key: its address
 *
 * Context: any, under rcu_read_lock().
 * Return: the entry, or NULL.
 */
static inline struct compch_table_entry *
compch_table_lookup(struct compch_table *table, const void *key)
{
	struct compch_buckets *buckets = rcu_dereference(table->buckets);
	struct compch_table_entry *entry;

	hlist_for_each_entry_rcu(entry,
				 &buckets->head[hash_ptr(key, buckets->bits)],
				 node[buckets->set])
		if (entry->key == key)
			return entry;
	return NULL;
}

#endif /* _COMPCH_TABLE_H */
