// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See loopback.h. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loopback.h"

#define PORT 1

void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	exit(1);
}

void must(const char *what, int error)
{
	if (error)
		die(what, error < 0 ? errno : error);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i]; i++) {
		if (name && strcmp(ibv_get_device_name(list[i]), name))
			continue;
		context = ibv_open_device(list[i]);
		break;
	}
	if (list)
		ibv_free_device_list(list);
	if (!context)
		die(name ? name : "no RDMA device", errno ? errno : ENODEV);
	return context;
}

void loopback_open(struct loopback *loop, const char *device)
{
	loop->context = open_device(device);
	loop->pd = ibv_alloc_pd(loop->context);
	if (!loop->pd)
		die("ibv_alloc_pd", errno);
	loop->mr = ibv_reg_mr(loop->pd, loop->buffer, sizeof(loop->buffer),
			      IBV_ACCESS_LOCAL_WRITE);
	if (!loop->mr)
		die("ibv_reg_mr", errno);
}

void loopback_close(struct loopback *loop)
{
	must("ibv_dereg_mr", ibv_dereg_mr(loop->mr));
	must("ibv_dealloc_pd", ibv_dealloc_pd(loop->pd));
	must("ibv_close_device", ibv_close_device(loop->context));
}

/* The last GID is one with an address, if any is. */
static void path_to_self(struct loopback *loop, const struct ibv_qp *qp,
			 struct ibv_qp_attr *attr)
{
	static const union ibv_gid none;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int i;

	must("ibv_query_port", ibv_query_port(loop->context, PORT, &port));
	attr->path_mtu = port.active_mtu;
	attr->dest_qp_num = qp->qp_num;
	attr->ah_attr.dlid = port.lid;
	attr->ah_attr.port_num = PORT;
	for (i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid(loop->context, PORT, i, &gid) ||
		    !memcmp(&gid, &none, sizeof(gid)))
			continue;
		attr->ah_attr.is_global = 1;
		attr->ah_attr.grh.dgid = gid;
		attr->ah_attr.grh.sgid_index = i;
		attr->ah_attr.grh.hop_limit = 1;
	}
}

struct ibv_qp *loopback_qp(struct loopback *loop, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	struct ibv_qp *qp = ibv_create_qp(loop->pd, &init);

	if (!qp)
		die("ibv_create_qp", errno);
	must("to INIT", ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
				      IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	path_to_self(loop, qp, &attr);
	must("to RTR", ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
				     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				     IBV_QP_MAX_DEST_RD_ATOMIC));
	attr.qp_state = IBV_QPS_RTS;
	must("to RTS", ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
	return qp;
}

void loopback_send(struct loopback *loop, struct ibv_qp *qp)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)loop->buffer,
		.length = sizeof(loop->buffer),
		.lkey = loop->mr->lkey,
	};
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad_send;

	must("ibv_post_recv", ibv_post_recv(qp, &recv, &bad_recv));
	must("ibv_post_send", ibv_post_send(qp, &send, &bad_send));
}

int loopback_poll(struct ibv_cq *cq)
{
	struct ibv_wc wc[16];
	int i, n, all = 0;

	while ((n = ibv_poll_cq(cq, 16, wc)) > 0) {
		for (i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				die(ibv_wc_status_str(wc[i].status), EIO);
		}
		all += n;
	}
	if (n < 0)
		die("ibv_poll_cq", EIO);
	return all;
}
