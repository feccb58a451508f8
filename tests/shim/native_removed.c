// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * native_removed DEVICE: the device, of type rxe, is removed while one thread
 * waits in ibv_destroy_cq() for an acknowledgement, and others for events.  All
 * return.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"

static struct ibv_comp_channel *channel[3];
static struct native_cq n[3];

static void destroy_cq(void *arg)
{
	int ret = ibv_destroy_cq(n[0].cq);

	(void)arg;
	CHECK(!ret || ret == EIO);
}

static void get_events(void *arg)
{
	struct ibv_cq *got;
	int count;

	(void)arg;
	CHECK_EQ(compch_get_events(channel[1], &got, 1, -1, &count), EIO);
	CHECK_EQ(compch_get_events(channel[1], &got, 1, 0, &count), EIO);
	CHECK_EQ(compch_get_events(channel[1], &got, 1, SECOND, &count), EIO);
}

static void wait_cq(void *arg)
{
	struct ibv_wc wc;
	int count;

	(void)arg;
	CHECK_EQ(compch_wait_cq(n[2].cq, &wc, 1, 0, -1, &count), EIO);
}

int main(int argc, char **argv)
{
	static void (*const fn[])(void *) = { destroy_cq, get_events, wait_cq };
	struct compch_channel_info info;
	struct compch_cq_info cq_info;
	struct native_thread t[3];
	struct ibv_cq *got;
	struct rdma rdma;
	int i, count, status, ret;
	pid_t child;

	test_deadline(60);
	if (argc != 2) {
		fprintf(stderr, "usage: native_removed DEVICE\n");
		return 2;
	}
	rdma_open(&rdma, argv[1]);
	native_need_ours(&rdma);
	for (i = 0; i < 3; i++) {
		channel[i] = ibv_create_comp_channel(rdma.context);
		CHECK(channel[i] != NULL);
		native_cq(&rdma, &n[i], channel[i]);
	}
	native_event(&rdma, &n[0]);
	CHECK_EQ(compch_get_events(channel[0], &got, 1, -1, &count), 0);
	CHECK_EQ(ibv_destroy_qp(n[0].qp), 0);
	for (i = 0; i < 3; i++)
		native_start(&t[i], fn[i], NULL);
	for (i = 0; i < 3; i++)
		native_asleep(&t[i]);

	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* All is O_CLOEXEC. */
		execlp("rdma", "rdma", "link", "delete", argv[1], NULL);
		_exit(127);
	}
	if (!rdma_readable(channel[1], 5000))
		test_skip("this driver's devices wait for open contexts");
	for (i = 0; i < 3; i++)
		native_join(&t[i]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);

	CHECK_EQ(compch_query_channel(channel[1], &info), EIO);
	CHECK_EQ(compch_query_cq(n[1].cq, &cq_info), EIO);
	CHECK_EQ(compch_move_cq(n[1].cq, channel[2]), EIO);
	CHECK_EQ(compch_detach_cq(n[1].cq, NULL), EIO);
	CHECK_EQ(compch_cancel(channel[1]), EIO);
	for (i = 1; i < 3; i++) {
		ibv_destroy_qp(n[i].qp);
		ret = ibv_destroy_cq(n[i].cq);
		CHECK(!ret || ret == EIO);
	}
	for (i = 0; i < 3; i++)
		CHECK_EQ(ibv_destroy_comp_channel(channel[i]), 0);
	CHECK_EQ(ibv_close_device(rdma.context), 0);
	return 0;
}
