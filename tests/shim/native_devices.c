// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * native_devices DEVICE...: one channel for CQs of several devices, and CQs that
 * move between channels of several devices, with events that are pending,
 * reported, and not acknowledged yet.
 */
#include "native.h"

#define MAX 4

static struct rdma rdma[MAX];
static struct ibv_comp_channel *channel[MAX];
static struct native_cq n[MAX];

static void expect(int on, int cq)
{
	struct ibv_cq *got;
	int count;

	CHECK_EQ(compch_get_events(channel[on], &got, 1, 0, &count), 0);
	CHECK(got == n[cq].cq);
}

int main(int argc, char **argv)
{
	struct compch_channel_info info;
	struct ibv_cq *got[MAX];
	int devices = argc - 1, i, to, count;
	struct ibv_wc wc;

	test_deadline(60);
	CHECK(devices > 1 && devices <= MAX);
	for (i = 0; i < devices; i++)
		rdma_open(&rdma[i], argv[i + 1]);
	native_need_ours(&rdma[0]);
	for (i = 0; i < devices; i++) {
		channel[i] = ibv_create_comp_channel(rdma[i].context);
		CHECK(channel[i] != NULL);
		native_cq(&rdma[i], &n[i], channel[0]);
	}

	/* All on the first one's channel */
	CHECK_EQ(compch_query_channel(channel[0], &info), 0);
	CHECK_EQ(info.associations, devices);
	for (i = devices; i--; )
		native_event(&rdma[i], &n[i]);
	CHECK_EQ(compch_get_events(channel[0], got, MAX, 0, &count), 0);
	CHECK_EQ(count, devices);
	for (i = 0; i < devices; i++) {
		CHECK(got[i] == n[devices - 1 - i].cq);
		compch_ack(got[i], 1);
		rdma_send(&rdma[i], n[i].qp);
		CHECK_EQ(compch_wait_cq(n[i].cq, &wc, 1, 0, -1, &count), 0);
		rdma_expect_completions(n[i].cq, 1);
	}
	/* What compch_wait_cq() may have left */
	while (!compch_get_events(channel[0], got, 1, 0, &count))
		compch_ack(got[0], 1);

	/* Each moves round, with one event more each time. */
	for (i = 0; i < devices; i++) {
		for (to = 1; to <= devices; to++) {
			native_event(&rdma[i], &n[i]);
			CHECK_EQ(compch_move_cq(n[i].cq, channel[to % devices]),
				 0);
			CHECK(n[i].cq->channel == channel[to % devices]);
			CHECK(!rdma_readable(channel[to - 1], 0));
			expect(to % devices, i);
			compch_ack(n[i].cq, 1);
			if (to < devices) {
				native_event(&rdma[i], &n[i]);
				expect(to % devices, i);
				/* That one only in the end. */
			}
		}
		compch_ack(n[i].cq, devices - 1);
		CHECK_EQ(compch_move_cq(n[i].cq, channel[i]), 0);
	}
	for (i = 0; i < devices; i++) {
		native_event(&rdma[i], &n[i]);
		CHECK_EQ(compch_move_cq(n[i].cq, channel[(i + 1) % devices]),
			 0);
	}
	for (i = 0; i < devices; i++)
		native_cq_destroy(&n[i]);
	for (i = 0; i < devices; i++) {
		CHECK(!rdma_readable(channel[i], 0));
		CHECK_EQ(ibv_destroy_comp_channel(channel[i]), 0);
	}
	for (i = 0; i < devices; i++)
		rdma_close(&rdma[i]);
	return 0;
}
