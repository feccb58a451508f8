// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What the module shows of itself: /sys/kernel/debug/compch/. */

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "compch.h"

DEFINE_PER_CPU(struct compch_stats, compch_stats);
atomic_long_t compch_live[COMPCH_LIVE_COUNT];

static struct dentry *compch_debugfs;

static const char * const compch_live_names[COMPCH_LIVE_COUNT] = {
	[COMPCH_LIVE_DEVICES] = "devices",
	[COMPCH_LIVE_CHANNELS] = "channels",
	[COMPCH_LIVE_ASSOCS] = "associations",
};

static const char * const compch_stat_names[COMPCH_STAT_COUNT] = {
	[COMPCH_STAT_EVENTS] = "events",
	[COMPCH_STAT_MERGED] = "merged",
	[COMPCH_STAT_REPORTED] = "reported",
	[COMPCH_STAT_DISCARDED] = "discarded",
};

static u64 compch_stat_sum(enum compch_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(compch_stats, cpu).count[stat]);
	return sum;
}

static int counters_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < COMPCH_LIVE_COUNT; i++)
		seq_printf(m, "%s %ld\n", compch_live_names[i],
			   atomic_long_read(&compch_live[i]));
	for (i = 0; i < COMPCH_STAT_COUNT; i++)
		seq_printf(m, "%s %llu\n", compch_stat_names[i],
			   compch_stat_sum(i));
	/* Bytes of kernel memory that one of them takes. */
	seq_printf(m, "channel_size %zu\n", sizeof(struct compch_channel));
	seq_printf(m, "association_size %zu\n", compch_assoc_size());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

/* debugfs reports its own failures; the module works without it. */
void compch_stats_init(void)
{
	compch_debugfs = debugfs_create_dir("compch", NULL);
	debugfs_create_file("counters", 0444, compch_debugfs, NULL,
			    &counters_fops);
	compch_listing_create("channels", compch_debugfs,
			      &compch_channel_listing);
	compch_listing_create("cqs", compch_debugfs, &compch_assoc_listing);
}

void compch_stats_exit(void)
{
	debugfs_remove_recursive(compch_debugfs);
}
