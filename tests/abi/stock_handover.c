// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A CQ that was created with a stock channel: its events go to ours while it
 * is associated, and before and afterwards to the stock one, none lost and
 * none twice, even while they are being fired.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	struct compch_assoc_destroy_resp resp;
	struct ib_uverbs_comp_event_desc event;
	long long by_stock, by_ours, total, before;
	struct cq cq, *cqs[] = { &cq };
	int chan, stock, i, j;
	struct ctx ctx;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	stock = must(stock_channel(&ctx));
	chan = must(channel_create(&ctx, 0));
	must(cq_create(&ctx, &cq, stock));

	eq(fire(&cq, 1), 0);
	must(assoc_create(&cq, chan));
	/* What was queued there stays there. */
	eq(poll_now(stock), POLLIN | POLLRDNORM);
	eq(poll_now(chan), 0);
	eq(rd(stock, &event, sizeof(event)), DESC_SIZE);
	eq(event.cq_handle, cq.user_handle);
	eq(fire(&cq, 1), 0);
	eq(poll_now(stock), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(event.cq_handle, cq.user_handle);
	must(assoc_destroy(&cq, 0, &resp));
	eq(resp.events_reported, 1);
	eq(fire(&cq, 1), 0);
	eq(poll_now(chan), 0);
	eq(rd(stock, &event, sizeof(event)), DESC_SIZE);
	by_stock = 2;
	by_ours = 1;

	check_case("while events are fired");
	for (i = 0; i < 50; i++) {
		int cpu = i % (cpus_online() + 1) - 1;

		eq(fire_start(&cq, 0, i % 2 ? "hardirq" : "process", cpu), 0);
		for (j = 0; j < 5; j++) {
			must(assoc_create(&cq, chan));
			/* Until one came by way of ours, ... */
			eventually(poll_now(chan) & POLLIN);
			must(assoc_destroy(&cq, 0, &resp));
			by_ours += resp.events_reported;
			by_ours += resp.events_discarded;
			eq(poll_now(chan), 0);
			/* ... and one by way of the stock channel. */
			before = fired(&cq);
			eventually(fired(&cq) > before + 1);
		}
		eq(fire_stop(&cq), 0);
		ok(drain(stock, cqs, 1, &by_stock) > 0);
	}
	total = fired(&cq);
	eq(by_stock + by_ours, total);
	eq(cq_destroy(&cq), by_stock);
	eq(channel_destroy(&ctx, chan), 0);
	return abi_done();
}
