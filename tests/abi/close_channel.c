// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * close() of a channel with CQs on it: they go on counting events, and MOVE
 * brings these to a new channel. A CQ may also just be detached.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	struct compch_assoc_destroy_resp resp;
	struct ib_uverbs_comp_event_desc events[64];
	struct reader reader;
	struct ctx ctx;
	struct cq a, b, late;
	int chan, copy, i;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	cq_on(&ctx, &a, chan);
	cq_on(&ctx, &b, chan);
	eq(fire(&a, 3), 0);
	eq(fire(&b, 1), 0);
	eq(rd(chan, events, DESC_SIZE), DESC_SIZE);

	check_case("another descriptor keeps it open");
	copy = must(dup(chan));
	eq(close(chan), 0);
	channel_is(&ctx, copy, COMPCH_CHANNEL_OPEN, 2, 0, 3, 1);
	must(cq_create(&ctx, &late, -1));
	must(assoc_create(&late, copy));
	must(assoc_destroy(&late, 0, NULL));
	must(cq_destroy(&late));

	check_case("closed");
	eq(close(copy), 0);
	eq(fire(&a, 2), 0);
	eq(fire_in(&b, 10, "hardirq", -1), 0);
	assoc_is(&a, 4, 1, 0);
	assoc_is(&b, 11, 0, 0);

	check_case("moved");
	chan = must(channel_create(&ctx, 0));
	reader_start(&reader, chan, DESC_SIZE);
	must(assoc_move(&a, chan));
	eq(reader_end(&reader), DESC_SIZE);
	eq(reader.events[0].cq_handle, a.user_handle);
	assoc_is(&a, 3, 2, 0);
	must(assoc_move(&b, chan));
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, 14, 1);
	eq(rd(chan, events, sizeof(events)), 14 * DESC_SIZE);
	for (i = 0; i < 6; i++)
		eq(events[i].cq_handle, i % 2 ? b.user_handle : a.user_handle);
	eq(fire(&a, 1), 0);
	eq(rd(chan, events, sizeof(events)), DESC_SIZE);

	check_case("detached");
	eq(close(chan), 0);
	eq(fire(&a, 1), 0);
	memset(&resp, 0x5a, sizeof(resp));
	must(assoc_destroy(&a, COMPCH_ASSOC_DESTROY_IF_UNUSED, &resp));
	eq(resp.events_reported, 6);
	eq(resp.events_discarded, 1);
	must(cq_destroy(&a));
	/* b is left to the end of the context. */
	return abi_done();
}
