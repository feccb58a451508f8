// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ASSOC DESTROY with IF_UNUSED changes nothing while something else uses the
 * CQ; without, it goes ahead.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	const uint64_t if_unused = COMPCH_ASSOC_DESTROY_IF_UNUSED;
	struct compch_assoc_destroy_resp resp;
	struct ib_uverbs_comp_event_desc event;
	int chan, pd, wq, wq2;
	struct ctx ctx;
	struct cq cq;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	must(cq_create(&ctx, &cq, -1));
	must(assoc_create(&cq, chan));
	pd = must(pd_alloc(&ctx));
	wq = must(wq_create(&ctx, pd, cq.handle));
	wq2 = must(wq_create(&ctx, pd, cq.handle));
	eq(fire(&cq, 2), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);

	memset(&resp, 0x5a, sizeof(resp));
	eq(assoc_destroy(&cq, if_unused, &resp), -EBUSY);
	eq(resp.events_reported, 0x5a5a5a5a5a5a5a5a);
	eq(resp.events_discarded, 0x5a5a5a5a5a5a5a5a);
	assoc_is(&cq, 1, 1, 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 1, 1);

	eq(fire(&cq, 1), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(event.cq_handle, cq.user_handle);
	assoc_is(&cq, 1, 2, 0);

	must(wq_destroy(&ctx, wq));
	eq(assoc_destroy(&cq, if_unused, &resp), -EBUSY);
	must(wq_destroy(&ctx, wq2));
	memset(&resp, 0x5a, sizeof(resp));
	must(assoc_destroy(&cq, if_unused, &resp));
	eq(resp.events_reported, 2);
	eq(resp.events_discarded, 1);
	eq(poll_now(chan), 0);

	/* Unconditionally: the other user keeps its CQ, and nothing else. */
	must(assoc_create(&cq, chan));
	wq = must(wq_create(&ctx, pd, cq.handle));
	must(assoc_destroy(&cq, 0, &resp));
	eq(cq_destroy(&cq), -EBUSY);
	eq(fire(&cq, 1), 0);
	eq(poll_now(chan), 0);
	must(wq_destroy(&ctx, wq));
	eq(cq_destroy(&cq), 0);
	eq(channel_destroy(&ctx, chan), 0);
	return abi_done();
}
