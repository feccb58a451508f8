/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Files in debugfs with a line for each entry of a table. */
#ifndef _COMPCH_LISTING_H
#define _COMPCH_LISTING_H

#include <linux/sched.h>
#include <linux/types.h>

struct compch_table;
struct compch_table_entry;
struct dentry;
struct seq_file;

/**
 * struct compch_listing - what such a file shows
 * @table: the entries
 * @show: prints the line of one, with the table locked
 */
struct compch_listing {
	struct compch_table *table;
	void (*show)(struct seq_file *m, struct compch_table_entry *entry);
};

/**
 * struct compch_owner - the process that has made something
 * @pid: its id, as the first namespace has it
 * @comm: its name then
 */
struct compch_owner {
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

void compch_owner_set(struct compch_owner *owner);
void compch_owner_show(struct seq_file *m, const struct compch_owner *owner);
void compch_age_show(struct seq_file *m, const char *before, u64 when);

void compch_listing_create(const char *name, struct dentry *dir,
			   const struct compch_listing *listing);

#endif /* _COMPCH_LISTING_H */
