// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A CQ whose association with a channel fails, since the program has closed the
 * channel's file descriptor or put another file in its place, does not exist:
 * NULL, EBADF, and nothing is left behind.
 */
#include <fcntl.h>
#include <unistd.h>

#include "rdma.h"

int main(int argc, char **argv)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8 };
	struct ibv_comp_channel *channel;
	int fds, cqs, saved, null, i;
	struct ibv_cq *cq;
	struct rdma rdma;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	rdma_need_ours(&rdma);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	cq = ibv_create_cq(rdma.context, 8, NULL, channel, 0);
	CHECK(cq != NULL);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	saved = dup(channel->fd);
	CHECK(saved >= 0);
	fds = rdma_count_fds();
	cqs = rdma_count_cqs(&rdma);

	attr.channel = channel;
	CHECK_EQ(close(channel->fd), 0);
	for (i = 0; i < 20; i++) {
		CHECK_NULL(ibv_create_cq(rdma.context, 8, NULL, channel, 0),
			   EBADF);
		CHECK_NULL(ibv_create_cq_ex(rdma.context, &attr), EBADF);
	}
	null = open("/dev/null", O_RDWR);
	CHECK(null >= 0);
	if (null != channel->fd) {
		CHECK_EQ(dup2(null, channel->fd), channel->fd);
		close(null);
	}
	CHECK_NULL(ibv_create_cq(rdma.context, 8, NULL, channel, 0), EBADF);
	CHECK_EQ(channel->refcnt, 0);
	CHECK(attr.channel == channel);
	CHECK_EQ(rdma_count_fds(), fds);
	CHECK_EQ(rdma_count_cqs(&rdma), cqs);

	/* Put right, it works. */
	CHECK_EQ(dup2(saved, channel->fd), channel->fd);
	cq = ibv_create_cq(rdma.context, 8, NULL, channel, 0);
	CHECK(cq != NULL);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);

	/* A channel whose descriptor is gone can be destroyed, as on stock. */
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	null = channel->fd;
	CHECK_EQ(dup2(STDERR_FILENO, null), null);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(close(null), 0); /* which is not the channel's to close */
	close(saved);
	rdma_close(&rdma);
	if (cqs < 0)
		puts("(no rdma tool to count the device's CQs with)");
	return 0;
}
