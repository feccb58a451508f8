// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_destroy_cq() waits until all events that have been read are acknowledged,
 * by whichever thread, and does not wait for those that nobody has read: these
 * are never delivered.
 */
#include <fcntl.h>
#include <pthread.h>

#include "rdma.h"

static int acknowledged;

static void *acknowledge(void *arg)
{
	struct ibv_cq *cq = arg;

	test_sleep_ms(100);
	ibv_ack_cq_events(cq, 1);
	test_sleep_ms(100);
	__atomic_store_n(&acknowledged, 1, __ATOMIC_SEQ_CST);
	ibv_ack_cq_events(cq, 2);
	return NULL;
}

static void get_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *got;
	void *context;

	CHECK(rdma_readable(channel, 10000));
	CHECK_EQ(ibv_get_cq_event(channel, &got, &context), 0);
}

int main(int argc, char **argv)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *got;
	pthread_t thread;
	struct ibv_qp *qp;
	struct rdma rdma;
	void *context;
	int i, unread;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);

	for (unread = 0; unread < 2; unread++) {
		acknowledged = 0;
		cq = ibv_create_cq(rdma.context, 64, NULL, channel, 0);
		CHECK(cq != NULL);
		qp = rdma_qp(&rdma, cq, cq);
		for (i = 0; i < 3; i++) {
			CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
			rdma_send(&rdma, qp);
			get_event(channel);
			rdma_expect_completions(cq, 2);
		}
		if (unread) {
			CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
			rdma_send(&rdma, qp);
			CHECK(rdma_readable(channel, 10000));
			rdma_expect_completions(cq, 2);
		}
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		CHECK_EQ(pthread_create(&thread, NULL, acknowledge, cq), 0);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		CHECK(__atomic_load_n(&acknowledged, __ATOMIC_SEQ_CST));
		CHECK_EQ(pthread_join(thread, NULL), 0);

		CHECK(!rdma_readable(channel, 0));
		CHECK_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
		errno = 0;
		CHECK_EQ(ibv_get_cq_event(channel, &got, &context), -1);
		CHECK_EQ(errno, EAGAIN);
		CHECK_EQ(fcntl(channel->fd, F_SETFL, 0), 0);
	}
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
