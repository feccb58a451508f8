// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * io_uring_loop [DEVICE] - an event loop on io_uring that serves several CQs.
 *
 * One request watches the channel from beginning to end: each time that there are
 * new events, the ring gets a completion.  It is an edge, so all events that are
 * there are taken each time.  A timer shares the ring, as sockets and files would.
 * No thread is made, neither here nor by the kernel.
 *
 * Works on stock channels as well.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <infiniband/compch.h>
#include <liburing.h>

#include "loopback.h"

#define CQS 4
#define MESSAGES 500

enum what { CHANNEL, TICK };

struct flow {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int sent, completions;
};

static struct loopback loop;
static struct flow flows[CQS];
static struct ibv_comp_channel *channel;
static struct io_uring ring;
static int done, events, wakeups, ticks;

static struct io_uring_sqe *request(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		die("io_uring_get_sqe", EBUSY);
	return sqe;
}

static void watch_channel(void)
{
	struct io_uring_sqe *sqe = request();

	io_uring_prep_poll_multishot(sqe, channel->fd, POLLIN);
	sqe->user_data = CHANNEL;
}

static void start_timer(void)
{
	static struct __kernel_timespec tick = { .tv_nsec = 100000000 };
	struct io_uring_sqe *sqe = request();

	io_uring_prep_timeout(sqe, &tick, 0, 0);
	sqe->user_data = TICK;
}

/* Takes what has completed, and sends the next message when one is through. */
static void serve(struct flow *flow)
{
	int n = loopback_poll(flow->cq);

	flow->completions += n;
	/* Not yet, or an event of completions that were taken before it */
	if (flow->completions < 2 * flow->sent || !n)
		return;
	if (flow->sent == MESSAGES) {
		done++;
	} else {
		/* The CQ is armed: there will be an event. */
		flow->sent++;
		loopback_send(&loop, flow->qp);
	}
}

static void on_channel(void)
{
	struct ibv_cq *cqs[CQS];
	int i, n, ret;

	wakeups++;
	for (;;) {
		ret = compch_get_events(channel, cqs, CQS, 0, &n);
		if (ret == ETIMEDOUT)
			return;
		must("compch_get_events", ret);
		for (i = 0; i < n; i++) {
			/* Arm first, then poll: what comes later is an event. */
			must("ibv_req_notify_cq", ibv_req_notify_cq(cqs[i], 0));
			serve(cqs[i]->cq_context);
			compch_ack(cqs[i], 1);
		}
		events += n;
	}
}

static void on_completion(const struct io_uring_cqe *cqe)
{
	switch (cqe->user_data) {
	case CHANNEL:
		if (cqe->res < 0)
			die("poll", -cqe->res);
		if (cqe->res & POLLERR)
			die("the channel", EIO);
		/* The kernel may end it, when the ring was full for one. */
		if (!(cqe->flags & IORING_CQE_F_MORE))
			watch_channel();
		on_channel();
		break;
	case TICK:
		ticks++;
		start_timer();
		break;
	}
}

int main(int argc, char **argv)
{
	struct io_uring_cqe *cqe;
	int i, ret;

	ret = io_uring_queue_init(8, &ring, 0);
	if (ret) {
		fputs("this system has no io_uring\n", stderr);
		return 77;
	}
	loopback_open(&loop, argc > 1 ? argv[1] : NULL);
	must("compch_create_channel",
	     compch_create_channel(loop.context, NULL, &channel));
	for (i = 0; i < CQS; i++) {
		struct flow *flow = &flows[i];

		flow->cq = ibv_create_cq(loop.context, 16, flow, channel, 0);
		if (!flow->cq)
			die("ibv_create_cq", errno);
		flow->qp = loopback_qp(&loop, flow->cq);
		must("ibv_req_notify_cq", ibv_req_notify_cq(flow->cq, 0));
		flow->sent = 1;
		loopback_send(&loop, flow->qp);
	}

	watch_channel();
	start_timer();
	while (done < CQS) {
		ret = io_uring_submit_and_wait(&ring, 1);
		if (ret < 0 && ret != -EINTR)
			die("io_uring_submit_and_wait", -ret);
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			on_completion(cqe);
			io_uring_cqe_seen(&ring, cqe);
		}
	}
	printf("%d messages on %d CQs, %d events in %d wake-ups; %d ticks\n",
	       CQS * MESSAGES, CQS, events, wakeups, ticks);

	/* With it goes what is still pending there, and the channel's file. */
	io_uring_queue_exit(&ring);
	for (i = 0; i < CQS; i++) {
		must("ibv_destroy_qp", ibv_destroy_qp(flows[i].qp));
		must("ibv_destroy_cq", ibv_destroy_cq(flows[i].cq));
	}
	must("compch_destroy_channel", compch_destroy_channel(channel));
	loopback_close(&loop);
	return 0;
}
