// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls whose memory cannot be read or written end with EFAULT, and nothing
 * changes; output buffers that are longer than the structure are filled up
 * with zeros.
 */
#include "abi.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

#define PAGE	4096

static struct ctx ctx;
static struct cq cq, loose;
static int chan, fds;
static char *unmapped, *readonly, *none, *page;

static void unchanged(void)
{
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 3, 1);
	assoc_is(&cq, 3, 1, 0);
	eq(fd_count(), fds);
}

static int ioctl_at(void *at)
{
	return ioctl(ctx.fd, RDMA_VERBS_IOCTL, at) < 0 ? -errno : 0;
}

static void build(struct cmd *cmd, int method, void *out)
{
	switch (method) {
	case 0:
		cmd_init(cmd, COMPCH_OBJECT_CHANNEL,
			 COMPCH_METHOD_CHANNEL_QUERY);
		cmd_out(cmd, COMPCH_ATTR_CHANNEL_QUERY_RESP, out,
			sizeof(struct compch_channel_info));
		cmd_attr(cmd, COMPCH_ATTR_CHANNEL_QUERY_FD, 0, chan);
		break;
	case 1:
		cmd_init(cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_QUERY);
		cmd_out(cmd, COMPCH_ATTR_ASSOC_QUERY_RESP, out,
			sizeof(struct compch_assoc_info));
		cmd_attr(cmd, COMPCH_ATTR_ASSOC_QUERY_HANDLE, 0, cq.assoc);
		break;
	case 2:
		cmd_init(cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_DESTROY);
		cmd_out(cmd, COMPCH_ATTR_ASSOC_DESTROY_RESP, out,
			sizeof(struct compch_assoc_destroy_resp));
		cmd_attr(cmd, COMPCH_ATTR_ASSOC_DESTROY_HANDLE, 0, cq.assoc);
		break;
	case 3:
		cmd_init(cmd, COMPCH_OBJECT_CHANNEL,
			 COMPCH_METHOD_CHANNEL_CREATE);
		cmd_attr(cmd, COMPCH_ATTR_CHANNEL_CREATE_FD, 0, 0);
		break;
	case 4:
		cmd_init(cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_CREATE);
		cmd_attr(cmd, COMPCH_ATTR_ASSOC_CREATE_HANDLE, 0, 0);
		cmd_attr(cmd, COMPCH_ATTR_ASSOC_CREATE_CQ, 0, loose.handle);
		cmd_attr(cmd, COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD, 0, chan);
		break;
	}
}

static void bad_output(const char *what, void *at)
{
	struct cmd cmd;
	int method;

	for (method = 0; method <= 2; method++) {
		check_case("method %d, output to %s", method, what);
		build(&cmd, method, at);
		eq(cmd_run(&ctx, &cmd), -EFAULT);
		unchanged();
		/* Unconditionally, and if unused */
		if (method == 2) {
			uint32_t flags = COMPCH_ASSOC_DESTROY_IF_UNUSED;

			cmd_in(&cmd, COMPCH_ATTR_ASSOC_DESTROY_FLAGS, &flags,
			       sizeof(flags));
			eq(cmd_run(&ctx, &cmd), -EFAULT);
			unchanged();
		}
	}
}

static void longer_output(int method, unsigned int size)
{
	unsigned int len, i;
	struct cmd cmd;
	char buf[256];

	for (len = size; len < 200; len++) {
		check_case("method %d, %u bytes of output", method, len);
		memset(buf, 0x5a, sizeof(buf));
		build(&cmd, method, buf);
		cmd.attrs[0].len = len;
		eq(cmd_run(&ctx, &cmd), 0);
		for (i = size; i < len; i++)
			if (!eq(buf[i], 0))
				break;
		for (; i < sizeof(buf); i++)
			if (!eq(buf[i], 0x5a))
				break;
	}
	/* Its end must be writable too. */
	check_case("method %d, output with a bad end", method);
	build(&cmd, method, page + PAGE - size);
	cmd.attrs[0].len = size + 1;
	eq(cmd_run(&ctx, &cmd), -EFAULT);
	unchanged();
	cmd.attrs[0].len = size;
	eq(cmd_run(&ctx, &cmd), 0);
}

int main(int argc, char **argv)
{
	struct compch_assoc_destroy_resp *resp;
	struct ib_uverbs_comp_event_desc event;
	struct cmd cmd, *at;
	char *map;
	int method;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	must(cq_create(&ctx, &loose, -1));
	cq_on(&ctx, &cq, chan);
	eq(fire(&cq, 4), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);

	map = mmap(NULL, 6 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(map == MAP_FAILED ? -errno : 0);
	page = map;
	unmapped = map + PAGE;
	readonly = map + 3 * PAGE;
	none = map + 5 * PAGE;
	must(munmap(unmapped, PAGE));
	must(mprotect(none, PAGE, PROT_NONE));
	fds = fd_count();

	must(mprotect(readonly, PAGE, PROT_READ));
	bad_output("NULL", NULL);
	bad_output("unmapped memory", unmapped);
	bad_output("read-only memory", readonly);
	bad_output("PROT_NONE memory", none);
	bad_output("the kernel", (void *)-4096UL);
	bad_output("a page's last 15 bytes", page + PAGE - 15);

	check_case("header in bad memory");
	eq(ioctl_at(NULL), -EFAULT);
	eq(ioctl_at(unmapped), -EFAULT);
	eq(ioctl_at(none), -EFAULT);
	eq(ioctl_at((void *)-4096UL), -EFAULT);
	for (method = 0; method <= 4; method++) {
		check_case("method %d, attributes in bad memory", method);
		build(&cmd, method, &event);
		at = (void *)(page + PAGE - sizeof(cmd.hdr));
		memcpy(at, &cmd, sizeof(cmd.hdr));
		eq(ioctl_at(at), -EFAULT);
		unchanged();
		at = (void *)(page + PAGE - cmd.hdr.length + 1);
		memcpy(at, &cmd, cmd.hdr.length - 1);
		eq(ioctl_at(at), -EFAULT);
		unchanged();
	}

	/* The kernel writes to these: handles, and "output is valid". */
	for (method = 0; method <= 4; method++) {
		char buf[256];

		check_case("method %d, attributes in read-only memory", method);
		build(&cmd, method, buf);
		must(mprotect(readonly, PAGE, PROT_READ | PROT_WRITE));
		memcpy(readonly, &cmd, sizeof(cmd));
		must(mprotect(readonly, PAGE, PROT_READ));
		eq(ioctl_at(readonly), -EFAULT);
		unchanged();
	}

	longer_output(0, sizeof(struct compch_channel_info));
	longer_output(1, sizeof(struct compch_assoc_info));

	check_case("a longer output of ASSOC_DESTROY");
	resp = (void *)(page + PAGE - sizeof(*resp));
	build(&cmd, 2, resp);
	cmd.attrs[0].len = sizeof(*resp) + 1;
	eq(cmd_run(&ctx, &cmd), -EFAULT);
	unchanged();
	memset(page, 0x5a, PAGE);
	build(&cmd, 2, resp - 2);
	cmd.attrs[0].len = 3 * sizeof(*resp);
	eq(cmd_run(&ctx, &cmd), 0);
	eq(resp[-2].events_reported, 1);
	eq(resp[-2].events_discarded, 3);
	eq(resp[-1].events_reported | resp[-1].events_discarded, 0);
	eq(resp->events_reported | resp->events_discarded, 0);
	eq(resp[-3].events_discarded, 0x5a5a5a5a5a5a5a5a);
	eq(cq_destroy(&cq), 0);
	eq(channel_destroy(&ctx, chan), 0);
	return abi_done();
}
