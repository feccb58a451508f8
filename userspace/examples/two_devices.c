// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * two_devices DEVICE DEVICE - one channel, and so one thread and one file
 * descriptor, for the CQs of two devices.
 *
 * Needs channels of the kernel module's.
 */
#include <errno.h>
#include <stdio.h>
#include <infiniband/compch.h>

#include "loopback.h"

#define MESSAGES 500
#define SECOND 1000000000ll

struct flow {
	struct loopback loop;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int sent, completions;
};

/* Whether all its messages are through */
static int serve(struct flow *flow)
{
	flow->completions += loopback_poll(flow->cq);
	if (flow->completions == 2 * MESSAGES)
		return 1;
	if (flow->completions == 2 * flow->sent) {
		/* The CQ is armed: there will be an event. */
		flow->sent++;
		loopback_send(&flow->loop, flow->qp);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct ibv_comp_channel *channel;
	int i, n, done[2] = {}, events = 0;
	struct ibv_cq *cqs[2];
	struct flow flows[2], *flow;

	if (argc != 3) {
		fputs("usage: two_devices DEVICE DEVICE\n", stderr);
		return 2;
	}
	loopback_open(&flows[0].loop, argv[1]);
	loopback_open(&flows[1].loop, argv[2]);
	must("compch_create_channel",
	     compch_create_channel(flows[0].loop.context, NULL, &channel));
	if (!compch_is_native(channel)) {
		fputs("a stock channel is for one device only\n", stderr);
		return 77;
	}
	for (i = 0; i < 2; i++) {
		flow = &flows[i];
		/* The channel was made on the first device. */
		flow->cq = ibv_create_cq(flow->loop.context, 16, flow, channel,
					 0);
		if (!flow->cq)
			die("ibv_create_cq", errno);
		flow->qp = loopback_qp(&flow->loop, flow->cq);
		must("ibv_req_notify_cq", ibv_req_notify_cq(flow->cq, 0));
		flow->completions = 0;
		flow->sent = 1;
		loopback_send(&flow->loop, flow->qp);
	}

	while (!done[0] || !done[1]) {
		must("compch_get_events",
		     compch_get_events(channel, cqs, 2, 30 * SECOND, &n));
		for (i = 0; i < n; i++) {
			must("ibv_req_notify_cq", ibv_req_notify_cq(cqs[i], 0));
			flow = cqs[i]->cq_context;
			done[flow - flows] |= serve(flow);
			compch_ack(cqs[i], 1);
		}
		events += n;
	}
	printf("%d messages on %s and %s, %d events on one channel\n",
	       2 * MESSAGES, argv[1], argv[2], events);

	for (i = 0; i < 2; i++) {
		must("ibv_destroy_qp", ibv_destroy_qp(flows[i].qp));
		must("ibv_destroy_cq", ibv_destroy_cq(flows[i].cq));
	}
	must("compch_destroy_channel", compch_destroy_channel(channel));
	for (i = 0; i < 2; i++)
		loopback_close(&flows[i].loop);
	return 0;
}
