// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mlx5dv_create_cq() and efadv_create_cq() on a device of another provider fail
 * as they do on stock channels, and leave nothing behind.
 */
#include <infiniband/efadv.h>
#include <infiniband/mlx5dv.h>

#include "rdma.h"

int main(int argc, char **argv)
{
	struct mlx5dv_cq_init_attr mlx5_attr = {};
	struct efadv_cq_init_attr efa_attr = {};
	struct ibv_cq_init_attr_ex attr = { .cqe = 8 };
	struct ibv_comp_channel *channel;
	struct rdma rdma;
	int fds, i;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	/* What is created once for a context stays. */
	CHECK_EQ(ibv_destroy_cq(ibv_create_cq(rdma.context, 8, NULL, channel,
					      0)), 0);
	fds = rdma_count_fds();
	for (i = 0; i < 2; i++) {
		attr.channel = i ? channel : NULL;
		CHECK_NULL(mlx5dv_create_cq(rdma.context, &attr, &mlx5_attr),
			   EOPNOTSUPP);
		CHECK_NULL(efadv_create_cq(rdma.context, &attr, &efa_attr,
					   sizeof(efa_attr)), EOPNOTSUPP);
		CHECK(attr.channel == (i ? channel : NULL));
	}
	CHECK_EQ(channel->refcnt, 0);
	CHECK_EQ(rdma_count_fds(), fds);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
