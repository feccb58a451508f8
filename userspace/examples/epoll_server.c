// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * epoll_server [-n CLIENTS] ADDRESS		serve so many clients, then end
 * epoll_server -c [-n MESSAGES] ADDRESS	be a client
 *
 * A server with one thread and one epoll: new connections come out of the
 * connection manager's file descriptor, and the messages of all connections out of
 * one completion channel.  Each message is sent back.
 *
 * The channel is watched edge-triggered, so all events that are there are taken
 * each time: that is one system call, and a second one which finds nothing.
 * Works on stock channels as well.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <infiniband/compch.h>
#include <rdma/rdma_cma.h>

#include "loopback.h"

#define PORT 7471
#define DEPTH 8		/* messages of a connection that may be under way */
#define SIZE 64
#define TIMEOUT_MS 5000
#define SECOND 1000000000ll

struct connection {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char buffers[DEPTH][SIZE];
	int echoed;
};

static struct ibv_comp_channel *channel;
static int clients_left = 1;

static void post_receive(struct connection *c, uint64_t i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->buffers[i],
		.length = SIZE,
		.lkey = c->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	must("ibv_post_recv", ibv_post_recv(c->id->qp, &wr, &bad));
}

static void post_send(struct connection *c, uint64_t i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->buffers[i],
		.length = SIZE,
		.lkey = c->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	must("ibv_post_send", ibv_post_send(c->id->qp, &wr, &bad));
}

/* A CQ on the channel, and a QP on the CQ */
static struct connection *connection_new(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		die("a connection", errno);
	if (!channel)
		must("compch_create_channel",
		     compch_create_channel(id->verbs, NULL, &channel));
	c->id = id;
	c->cq = ibv_create_cq(id->verbs, 2 * DEPTH, c, channel, 0);
	if (!c->cq)
		die("ibv_create_cq", errno);
	init.send_cq = c->cq;
	init.recv_cq = c->cq;
	must("rdma_create_qp", rdma_create_qp(id, NULL, &init));
	c->mr = ibv_reg_mr(id->qp->pd, c->buffers, sizeof(c->buffers),
			   IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		die("ibv_reg_mr", errno);
	must("ibv_req_notify_cq", ibv_req_notify_cq(c->cq, 0));
	id->context = c;
	return c;
}

static void connection_free(struct connection *c)
{
	struct rdma_cm_id *id = c->id;

	rdma_destroy_qp(id);
	must("ibv_destroy_cq", ibv_destroy_cq(c->cq));
	must("ibv_dereg_mr", ibv_dereg_mr(c->mr));
	rdma_destroy_id(id);
	free(c);
}

/* --- the server ----------------------------------------------------------- */

static void serve(struct connection *c)
{
	struct ibv_wc wc[2 * DEPTH];
	int i, n;

	while ((n = ibv_poll_cq(c->cq, 2 * DEPTH, wc)) > 0) {
		for (i = 0; i < n; i++) {
			if (wc[i].status == IBV_WC_WR_FLUSH_ERR)
				continue; /* the connection is at its end */
			if (wc[i].status != IBV_WC_SUCCESS)
				die(ibv_wc_status_str(wc[i].status), EIO);
			if (wc[i].opcode == IBV_WC_RECV) {
				post_send(c, wc[i].wr_id);
			} else {
				post_receive(c, wc[i].wr_id);
				c->echoed++;
			}
		}
	}
	if (n < 0)
		die("ibv_poll_cq", EIO);
}

static void on_channel(void)
{
	struct ibv_cq *cqs[64];
	int i, n, ret;

	for (;;) {
		ret = compch_get_events(channel, cqs, 64, 0, &n);
		if (ret == ETIMEDOUT)
			return;
		must("compch_get_events", ret);
		for (i = 0; i < n; i++) {
			/* Arm first, then poll: what comes later is an event. */
			must("ibv_req_notify_cq", ibv_req_notify_cq(cqs[i], 0));
			serve(cqs[i]->cq_context);
			compch_ack(cqs[i], 1);
		}
	}
}

static void watch(int epoll, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl", errno);
}

static void on_connection(int epoll, struct rdma_event_channel *events)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	struct connection *c;
	struct rdma_cm_id *id;
	bool first;
	int i;

	while (!rdma_get_cm_event(events, &event)) {
		id = event->id;
		type = event->event;
		rdma_ack_cm_event(event);
		switch (type) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			first = !channel;
			c = connection_new(id);
			if (first)
				watch(epoll, channel->fd, EPOLLIN | EPOLLET);
			for (i = 0; i < DEPTH; i++)
				post_receive(c, i);
			must("rdma_accept", rdma_accept(id, &param));
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			c = id->context;
			printf("%d messages sent back\n", c->echoed);
			rdma_disconnect(id);
			/* Its events are read, and acknowledged, before. */
			on_channel();
			connection_free(c);
			clients_left--;
			break;
		default:
			break;
		}
	}
	if (errno != EAGAIN)
		die("rdma_get_cm_event", errno);
}

static void server(struct sockaddr *address)
{
	struct rdma_event_channel *events = rdma_create_event_channel();
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ready[2];
	struct rdma_cm_id *listen;
	int i, n;

	if (!events || epoll < 0)
		die("an event channel", errno);
	must("rdma_create_id",
	     rdma_create_id(events, &listen, NULL, RDMA_PS_TCP));
	must("rdma_bind_addr", rdma_bind_addr(listen, address));
	must("rdma_listen", rdma_listen(listen, 64));
	watch(epoll, events->fd, EPOLLIN);

	while (clients_left > 0) {
		n = epoll_wait(epoll, ready, 2, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait", errno);
		for (i = 0; i < n; i++) {
			if (ready[i].data.fd == events->fd)
				on_connection(epoll, events);
			else
				on_channel();
		}
	}
	rdma_destroy_id(listen);
	must("compch_destroy_channel", compch_destroy_channel(channel));
	rdma_destroy_event_channel(events);
	close(epoll);
}

/* --- a client ------------------------------------------------------------- */

static void client(struct sockaddr *address, int messages)
{
	struct rdma_conn_param param = {
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct connection *c;
	struct rdma_cm_id *id;
	struct ibv_wc wc[2];
	int i, n, done = 0;

	/* Without an event channel, each call waits until it is done. */
	must("rdma_create_id", rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	must("rdma_resolve_addr",
	     rdma_resolve_addr(id, NULL, address, TIMEOUT_MS));
	must("rdma_resolve_route", rdma_resolve_route(id, TIMEOUT_MS));
	c = connection_new(id);
	must("rdma_connect", rdma_connect(id, &param));
	for (i = 1; i <= messages; i++) {
		post_receive(c, 0);
		snprintf(c->buffers[1], SIZE, "message %d", i);
		post_send(c, 1);
		while (done < 2 * i) {
			must("compch_wait_cq",
			     compch_wait_cq(c->cq, wc, 2, 0, 30 * SECOND, &n));
			for (done += n; n > 0; n--) {
				if (wc[n - 1].status != IBV_WC_SUCCESS)
					die(ibv_wc_status_str(wc[n - 1].status),
					    EIO);
			}
		}
		if (strcmp(c->buffers[0], c->buffers[1]))
			die("not the message that was sent", EBADMSG);
	}
	printf("%d messages came back\n", messages);
	must("rdma_disconnect", rdma_disconnect(id));
	connection_free(c);
	must("compch_destroy_channel", compch_destroy_channel(channel));
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	int option, number = 0, is_client = 0;

	while ((option = getopt(argc, argv, "cn:")) != -1) {
		switch (option) {
		case 'c':
			is_client = 1;
			break;
		case 'n':
			number = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (optind != argc - 1 ||
	    inet_pton(AF_INET, argv[optind], &address.sin_addr) != 1) {
		fputs("usage: epoll_server [-c] [-n NUMBER] ADDRESS\n", stderr);
		return 2;
	}
	if (is_client) {
		client((struct sockaddr *)&address, number ? number : 100);
	} else {
		if (number)
			clients_left = number;
		server((struct sockaddr *)&address);
	}
	return 0;
}
