// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One channel for the CQs of several contexts, and, when a second device is
 * named, of several devices; with ibv_create_cq() and ibv_create_cq_ex().
 */
#include <unistd.h>

#include "rdma.h"

static struct ibv_cq *forgotten;

static struct ibv_cq *create(struct rdma *rdma,
			     struct ibv_comp_channel *channel, bool ex)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.cq_context = rdma,
		.channel = channel,
	};
	struct ibv_cq_ex *cq;

	if (!ex)
		return ibv_create_cq(rdma->context, 64, rdma, channel, 0);
	cq = ibv_create_cq_ex(rdma->context, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static void share(const char *first, const char *second, bool ex)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *a_cq, *b_cq;
	struct ibv_qp *a_qp, *b_qp;
	struct rdma a, b;

	/* The second context has no channel of its own. */
	rdma_open(&a, first);
	rdma_open(&b, second);
	channel = ibv_create_comp_channel(a.context);
	CHECK(channel != NULL);
	b_cq = create(&b, channel, ex);
	if (!b_cq)
		FAIL("a CQ of another context: %m");
	CHECK(b_cq->channel == channel);
	CHECK(b_cq->context == b.context);
	a_cq = create(&a, channel, ex);
	CHECK(a_cq != NULL);
	CHECK_EQ(channel->refcnt, 2);
	a_qp = rdma_qp(&a, a_cq, a_cq);
	b_qp = rdma_qp(&b, b_cq, b_cq);
	rdma_round(&a, channel, a_cq, a_qp);
	rdma_round(&b, channel, b_cq, b_qp);
	rdma_round(&a, channel, a_cq, a_qp);
	CHECK_EQ(ibv_destroy_cq(b_cq), EBUSY);
	rdma_round(&b, channel, b_cq, b_qp);

	CHECK_EQ(ibv_destroy_qp(a_qp), 0);
	CHECK_EQ(ibv_destroy_cq(a_cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	rdma_round(&b, channel, b_cq, b_qp);
	CHECK_EQ(ibv_destroy_qp(b_qp), 0);
	CHECK_EQ(ibv_destroy_cq(b_cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&b);
	rdma_close(&a);
}

/* The channel's own context, and then the CQ's, goes first. */
static void close_first(const char *first, const char *second)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *got;
	struct rdma a, b;
	void *context;
	int ret;

	rdma_open(&a, first);
	rdma_open(&b, second);
	channel = ibv_create_comp_channel(a.context);
	CHECK(channel != NULL);
	cq = create(&b, channel, false);
	CHECK(cq != NULL);
	rdma_close(&a);
	errno = 0;
	CHECK_EQ(ibv_get_cq_event(channel, &got, &context), -1);
	CHECK_EQ(errno, EIO);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	CHECK_NULL(create(&b, channel, false), EIO);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);

	rdma_open(&a, first);
	channel = ibv_create_comp_channel(a.context);
	CHECK(channel != NULL);
	forgotten = create(&b, channel, false);
	CHECK(forgotten != NULL);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	rdma_close(&b); /* with its CQ */
	/* Which the kernel keeps for as long as the CQ's memory is mapped. */
	ret = ibv_destroy_comp_channel(channel);
	CHECK(!ret || ret == EBUSY);
	if (ret)
		close(channel->fd);

	/* A channel that outlives its context can be destroyed. */
	channel = ibv_create_comp_channel(a.context);
	CHECK(channel != NULL);
	rdma_close(&a);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : NULL;
	const char *second = argc > 2 ? argv[2] : first;
	struct rdma rdma;
	int fds;

	test_deadline(60);
	rdma_open(&rdma, first);
	rdma_need_ours(&rdma);
	rdma_close(&rdma);
	fds = rdma_count_fds();
	share(first, second, false);
	share(first, second, true);
	close_first(first, second);
	/* All but the last context of close_first(), for the same reason. */
	CHECK(rdma_count_fds() - fds <= 1);
	return 0;
}
