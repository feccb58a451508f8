/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters of the whole module, shown in debugfs. */
#ifndef _COMPCH_STATS_H
#define _COMPCH_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>

/**
 * enum compch_stat - what has happened since the module was loaded
 * @COMPCH_STAT_EVENTS: events that a completion handler took
 * @COMPCH_STAT_MERGED: of those, events that merged with another one
 * @COMPCH_STAT_REPORTED: events that have been read
 * @COMPCH_STAT_DISCARDED: events that were queued when a CQ was detached
 * @COMPCH_STAT_COUNT: how many counters there are
 */
enum compch_stat {
	COMPCH_STAT_EVENTS,
	COMPCH_STAT_MERGED,
	COMPCH_STAT_REPORTED,
	COMPCH_STAT_DISCARDED,
	COMPCH_STAT_COUNT,
};

/**
 * enum compch_live - what exists now
 * @COMPCH_LIVE_DEVICES: extended devices
 * @COMPCH_LIVE_CHANNELS: channels
 * @COMPCH_LIVE_ASSOCS: associations
 * @COMPCH_LIVE_COUNT: how many counters there are
 */
enum compch_live {
	COMPCH_LIVE_DEVICES,
	COMPCH_LIVE_CHANNELS,
	COMPCH_LIVE_ASSOCS,
	COMPCH_LIVE_COUNT,
};

struct compch_stats {
	u64 count[COMPCH_STAT_COUNT];
};

DECLARE_PER_CPU(struct compch_stats, compch_stats);
extern atomic_long_t compch_live[COMPCH_LIVE_COUNT];

/* Any context; one per-CPU addition. */
static inline void compch_stat_add(enum compch_stat stat, u64 count)
{
	this_cpu_add(compch_stats.count[stat], count);
}

static inline void compch_live_inc(enum compch_live what)
{
	atomic_long_inc(&compch_live[what]);
}

static inline void compch_live_dec(enum compch_live what)
{
	atomic_long_dec(&compch_live[what]);
}

void compch_stats_init(void);
void compch_stats_exit(void);

#endif /* _COMPCH_STATS_H */
