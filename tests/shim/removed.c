// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * removed DEVICE: the device, of type rxe, is removed under the program.  Who
 * is blocked wakes up with EIO, no call waits for anything any more, and what
 * the kernel no longer has can be destroyed.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma.h"

static void *wait_for_event(void *arg)
{
	struct ibv_comp_channel *channel = arg;
	struct ibv_cq *cq;
	void *context;

	errno = 0;
	CHECK_EQ(ibv_get_cq_event(channel, &cq, &context), -1);
	CHECK_EQ(errno, EIO);
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_comp_channel *channel;
	struct pollfd pfd = {};
	struct ibv_cq *cq, *got;
	pthread_t thread;
	struct ibv_qp *qp;
	struct rdma rdma;
	bool allowed, ours;
	void *context;
	int status, ret;
	pid_t child;

	test_deadline(60);
	if (argc != 2) {
		fprintf(stderr, "usage: removed DEVICE\n");
		return 2;
	}
	allowed = getenv("RDMAV_ALLOW_DISASSOC_DESTROY");
	rdma_open(&rdma, argv[1]);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	ours = rdma_is_ours(channel);
	cq = ibv_create_cq(rdma.context, 64, NULL, channel, 0);
	CHECK(cq != NULL);
	qp = rdma_qp(&rdma, cq, cq);
	rdma_round(&rdma, channel, cq, qp);

	/* An event that is never acknowledged, and a thread that blocks. */
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	rdma_send(&rdma, qp);
	CHECK(rdma_readable(channel, 10000));
	CHECK_EQ(ibv_get_cq_event(channel, &got, &context), 0);
	rdma_expect_completions(cq, 2);
	CHECK_EQ(pthread_create(&thread, NULL, wait_for_event, channel), 0);

	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* All is O_CLOEXEC. */
		execlp("rdma", "rdma", "link", "delete", argv[1], NULL);
		_exit(127);
	}
	pfd.fd = channel->fd;
	if (!poll(&pfd, 1, 5000))
		test_skip("this driver's devices wait for open contexts");
	CHECK_EQ(pfd.revents, POLLERR);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);

	CHECK_NULL(ibv_create_comp_channel(rdma.context), EIO);
	CHECK_NULL(ibv_create_cq(rdma.context, 8, NULL, channel, 0), EIO);
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	ret = ibv_destroy_qp(qp);
	CHECK(!ret || ret == EIO);
	/* Of a stock channel the kernel still knows what was reported. */
	if (!ours)
		ibv_ack_cq_events(cq, 1);
	ret = ibv_destroy_cq(cq);
	CHECK(!ret || (ret == EIO && !allowed));
	/* A stock channel can never be destroyed if its CQ cannot. */
	CHECK_EQ(ibv_destroy_comp_channel(channel), ret && !ours ? EBUSY : 0);
	if (ret)
		CHECK_EQ(ibv_destroy_cq(cq), EIO);
	CHECK_EQ(ibv_close_device(rdma.context), 0);
	return 0;
}
