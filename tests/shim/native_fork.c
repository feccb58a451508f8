// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A child of a process whose threads wait for events, in all ways that there
 * are, finds nothing locked: it can ask for events, wait, and cancel on channels
 * of its own and on those that it inherited.  The parent goes on.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"

static struct rdma rdma;
static struct ibv_comp_channel *channel[3];
static struct native_cq n[3];

static void get(void *arg)
{
	struct ibv_cq *got;
	int count;

	CHECK_EQ(compch_get_events(arg, &got, 1, -1, &count), 0);
	compch_ack(got, 1);
}

static void wait_cq(void *arg)
{
	struct native_cq *of = arg;
	struct ibv_wc wc;
	int count;

	CHECK_EQ(compch_wait_cq(of->cq, &wc, 1, 0, -1, &count), 0);
}

static void child(struct ibv_comp_channel *mine)
{
	struct ibv_comp_channel *own;
	struct ibv_cq *got;
	int i, count;

	test_deadline(30);
	for (i = 0; i < 3; i++)
		CHECK_EQ(compch_get_events(channel[i], &got, 1, 0, &count),
			 ETIMEDOUT);
	CHECK_EQ(compch_get_events(mine, &got, 1, 1000, &count), ETIMEDOUT);
	own = ibv_create_comp_channel(rdma.context);
	CHECK(own != NULL);
	CHECK_EQ(compch_cancel(own), 0);
	CHECK_EQ(compch_get_events(own, &got, 1, -1, &count), ECANCELED);
	CHECK_EQ(ibv_destroy_comp_channel(own), 0);
	CHECK_EQ(ibv_destroy_comp_channel(mine), 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct native_thread t[3];
	struct ibv_comp_channel *mine;
	int i, status;
	pid_t pid;

	test_deadline(60);
	CHECK_EQ(ibv_fork_init(), 0);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	for (i = 0; i < 3; i++) {
		channel[i] = i < 2 ? ibv_create_comp_channel(rdma.context) :
				     native_stock_channel(rdma.context);
		CHECK(channel[i] != NULL);
		native_cq(&rdma, &n[i], channel[i]);
	}
	mine = ibv_create_comp_channel(rdma.context);
	CHECK(mine != NULL);
	native_start(&t[0], get, channel[0]);
	native_start(&t[1], wait_cq, &n[1]);
	native_start(&t[2], wait_cq, &n[2]);
	for (i = 0; i < 3; i++)
		native_asleep(&t[i]);

	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		child(mine);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);

	CHECK_EQ(ibv_req_notify_cq(n[0].cq, 0), 0);
	for (i = 0; i < 3; i++) {
		CHECK(!native_done(&t[i]));
		rdma_send(&rdma, n[i].qp);
		native_join(&t[i]);
		rdma_expect_completions(n[i].cq, i ? 1 : 2);
		native_cq_destroy(&n[i]);
		CHECK_EQ(ibv_destroy_comp_channel(channel[i]), 0);
	}
	CHECK_EQ(ibv_destroy_comp_channel(mine), 0);
	rdma_close(&rdma);
	return 0;
}
