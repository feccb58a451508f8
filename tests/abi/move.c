// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * MOVE takes pending events and counters along, within a context, between
 * contexts and between devices; each event is seen once.
 */
#include "abi.h"

#define N 4

/* A channel each of: a context, another one, another device, and to be closed */
static struct ctx ctx[N];
static int chans[N];
static struct cq cq;

static void between(int from, int to)
{
	struct ib_uverbs_comp_event_desc events[16];
	struct reader readers[3];
	struct compch_assoc_info info;
	struct compch_channel_info before, after;
	uint64_t reported;
	int i;

	check_case("from %d to %d", from, to);
	must(assoc_move(&cq, chans[from]));
	must(assoc_query(&cq, &info));
	reported = info.reported;
	eq(info.pending, 0);

	/* Events move, and wake up who waits there. */
	eq(fire(&cq, 3), 0);
	eq(rd(chans[from], events, DESC_SIZE), DESC_SIZE);
	assoc_is(&cq, 2, reported + 1, 0);
	must(channel_query(&ctx[from], chans[from], &before));
	if (from != to) {
		for (i = 0; i < 3; i++)
			reader_start(&readers[i], chans[to], DESC_SIZE);
	}
	must(assoc_move(&cq, chans[to]));
	if (from == to) {
		assoc_is(&cq, 2, reported + 1, 0);
		eq(rd(chans[to], events, sizeof(events)), 2 * DESC_SIZE);
	} else {
		/* Two of the three */
		eventually(reader_done(&readers[0]) +
			   reader_done(&readers[1]) +
			   reader_done(&readers[2]) == 2);
		eq(poll_now(chans[from]), 0);
		eq(poll_now(chans[to]), 0);
		/* What has been read from a channel stays with it. */
		must(channel_query(&ctx[from], chans[from], &after));
		eq(after.reported, before.reported);
		eq(after.pending, 0);
		eq(after.associations, before.associations - 1);
		assoc_is(&cq, 0, reported + 3, 0);
		eq(fire(&cq, 1), 0);
		for (i = 0; i < 3; i++) {
			eq(reader_end(&readers[i]), DESC_SIZE);
			eq(readers[i].events[0].cq_handle, cq.user_handle);
		}
	}
	eq(poll_now(chans[to]), 0);
	assoc_is(&cq, 0, reported + 3 + (from != to), 0);
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc events[16];
	struct compch_channel_info channel;
	struct compch_assoc_info info;
	struct cq other;
	int i, j;

	abi_init(argc, argv, NULL);
	ctx[0] = ctx_new(0);
	ctx[1] = ctx_new(0);
	ctx[2] = ctx_new(1);
	ctx[3] = ctx_new(0);
	for (i = 0; i < N; i++)
		chans[i] = must(channel_create(&ctx[i], 0));
	must(cq_create(&ctx[0], &cq, -1));
	must(assoc_create(&cq, chans[0]));
	/* One that stays */
	must(cq_create(&ctx[0], &other, -1));
	must(assoc_create(&other, chans[0]));

	for (i = 0; i < N; i++)
		for (j = 0; j < N; j++)
			between(i, j);

	check_case("only its own events move, to the end of the queue");
	must(assoc_move(&cq, chans[0]));
	eq(fire(&cq, 2), 0);
	eq(fire(&other, 2), 0);
	must(assoc_move(&cq, chans[1]));
	must(channel_query(&ctx[0], chans[0], &channel));
	eq(channel.associations, 1);
	eq(channel.pending, 2);
	must(assoc_move(&cq, chans[0]));
	eq(rd(chans[0], events, sizeof(events)), 4 * DESC_SIZE);
	eq(events[0].cq_handle, other.user_handle);
	eq(events[1].cq_handle, cq.user_handle);
	eq(events[2].cq_handle, other.user_handle);
	eq(events[3].cq_handle, cq.user_handle);

	check_case("to a closed channel");
	must(assoc_query(&cq, &info));
	eq(fire(&cq, 2), 0);
	eq(channel_destroy(&ctx[1], chans[1]), 0);
	eq(assoc_move(&cq, chans[1]), -EIO);
	ctx_close(&ctx[3]);
	eq(assoc_move(&cq, chans[3]), -EIO);
	assoc_is(&cq, 2, info.reported, 0);
	eq(poll_now(chans[1]), POLLERR);
	eq(poll_now(chans[3]), POLLERR);
	eq(poll_now(chans[0]), POLLIN | POLLRDNORM);
	eq(rd(chans[0], events, sizeof(events)), 2 * DESC_SIZE);

	check_case("a blocked reader of the old channel stays so");
	{
		struct reader reader;

		reader_start(&reader, chans[0], DESC_SIZE);
		must(assoc_move(&cq, chans[2]));
		eq(fire(&cq, 1), 0);
		ok(!reader_done(&reader));
		eq(rd(chans[2], events, sizeof(events)), DESC_SIZE);
		eq(fire(&other, 1), 0);
		eq(reader_end(&reader), DESC_SIZE);
		eq(reader.events[0].cq_handle, other.user_handle);
	}

	check_case("the old channel can be destroyed");
	cq_off(&other);
	eq(channel_destroy(&ctx[0], chans[0]), 0);
	eq(channel_destroy(&ctx[2], chans[2]), -EBUSY);
	eq(cq_off(&cq), info.reported + 3);
	eq(channel_destroy(&ctx[2], chans[2]), 0);
	return abi_done();
}
