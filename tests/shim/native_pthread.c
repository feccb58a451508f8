// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pthread_cancel() of a thread that waits leaves nothing behind: others get the
 * events, and a channel that is destroyed closes its file descriptor.
 */
#include "native.h"

#define THREADS 3

static struct rdma rdma;
static struct ibv_comp_channel *channel;
static struct native_cq n;

static void get(void *arg)
{
	struct ibv_cq *cq;
	int count;

	(void)arg;
	CHECK_EQ(compch_get_events(channel, &cq, 1, -1, &count), 0);
	compch_ack(cq, 1);
}

static void get_timed(void *arg)
{
	struct ibv_cq *cq;
	int count;

	(void)arg;
	CHECK_EQ(compch_get_events(channel, &cq, 1, 60 * SECOND, &count), 0);
	compch_ack(cq, 1);
}

static void wait_cq(void *arg)
{
	struct ibv_wc wc;
	int count;

	(void)arg;
	CHECK_EQ(compch_wait_cq(n.cq, &wc, 1, 0, -1, &count), 0);
}

static void wait_cq_timed(void *arg)
{
	struct ibv_wc wc;
	int count;

	(void)arg;
	CHECK_EQ(compch_wait_cq(n.cq, &wc, 1, 0, 60 * SECOND, &count), 0);
}

/* Of some threads, each one is cancelled, in turn, and the rest go on. */
static void cancel_one(void (*fn)(void *arg), int victim)
{
	struct native_thread t[THREADS];
	void *end;
	int i;

	for (i = 0; i < THREADS; i++) {
		native_start(&t[i], fn, NULL);
		native_asleep(&t[i]);
	}
	CHECK_EQ(pthread_cancel(t[victim].thread), 0);
	CHECK_EQ(pthread_join(t[victim].thread, &end), 0);
	CHECK(end == PTHREAD_CANCELED);
	for (i = 0; i < THREADS; i++) {
		if (i == victim)
			continue;
		/* Two completions, of which a waiter takes one. */
		CHECK_EQ(ibv_req_notify_cq(n.cq, 0), 0);
		rdma_send(&rdma, n.qp);
		while (fn != wait_cq && fn != wait_cq_timed &&
		       !native_done(&t[0]) + !native_done(&t[1]) +
		       !native_done(&t[2]) > THREADS - 1 - (i - (i > victim)))
			test_sleep_ms(1);
	}
	for (i = 0; i < THREADS; i++) {
		if (i != victim)
			native_join(&t[i]);
	}
}

static void cancelled(void *arg)
{
	(void)arg;
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	wait_cq(NULL);
}

/*
 * Threads that are cancelled before they wait, and then one that is not.
 * None of those has told others that it waits.
 */
static void cancel_early(void)
{
	struct native_thread t;
	void *end;
	int i;

	for (i = 0; i < THREADS; i++) {
		native_start(&t, cancelled, NULL);
		CHECK_EQ(pthread_join(t.thread, &end), 0);
		CHECK(end == PTHREAD_CANCELED);
	}
	native_start(&t, wait_cq, NULL);
	native_asleep(&t);
	rdma_send(&rdma, n.qp);
	native_join(&t);
}

static void drain(void)
{
	struct ibv_cq *cqs[16];
	struct ibv_wc wc[16];
	int i, count;

	while (ibv_poll_cq(n.cq, 16, wc) > 0)
		;
	while (!compch_get_events(channel, cqs, 16, 0, &count)) {
		for (i = 0; i < count; i++)
			compch_ack(cqs[i], 1);
	}
}

int main(int argc, char **argv)
{
	static void (*const fns[])(void *arg) = {
		get, get_timed, wait_cq, wait_cq_timed
	};
	int fds, victim;
	size_t f;

	test_deadline(120);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	test_skip("the sanitizers lose track of a thread that is cancelled");
#endif
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	/* The first one makes a stock channel as well, which stays. */
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	native_cq(&rdma, &n, channel);
	native_cq_destroy(&n);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	fds = rdma_count_fds();
	for (f = 0; f < sizeof(fns) / sizeof(fns[0]); f++) {
		for (victim = 0; victim < THREADS; victim++) {
			channel = ibv_create_comp_channel(rdma.context);
			CHECK(channel != NULL);
			native_cq(&rdma, &n, channel);
			cancel_one(fns[f], victim);
			drain();
			native_cq_destroy(&n);
			CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
			CHECK_EQ(rdma_count_fds(), fds);
		}
	}
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	native_cq(&rdma, &n, channel);
	cancel_early();
	drain();
	native_cq_destroy(&n);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(rdma_count_fds(), fds);
	rdma_close(&rdma);
	return 0;
}
