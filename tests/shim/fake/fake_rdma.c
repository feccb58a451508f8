// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See ../rdma.h: the same, on the model. */
#define FAKE_NO_CHECKS
#include "fake.h"

#include "../rdma.h"

void rdma_open(struct rdma *rdma, const char *name)
{
	*rdma = (struct rdma){};
	rdma->context = ibv_open_device(fake_device(name && strchr(name, '1')));
	CHECK(rdma->context != NULL);
}

void rdma_close(struct rdma *rdma)
{
	CHECK_EQ(ibv_close_device(rdma->context), 0);
}

struct ibv_qp *rdma_qp(struct rdma *rdma, struct ibv_cq *send_cq,
		       struct ibv_cq *recv_cq)
{
	struct ibv_qp *qp = calloc(1, sizeof(*qp));

	CHECK(qp != NULL);
	qp->context = rdma->context;
	qp->send_cq = send_cq;
	qp->recv_cq = recv_cq;
	fake_use(send_cq, 1);
	fake_use(recv_cq, 1);
	return qp;
}

void rdma_send(struct rdma *rdma, struct ibv_qp *qp)
{
	(void)rdma;
	fake_complete(qp->recv_cq, false);
	fake_complete(qp->send_cq, false);
}

void rdma_send_solicited(struct rdma *rdma, struct ibv_qp *qp)
{
	(void)rdma;
	fake_complete(qp->recv_cq, true);
	fake_complete(qp->send_cq, false);
}

bool rdma_is_ours(const struct ibv_comp_channel *channel)
{
	return fake_is_ours(channel->fd);
}

int rdma_count_cqs(const struct rdma *rdma)
{
	(void)rdma;
	return FAKE_READ(cqs);
}
