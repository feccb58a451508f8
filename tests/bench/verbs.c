// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a program of libibverbs pays, system calls included: on stock channels,
 * or with the library loaded ahead of it, on ours.
 */
#include "bench.h"
#include "../shim/rdma.h"

#include <dlfcn.h>
#include <infiniband/compch.h>

#define CQS	64

static struct rdma rdma;
static struct ibv_comp_channel *channel;
static struct ibv_cq *send_cq, *cqs[CQS];
static struct ibv_qp *qps[CQS];

static __typeof__(compch_get_events) *get_events;
static __typeof__(compch_ack) *ack;

static long create_destroy_channel(int fd, void *buf, size_t len)
{
	struct ibv_comp_channel *chan = ibv_create_comp_channel(rdma.context);

	(void)fd, (void)buf, (void)len;
	return !chan || ibv_destroy_comp_channel(chan);
}

static long create_destroy_cq(int fd, void *buf, size_t len)
{
	struct ibv_cq *cq = ibv_create_cq(rdma.context, 16, NULL, channel, 0);

	(void)fd, (void)buf, (void)len;
	return !cq || ibv_destroy_cq(cq);
}

/* Returns how many times it failed */
static long get_ack(int fd, void *buf, size_t len)
{
	struct ibv_cq *cq;
	void *context;

	(void)fd, (void)buf, (void)len;
	if (ibv_get_cq_event(channel, &cq, &context))
		return 1;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

/* Up to @len events in one call */
static long get_ack_batch(int fd, void *buf, size_t len)
{
	struct ibv_cq *got[CQS];
	int n, i;

	(void)fd, (void)buf;
	if (get_events(channel, got, len, -1, &n) || n != (int)len)
		return 1;
	for (i = 0; i < n; i++)
		ack(got[i], 1);
	return 0;
}

static void without_events(timed_fn fn, const char *what)
{
	struct samples samples = {};
	int i;

	for (i = 0; i < 33; i++)
		sample(&samples, timed_loop(fn, -1, NULL, 0, 4, 0) / 4);
	row("library", what, &samples);
}

/* An event of each of the first @n CQs */
static void make_events(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		CHECK_EQ(ibv_req_notify_cq(cqs[i], 0), 0);
		rdma_send(&rdma, qps[i]);
	}
	rdma_expect_completions(send_cq, n);
	for (i = 0; i < n; i++)
		rdma_expect_completions(cqs[i], 1);
	/* A completion is there before its event is. */
	test_sleep_ms(10);
	CHECK(rdma_readable(channel, 10000));
}

static void with_events(timed_fn fn, int n, int calls, const char *what)
{
	struct samples samples = {};
	int i;

	for (i = 0; i < 33; i++) {
		make_events(n);
		sample(&samples, timed_loop(fn, -1, NULL, n, calls, 0) / n);
		CHECK(!rdma_readable(channel, 0));
	}
	row("library", what, &samples);
}

int main(int argc, char **argv)
{
	int i;

	bench_init(argc, argv, "stock compch");
	get_events = (__typeof__(get_events))dlsym(RTLD_DEFAULT,
						   "compch_get_events");
	ack = (__typeof__(ack))dlsym(RTLD_DEFAULT, "compch_ack");
	must(ours && !(get_events && ack) ? -ELIBACC : 0);

	rdma_open(&rdma, "rxe0");
	without_events(create_destroy_channel, "create and destroy a channel");
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	CHECK_EQ(rdma_is_ours(channel), ours);
	without_events(create_destroy_cq, "create and destroy a CQ on it");

	send_cq = ibv_create_cq(rdma.context, 2 * CQS, NULL, NULL, 0);
	CHECK(send_cq != NULL);
	for (i = 0; i < CQS; i++) {
		cqs[i] = ibv_create_cq(rdma.context, 16, NULL, channel, 0);
		CHECK(cqs[i] != NULL);
		qps[i] = rdma_qp(&rdma, send_cq, cqs[i]);
	}
	with_events(get_ack, 1, 1, "ibv_get_cq_event() and ack: 1 event");
	with_events(get_ack, CQS, CQS, "ibv_get_cq_event() and ack: 64 events");
	/* A program on stock channels has nothing else than the above. */
	if (ours) {
		with_events(get_ack_batch, 1, 1,
			    "compch_get_events() and ack: 1 event");
		with_events(get_ack_batch, CQS, 1,
			    "compch_get_events() and ack: 64 events");
	} else {
		with_events(get_ack, 1, 1,
			    "compch_get_events() and ack: 1 event");
		with_events(get_ack, CQS, CQS,
			    "compch_get_events() and ack: 64 events");
	}

	for (i = 0; i < CQS; i++) {
		CHECK_EQ(ibv_destroy_qp(qps[i]), 0);
		CHECK_EQ(ibv_destroy_cq(cqs[i]), 0);
	}
	CHECK_EQ(ibv_destroy_cq(send_cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return abi_done();
}
