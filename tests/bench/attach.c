// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What it takes to bring a CQ to a channel and away: the ioctl()s alone.  A
 * stock channel has a CQ from its creation to its destruction, so both are
 * measured for comparison.
 */
#include "bench.h"

#include <sys/ioctl.h>
#include <rdma/rdma_user_ioctl.h>

static struct ctx ctx;
static struct cmd create, destroy, move[2];
static struct ib_uverbs_attr *created, *destroyed;

static long run(struct cmd *cmd)
{
	return ioctl(ctx.fd, RDMA_VERBS_IOCTL, &cmd->hdr);
}

static void prepare(const struct cq *cq, const int *chan,
		    struct compch_assoc_destroy_resp *resp)
{
	int i;

	cmd_init(&create, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_CREATE);
	created = cmd_attr(&create, COMPCH_ATTR_ASSOC_CREATE_HANDLE, 0, 0);
	cmd_attr(&create, COMPCH_ATTR_ASSOC_CREATE_CQ, 0, cq->handle);
	cmd_attr(&create, COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD, 0, chan[0]);

	cmd_init(&destroy, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_DESTROY);
	destroyed = cmd_attr(&destroy, COMPCH_ATTR_ASSOC_DESTROY_HANDLE, 0, 0);
	cmd_out(&destroy, COMPCH_ATTR_ASSOC_DESTROY_RESP, resp, sizeof(*resp));

	for (i = 0; i < 2; i++) {
		cmd_init(&move[i], COMPCH_OBJECT_ASSOC,
			 COMPCH_METHOD_ASSOC_MOVE);
		cmd_attr(&move[i], COMPCH_ATTR_ASSOC_MOVE_HANDLE, 0, 0);
		cmd_attr(&move[i], COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD, 0,
			 chan[i]);
	}
}

static long attach_detach(int fd, void *buf, size_t len)
{
	long ret;

	(void)fd, (void)buf, (void)len;
	ret = run(&create);
	destroyed->data = created->data;
	created->data = 0;
	return ret | run(&destroy);
}

static long there_and_back(int fd, void *buf, size_t len)
{
	long ret;

	(void)fd, (void)buf, (void)len;
	ret = run(&move[1]);
	return ret | run(&move[0]);
}

static void moves(struct cq *cq, unsigned int pending)
{
	struct samples samples = {};
	char parameter[32];
	int i;

	for (i = 0; i < 65; i++) {
		if (pending)
			bench_fire(cq, 1, pending, NULL);
		sample(&samples, timed_loop(there_and_back, -1, NULL, 0, 8,
					    0) / 16);
		read_all((int)move[0].attrs[1].data, pending);
	}
	snprintf(parameter, sizeof(parameter), "%u events pending", pending);
	row("move", parameter, &samples);
}

static void channels_of_ours(void)
{
	struct compch_assoc_destroy_resp resp;
	struct samples samples = {};
	int chan[2], i;
	struct cq cq;

	for (i = 0; i < 2; i++)
		chan[i] = chan_new(&ctx);
	must(cq_create(&ctx, &cq, -1));
	prepare(&cq, chan, &resp);
	for (i = 0; i < 65; i++)
		sample(&samples, timed_loop(attach_detach, -1, NULL, 0, 8,
					    0) / 8);
	row("attach and detach", "a CQ", &samples);

	must(run(&create) ? -errno : 0);
	cq.assoc = created->data;
	for (i = 0; i < 2; i++)
		move[i].attrs[0].data = cq.assoc;
	moves(&cq, 0);
	moves(&cq, 64);
	cq_off(&cq);
	for (i = 0; i < 2; i++)
		close(chan[i]);
}

int main(int argc, char **argv)
{
	bench_init(argc, argv, "compch");
	ctx = ctx_new(0);
	channels_of_ours();
	return abi_done();
}
