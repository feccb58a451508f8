// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_destroy_cq() fails with EBUSY, and changes nothing, while a QP uses the
 * CQ: its events go on to arrive, and are counted, as before.
 */
#include "rdma.h"

int main(int argc, char **argv)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rdma rdma;
	int i;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	cq = ibv_create_cq(rdma.context, 64, NULL, channel, 0);
	CHECK(cq != NULL);
	qp = rdma_qp(&rdma, cq, cq);

	rdma_round(&rdma, channel, cq, qp);
	for (i = 0; i < 10; i++) {
		CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
		CHECK(cq->channel == channel);
		CHECK_EQ(channel->refcnt, 1);
		rdma_round(&rdma, channel, cq, qp);
	}

	/* Armed before and after, and with an event that waits to be read. */
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
	rdma_send(&rdma, qp);
	CHECK(rdma_readable(channel, 10000));
	CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
	rdma_expect_event(channel, cq);
	rdma_expect_completions(cq, 2);
	CHECK_EQ(cq->comp_events_completed, 12);

	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
