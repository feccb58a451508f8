// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch_ack() and ibv_ack_cq_events() count together, in whatever threads, and
 * ibv_destroy_cq() returns with the last one and not before.  Too many do not
 * hold it up.
 */
#include "native.h"

#define THREADS 3
#define EVENTS 12

static struct rdma rdma;
static struct ibv_comp_channel *channel;

struct acks {
	struct ibv_cq *cq;
	int *left;
	unsigned int seed;
};

/* A share of the acknowledgements, in pieces */
static void acknowledge(void *arg)
{
	struct acks *a = arg;
	int due = EVENTS / THREADS, piece;

	while (due) {
		piece = rand_r(&a->seed) % due + 1;
		if (rand_r(&a->seed) % 8 == 0)
			test_sleep_ms(1);
		due -= piece;
		__atomic_sub_fetch(a->left, piece, __ATOMIC_SEQ_CST);
		/* After the last one the CQ is gone. */
		if (rand_r(&a->seed) % 2)
			CHECK_EQ(compch_ack(a->cq, piece), 0);
		else
			ibv_ack_cq_events(a->cq, piece);
	}
}

static void get_events(struct native_cq *n, int events)
{
	struct ibv_cq *cq;
	int count;

	while (events--) {
		native_event(&rdma, n);
		CHECK_EQ(compch_get_events(channel, &cq, 1, SECOND * 10,
					   &count), 0);
		CHECK(cq == n->cq);
	}
}

static void race(unsigned int seed)
{
	struct native_thread t[THREADS];
	struct acks acks[THREADS];
	int i, left = EVENTS;
	struct native_cq n;

	native_cq(&rdma, &n, channel);
	get_events(&n, EVENTS);
	CHECK_EQ(ibv_destroy_qp(n.qp), 0);
	for (i = 0; i < THREADS; i++) {
		acks[i] = (struct acks){
			.cq = n.cq,
			.left = &left,
			.seed = seed * THREADS + i,
		};
		native_start(&t[i], acknowledge, &acks[i]);
	}
	CHECK_EQ(ibv_destroy_cq(n.cq), 0);
	CHECK_EQ(__atomic_load_n(&left, __ATOMIC_SEQ_CST), 0);
	for (i = 0; i < THREADS; i++)
		native_join(&t[i]);
}

static void too_many(bool attached, bool detached)
{
	struct native_cq n;

	native_cq(&rdma, &n, attached ? NULL : channel);
	if (attached)
		CHECK_EQ(compch_attach_cq(n.cq, channel), 0);
	get_events(&n, 2);
	compch_ack(n.cq, 3);
	ibv_ack_cq_events(n.cq, 2);
	if (detached)
		CHECK_EQ(compch_detach_cq(n.cq, NULL), 0);
	native_cq_destroy(&n);
}

int main(int argc, char **argv)
{
	unsigned int i;

	test_deadline(120);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	for (i = 0; i < 100; i++)
		race(i);
	/* Stock verbs never return from that. */
	if (rdma_is_ours(channel)) {
		too_many(false, false);
		too_many(true, false);
		too_many(false, true);
		too_many(true, true);
	}
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
