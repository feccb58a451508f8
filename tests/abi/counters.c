// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The module's counters follow what happens, to the event; memory for a
 * channel and for a CQ is fixed.
 */
#include "abi.h"

static const char *const names[] = {
	"devices", "channels", "associations", "events", "reported",
	"discarded", "merged",
};

#define COUNTERS ARRAY_SIZE(names)

static long long at_start[COUNTERS];
static long long before[COUNTERS];

/* Changes since the last time; deferred work may take its time. */
#define changed(...) do {						\
	static const long long want[COUNTERS] = { __VA_ARGS__ };	\
	unsigned int c;							\
									\
	for (c = 0; c < COUNTERS; c++) {				\
		check_case("%s", names[c]);				\
		if (c < 3)						\
			eventually(counter(names[c]) ==			\
				   before[c] + want[c]);		\
		eq(counter(names[c]) - before[c], want[c]);		\
		before[c] = counter(names[c]);				\
	}								\
	check_case(" ");						\
} while (0)

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc events[64];
	struct ctx ctx, other;
	struct cq cq, merging;
	int chan, coalesce;
	unsigned int i;

	abi_init(argc, argv, NULL);
	for (i = 0; i < COUNTERS; i++)
		at_start[i] = before[i] = must(counter(names[i]));
	ok(counter("devices") >= 2);
	ok(counter("channel_size") > 0 && counter("channel_size") <= 1024);
	ok(counter("association_size") > 0 &&
	   counter("association_size") <= 512);
	/*      devices channels assocs events reported discarded merged */
	ctx = ctx_new(0);
	other = ctx_new(1);
	changed(0, 0, 0, 0, 0, 0, 0);
	chan = must(channel_create(&ctx, 0));
	coalesce = must(channel_create(&ctx, COMPCH_CHANNEL_COALESCE));
	changed(0, 2, 0, 0, 0, 0, 0);
	cq_on(&ctx, &cq, chan);
	cq_on(&other, &merging, coalesce);
	changed(0, 0, 2, 0, 0, 0, 0);
	eq(fire(&cq, 10), 0);
	eq(fire_in(&cq, 10, "hardirq", 0), 0);
	changed(0, 0, 0, 20, 0, 0, 0);
	eq(rd(chan, events, 4 * DESC_SIZE), 4 * DESC_SIZE);
	changed(0, 0, 0, 0, 4, 0, 0);
	eq(rd(chan, NULL, 64), -EFAULT);
	eq(rd(chan, events, 1), -EINVAL);
	changed(0, 0, 0, 0, 0, 0, 0);
	/* Whether they merge is known when they are read. */
	eq(fire(&merging, 10), 0);
	changed(0, 0, 0, 10, 0, 0, 0);
	eq(rd(coalesce, events, 4 * DESC_SIZE), DESC_SIZE);
	changed(0, 0, 0, 0, 1, 0, 9);
	eq(fire(&merging, 5), 0);
	changed(0, 0, 0, 5, 0, 0, 0);
	/* 16 events become 1. */
	must(assoc_move(&cq, coalesce));
	changed(0, 0, 0, 0, 0, 0, 15);
	must(assoc_destroy(&cq, 0, NULL));
	changed(0, 0, -1, 0, 0, 1, 0);
	/* And so do 5, where they cease to be pending. */
	ctx_close(&other);
	changed(0, 0, -1, 0, 0, 1, 4);
	eq(channel_destroy(&ctx, chan), 0);
	changed(0, 0, 0, 0, 0, 0, 0);
	eq(close(chan), 0);
	changed(0, -1, 0, 0, 0, 0, 0);
	/* Its file is what holds it. */
	ctx_close(&ctx);
	changed(0, 0, 0, 0, 0, 0, 0);
	eq(close(coalesce), 0);
	changed(0, -1, 0, 0, 0, 0, 0);
	/* Nothing is pending, so every event is accounted for. */
	eq(counter("events") - at_start[3],
	   counter("reported") - at_start[4] +
	   counter("discarded") - at_start[5] +
	   counter("merged") - at_start[6]);
	return abi_done();
}
