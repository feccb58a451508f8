// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A signal wakes a blocked ibv_get_cq_event() with EINTR, or, with SA_RESTART,
 * does not: then the event that comes later is returned.
 */
#include <pthread.h>
#include <signal.h>

#include "rdma.h"

static int stop, signals;

static void handler(int signal)
{
	(void)signal;
	__atomic_add_fetch(&signals, 1, __ATOMIC_SEQ_CST);
}

static void *send_signals(void *arg)
{
	pthread_t target = *(pthread_t *)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		pthread_kill(target, SIGUSR1);
		test_sleep_ms(20);
	}
	return NULL;
}

struct later {
	struct rdma *rdma;
	struct ibv_qp *qp;
};

static void *send_later(void *arg)
{
	struct later *later = arg;
	int seen = __atomic_load_n(&signals, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&signals, __ATOMIC_SEQ_CST) < seen + 5)
		test_sleep_ms(10);
	rdma_send(later->rdma, later->qp);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = handler };
	struct ibv_comp_channel *channel;
	pthread_t self = pthread_self(), signaller, sender;
	struct ibv_cq *cq, *got;
	struct later later;
	struct rdma rdma;
	void *context;
	int i;

	test_deadline(60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	cq = ibv_create_cq(rdma.context, 64, NULL, channel, 0);
	CHECK(cq != NULL);
	later.rdma = &rdma;
	later.qp = rdma_qp(&rdma, cq, cq);

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(pthread_create(&signaller, NULL, send_signals, &self), 0);
	for (i = 0; i < 5; i++) {
		errno = 0;
		CHECK_EQ(ibv_get_cq_event(channel, &got, &context), -1);
		CHECK_EQ(errno, EINTR);
	}

	action.sa_flags = SA_RESTART;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	CHECK_EQ(pthread_create(&sender, NULL, send_later, &later), 0);
	CHECK_EQ(ibv_get_cq_event(channel, &got, &context), 0);
	CHECK(got == cq);
	ibv_ack_cq_events(cq, 1);
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(signaller, NULL), 0);
	CHECK_EQ(pthread_join(sender, NULL), 0);
	rdma_expect_completions(cq, 2);

	CHECK_EQ(ibv_destroy_qp(later.qp), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return 0;
}
