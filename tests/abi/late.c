// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A driver reads a CQ's handler and calls it some time later, when the CQ has
 * been detached from its channel, or attached to another: the event goes where
 * the CQ is by then, whichever handler it was that the driver had read.
 */
#include "abi.h"

static struct cq cq;
static struct ctx ctx;
static int stock, chan;

/* An event of the handler read before comes out here, and nowhere else. */
static void late_event_on(int fd)
{
	static const char * const contexts[] = {
		"process", "softirq", "hardirq"
	};
	struct ib_uverbs_comp_event_desc event;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		eq(fire_late(&cq, 1, contexts[i]), 0);
		if (fd != stock)
			eq(poll_now(stock), 0);
		else if (chan >= 0)
			eq(poll_now(chan), 0);
		set_nonblock(fd, true);
		eq(rd(fd, &event, sizeof(event)), DESC_SIZE);
		eq(event.cq_handle, cq.user_handle);
	}
}

int main(int argc, char **argv)
{
	struct compch_assoc_destroy_resp resp;

	abi_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	stock = must(stock_channel(&ctx));
	must(cq_create(&ctx, &cq, stock));
	eq(fire_late(&cq, 1, "process"), -EINVAL);
	eq(fire_load(&cq), 0);
	if (!ours) {
		chan = -1;
		late_event_on(stock);
		eq(cq_destroy(&cq), 3);
		return abi_done();
	}

	chan = must(channel_create(&ctx, 0));
	check_case("the stock handler, called while the CQ is on ours");
	must(assoc_create(&cq, chan));
	late_event_on(stock);

	check_case("our handler, called after the CQ is detached");
	eq(fire_load(&cq), 0);
	late_event_on(chan);
	must(assoc_destroy(&cq, 0, &resp));
	eq(resp.events_reported, 3);
	late_event_on(stock);

	check_case("our handler, called when the CQ is attached again");
	must(assoc_create(&cq, chan));
	late_event_on(chan);
	must(assoc_destroy(&cq, 0, &resp));
	eq(resp.events_reported, 3);

	eq(cq_destroy(&cq), 6);
	eq(channel_destroy(&ctx, chan), 0);
	return abi_done();
}
