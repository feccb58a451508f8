// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Handles that are not what they should be: of nothing, of another type,
 * destroyed, of another context. Nothing changes.
 */
#include "abi.h"

static struct ctx ctx;
static struct cq cq, loose;
static int chan;

static void unchanged(void)
{
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 3, 1);
	assoc_is(&cq, 3, 1, 0);
}

/* As the handle of a CQ */
static void no_cq(const char *what, int64_t handle, int want)
{
	struct cmd cmd;

	check_case("%s as a CQ", what);
	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_CREATE);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_CREATE_HANDLE, 0, 0);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_CREATE_CQ, 0, handle);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD, 0, chan);
	eq(cmd_run(&ctx, &cmd), want);
	unchanged();
}

/* As the handle of an association */
static void no_assoc(const char *what, int64_t handle, int want)
{
	struct compch_assoc_destroy_resp resp;
	struct compch_assoc_info info;
	struct cmd cmd;

	check_case("%s as an association", what);
	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_MOVE);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_MOVE_HANDLE, 0, handle);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD, 0, chan);
	eq(cmd_run(&ctx, &cmd), want);

	memset(&resp, 0x5a, sizeof(resp));
	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_DESTROY);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_DESTROY_HANDLE, 0, handle);
	cmd_out(&cmd, COMPCH_ATTR_ASSOC_DESTROY_RESP, &resp, sizeof(resp));
	eq(cmd_run(&ctx, &cmd), want);
	eq(resp.events_reported, 0x5a5a5a5a5a5a5a5a);

	memset(&info, 0x5a, sizeof(info));
	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_QUERY);
	cmd_attr(&cmd, COMPCH_ATTR_ASSOC_QUERY_HANDLE, 0, handle);
	cmd_out(&cmd, COMPCH_ATTR_ASSOC_QUERY_RESP, &info, sizeof(info));
	eq(cmd_run(&ctx, &cmd), want);
	eq(info.pending, 0x5a5a5a5a5a5a5a5a);
	unchanged();
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	struct cq foreign, gone, filler[32];
	struct ctx other;
	unsigned int i;
	int pd;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	other = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	must(cq_create(&ctx, &loose, -1));
	cq_on(&ctx, &cq, chan);
	eq(fire(&cq, 4), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	pd = must(pd_alloc(&ctx));

	/* Its handles are numbers that are free in the first context. */
	for (i = 0; i < ARRAY_SIZE(filler); i++)
		must(cq_create(&other, &filler[i], -1));
	must(cq_create(&other, &foreign, -1));
	must(assoc_create(&foreign, must(channel_create(&other, 0))));

	no_cq("no object", 12345, -ENOENT);
	no_cq("no 32-bit number", 1LL << 32, -ENOENT);
	no_cq("a negative number", -1, -EINVAL);
	no_cq("a PD", pd, -EINVAL);
	no_cq("an association", cq.assoc, -EINVAL);
	no_cq("another context's CQ", foreign.handle, -ENOENT);
	must(cq_create(&ctx, &gone, -1));
	must(cq_destroy(&gone));
	no_cq("a destroyed CQ", gone.handle, -ENOENT);

	no_assoc("no object", 12345, -ENOENT);
	no_assoc("no 32-bit number", 1LL << 32, -ENOENT);
	no_assoc("a negative number", -1, -EINVAL);
	no_assoc("a PD", pd, -EINVAL);
	no_assoc("a CQ", cq.handle, -EINVAL);
	no_assoc("another context's association", foreign.assoc, -ENOENT);
	must(cq_create(&ctx, &gone, -1));
	must(assoc_create(&gone, chan));
	must(assoc_destroy(&gone, 0, NULL));
	no_assoc("a destroyed association", gone.assoc, -ENOENT);

	/* Others' methods do not take ours for theirs. */
	check_case("an association as a CQ of CQ DESTROY");
	gone.handle = cq.assoc;
	eq(cq_destroy(&gone), -EINVAL);
	unchanged();
	check_case("a channel as the stock channel of CQ CREATE");
	eq(cq_create(&ctx, &gone, chan), -EBADF);
	unchanged();

	check_case("the other context");
	assoc_is(&foreign, 0, 0, 0);
	return abi_done();
}
