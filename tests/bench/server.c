// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A server with many connections, each with a CQ of its own, all on one
 * channel: for each event it arms and empties the CQ and posts a receive.  Its
 * clients, in the same process, send one message on each connection, and wait
 * until it has received them all.  All of that counts: verbs, device, channel.
 */
#include "bench.h"
#include "../shim/rdma.h"

#include <dlfcn.h>
#include <infiniband/compch.h>

#define CONNECTIONS	256

static struct rdma rdma;
static struct ibv_comp_channel *channel;
static struct ibv_cq *send_cq;

static struct connection {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
} connections[CONNECTIONS];

static __typeof__(compch_get_events) *get_events;
static __typeof__(compch_ack) *ack;

static void post_recv(struct connection *connection)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)rdma.buffer,
		.length = 64,
		.lkey = rdma.mr->lkey,
	};
	struct ibv_recv_wr recv = {
		.wr_id = connection - connections,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	CHECK_EQ(ibv_post_recv(connection->qp, &recv, &bad), 0);
}

static void post_send(struct connection *connection)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)rdma.buffer + 4096,
		.length = 64,
		.lkey = rdma.mr->lkey,
	};
	struct ibv_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	}, *bad;

	CHECK_EQ(ibv_post_send(connection->qp, &send, &bad), 0);
}

/* Returns how many messages there were */
static int serve(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = 0;

	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	while (ibv_poll_cq(cq, 1, &wc) == 1) {
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		post_recv(&connections[wc.wr_id]);
		n++;
	}
	return n;
}

static int serve_one(void)
{
	struct ibv_cq *cq;
	void *context;

	CHECK_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	return serve(cq);
}

static int serve_many(void)
{
	struct ibv_cq *cqs[COMPCH_MAX_EVENTS];
	int events, n = 0, i;

	CHECK_EQ(get_events(channel, cqs, COMPCH_MAX_EVENTS, -1, &events), 0);
	for (i = 0; i < events; i++) {
		ack(cqs[i], 1);
		n += serve(cqs[i]);
	}
	return n;
}

static void measure(int (*server)(void), const char *parameter)
{
	struct samples samples = {};
	uint64_t t;
	int i, j, n;

	for (i = 0; i < 33; i++) {
		t = ticks();
		for (j = 0; j < CONNECTIONS; j++)
			post_send(&connections[j]);
		for (n = 0; n < CONNECTIONS; )
			n += server();
		t = ticks() - t;
		sample(&samples, (double)t / CONNECTIONS);
		CHECK_EQ(n, CONNECTIONS);
		rdma_expect_completions(send_cq, CONNECTIONS);
	}
	if (icount)
		row("server with 256 CQs", parameter, &samples);
	else
		row_unit("server with 256 CQs", parameter,
			 1e9 / (median(&samples) * tick_ns()), "1/s");
}

int main(int argc, char **argv)
{
	struct connection *connection;
	int i;

	bench_init(argc, argv, "stock compch");
	get_events = (__typeof__(get_events))dlsym(RTLD_DEFAULT,
						   "compch_get_events");
	ack = (__typeof__(ack))dlsym(RTLD_DEFAULT, "compch_ack");
	must(ours && !(get_events && ack) ? -ELIBACC : 0);

	rdma_open(&rdma, "rxe0");
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	CHECK_EQ(rdma_is_ours(channel), ours);
	send_cq = ibv_create_cq(rdma.context, 2 * CONNECTIONS, NULL, NULL, 0);
	CHECK(send_cq != NULL);
	for (i = 0; i < CONNECTIONS; i++) {
		connection = &connections[i];
		connection->cq = ibv_create_cq(rdma.context, 16, NULL, channel,
					       0);
		CHECK(connection->cq != NULL);
		connection->qp = rdma_qp(&rdma, send_cq, connection->cq);
		CHECK_EQ(ibv_req_notify_cq(connection->cq, 0), 0);
		post_recv(connection);
	}

	measure(serve_one, "ibv_get_cq_event()");
	/* A program on stock channels has nothing else. */
	measure(ours ? serve_many : serve_one, "compch_get_events()");

	for (i = 0; i < CONNECTIONS; i++) {
		CHECK_EQ(ibv_destroy_qp(connections[i].qp), 0);
		CHECK_EQ(ibv_destroy_cq(connections[i].cq), 0);
	}
	CHECK_EQ(ibv_destroy_cq(send_cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);
	return abi_done();
}
