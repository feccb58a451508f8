// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What /proc/PID/fdinfo/FD tells of a channel. */
#include "abi.h"

static void info_is(int fd, const char *state, int flags, int assocs,
		    int pending, int reported, int cancels)
{
	char path[64], buf[4096], want[512];
	char *at, *rest;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	must(file_read(path, buf, sizeof(buf)));
	snprintf(want, sizeof(want),
		 "compch-state:\t%s\n"
		 "compch-flags:\t%x\n"
		 "compch-associations:\t%d\n"
		 "compch-pending:\t%d\n"
		 "compch-reported:\t%d\n"
		 "compch-cancels:\t%d\n",
		 state, flags, assocs, pending, reported, cancels);
	at = strstr(buf, "compch-");
	rest = strstr(buf, "compch-id:");
	if (!ok(rest))
		return;
	*rest = '\0';
	if (!ok(at) || !eq(strcmp(at, want), 0))
		printf("expected:\n%sgot:\n%s", want, buf);
}

static long long value(int fd, const char *key)
{
	long long number;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	must(file_value(path, key, &number, 10));
	return number;
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	struct ctx ctx, other;
	struct cq a, b;
	int chan;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	other = ctx_new(1);
	chan = must(channel_create(&ctx, 0));
	info_is(chan, "open", 0, 0, 0, 0, 0);
	ok(value(chan, "compch-id:") > 0);
	eq(value(chan, "compch-longest:"), 0);
	/* "-" is no number. */
	eq(value(chan, "compch-idle-ms:"), 0);
	cq_on(&ctx, &a, chan);
	cq_on(&other, &b, chan);
	info_is(chan, "open", 0, 2, 0, 0, 0);
	eq(fire(&a, 3), 0);
	eq(fire(&b, 1), 0);
	eq(channel_cancel(&ctx, chan), 0);
	eq(channel_cancel(&ctx, chan), 0);
	info_is(chan, "open", 0, 2, 4, 0, 2);
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	info_is(chan, "open", 0, 2, 3, 1, 0);
	eq(value(chan, "compch-longest:"), 2);
	eq(value(chan, "compch-wakeups:"), 0);
	usleep(20000);
	ok(value(chan, "compch-idle-ms:") >= 10);
	ok(value(chan, "compch-idle-ms:") < 60000);
	cq_off(&a);
	eq(value(chan, "compch-discarded:"), 2);
	info_is(chan, "open", 0, 1, 1, 1, 0);
	ctx_close(&ctx);
	info_is(chan, "closed", 0, 1, 1, 1, 0);
	cq_off(&b);
	info_is(chan, "closed", 0, 0, 0, 1, 0);

	chan = must(channel_create(&other, COMPCH_CHANNEL_COALESCE));
	info_is(chan, "open", COMPCH_CHANNEL_COALESCE, 0, 0, 0, 0);
	cq_on(&other, &b, chan);
	eq(fire(&b, 7), 0);
	eq(value(chan, "compch-merged:"), 6);
	return abi_done();
}
