// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One channel serves CQs of two devices and of several contexts, and goes on
 * when one of the contexts goes away.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc events[16];
	struct ctx ctx[3];
	struct cq cqs[3];
	int chan, i;

	abi_init(argc, argv, NULL);
	ctx[0] = ctx_new(0);
	ctx[1] = ctx_new(1);
	ctx[2] = ctx_new(1);
	chan = must(channel_create(&ctx[0], 0));
	for (i = 0; i < 3; i++) {
		must(cq_create(&ctx[i], &cqs[i], -1));
		must(assoc_create(&cqs[i], chan));
	}
	/* Any context will do to talk about the channel. */
	for (i = 0; i < 3; i++) {
		channel_is(&ctx[i], chan, COMPCH_CHANNEL_OPEN, 3, 0, 0, 0);
		eq(channel_destroy(&ctx[i], chan), -EBUSY);
	}

	for (i = 2; i >= 0; i--)
		eq(fire(&cqs[i], 2), 0);
	eq(rd(chan, events, sizeof(events)), 6 * DESC_SIZE);
	for (i = 0; i < 6; i++)
		eq(events[i].cq_handle, cqs[2 - i % 3].user_handle);

	check_case("a context goes away with its CQ and its events");
	for (i = 0; i < 3; i++)
		eq(fire(&cqs[i], 2), 0);
	ctx_close(&ctx[1]);
	channel_is(&ctx[0], chan, COMPCH_CHANNEL_OPEN, 2, 0, 4, 6);
	eq(rd(chan, events, sizeof(events)), 4 * DESC_SIZE);
	for (i = 0; i < 4; i++)
		eq(events[i].cq_handle, cqs[i % 2 * 2].user_handle);
	/* Its tag is free, so its CQ is gone. */
	eq(fire(&cqs[1], 1), -ENOENT);

	check_case("the channel's own context goes away");
	eq(fire(&cqs[0], 1), 0);
	eq(fire(&cqs[2], 2), 0);
	ctx_close(&ctx[0]);
	channel_is(&ctx[2], chan, COMPCH_CHANNEL_CLOSED, 1, 0, 2, 10);
	eq(fire(&cqs[2], 1), 0);
	eq(poll_now(chan), POLLIN | POLLRDNORM);
	eq(rd(chan, events, DESC_SIZE), DESC_SIZE);
	eq(events[0].cq_handle, cqs[2].user_handle);
	assoc_is(&cqs[2], 2, 5, 0);

	check_case("what is left moves to an open channel");
	i = must(channel_create(&ctx[2], 0));
	must(assoc_move(&cqs[2], i));
	eq(poll_now(chan), POLLERR);
	eq(rd(chan, events, sizeof(events)), -EIO);
	eq(rd(i, events, sizeof(events)), 2 * DESC_SIZE);
	assoc_is(&cqs[2], 0, 7, 0);
	eq(close(chan), 0);
	eq(fire(&cqs[2], 1), 0);
	eq(rd(i, events, sizeof(events)), DESC_SIZE);
	cq_off(&cqs[2]);
	return abi_done();
}
