// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fabric fd|wait [-b ADDRESS | -s ADDRESS]
 *
 * Ping-pong over libfabric's verbs provider, server (-b) and client (-s), which
 * sleep for each completion: in fi_cq_sread(), or in poll() on the completion
 * queue's descriptor. libfabric's own pingpong never sleeps, and its test
 * programs have no package.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#define PORT "7480"
#define ROUNDS 50
#define SIZE 1024
/* Nothing that does not hang takes that long. */
#define LONG_MS 60000

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct fid_mr *mr;
static char buffer[2 * SIZE];
static bool use_fd;

static void check(const char *what, ssize_t result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-result));
	exit(1);
}

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static struct fi_info *get_info(const char *address, uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		fail("out of memory");
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	hints->fabric_attr->prov_name = strdup("verbs");
	check("fi_getinfo", fi_getinfo(FI_VERSION(1, 12), address, PORT, flags,
				       hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_fabric(struct fi_info *info)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
	check("fi_eq_open", fi_eq_open(fabric, &attr, &eq, NULL));
}

/* An endpoint with both of its queues on one CQ that can be waited for. */
static void open_endpoint(struct fi_info *info)
{
	struct fi_cq_attr attr = {
		.size = 64,
		.format = FI_CQ_FORMAT_MSG,
		.wait_obj = use_fd ? FI_WAIT_FD : FI_WAIT_UNSPEC,
		.wait_cond = FI_CQ_COND_NONE,
	};

	check("fi_domain", fi_domain(fabric, info, &domain, NULL));
	check("fi_cq_open", fi_cq_open(domain, &attr, &cq, NULL));
	check("fi_mr_reg", fi_mr_reg(domain, buffer, sizeof(buffer),
				     FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL));
	check("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
	check("fi_ep_bind", fi_ep_bind(ep, &eq->fid, 0));
	check("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	check("fi_enable", fi_enable(ep));
}

/* Wait for this event of a connection; frees nothing that it came with. */
static struct fi_info *expect(uint32_t expected)
{
	struct fi_eq_cm_entry entry = { 0 };
	uint32_t event;

	check("fi_eq_sread", fi_eq_sread(eq, &event, &entry, sizeof(entry),
					 LONG_MS, 0));
	if (event != expected)
		fail("another event than expected");
	return entry.info;
}

static void receive(void)
{
	check("fi_recv", fi_recv(ep, buffer + SIZE, SIZE, fi_mr_desc(mr), 0,
				 NULL));
}

/* Sleep until the CQ has something, as fi_trywait() allows it. */
static void sleep_on_fd(void)
{
	struct fid *fids[] = { &cq->fid };
	struct pollfd pollfd = { .events = POLLIN };
	int result;

	check("fi_control", fi_control(&cq->fid, FI_GETWAIT, &pollfd.fd));
	result = fi_trywait(fabric, fids, 1);
	if (result == -FI_EAGAIN)
		return;
	check("fi_trywait", result);
	if (poll(&pollfd, 1, LONG_MS) <= 0)
		fail("nothing on the descriptor");
}

/* Returns whether it was a receive that completed. */
static bool complete(void)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t count;

	do {
		if (!use_fd) {
			count = fi_cq_sread(cq, &entry, 1, NULL, LONG_MS);
			if (count == -FI_EAGAIN)
				fail("nothing in the completion queue");
			continue;
		}
		count = fi_cq_read(cq, &entry, 1);
		if (count == -FI_EAGAIN)
			sleep_on_fd();
	} while (count == -FI_EAGAIN);
	if (count == -FI_EAVAIL) {
		fi_cq_readerr(cq, &error, 0);
		check("completion", -error.err);
	}
	check("fi_cq_sread", count);
	return entry.flags & FI_RECV;
}

/* Send a message that the other side can check, and see that sent. */
static int send_message(int round)
{
	int received = 0;

	memset(buffer, round, SIZE);
	check("fi_send", fi_send(ep, buffer, SIZE, fi_mr_desc(mr), 0, NULL));
	while (complete())
		received++;
	return received;
}

static void pingpong(bool client)
{
	int round, received = 0;

	for (round = 0; round < ROUNDS; round++) {
		if (client)
			received += send_message(round);
		while (received == 0)
			received += complete();
		received--;
		if (buffer[SIZE] != round || buffer[2 * SIZE - 1] != round)
			fail("wrong data");
		if (round + 1 < ROUNDS)
			receive();
		if (!client)
			received += send_message(round);
	}
}

static void serve(const char *address)
{
	struct fi_info *info = get_info(address, FI_SOURCE), *request;
	struct fid_pep *pep;

	open_fabric(info);
	check("fi_passive_ep", fi_passive_ep(fabric, info, &pep, NULL));
	check("fi_pep_bind", fi_pep_bind(pep, &eq->fid, 0));
	check("fi_listen", fi_listen(pep));
	request = expect(FI_CONNREQ);
	open_endpoint(request);
	receive();
	check("fi_accept", fi_accept(ep, NULL, 0));
	expect(FI_CONNECTED);
	pingpong(false);
	expect(FI_SHUTDOWN);
	check("fi_close", fi_close(&pep->fid));
	fi_freeinfo(request);
	fi_freeinfo(info);
}

static void call(const char *address)
{
	struct fi_info *info = get_info(address, 0);

	open_fabric(info);
	open_endpoint(info);
	receive();
	check("fi_connect", fi_connect(ep, info->dest_addr, NULL, 0));
	expect(FI_CONNECTED);
	pingpong(true);
	check("fi_shutdown", fi_shutdown(ep, 0));
	fi_freeinfo(info);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		fail("usage: fabric fd|wait -b|-s ADDRESS");
	use_fd = !strcmp(argv[1], "fd");
	if (!strcmp(argv[2], "-b"))
		serve(argv[3]);
	else
		call(argv[3]);
	check("fi_close", fi_close(&ep->fid));
	check("fi_close", fi_close(&mr->fid));
	check("fi_close", fi_close(&cq->fid));
	check("fi_close", fi_close(&eq->fid));
	check("fi_close", fi_close(&domain->fid));
	check("fi_close", fi_close(&fabric->fid));
	return 0;
}
