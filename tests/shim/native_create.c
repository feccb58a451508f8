// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch_create_channel(): its attributes, and what it says of a channel that
 * cannot have them; what can be asked of the channel.
 */
#include "native.h"

static struct rdma rdma;

static void expect(uint32_t comp_mask, uint32_t flags, int want)
{
	struct compch_channel_attr attr = {
		.comp_mask = comp_mask,
		.flags = flags,
	};
	struct ibv_comp_channel *channel = (void *)1;

	errno = 4711;
	CHECK_EQ(compch_create_channel(rdma.context, &attr, &channel), want);
	CHECK_EQ(errno, 4711);
	CHECK(!channel == !!want);
	if (channel)
		CHECK_EQ(compch_destroy_channel(channel), 0);
	CHECK_EQ(errno, 4711);
}

/* At most one event of a CQ waits. */
static void coalesce(void)
{
	struct compch_channel_attr attr = { .flags = COMPCH_CHANNEL_COALESCE };
	struct compch_channel_info info;
	struct ibv_comp_channel *channel;
	struct compch_cq_info cq_info;
	struct ibv_cq *got[4];
	struct native_cq n;
	int count;

	CHECK_EQ(compch_create_channel(rdma.context, &attr, &channel), 0);
	CHECK_EQ(compch_query_channel(channel, &info), 0);
	CHECK_EQ(info.flags, COMPCH_CHANNEL_COALESCE);
	native_cq(&rdma, &n, channel);
	native_event(&rdma, &n);
	native_event(&rdma, &n);
	native_event(&rdma, &n);
	CHECK_EQ(compch_query_cq(n.cq, &cq_info), 0);
	CHECK_EQ(cq_info.pending, 1);
	CHECK_EQ(cq_info.merged, 2);
	CHECK_EQ(compch_get_events(channel, got, 4, 0, &count), 0);
	CHECK_EQ(count, 1);
	CHECK_EQ(compch_ack(n.cq, 1), 0);
	native_cq_destroy(&n);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

static int create_ring(uint32_t cqs, uint32_t reserved,
		       struct ibv_comp_channel **channel)
{
	struct compch_channel_attr attr = {
		.comp_mask = COMPCH_CHANNEL_ATTR_RING,
		.ring_cqs = cqs,
		.reserved = reserved,
	};
	int ret;

	*channel = (void *)1;
	errno = 4711;
	ret = compch_create_channel(rdma.context, &attr, channel);
	CHECK_EQ(errno, 4711);
	CHECK(!*channel == !!ret);
	return ret;
}

/* An event ring has room for so many CQs, and its events can be read as well. */
static void ring(void)
{
	struct compch_channel_info info;
	struct ibv_comp_channel *channel;
	struct native_cq n[2];
	struct ibv_cq *got;
	void *context;
	int i, count;

	CHECK_EQ(create_ring(0, 0, &channel), EINVAL);
	CHECK_EQ(create_ring(COMPCH_RING_MAX_CQS + 1, 0, &channel), EINVAL);
	CHECK_EQ(create_ring(1, 1, &channel), EINVAL);
	if (create_ring(COMPCH_RING_MAX_CQS, 0, &channel) == EOPNOTSUPP)
		return;
	CHECK(channel != NULL);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(create_ring(2, 0, &channel), 0);
	CHECK_EQ(compch_query_channel(channel, &info), 0);
	CHECK_EQ(info.ring_cqs, 2);
	for (i = 0; i < 2; i++)
		native_cq(&rdma, &n[i], channel);
	CHECK(!ibv_create_cq(rdma.context, 1, NULL, channel, 0));
	CHECK_EQ(errno, ENOSPC);
	for (i = 0; i < 2; i++) {
		native_event(&rdma, &n[0]);
		native_event(&rdma, &n[1]);
		CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), 0);
		CHECK(got == n[0].cq);
		CHECK_EQ(ibv_get_cq_event(channel, &got, &context), 0);
		CHECK(got == n[1].cq);
		CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count),
			 ETIMEDOUT);
		ibv_ack_cq_events(n[0].cq, 1);
		ibv_ack_cq_events(n[1].cq, 1);
	}
	for (i = 0; i < 2; i++)
		native_cq_destroy(&n[i]);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

/* What is known of a channel and its CQ, at each step */
static void query(struct ibv_comp_channel *channel)
{
	struct compch_channel_info info;
	struct compch_cq_info cq_info;
	struct ibv_cq *got;
	struct native_cq n;
	int count;

	CHECK_EQ(compch_query_channel(channel, &info), 0);
	CHECK_EQ(info.flags, 0);
	CHECK_EQ(info.state, COMPCH_CHANNEL_OPEN);
	CHECK_EQ(info.associations, 0);
	native_cq(&rdma, &n, channel);
	native_event(&rdma, &n);
	native_event(&rdma, &n);
	CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), 0);
	CHECK(got == n.cq);
	CHECK_EQ(compch_cancel(channel), 0);
	CHECK_EQ(compch_query_channel(channel, &info), 0);
	CHECK_EQ(info.associations, 1);
	CHECK_EQ(info.pending, 1);
	CHECK_EQ(info.reported, 1);
	CHECK_EQ(info.cancels, 1);
	CHECK_EQ(compch_query_cq(n.cq, &cq_info), 0);
	CHECK_EQ(cq_info.pending, 1);
	CHECK_EQ(cq_info.reported, 1);
	CHECK_EQ(cq_info.acknowledged, 0);
	CHECK_EQ(cq_info.reserved, 0);
	CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), ECANCELED);
	CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), 0);
	ibv_ack_cq_events(n.cq, 1);
	CHECK_EQ(compch_ack(n.cq, 1), 0);
	CHECK_EQ(compch_query_cq(n.cq, &cq_info), 0);
	CHECK_EQ(cq_info.reported, 2);
	CHECK_EQ(cq_info.acknowledged, 2);
	CHECK_EQ(compch_destroy_channel(channel), EBUSY);
	native_cq_destroy(&n);
}

int main(int argc, char **argv)
{
	struct compch_channel_info info;
	struct ibv_comp_channel *channel;
	struct compch_cq_info cq_info;
	struct native_cq n;
	bool ours;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	CHECK_EQ(compch_create_channel(rdma.context, NULL, &channel), 0);
	ours = rdma_is_ours(channel);
	CHECK_EQ(compch_is_native(channel), ours);
	if (ours) {
		query(channel);
		ring();
	} else {
		CHECK_EQ(create_ring(1, 0, &(struct ibv_comp_channel *){ 0 }),
			 EOPNOTSUPP);
		CHECK_EQ(compch_query_channel(channel, &info), EOPNOTSUPP);
		native_cq(&rdma, &n, channel);
		CHECK_EQ(compch_query_cq(n.cq, &cq_info), EINVAL);
		CHECK_EQ(compch_destroy_channel(channel), EBUSY);
		native_cq_destroy(&n);
	}
	CHECK_EQ(compch_destroy_channel(channel), 0);

	expect(0, 0, 0);
	expect(0, COMPCH_CHANNEL_COALESCE, ours ? 0 : EOPNOTSUPP);
	expect(1, 0, EINVAL);
	expect(1u << 31, COMPCH_CHANNEL_COALESCE, EINVAL);
	expect(0, 1 << 1, EINVAL);
	expect(0, 1u << 31 | COMPCH_CHANNEL_COALESCE, EINVAL);
	if (ours)
		coalesce();
	rdma_close(&rdma);
	return 0;
}
