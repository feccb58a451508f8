// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdmacm DEVICE ADDRESS: librdmacm's own channels and CQs, of an endpoint that
 * names none, carry a conversation of two threads; they are ours if those of
 * the program are.
 */
#include <pthread.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "rdma.h"

#define MESSAGES 20
#define SIZE 64
#define PORT "7171"

static const char *address;
static bool ours;

static struct rdma_addrinfo *resolve(int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = RDMA_PS_TCP,
	}, *info;

	if (rdma_getaddrinfo(address, PORT, &hints, &info))
		FAIL("rdma_getaddrinfo: %m");
	return info;
}

static struct ibv_qp_init_attr attributes(void)
{
	return (struct ibv_qp_init_attr){
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_all = 1,
	};
}

static void check(struct rdma_cm_id *id)
{
	CHECK(id->send_cq_channel && id->recv_cq_channel);
	CHECK_EQ(rdma_is_ours(id->send_cq_channel), ours);
	CHECK_EQ(rdma_is_ours(id->recv_cq_channel), ours);
}

static void one_completion(int n, struct ibv_wc *wc)
{
	if (n != 1)
		FAIL("no completion: %m");
	if (wc->status != IBV_WC_SUCCESS)
		FAIL("completion: %s", ibv_wc_status_str(wc->status));
}

/* Sends what it receives, or receives what it has sent */
static void talk(struct rdma_cm_id *id, bool first)
{
	char send[SIZE], recv[SIZE];
	struct ibv_mr *send_mr, *recv_mr;
	struct ibv_wc wc;
	int i;

	send_mr = rdma_reg_msgs(id, send, SIZE);
	recv_mr = rdma_reg_msgs(id, recv, SIZE);
	CHECK(send_mr && recv_mr);
	CHECK_EQ(rdma_post_recv(id, NULL, recv, SIZE, recv_mr), 0);
	if (first ? rdma_connect(id, NULL) : rdma_accept(id, NULL))
		FAIL("no connection: %m");
	for (i = 0; i < MESSAGES; i++) {
		memset(send, i, SIZE);
		if (first) {
			CHECK_EQ(rdma_post_send(id, NULL, send, SIZE, send_mr,
						0), 0);
			one_completion(rdma_get_send_comp(id, &wc), &wc);
		}
		one_completion(rdma_get_recv_comp(id, &wc), &wc);
		CHECK_EQ(recv[0], i);
		CHECK_EQ(recv[SIZE - 1], i);
		if (i + 1 < MESSAGES)
			CHECK_EQ(rdma_post_recv(id, NULL, recv, SIZE, recv_mr),
				 0);
		if (!first) {
			CHECK_EQ(rdma_post_send(id, NULL, send, SIZE, send_mr,
						0), 0);
			one_completion(rdma_get_send_comp(id, &wc), &wc);
		}
	}
	CHECK_EQ(rdma_dereg_mr(send_mr), 0);
	CHECK_EQ(rdma_dereg_mr(recv_mr), 0);
}

static void *serve(void *arg)
{
	struct rdma_cm_id *listen = arg, *id;

	if (rdma_get_request(listen, &id))
		FAIL("rdma_get_request: %m");
	check(id);
	talk(id, false);
	rdma_disconnect(id);
	rdma_destroy_ep(id);
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr;
	struct ibv_comp_channel *channel;
	struct rdma_cm_id *listen, *id;
	struct rdma_addrinfo *info;
	pthread_t thread;
	struct rdma rdma;

	test_deadline(60);
	CHECK_EQ(argc, 3);
	address = argv[2];
	rdma_open(&rdma, argv[1]);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	ours = rdma_is_ours(channel);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	rdma_close(&rdma);

	info = resolve(RAI_PASSIVE);
	attr = attributes();
	if (rdma_create_ep(&listen, info, NULL, &attr))
		FAIL("rdma_create_ep: %m");
	rdma_freeaddrinfo(info);
	if (rdma_listen(listen, 1))
		FAIL("rdma_listen: %m");
	CHECK_EQ(pthread_create(&thread, NULL, serve, listen), 0);
	info = resolve(0);
	attr = attributes();
	if (rdma_create_ep(&id, info, NULL, &attr))
		FAIL("rdma_create_ep: %m");
	rdma_freeaddrinfo(info);
	check(id);
	talk(id, true);
	rdma_disconnect(id);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listen);
	return 0;
}
