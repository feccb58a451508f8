// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_create_cq_ex(), an inline function, creates CQs on a channel as
 * ibv_create_cq() does, and leaves the caller's attributes alone.
 */
#include "rdma.h"

int main(int argc, char **argv)
{
	static const struct ibv_cq_init_attr_ex plain = { .cqe = 64 };
	struct ibv_cq_init_attr_ex attr = plain;
	struct ibv_comp_channel *channel;
	struct ibv_cq_ex *cq_ex;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rdma rdma;
	int i;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	attr.cq_context = &attr;

	/* Before there is any channel, and without one. */
	cq_ex = ibv_create_cq_ex(rdma.context, &attr);
	if (!cq_ex && errno == EOPNOTSUPP)
		test_skip("the provider has no ibv_create_cq_ex()");
	CHECK(cq_ex != NULL);
	CHECK(cq_ex->channel == NULL);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)), 0);

	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	attr.channel = channel;
	for (i = 0; i < 3; i++) {
		if (i == 1) {
			attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
			attr.flags = 0;
		} else if (i == 2) {
			attr.comp_mask = 0;
			attr.flags = -1;	/* not to be looked at */
			attr.parent_domain = (void *)1;
		}
		cq_ex = ibv_create_cq_ex(rdma.context, &attr);
		CHECK(cq_ex != NULL);
		cq = ibv_cq_ex_to_cq(cq_ex);
		CHECK(attr.channel == channel);
		CHECK(cq->channel == channel);
		CHECK(cq->context == rdma.context);
		CHECK(cq->cq_context == &attr);
		CHECK_EQ(channel->refcnt, 1);
		CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);

		qp = rdma_qp(&rdma, cq, cq);
		rdma_round(&rdma, channel, cq, qp);
		CHECK_EQ(ibv_destroy_cq(cq), EBUSY);
		rdma_round(&rdma, channel, cq, qp);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
	}

	/* What fails, fails as ever, and leaves nothing behind. */
	attr.wc_flags = 1ull << 63;
	CHECK_NULL(ibv_create_cq_ex(rdma.context, &attr), EOPNOTSUPP);
	attr = plain;
	attr.channel = channel;
	attr.cqe = 0x7fffffff;
	CHECK(ibv_create_cq_ex(rdma.context, &attr) == NULL);
	CHECK(ibv_create_cq(rdma.context, 0x7fffffff, NULL, channel, 0) ==
	      NULL);
	CHECK_EQ(channel->refcnt, 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
