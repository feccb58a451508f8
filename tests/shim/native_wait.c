// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch_wait_cq(): several threads, with CQs of their own or with the same one,
 * on one channel; events of completions that are gone; solicited ones;
 * timeouts; a CQ that another thread wants to move meanwhile.
 */
#include <signal.h>

#include "native.h"

#define CQS 4
#define ROUNDS 50

static struct rdma rdma;
static struct ibv_comp_channel *channel;
static bool ours;

static int wait_cq(struct ibv_cq *cq, struct ibv_wc *wc, int max,
		   uint32_t flags, int64_t timeout, int *count)
{
	int ret;

	*count = 4711;
	errno = 4711;
	ret = compch_wait_cq(cq, wc, max, flags, timeout, count);
	CHECK_EQ(errno, 4711);
	CHECK(ret ? !*count : *count >= 1 && *count <= max);
	return ret;
}

static void expect(struct ibv_cq *cq, int64_t timeout, int want)
{
	struct ibv_wc wc;
	int count;

	CHECK_EQ(wait_cq(cq, &wc, 1, 0, timeout, &count), want);
}

/* Waits for one completion; so does each of several threads. */
struct waiter {
	struct native_cq *n;
	uint32_t flags;
	int64_t timeout;
	int ret, count, rounds;
};

static void wait_one(void *arg)
{
	struct waiter *w = arg;
	struct ibv_wc wc;

	w->ret = wait_cq(w->n->cq, &wc, 1, w->flags, w->timeout, &w->count);
	CHECK(w->ret || wc.status == IBV_WC_SUCCESS);
}

static void alone(void)
{
	struct ibv_wc wc[8];
	struct native_thread t;
	struct waiter w = { .timeout = -1 };
	struct native_cq n;
	int count, i, got;

	native_cq(&rdma, &n, channel);
	w.n = &n;
	CHECK_EQ(wait_cq(n.cq, wc, 0, 0, 0, &count), EINVAL);
	CHECK_EQ(wait_cq(n.cq, wc, 1, 1 << 1, 0, &count), EINVAL);
	expect(n.cq, 0, ETIMEDOUT);
	expect(n.cq, 1, ETIMEDOUT);
	expect(n.cq, SECOND / 10, ETIMEDOUT);

	/* It sleeps until there is one. */
	for (i = 0; i < 3; i++) {
		native_start(&t, wait_one, &w);
		native_asleep(&t);
		rdma_send(&rdma, n.qp);
		native_join(&t);
		CHECK_EQ(w.ret, 0);
		rdma_expect_completions(n.cq, 1);
		w.timeout = i ? 60 * SECOND : INT64_MAX;
	}

	/* All that are there, and no event needed. */
	for (i = 0; i < 3; i++)
		rdma_send(&rdma, n.qp);
	for (got = 0; got < 6; got += count)
		CHECK_EQ(wait_cq(n.cq, wc, 8, 0, 10 * SECOND, &count), 0);
	CHECK_EQ(got, 6);
	expect(n.cq, 0, ETIMEDOUT);

	/* Events whose completions have been seen */
	for (i = 0; i < 5; i++) {
		native_event(&rdma, &n);
		expect(n.cq, SECOND / 50, ETIMEDOUT);
		native_event(&rdma, &n);
		w.timeout = -1;
		native_start(&t, wait_one, &w);
		native_asleep(&t);
		rdma_send(&rdma, n.qp);
		native_join(&t);
		CHECK_EQ(w.ret, 0);
		rdma_expect_completions(n.cq, 1);
	}
	native_cq_destroy(&n);
}

/* Completions that are not solicited do not wake who asked for others. */
static void solicited(void)
{
	struct waiter w = { .timeout = -1, .flags = COMPCH_WAIT_SOLICITED };
	struct native_cq send, recv;
	struct native_thread t;
	struct ibv_qp *qp;

	native_cq(&rdma, &send, channel);
	native_cq(&rdma, &recv, channel);
	qp = rdma_qp(&rdma, send.cq, recv.cq);
	w.n = &recv;
	native_start(&t, wait_one, &w);
	native_asleep(&t);
	rdma_send(&rdma, qp);
	rdma_expect_completions(send.cq, 1);
	native_asleep(&t);
	rdma_send_solicited(&rdma, qp);
	native_join(&t);
	CHECK_EQ(w.ret, 0);
	rdma_expect_completions(send.cq, 1);
	rdma_expect_completions(recv.cq, 1);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	native_cq_destroy(&send);
	native_cq_destroy(&recv);
}

static void receive(void *arg)
{
	struct waiter *w = arg;
	struct ibv_wc wc;
	int count;

	while (__atomic_sub_fetch(&w->rounds, 1, __ATOMIC_SEQ_CST) >= 0) {
		CHECK_EQ(wait_cq(w->n->cq, &wc, 1, 0, -1, &count), 0);
		__atomic_add_fetch(&w->count, 1, __ATOMIC_SEQ_CST);
	}
}

/* Two threads for each CQ, all on one channel */
static void together(void)
{
	struct native_thread t[CQS][2];
	struct waiter w[CQS] = {};
	struct native_cq n[CQS];
	int i, j, last;

	for (i = 0; i < CQS; i++) {
		native_cq(&rdma, &n[i], channel);
		w[i].n = &n[i];
		w[i].rounds = 2 * ROUNDS;
		for (j = 0; j < 2; j++)
			native_start(&t[i][j], receive, &w[i]);
	}
	for (j = 0; j < ROUNDS; j++) {
		for (i = 0; i < CQS; i++)
			rdma_send(&rdma, n[i].qp);
		/* Not more than fit: until all but the last are there. */
		last = 2 * (j + 1) - (j % 2 ? 0 : 2);
		for (i = 0; i < CQS; i++) {
			while (__atomic_load_n(&w[i].count,
					       __ATOMIC_SEQ_CST) < last)
				test_sleep_ms(1);
		}
	}
	for (i = 0; i < CQS; i++) {
		for (j = 0; j < 2; j++)
			native_join(&t[i][j]);
		CHECK_EQ(w[i].count, 2 * ROUNDS);
		native_cq_destroy(&n[i]);
	}
}

/* A leader whose time is over leaves the channel to another thread. */
static void leader_leaves(void)
{
	struct waiter w[2] = { { .timeout = SECOND / 5 }, { .timeout = -1 } };
	struct native_thread t[2];
	struct native_cq n[2];
	int i;

	for (i = 0; i < 2; i++) {
		native_cq(&rdma, &n[i], channel);
		w[i].n = &n[i];
		native_start(&t[i], wait_one, &w[i]);
	}
	native_join(&t[0]);
	CHECK_EQ(w[0].ret, ETIMEDOUT);
	native_asleep(&t[1]);
	rdma_send(&rdma, n[1].qp);
	native_join(&t[1]);
	CHECK_EQ(w[1].ret, 0);
	rdma_expect_completions(n[1].cq, 1);
	for (i = 0; i < 2; i++)
		native_cq_destroy(&n[i]);
}

static void handler(int signal)
{
	(void)signal;
}

static void interrupted(void)
{
	struct sigaction action = { .sa_handler = handler };
	struct waiter w = { .timeout = -1 };
	struct native_thread t;
	struct native_cq n;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	native_cq(&rdma, &n, channel);
	w.n = &n;
	native_start(&t, wait_one, &w);
	native_asleep(&t);
	CHECK_EQ(pthread_kill(t.thread, SIGUSR1), 0);
	native_join(&t);
	CHECK_EQ(w.ret, EINTR);
	native_cq_destroy(&n);
}

/* While a thread waits its CQ stays where it is. */
static void busy(void)
{
	struct waiter w = { .timeout = -1 };
	struct ibv_comp_channel *other, *stock;
	struct native_thread t;
	struct native_cq n, m;

	CHECK_EQ(compch_create_channel(rdma.context, NULL, &other), 0);
	stock = native_stock_channel(rdma.context);
	native_cq(&rdma, &n, channel);
	native_cq(&rdma, &m, stock);
	w.n = &n;
	native_start(&t, wait_one, &w);
	native_asleep(&t);
	CHECK_EQ(compch_move_cq(n.cq, other), ours ? EBUSY : EOPNOTSUPP);
	CHECK_EQ(compch_detach_cq(n.cq, NULL), ours ? EBUSY : EINVAL);
	CHECK_EQ(compch_attach_cq(n.cq, other), ours ? EBUSY : EOPNOTSUPP);
	rdma_send(&rdma, n.qp);
	native_join(&t);
	CHECK_EQ(w.ret, 0);
	rdma_expect_completions(n.cq, 1);

	if (ours) {
		CHECK_EQ(compch_move_cq(n.cq, other), 0);
		native_start(&t, wait_one, &w);
		native_asleep(&t);
		rdma_send(&rdma, n.qp);
		native_join(&t);
		rdma_expect_completions(n.cq, 1);
		CHECK_EQ(compch_detach_cq(n.cq, NULL), 0);
		expect(n.cq, 0, EINVAL);
	}

	/* One on a stock channel, to be attached */
	w.n = &m;
	native_start(&t, wait_one, &w);
	native_asleep(&t);
	CHECK_EQ(compch_attach_cq(m.cq, other), ours ? EBUSY : EOPNOTSUPP);
	rdma_send(&rdma, m.qp);
	native_join(&t);
	CHECK_EQ(w.ret, 0);
	rdma_expect_completions(m.cq, 1);
	CHECK_EQ(compch_attach_cq(m.cq, other), ours ? 0 : EOPNOTSUPP);
	native_cq_destroy(&n);
	native_cq_destroy(&m);
	CHECK_EQ(compch_destroy_channel(other), 0);
	CHECK_EQ(compch_destroy_channel(stock), 0);
}

int main(int argc, char **argv)
{
	struct native_cq n;

	test_deadline(120);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	ours = rdma_is_ours(channel);
	alone();
	solicited();
	together();
	leader_leaves();
	interrupted();
	busy();
	native_cq(&rdma, &n, NULL);
	expect(n.cq, 0, EINVAL);
	native_cq_destroy(&n);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
