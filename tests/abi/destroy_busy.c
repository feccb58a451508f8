// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A channel cannot be destroyed while a CQ is associated with it, nor a CQ
 * while it is associated, and a CQ has one association at most.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	struct compch_assoc_destroy_resp resp;
	struct ib_uverbs_comp_event_desc event;
	struct cq cq, other;
	struct ctx ctx;
	int chan, chan2;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	chan2 = must(channel_create(&ctx, 0));
	must(cq_create(&ctx, &cq, -1));
	must(cq_create(&ctx, &other, -1));
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 0, 0, 0, 0);

	must(assoc_create(&cq, chan));
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 0);
	eq(channel_destroy(&ctx, chan), -EBUSY);
	eq(cq_destroy(&cq), -EBUSY);
	/* Neither on the same nor on another channel */
	eq(assoc_create(&cq, chan), -EBUSY);
	eq(assoc_create(&cq, chan2), -EBUSY);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 0);
	channel_is(&ctx, chan2, COMPCH_CHANNEL_OPEN, 0, 0, 0, 0);

	must(assoc_create(&other, chan));
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, 0, 0);
	eq(fire(&cq, 2), 0);
	eq(fire(&other, 3), 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, 5, 0);
	eq(channel_destroy(&ctx, chan), -EBUSY);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, 5, 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(event.cq_handle, cq.user_handle);

	/* With them go their events, and only theirs. */
	memset(&resp, 0x5a, sizeof(resp));
	must(assoc_destroy(&cq, 0, &resp));
	eq(resp.events_reported, 1);
	eq(resp.events_discarded, 1);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 3, 1);
	eq(channel_destroy(&ctx, chan), -EBUSY);
	eq(cq_destroy(&other), -EBUSY);
	eq(cq_destroy(&cq), 0);
	memset(&resp, 0x5a, sizeof(resp));
	must(assoc_destroy(&other, 0, &resp));
	eq(resp.events_reported, 0);
	eq(resp.events_discarded, 3);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 0, 0, 0, 1);
	eq(poll_now(chan), 0);

	/* The CQ can be associated anew, and starts from zero. */
	must(assoc_create(&other, chan2));
	assoc_is(&other, 0, 0, 0);

	eq(channel_destroy(&ctx, chan), 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_CLOSED, 0, 0, 0, 1);
	eq(channel_destroy(&ctx, chan), -EIO);
	must(cq_create(&ctx, &cq, -1));
	eq(assoc_create(&cq, chan), -EIO);
	channel_is(&ctx, chan, COMPCH_CHANNEL_CLOSED, 0, 0, 0, 1);
	eq(cq_destroy(&cq), 0);
	eq(close(chan), 0);

	/* close() asks nobody; the association stays and keeps the channel. */
	eq(close(chan2), 0);
	assoc_is(&other, 0, 0, 0);
	eq(cq_destroy(&other), -EBUSY);
	must(assoc_destroy(&other, 0, &resp));
	eq(cq_destroy(&other), 0);
	return abi_done();
}
