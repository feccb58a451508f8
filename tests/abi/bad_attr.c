// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Malformed calls of every method: attributes that are missing, doubled,
 * unknown, of a wrong length, with reserved fields set; unknown flags; headers
 * that are wrong. Each has its errno, and nothing changes.
 */
#include "abi.h"

enum kind {
	NEW,	/* a new object */
	IDR,	/* a handle */
	FD,	/* a raw fd */
	FLAGS,	/* 4 or 8 bytes */
	U32,
	U64,
	OUT,	/* a structure */
};

struct attr {
	unsigned int id;
	enum kind kind;
	bool optional;
	unsigned int size;
};

struct method {
	const char *name;
	unsigned int object, method;
	struct attr attrs[5];
};

#define FIRST	(1U << UVERBS_ID_NS_SHIFT)

static const struct method methods[] = {
	{ "CHANNEL_CREATE", COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_CREATE,
	  { { COMPCH_ATTR_CHANNEL_CREATE_FD, NEW },
	    { COMPCH_ATTR_CHANNEL_CREATE_FLAGS, FLAGS, true },
	    { COMPCH_ATTR_CHANNEL_CREATE_RING, U32, true } } },
	{ "CHANNEL_DESTROY", COMPCH_OBJECT_CHANNEL,
	  COMPCH_METHOD_CHANNEL_DESTROY,
	  { { COMPCH_ATTR_CHANNEL_DESTROY_FD, FD } } },
	{ "CHANNEL_CANCEL", COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_CANCEL,
	  { { COMPCH_ATTR_CHANNEL_CANCEL_FD, FD } } },
	{ "CHANNEL_QUERY", COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_QUERY,
	  { { COMPCH_ATTR_CHANNEL_QUERY_FD, FD },
	    { COMPCH_ATTR_CHANNEL_QUERY_RESP, OUT, false,
	      sizeof(struct compch_channel_info) } } },
	{ "CHANNEL_WAKE", COMPCH_OBJECT_CHANNEL, COMPCH_METHOD_CHANNEL_WAKE,
	  { { COMPCH_ATTR_CHANNEL_WAKE_FD, FD } } },
	{ "ASSOC_CREATE", COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_CREATE,
	  { { COMPCH_ATTR_ASSOC_CREATE_HANDLE, NEW },
	    { COMPCH_ATTR_ASSOC_CREATE_CQ, IDR },
	    { COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD, FD },
	    { COMPCH_ATTR_ASSOC_CREATE_COOKIE, U64, true } } },
	{ "ASSOC_MOVE", COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_MOVE,
	  { { COMPCH_ATTR_ASSOC_MOVE_HANDLE, IDR },
	    { COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD, FD } } },
	{ "ASSOC_DESTROY", COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_DESTROY,
	  { { COMPCH_ATTR_ASSOC_DESTROY_HANDLE, IDR },
	    { COMPCH_ATTR_ASSOC_DESTROY_RESP, OUT, false,
	      sizeof(struct compch_assoc_destroy_resp) },
	    { COMPCH_ATTR_ASSOC_DESTROY_FLAGS, FLAGS, true } } },
	{ "ASSOC_QUERY", COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_QUERY,
	  { { COMPCH_ATTR_ASSOC_QUERY_HANDLE, IDR },
	    { COMPCH_ATTR_ASSOC_QUERY_RESP, OUT, false,
	      sizeof(struct compch_assoc_info) } } },
};

static struct ctx ctx;
static struct cq cq, loose;
static int chan, target;
static char out[256];

/* A call that would succeed, with its optional attributes or without */
static void build(const struct method *m, struct cmd *cmd, bool optional)
{
	const struct attr *a;

	memset(out, 0x5a, sizeof(out));
	cmd_init(cmd, m->object, m->method);
	for (a = m->attrs; a->id; a++) {
		if (a->optional && !optional)
			continue;
		switch (a->kind) {
		case NEW:
			cmd_attr(cmd, a->id, 0, 0);
			break;
		case IDR:
			cmd_attr(cmd, a->id, 0,
				 a->id == COMPCH_ATTR_ASSOC_CREATE_CQ &&
				 m->method == COMPCH_METHOD_ASSOC_CREATE &&
				 m->object == COMPCH_OBJECT_ASSOC ?
				 loose.handle : cq.assoc);
			break;
		case FD:
			cmd_attr(cmd, a->id, 0, target);
			break;
		case U32:
			cmd_attr(cmd, a->id, 4, 0)->data = 1;
			break;
		case FLAGS:
		case U64:
			cmd_attr(cmd, a->id, 8, 0);
			break;
		case OUT:
			cmd_attr(cmd, a->id, a->size, (uintptr_t)out);
			break;
		}
	}
}

static void fails(struct cmd *cmd, int want)
{
	static int fds;
	unsigned int i;

	if (!fds)
		fds = fd_count();
	if (!eq(cmd_run(&ctx, cmd), want))
		printf("  in %u/%u with %u attributes\n", cmd->hdr.object_id,
		       cmd->hdr.method_id, cmd->hdr.num_attrs);
	eq(fd_count(), fds);
	for (i = 0; i < sizeof(out); i++)
		if (!eq(out[i], 0x5a))
			break;
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 3, 1);
	channel_is(&ctx, target, COMPCH_CHANNEL_OPEN, 0, 0, 0, 0);
	assoc_is(&cq, 3, 1, 0);
}

static void one_attr(const struct method *m, const struct attr *a)
{
	static const unsigned int bad_flags[] = { 2, 3, 1U << 31 };
	struct ib_uverbs_attr *attr;
	unsigned int len;
	struct cmd cmd;
	int i;

	if (!a->optional) {
		check_case("%s without %u", m->name, a->id - FIRST);
		build(m, &cmd, true);
		attr = cmd_find(&cmd, a->id);
		*attr = cmd.attrs[--cmd.hdr.num_attrs];
		cmd.hdr.length -= sizeof(*attr);
		fails(&cmd, -EINVAL);
	}

	check_case("%s with %u twice", m->name, a->id - FIRST);
	build(m, &cmd, true);
	attr = cmd_find(&cmd, a->id);
	cmd.attrs[cmd.hdr.num_attrs++] = *attr;
	cmd.hdr.length += sizeof(*attr);
	fails(&cmd, -EINVAL);

	for (i = 0; i < 16; i++) {
		check_case("%s with reserved bit %d in %u", m->name, i,
			   a->id - FIRST);
		build(m, &cmd, true);
		cmd_find(&cmd, a->id)->attr_data.reserved = 1 << i;
		fails(&cmd, -EINVAL);
	}

	for (len = 0; len < 24; len++) {
		switch (a->kind) {
		case NEW:
		case IDR:
		case FD:
			if (!len)
				continue;
			break;
		case FLAGS:
			if (len == 4 || len == 8)
				continue;
			break;
		case U32:
			if (len == 4)
				continue;
			break;
		case U64:
			if (len == 8)
				continue;
			break;
		case OUT:
			if (len >= a->size)
				continue;
			break;
		}
		check_case("%s with %u bytes of %u", m->name, len,
			   a->id - FIRST);
		build(m, &cmd, true);
		cmd_find(&cmd, a->id)->len = len;
		fails(&cmd, -EINVAL);
	}

	if (a->kind == FD) {
		check_case("%s with fd beyond 32 bits", m->name);
		build(m, &cmd, true);
		cmd_find(&cmd, a->id)->data_s64 = (1LL << 32) + target;
		fails(&cmd, -EINVAL);
		cmd_find(&cmd, a->id)->data_s64 = INT32_MIN - 1LL;
		fails(&cmd, -EINVAL);
	}
	if (a->kind == FLAGS) {
		for (i = 0; i < (int)ARRAY_SIZE(bad_flags); i++)
			for (len = 4; len <= 8; len += 4) {
				check_case("%s with flags %x, %u bytes",
					   m->name, bad_flags[i], len);
				build(m, &cmd, true);
				attr = cmd_find(&cmd, a->id);
				attr->data = bad_flags[i];
				attr->len = len;
				fails(&cmd, -EINVAL);
			}
		check_case("%s with flags beyond 32 bits", m->name);
		build(m, &cmd, true);
		cmd_find(&cmd, a->id)->data = 1ULL << 32;
		fails(&cmd, -EINVAL);
	}
}

static void one_method(const struct method *m)
{
	const struct attr *a;
	struct cmd cmd;
	int n;

	for (a = m->attrs; a->id; a++)
		one_attr(m, a);
	n = a - m->attrs;

	check_case("%s with an unknown mandatory attribute", m->name);
	build(m, &cmd, true);
	cmd_attr(&cmd, FIRST + n, 8, 0);
	fails(&cmd, -EPROTONOSUPPORT);
	build(m, &cmd, true);
	cmd_attr(&cmd, FIRST + 100, 8, 0);
	fails(&cmd, -EPROTONOSUPPORT);
	build(m, &cmd, true);
	cmd_attr(&cmd, 200, 8, 0);
	fails(&cmd, -EPROTONOSUPPORT);

	check_case("%s with another driver's id", m->name);
	build(m, &cmd, true);
	cmd.hdr.driver_id = 0;
	fails(&cmd, -EINVAL);
	cmd.hdr.driver_id = TESTDEV_DRIVER_ID + 1;
	fails(&cmd, -EINVAL);

	check_case("%s with a wrong header", m->name);
	build(m, &cmd, true);
	cmd.hdr.length--;
	fails(&cmd, -EINVAL);
	build(m, &cmd, true);
	cmd.hdr.length += sizeof(struct ib_uverbs_attr);
	fails(&cmd, -EINVAL);
	build(m, &cmd, true);
	cmd.hdr.num_attrs--;
	fails(&cmd, -EINVAL);
	/* That is how uverbs announces what it cannot do. */
	build(m, &cmd, true);
	cmd.hdr.reserved1 = 1;
	fails(&cmd, -EPROTONOSUPPORT);
	build(m, &cmd, true);
	cmd.hdr.reserved2 = 1;
	fails(&cmd, -EPROTONOSUPPORT);
}

static const struct method *method(const char *name)
{
	const struct method *m = methods;

	while (strcmp(m->name, name))
		m++;
	return m;
}

/* One that is not known but not mandatory either does no harm. */
static void unknown_optional(void)
{
	struct cmd cmd;

	check_case("unknown optional attributes");
	build(method("CHANNEL_QUERY"), &cmd, true);
	cmd_attr(&cmd, FIRST + 100, 8, 0)->flags = 0;
	eq(cmd_run(&ctx, &cmd), 0);
	build(method("ASSOC_MOVE"), &cmd, true);
	cmd_attr(&cmd, FIRST + 2, 8, 0)->flags = 0;
	eq(cmd_run(&ctx, &cmd), 0);
	channel_is(&ctx, target, COMPCH_CHANNEL_OPEN, 1, 0, 3, 0);
	eq(assoc_move(&cq, chan), 0);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 3, 1);
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	unsigned int i;
	struct cmd cmd;
	int fd;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	target = must(channel_create(&ctx, 0));
	must(cq_create(&ctx, &loose, -1));
	cq_on(&ctx, &cq, chan);
	eq(fire(&cq, 4), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		one_method(&methods[i]);

	check_case("unknown methods and objects");
	cmd_init(&cmd, COMPCH_OBJECT_CHANNEL,
		 COMPCH_METHOD_CHANNEL_WAKE + 1);
	fails(&cmd, -EPROTONOSUPPORT);
	cmd_init(&cmd, COMPCH_OBJECT_ASSOC, COMPCH_METHOD_ASSOC_QUERY + 1);
	fails(&cmd, -EPROTONOSUPPORT);
	cmd_init(&cmd, COMPCH_OBJECT_ASSOC - 1, COMPCH_METHOD_ASSOC_QUERY);
	fails(&cmd, -EPROTONOSUPPORT);

	unknown_optional();

	/* And every one of them works when nothing is wrong with it. */
	check_case("nothing wrong");
	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		const struct method *m = &methods[i];

		if (m == method("CHANNEL_DESTROY"))
			continue; /* the target is still needed */
		check_case("%s", m->name);
		build(m, &cmd, i % 2);
		/* Destroyed by the one before */
		eq(cmd_run(&ctx, &cmd),
		   m == method("ASSOC_QUERY") ? -ENOENT : 0);
		if (m == method("ASSOC_CREATE"))
			loose.assoc = cmd.attrs[0].data;
		if (m == method("CHANNEL_CREATE"))
			eq(close(cmd.attrs[0].data), 0);
		if (m == method("CHANNEL_CANCEL"))
			eq(rd(target, &event, sizeof(event)), -ECANCELED);
	}
	fd = chan;
	eq(cq_off(&loose), 0);
	eq(cq_destroy(&cq), 0);
	eq(channel_destroy(&ctx, fd), 0);
	eq(channel_destroy(&ctx, target), 0);
	return abi_done();
}
