// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Files in debugfs with a line for each entry of a table.
 *
 * Such a file may have ten thousand lines and more.  It is produced a buffer at
 * a time, with the table locked meanwhile, and unlocked when the buffer goes to
 * the reader: whoever wants to change the table waits for a few dozen lines, and
 * completion handlers for nothing.  A read goes on after the key of the last
 * line, in time that does not depend on how many there are.
 */

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "listing.h"
#include "table.h"

/**
 * struct compch_listing_iter - where the reader of a file is
 * @listing: what it shows
 * @key: of the last entry that has been shown, or NULL
 */
struct compch_listing_iter {
	const struct compch_listing *listing;
	const void *key;
};

static void *compch_listing_start(struct seq_file *m, loff_t *pos)
{
	struct compch_listing_iter *iter = m->private;

	mutex_lock(&iter->listing->table->lock);
	if (!*pos)
		iter->key = NULL;
	return compch_table_next(iter->listing->table, iter->key);
}

static void *compch_listing_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct compch_listing_iter *iter = m->private;
	struct compch_table_entry *entry = v;

	++*pos;
	iter->key = entry->key;
	return compch_table_next(iter->listing->table, iter->key);
}

static void compch_listing_stop(struct seq_file *m, void *v)
{
	struct compch_listing_iter *iter = m->private;

	mutex_unlock(&iter->listing->table->lock);
}

static int compch_listing_show(struct seq_file *m, void *v)
{
	struct compch_listing_iter *iter = m->private;

	iter->listing->show(m, v);
	return 0;
}

static const struct seq_operations compch_listing_ops = {
	.start = compch_listing_start,
	.next = compch_listing_next,
	.stop = compch_listing_stop,
	.show = compch_listing_show,
};

static int compch_listing_open(struct inode *inode, struct file *file)
{
	struct compch_listing_iter *iter;

	iter = __seq_open_private(file, &compch_listing_ops, sizeof(*iter));
	if (!iter)
		return -ENOMEM;
	iter->listing = inode->i_private;
	return 0;
}

static const struct file_operations compch_listing_fops = {
	.owner = THIS_MODULE,
	.open = compch_listing_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

/**
 * compch_listing_create() - Make such a file, for the privileged.
 * @name: its name
 * @dir: where
 * @listing: what it shows
 */
void compch_listing_create(const char *name, struct dentry *dir,
			   const struct compch_listing *listing)
{
	debugfs_create_file(name, 0400, dir, (void *)listing,
			    &compch_listing_fops);
}

/**
 * compch_owner_set() - Note who makes something.
 * @owner: set to the current process
 */
void compch_owner_set(struct compch_owner *owner)
{
	owner->pid = task_tgid_nr(current);
	get_task_comm(owner->comm, current->group_leader);
}

/**
 * compch_owner_show() - Print " pid=PID comm=COMM", with nothing after it.
 * @m: where to
 * @owner: who; a name may contain anything, so blanks and the like become \ooo
 */
void compch_owner_show(struct seq_file *m, const struct compch_owner *owner)
{
	seq_printf(m, " pid=%d comm=", owner->pid);
	seq_escape(m, owner->comm, " \t\n\\");
}

/**
 * compch_age_show() - Print how long ago something was, in milliseconds.
 * @m: where to
 * @before: what to print before it
 * @when: in jiffies; 0 for never, which is printed as "-"
 */
void compch_age_show(struct seq_file *m, const char *before, u64 when)
{
	if (when)
		seq_printf(m, "%s%llu", before,
			   jiffies64_to_msecs(get_jiffies_64() - when));
	else
		seq_printf(m, "%s-", before);
}
