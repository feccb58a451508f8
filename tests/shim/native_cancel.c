// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch_cancel() makes exactly one call return: of threads that wait, one for
 * each cancel, and else the next one; and no event is lost by that.
 */
#include <string.h>

#include "native.h"

#define THREADS 4

static struct rdma rdma;
static struct ibv_comp_channel *channel;
static struct native_cq n;
static int canceled;

static void get(void *arg)
{
	struct ibv_cq *cq;
	int count;

	(void)arg;
	CHECK_EQ(compch_get_events(channel, &cq, 1, -1, &count), ECANCELED);
	CHECK_EQ(count, 0);
	__atomic_add_fetch(&canceled, 1, __ATOMIC_SEQ_CST);
}

static void wait_cq(void *arg)
{
	struct ibv_wc wc;
	int count;

	(void)arg;
	CHECK_EQ(compch_wait_cq(n.cq, &wc, 1, 0, -1, &count), ECANCELED);
	CHECK_EQ(count, 0);
	__atomic_add_fetch(&canceled, 1, __ATOMIC_SEQ_CST);
}

static void one_each(void (*fn)(void *arg))
{
	struct native_thread t[THREADS];
	int i, j;

	for (i = 0; i < THREADS; i++)
		native_start(&t[i], fn, NULL);
	for (i = 0; i < THREADS; i++)
		native_asleep(&t[i]);
	for (i = 0; i < THREADS; i++) {
		__atomic_store_n(&canceled, 0, __ATOMIC_SEQ_CST);
		CHECK_EQ(compch_cancel(channel), 0);
		while (!__atomic_load_n(&canceled, __ATOMIC_SEQ_CST))
			test_sleep_ms(1);
		for (j = 0; j < THREADS; j++) {
			if (native_done(&t[j]))
				continue;
			/* It may be just about to be done: one more may be. */
			test_sleep_ms(20);
			if (native_done(&t[j]))
				continue;
			native_asleep(&t[j]);
		}
		CHECK_EQ(__atomic_load_n(&canceled, __ATOMIC_SEQ_CST), 1);
	}
	for (i = 0; i < THREADS; i++)
		native_join(&t[i]);
}

/* The next ones, as many as there were cancels; they come before events. */
static void next(void)
{
	struct ibv_cq *cqs[4];
	int i, count;

	for (i = 0; i < 3; i++)
		CHECK_EQ(compch_cancel(channel), 0);
	native_event(&rdma, &n);
	for (i = 0; i < 3; i++)
		CHECK_EQ(compch_get_events(channel, cqs, 4, i - 1, &count),
			 ECANCELED);
	CHECK_EQ(compch_get_events(channel, cqs, 4, 10 * SECOND, &count), 0);
	CHECK_EQ(count, 1);
	CHECK_EQ(compch_get_events(channel, cqs, 4, 0, &count), ETIMEDOUT);
	compch_ack(cqs[0], 1);
}

/* A cancel for each call that waits, and events all the while */
static int rounds, stop;

static void receive(void *arg)
{
	int *events = arg, count, ret;
	struct ibv_cq *cqs[4];
	int i;

	do {
		ret = compch_get_events(channel, cqs, 4, -1, &count);
		CHECK(!ret || ret == ECANCELED);
		for (i = 0; i < count; i++)
			compch_ack(cqs[i], 1);
		__atomic_add_fetch(events, count, __ATOMIC_SEQ_CST);
		if (ret)
			__atomic_add_fetch(&canceled, 1, __ATOMIC_SEQ_CST);
	} while (!ret || !__atomic_load_n(&stop, __ATOMIC_SEQ_CST));
}

static void mixed(void)
{
	struct native_thread t[THREADS];
	int i, events = 0, sent = 0;

	__atomic_store_n(&canceled, 0, __ATOMIC_SEQ_CST);
	for (i = 0; i < THREADS; i++)
		native_start(&t[i], receive, &events);
	for (rounds = 0; rounds < 100; rounds++) {
		CHECK_EQ(ibv_req_notify_cq(n.cq, 0), 0);
		rdma_send(&rdma, n.qp);
		CHECK_EQ(compch_cancel(channel), 0);
		rdma_expect_completions(n.cq, 2);
		sent++;
		while (__atomic_load_n(&events, __ATOMIC_SEQ_CST) < sent ||
		       __atomic_load_n(&canceled, __ATOMIC_SEQ_CST) < sent)
			test_sleep_ms(1);
		CHECK_EQ(__atomic_load_n(&events, __ATOMIC_SEQ_CST), sent);
		CHECK_EQ(__atomic_load_n(&canceled, __ATOMIC_SEQ_CST), sent);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(compch_cancel(channel), 0);
	for (i = 0; i < THREADS; i++)
		native_join(&t[i]);
}

int main(int argc, char **argv)
{
	test_deadline(120);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	native_cq(&rdma, &n, channel);
	next();
	one_each(get);
	one_each(wait_cq);
	mixed();
	native_cq_destroy(&n);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
