// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * policy DEVICE ours|stock|fail: what ibv_create_comp_channel() answers, as the
 * device and COMPCH= in the environment have it; and that what it returns works
 * without a word and without touching errno.
 */
#include <string.h>

#include "rdma.h"

int main(int argc, char **argv)
{
	struct ibv_comp_channel *channel;
	const char *want;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rdma rdma;

	test_deadline(60);
	if (argc < 3) {
		fprintf(stderr, "usage: policy DEVICE ours|stock|fail\n");
		return 2;
	}
	want = argv[2];
	rdma_open(&rdma, argv[1]);
	if (!strcmp(want, "fail")) {
		CHECK_NULL(ibv_create_comp_channel(rdma.context), EOPNOTSUPP);
		CHECK_NULL(ibv_create_comp_channel(rdma.context), EOPNOTSUPP);
		rdma_close(&rdma);
		return 0;
	}
	errno = 4711;
	channel = ibv_create_comp_channel(rdma.context);
	CHECK_EQ(errno, 4711);
	CHECK(channel != NULL);
	if (rdma_is_ours(channel) != !strcmp(want, "ours"))
		FAIL("the channel is not %s", want);
	errno = 4711;
	cq = ibv_create_cq(rdma.context, 64, NULL, channel, 0);
	CHECK_EQ(errno, 4711);
	CHECK(cq != NULL);
	qp = rdma_qp(&rdma, cq, cq);
	rdma_round(&rdma, channel, cq, qp);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	errno = 4711;
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(errno, 4711);
	rdma_close(&rdma);
	return 0;
}
