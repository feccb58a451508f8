// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Threads move one CQ between channels while others get its events, and ask
 * about it: no call fails, and each event is seen once.
 */
#include "native.h"

#define MOVERS 2
#define ROUNDS 300

static struct rdma rdma;
static struct ibv_comp_channel *channel[3];
static struct native_cq n;
static int stop, events;

static void move(void *arg)
{
	struct ibv_comp_channel **to = arg;
	int i;

	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_SEQ_CST); i++)
		CHECK_EQ(compch_move_cq(n.cq, to[i % 2]), 0);
}

static void get(void *arg)
{
	struct ibv_cq *cqs[4];
	int i, count, ret;

	do {
		ret = compch_get_events(arg, cqs, 4, -1, &count);
		CHECK(!ret || ret == ECANCELED);
		for (i = 0; i < count; i++) {
			CHECK(cqs[i] == n.cq);
			compch_ack(cqs[i], 1);
		}
		__atomic_add_fetch(&events, count, __ATOMIC_SEQ_CST);
	} while (!ret);
}

static void query(void *arg)
{
	struct compch_channel_info info;
	struct compch_cq_info cq_info;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		CHECK_EQ(compch_query_cq(n.cq, &cq_info), 0);
		CHECK(cq_info.acknowledged <= cq_info.reported);
		CHECK_EQ(compch_query_channel(channel[0], &info), 0);
		CHECK(info.associations <= 1);
	}
}

/* Attached and detached by two threads: one of them succeeds each time. */
static int attached, detached;

static void attach(void *arg)
{
	int i, ret;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		ret = compch_attach_cq(n.cq, channel[i % 3]);
		CHECK(!ret || ret == EBUSY);
		__atomic_add_fetch(&attached, !ret, __ATOMIC_SEQ_CST);
		ret = compch_detach_cq(n.cq, NULL);
		CHECK(!ret || ret == EINVAL);
		__atomic_add_fetch(&detached, !ret, __ATOMIC_SEQ_CST);
	}
}

int main(int argc, char **argv)
{
	struct native_thread mover[MOVERS], getter[3], asker;
	struct ibv_comp_channel *ways[MOVERS][2];
	int i;

	test_deadline(120);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	native_need_ours(&rdma);
	for (i = 0; i < 3; i++) {
		channel[i] = ibv_create_comp_channel(rdma.context);
		CHECK(channel[i] != NULL);
	}
	native_cq(&rdma, &n, channel[0]);
	for (i = 0; i < 3; i++)
		native_start(&getter[i], get, channel[i]);
	for (i = 0; i < MOVERS; i++) {
		ways[i][0] = channel[i];
		ways[i][1] = channel[i + 1];
		native_start(&mover[i], move, ways[i]);
	}
	native_start(&asker, query, NULL);
	for (i = 0; i < ROUNDS; i++) {
		CHECK_EQ(ibv_req_notify_cq(n.cq, 0), 0);
		rdma_send(&rdma, n.qp);
		rdma_expect_completions(n.cq, 2);
		while (__atomic_load_n(&events, __ATOMIC_SEQ_CST) <= i)
			test_sleep_ms(1);
		CHECK_EQ(__atomic_load_n(&events, __ATOMIC_SEQ_CST), i + 1);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < MOVERS; i++)
		native_join(&mover[i]);
	native_join(&asker);
	for (i = 0; i < 3; i++)
		CHECK_EQ(compch_cancel(channel[i]), 0);
	for (i = 0; i < 3; i++)
		native_join(&getter[i]);

	CHECK_EQ(compch_detach_cq(n.cq, NULL), 0);
	for (i = 0; i < MOVERS; i++)
		native_start(&mover[i], attach, NULL);
	for (i = 0; i < MOVERS; i++)
		native_join(&mover[i]);
	CHECK_EQ(attached, detached);
	native_cq_destroy(&n);
	for (i = 0; i < 3; i++)
		CHECK_EQ(ibv_destroy_comp_channel(channel[i]), 0);
	rdma_close(&rdma);
	return 0;
}
