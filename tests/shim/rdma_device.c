// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See rdma.h: what needs a device. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdma.h"

#define BUFFER_SIZE 8192

static void rdma_find_gid(struct rdma *rdma, int count)
{
	static const union ibv_gid none;
	int i;

	/* An IPv4 address, as ::ffff:a.b.c.d, or else the first one. */
	for (i = count - 1; i >= 0; i--) {
		if (ibv_query_gid(rdma->context, rdma->port, i, &rdma->gid) ||
		    !memcmp(&rdma->gid, &none, sizeof(none)))
			continue;
		rdma->gid_index = i;
		if (rdma->gid.raw[10] == 0xff && rdma->gid.raw[11] == 0xff &&
		    !rdma->gid.global.subnet_prefix)
			return;
	}
	if (ibv_query_gid(rdma->context, rdma->port, rdma->gid_index,
			  &rdma->gid))
		FAIL("ibv_query_gid: %m");
}

void rdma_open(struct rdma *rdma, const char *name)
{
	struct ibv_device **list, *device = NULL;
	struct ibv_port_attr port;
	int i;

	memset(rdma, 0, sizeof(*rdma));
	list = ibv_get_device_list(NULL);
	for (i = 0; list && list[i]; i++) {
		if (!name || !strcmp(ibv_get_device_name(list[i]), name)) {
			device = list[i];
			break;
		}
	}
	if (!device) {
		if (name)
			FAIL("there is no device '%s'", name);
		test_skip("there is no RDMA device");
	}
	rdma->context = ibv_open_device(device);
	if (!rdma->context)
		FAIL("ibv_open_device: %m");
	ibv_free_device_list(list);

	rdma->port = 1;
	if (ibv_query_port(rdma->context, rdma->port, &port))
		FAIL("ibv_query_port: %m");
	rdma->mtu = port.active_mtu;
	rdma_find_gid(rdma, port.gid_tbl_len);

	rdma->pd = ibv_alloc_pd(rdma->context);
	if (!rdma->pd)
		FAIL("ibv_alloc_pd: %m");
	rdma->buffer = mmap(NULL, BUFFER_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(rdma->buffer != MAP_FAILED);
	rdma->mr = ibv_reg_mr(rdma->pd, rdma->buffer, BUFFER_SIZE,
			      IBV_ACCESS_LOCAL_WRITE);
	if (!rdma->mr)
		FAIL("ibv_reg_mr: %m");
}

void rdma_close(struct rdma *rdma)
{
	CHECK_EQ(ibv_dereg_mr(rdma->mr), 0);
	munmap(rdma->buffer, BUFFER_SIZE);
	CHECK_EQ(ibv_dealloc_pd(rdma->pd), 0);
	CHECK_EQ(ibv_close_device(rdma->context), 0);
}

struct ibv_qp *rdma_qp(struct rdma *rdma, struct ibv_cq *send_cq,
		       struct ibv_cq *recv_cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap = {
			.max_send_wr = 64,
			.max_recv_wr = 64,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = rdma->port,
	};
	struct ibv_qp *qp;

	qp = ibv_create_qp(rdma->pd, &init);
	if (!qp)
		FAIL("ibv_create_qp: %m");
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);

	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = rdma->mtu;
	attr.dest_qp_num = qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid = rdma->gid;
	attr.ah_attr.grh.sgid_index = rdma->gid_index;
	attr.ah_attr.grh.hop_limit = 1;
	attr.ah_attr.port_num = rdma->port;
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			       IBV_QP_MIN_RNR_TIMER), 0);

	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	return qp;
}

static void rdma_post(struct rdma *rdma, struct ibv_qp *qp, int flags)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)rdma->buffer,
		.length = 64,
		.lkey = rdma->mr->lkey,
	};
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	}, *bad_send;

	CHECK_EQ(ibv_post_recv(qp, &recv, &bad_recv), 0);
	sge.addr += BUFFER_SIZE / 2;
	CHECK_EQ(ibv_post_send(qp, &send, &bad_send), 0);
}

void rdma_send(struct rdma *rdma, struct ibv_qp *qp)
{
	rdma_post(rdma, qp, 0);
}

void rdma_send_solicited(struct rdma *rdma, struct ibv_qp *qp)
{
	rdma_post(rdma, qp, IBV_SEND_SOLICITED);
}

bool rdma_is_ours(const struct ibv_comp_channel *channel)
{
	char path[32], name[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", channel->fd);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		FAIL("%s: %m", path);
	name[len] = '\0';
	return strstr(name, "compch");
}

int rdma_count_cqs(const struct rdma *rdma)
{
	char command[128], line[512], *at;
	int count = -1;
	FILE *rdma_tool;

	/* "0: rxe0: pd 1 cq 1 qp 1 ..." */
	snprintf(command, sizeof(command),
		 "rdma resource show %s 2>/dev/null",
		 ibv_get_device_name(rdma->context->device));
	rdma_tool = popen(command, "r");
	CHECK(rdma_tool != NULL);
	while (fgets(line, sizeof(line), rdma_tool)) {
		at = strstr(line, " cq ");
		if (at)
			count = atoi(at + 4);
	}
	pclose(rdma_tool);
	return count;
}
