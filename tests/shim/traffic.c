// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many CQs on one channel, read by several threads, while CQs come and go: each
 * event is delivered once, to one of the threads, and none is lost.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "rdma.h"

#define CQS 8
#define READERS 3
#define ROUNDS 100

struct flow {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int events;	/* read, but not yet followed by another message */
};

static struct ibv_comp_channel *channel;
static struct rdma rdma;
static int stop;

static void *read_events(void *arg)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct flow *flow;
	void *context;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		if (poll(&pfd, 1, 50) <= 0)
			continue;
		/* Another thread may have been faster. */
		if (ibv_get_cq_event(channel, &cq, &context)) {
			CHECK_EQ(errno, EAGAIN);
			continue;
		}
		flow = context;
		CHECK(flow->cq == cq);
		CHECK_EQ(__atomic_add_fetch(&flow->events, 1,
					    __ATOMIC_SEQ_CST), 1);
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

static void flow_create(struct flow *flow)
{
	__atomic_store_n(&flow->events, 0, __ATOMIC_SEQ_CST);
	flow->cq = ibv_create_cq(rdma.context, 64, flow, channel, 0);
	CHECK(flow->cq != NULL);
	flow->qp = rdma_qp(&rdma, flow->cq, flow->cq);
}

static void flow_destroy(struct flow *flow)
{
	CHECK_EQ(ibv_destroy_qp(flow->qp), 0);
	CHECK_EQ(ibv_destroy_cq(flow->cq), 0);
}

int main(int argc, char **argv)
{
	pthread_t reader[READERS];
	struct flow flow[CQS];
	uint64_t end;
	int i, round;

	test_deadline(120);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	CHECK_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	for (i = 0; i < CQS; i++)
		flow_create(&flow[i]);
	for (i = 0; i < READERS; i++)
		CHECK_EQ(pthread_create(&reader[i], NULL, read_events, NULL),
			 0);

	for (round = 0; round < ROUNDS; round++) {
		/* One event for the two completions: it is armed once. */
		for (i = 0; i < CQS; i++) {
			CHECK_EQ(ibv_req_notify_cq(flow[i].cq, 0), 0);
			rdma_send(&rdma, flow[i].qp);
		}
		for (i = 0; i < CQS; i++) {
			rdma_expect_completions(flow[i].cq, 2);
			end = test_ms() + 10000;
			while (!__atomic_load_n(&flow[i].events,
						__ATOMIC_SEQ_CST)) {
				if (test_ms() > end)
					FAIL("CQ %d: round %d: no event", i,
					     round);
				test_sleep_ms(1);
			}
			__atomic_store_n(&flow[i].events, 0, __ATOMIC_SEQ_CST);
		}
		i = round % CQS;
		flow_destroy(&flow[i]);
		flow_create(&flow[i]);
	}

	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < READERS; i++)
		CHECK_EQ(pthread_join(reader[i], NULL), 0);
	for (i = 0; i < CQS; i++)
		flow_destroy(&flow[i]);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
