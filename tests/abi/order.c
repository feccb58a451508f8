// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CQs are served in the order in which they became ready, one event of each in
 * turn, whatever the size of the buffer.
 */
#include "abi.h"

#define N 5

static struct cq cqs[N];
static int chan;

/* Fires as @fires says, and expects @order; both are digits, a CQ each. */
static void sequence(const char *fires, const char *order, int per_read)
{
	struct ib_uverbs_comp_event_desc events[64];
	int left = strlen(order);
	const char *c;
	int i, n;

	check_case("%s with %d a read", fires, per_read);
	for (c = fires; *c; c++)
		eq(fire(&cqs[*c - '0'], 1), 0);
	for (; left; left -= n) {
		n = left < per_read ? left : per_read;
		if (!eq(rd(chan, events, per_read * DESC_SIZE), n * DESC_SIZE))
			_exit(1);
		for (i = 0; i < n; i++)
			eq(events[i].cq_handle,
			   cqs[*order++ - '0'].user_handle);
	}
	eq(poll_now(chan), 0);
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	struct ctx ctx;
	int i, per_read;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	for (i = 0; i < N; i++)
		cq_on(&ctx, &cqs[i], chan);

	for (per_read = 1; per_read <= 40; per_read++) {
		sequence("0", "0", per_read);
		sequence("0001", "0100", per_read);
		sequence("43210", "43210", per_read);
		sequence("2201", "2012", per_read);
		sequence("00001111", "01010101", per_read);
		sequence("0000000000000000000012",
			 "0120000000000000000000", per_read);
		sequence("333322221", "321323232", per_read);
	}

	check_case("one that becomes ready between reads goes to the end");
	eq(fire(&cqs[0], 3), 0);
	eq(fire(&cqs[1], 2), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(event.cq_handle, cqs[0].user_handle);
	/* 1 0 are queued, in this order */
	eq(fire(&cqs[2], 1), 0);
	sequence("", "10210", 1);
	for (i = 0; i < N; i++)
		cq_off(&cqs[i]);
	return abi_done();
}
