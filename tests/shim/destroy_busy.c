// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_destroy_comp_channel() fails with EBUSY, and changes nothing, as long as
 * a CQ is associated, and succeeds as soon as none is.
 */
#include "rdma.h"

int main(int argc, char **argv)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[3];
	struct ibv_qp *qp;
	struct rdma rdma;
	int fds, i;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);

	/* What is created once for a context stays. */
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	cq[0] = ibv_create_cq(rdma.context, 8, NULL, channel, 0);
	CHECK(cq[0] != NULL);
	CHECK_EQ(ibv_destroy_cq(cq[0]), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	fds = rdma_count_fds();

	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	CHECK(channel->context == rdma.context);
	CHECK_EQ(channel->refcnt, 0);
	for (i = 0; i < 3; i++) {
		cq[i] = ibv_create_cq(rdma.context, 8, &cq[i], channel, 0);
		CHECK(cq[i] != NULL);
		CHECK(cq[i]->channel == channel);
		CHECK(cq[i]->cq_context == &cq[i]);
		CHECK_EQ(channel->refcnt, i + 1);
	}
	for (i = 0; i < 3; i++) {
		CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
		CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
		CHECK_EQ(channel->refcnt, 3 - i);
		/* It works as before. */
		qp = rdma_qp(&rdma, cq[i], cq[i]);
		rdma_round(&rdma, channel, cq[i], qp);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		CHECK_EQ(ibv_destroy_cq(cq[i]), 0);
	}
	CHECK_EQ(channel->refcnt, 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(rdma_count_fds(), fds);
	rdma_close(&rdma);
	return 0;
}
