// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On a channel with COALESCE each CQ has one event queued at most; all others
 * merge with it, and are counted as such.
 */
#include "abi.h"

#define CQS	3
#define EVENTS	2000

int main(int argc, char **argv)
{
	static const char *const contexts[] = { "process", "softirq", "hardirq" };
	struct compch_assoc_destroy_resp resp;
	struct ib_uverbs_comp_event_desc events[16];
	struct compch_channel_info channel;
	struct compch_assoc_info info;
	long long counts[CQS] = {}, before = 0;
	struct cq cqs[CQS], *all[CQS];
	struct reader reader;
	struct ctx ctx;
	int chan, plain, i;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, COMPCH_CHANNEL_COALESCE));
	plain = must(channel_create(&ctx, 0));
	must(channel_query(&ctx, chan, &channel));
	eq(channel.flags, COMPCH_CHANNEL_COALESCE);
	must(channel_query(&ctx, plain, &channel));
	eq(channel.flags, 0);
	for (i = 0; i < CQS; i++) {
		cq_on(&ctx, &cqs[i], chan);
		all[i] = &cqs[i];
	}

	check_case("a burst");
	eq(fire(&cqs[0], 5), 0);
	eq(fire(&cqs[1], 1), 0);
	eq(fire(&cqs[0], 2), 0);
	assoc_is(&cqs[0], 1, 0, 6);
	assoc_is(&cqs[1], 1, 0, 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, CQS, 0, 2, 0);
	eq(rd(chan, events, sizeof(events)), 2 * DESC_SIZE);
	eq(events[0].cq_handle, cqs[0].user_handle);
	eq(events[1].cq_handle, cqs[1].user_handle);
	eq(poll_now(chan), 0);
	assoc_is(&cqs[0], 0, 1, 6);

	check_case("after it was read there is a new one");
	eq(fire(&cqs[0], 1), 0);
	eq(poll_now(chan), POLLIN | POLLRDNORM);
	eq(rd(chan, events, sizeof(events)), DESC_SIZE);
	assoc_is(&cqs[0], 0, 2, 6);

	check_case("a blocked reader");
	reader_start(&reader, chan, 64);
	eq(fire(&cqs[1], 1), 0);
	eq(reader_end(&reader), DESC_SIZE);
	assoc_is(&cqs[1], 0, 2, 0);

	check_case("moved to one that does not coalesce");
	eq(fire(&cqs[0], 3), 0);
	must(assoc_move(&cqs[0], plain));
	assoc_is(&cqs[0], 1, 2, 8);
	eq(fire(&cqs[0], 3), 0);
	assoc_is(&cqs[0], 4, 2, 8);
	channel_is(&ctx, plain, COMPCH_CHANNEL_OPEN, 1, 0, 4, 0);

	check_case("and back");
	must(assoc_move(&cqs[0], chan));
	assoc_is(&cqs[0], 1, 2, 11);
	channel_is(&ctx, plain, COMPCH_CHANNEL_OPEN, 0, 0, 0, 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, CQS, 0, 1, 4);
	eq(rd(chan, events, sizeof(events)), DESC_SIZE);
	eq(rd(plain, events, 0), -EINVAL);
	eq(poll_now(plain), 0);
	assoc_is(&cqs[0], 0, 3, 11);

	check_case("traffic");
	for (i = 0; i < CQS; i++)
		before += must(fired(&cqs[i]));
	for (i = 0; i < CQS; i++)
		must(fire_start(&cqs[i], EVENTS, contexts[i],
				i % cpus_online()));
	for (;;) {
		long long sum = 0;

		ok(drain(chan, all, CQS, counts) >= 0);
		for (i = 0; i < CQS; i++)
			sum += must(fired(&cqs[i]));
		if (sum == before + CQS * EVENTS)
			break;
	}
	for (i = 0; i < CQS; i++)
		eq(fire_stop(&cqs[i]), 0);
	ok(drain(chan, all, CQS, counts) <= CQS);
	for (i = 0; i < CQS; i++) {
		check_case("traffic, CQ %d", i);
		must(assoc_query(&cqs[i], &info));
		eq(info.pending, 0);
		eq(info.reported + info.merged, fired(&cqs[i]));
		eq(info.reported, counts[i] + (i == 0 ? 3 : i == 1 ? 2 : 0));
		ok(counts[i] > 0);
		must(assoc_destroy(&cqs[i], 0, &resp));
		eq(resp.events_reported, info.reported);
		eq(resp.events_discarded, 0);
		must(cq_destroy(&cqs[i]));
	}
	return abi_done();
}
