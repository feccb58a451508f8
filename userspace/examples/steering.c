// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * steering [DEVICE] - two threads with a channel each; CQs are moved from one to
 * the other while they work.
 *
 * Each thread serves the CQs on its channel, whichever these are.  The main
 * thread moves them about all the time: that loses no event, and no completion
 * waits for ever.  Needs channels of the kernel module's.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <infiniband/compch.h>

#include "loopback.h"

#define CQS 4
#define MESSAGES 2000

/* What hangs off a CQ, by its cq_context */
struct flow {
	pthread_mutex_t lock; /* two threads may have an event of it each */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int sent, completions;
	bool done;
};

static struct loopback loop;
static struct flow flows[CQS];
static struct ibv_comp_channel *channels[2];
static atomic_int flows_left = CQS;
static atomic_int served[2];

/*
 * Takes what has completed, and sends the next message when one is through: the
 * CQ is armed, so the thread that has its channel by then gets an event.
 */
static void serve(struct flow *flow)
{
	pthread_mutex_lock(&flow->lock);
	flow->completions += loopback_poll(flow->cq);
	if (flow->completions == 2 * flow->sent && !flow->done) {
		if (flow->sent < MESSAGES) {
			flow->sent++;
			loopback_send(&loop, flow->qp);
		} else {
			flow->done = true;
			flows_left--;
		}
	}
	pthread_mutex_unlock(&flow->lock);
}

static void *thread(void *arg)
{
	int me = arg == channels[1];
	struct ibv_cq *cqs[CQS];
	int i, n, ret;

	for (;;) {
		/* All that is there, in one system call */
		ret = compch_get_events(arg, cqs, CQS, -1, &n);
		if (ret == ECANCELED)
			return NULL;
		must("compch_get_events", ret);
		for (i = 0; i < n; i++) {
			struct ibv_cq *cq = cqs[i];

			/* Arm first, then poll: what comes later is an event. */
			must("ibv_req_notify_cq", ibv_req_notify_cq(cq, 0));
			serve(cq->cq_context);
			compch_ack(cq, 1);
			served[me]++;
		}
	}
}

int main(int argc, char **argv)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	int i, moves = 0;
	pthread_t threads[2];

	loopback_open(&loop, argc > 1 ? argv[1] : NULL);
	for (i = 0; i < 2; i++)
		must("compch_create_channel",
		     compch_create_channel(loop.context, NULL, &channels[i]));
	if (!compch_is_native(channels[0])) {
		fputs("stock channels cannot do this\n", stderr);
		return 77;
	}
	for (i = 0; i < CQS; i++) {
		struct flow *flow = &flows[i];

		pthread_mutex_init(&flow->lock, NULL);
		/* At first, one thread has all the work. */
		flow->cq = ibv_create_cq(loop.context, 16, flow, channels[0],
					 0);
		if (!flow->cq)
			die("ibv_create_cq", errno);
		flow->qp = loopback_qp(&loop, flow->cq);
		must("ibv_req_notify_cq", ibv_req_notify_cq(flow->cq, 0));
		flow->sent = 1;
		loopback_send(&loop, flow->qp);
	}
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, channels[i]);

	while (flows_left) {
		must("compch_move_cq",
		     compch_move_cq(flows[moves % CQS].cq,
				    channels[(moves / CQS + 1) % 2]));
		moves++;
		nanosleep(&nap, NULL);
	}
	for (i = 0; i < 2; i++) {
		must("compch_cancel", compch_cancel(channels[i]));
		pthread_join(threads[i], NULL);
	}
	printf("%d messages, %d moves; events served by the threads: %d and %d\n",
	       CQS * MESSAGES, moves, served[0], served[1]);

	for (i = 0; i < CQS; i++) {
		must("ibv_destroy_qp", ibv_destroy_qp(flows[i].qp));
		must("ibv_destroy_cq", ibv_destroy_cq(flows[i].cq));
	}
	for (i = 0; i < 2; i++)
		must("compch_destroy_channel",
		     compch_destroy_channel(channels[i]));
	loopback_close(&loop);
	return 0;
}
