// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A child process that inherits a channel can destroy its copy, which takes
 * nothing away from the parent; and it has channels of its own.  Threads that
 * create and destroy all the while do not make it deadlock.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma.h"

static int stop;

static void *churn(void *arg)
{
	struct rdma *rdma = arg;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		channel = ibv_create_comp_channel(rdma->context);
		CHECK(channel != NULL);
		cq = ibv_create_cq(rdma->context, 8, NULL, channel, 0);
		CHECK(cq != NULL);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	}
	return NULL;
}

/* Waits for a child, which must have ended well. */
static void wait_for(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	if (status)
		FAIL("a child ended with status 0x%x", status);
}

int main(int argc, char **argv)
{
	struct ibv_comp_channel *busy, *idle, *own;
	struct ibv_cq *cq, *got;
	pthread_t thread[2];
	struct ibv_qp *qp;
	struct rdma rdma;
	void *context;
	pid_t child;
	int i, forks;

	test_deadline(120);
	CHECK_EQ(ibv_fork_init(), 0);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	busy = ibv_create_comp_channel(rdma.context);
	CHECK(busy != NULL);
	idle = ibv_create_comp_channel(rdma.context);
	CHECK(idle != NULL);
	cq = ibv_create_cq(rdma.context, 64, NULL, busy, 0);
	CHECK(cq != NULL);
	qp = rdma_qp(&rdma, cq, cq);
	rdma_round(&rdma, busy, cq, qp);

	fflush(NULL);
	child = fork();
	if (!child) {
		test_deadline(60);
		CHECK_EQ(ibv_destroy_comp_channel(busy), EBUSY);
		CHECK_EQ(ibv_destroy_comp_channel(idle), 0);
		CHECK_EQ(close(busy->fd), 0);
		own = ibv_create_comp_channel(rdma.context);
		CHECK(own != NULL);
		CHECK_EQ(ibv_destroy_comp_channel(own), 0);
		_exit(0);
	}
	wait_for(child);

	/* Both are as before. */
	rdma_round(&rdma, busy, cq, qp);
	CHECK(!rdma_readable(idle, 0));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	cq = ibv_create_cq(rdma.context, 64, NULL, idle, 0);
	CHECK(cq != NULL);
	qp = rdma_qp(&rdma, cq, cq);
	rdma_round(&rdma, idle, cq, qp);

	/* A child that closes the whole device, and one that just ends. */
	for (i = 0; i < 2; i++) {
		child = fork();
		if (!child) {
			test_deadline(60);
			if (!i)
				ibv_close_device(rdma.context);
			_exit(0);
		}
		wait_for(child);
		rdma_round(&rdma, idle, cq, qp);
	}

	/* A child that reads the parent's event gets it: there is one queue. */
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	rdma_send(&rdma, qp);
	rdma_expect_completions(cq, 2);
	CHECK(rdma_readable(idle, 10000));
	child = fork();
	if (!child) {
		test_deadline(60);
		CHECK_EQ(ibv_get_cq_event(idle, &got, &context), 0);
		CHECK(got == cq);
		_exit(0);
	}
	wait_for(child);
	CHECK(!rdma_readable(idle, 0));
	ibv_ack_cq_events(cq, 1);

	/*
	 * Forks at any moment.  Not with stock channels: the child inherits
	 * libibverbs' locks as they are.
	 */
	forks = rdma_is_ours(busy) ? 50 : 0;
	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, churn, &rdma), 0);
	for (i = 0; i < forks; i++) {
		child = fork();
		if (!child) {
			test_deadline(60);
			/* What takes the library's locks, but no malloc's. */
			CHECK_EQ(ibv_destroy_comp_channel(busy), 0);
			_exit(0);
		}
		wait_for(child);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);

	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(idle), 0);
	CHECK_EQ(ibv_destroy_comp_channel(busy), 0);
	rdma_close(&rdma);
	return 0;
}
