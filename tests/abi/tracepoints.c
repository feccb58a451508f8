// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The tracepoints say what happens, in the order in which it does, and about
 * which channel and CQ.
 */
#include "abi.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/epoll.h>

#define TRACING	"/sys/kernel/tracing/"

static char trace[65536];
static const char *next;

static void forget(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	must(fd < 0 ? -errno : 0);
	close(fd);
}

/* What has been traced since the last time, from the first line on */
static void look(void)
{
	must(file_read(TRACING "trace", trace, sizeof(trace)));
	forget();
	next = trace;
}

/* The next line of ours is this one. */
__attribute__((format(printf, 2, 3)))
static void expect(int line, const char *fmt, ...)
{
	const char *at, *end;
	char want[256];
	va_list args;
	size_t len;

	va_start(args, fmt);
	len = vsnprintf(want, sizeof(want), fmt, args);
	va_end(args);
	at = strstr(next, ": compch_");
	if (!ok(at)) {
		printf("line %d: '%s' is missing\n", line, want);
		return;
	}
	at += strlen(": compch_");
	end = strchrnul(at, '\n');
	if (!ok((size_t)(end - at) == len && !memcmp(at, want, len)))
		printf("line %d: expected '%s', got '%.*s'\n", line, want,
		       (int)(end - at), at);
	next = end;
}

#define traced(...)	expect(__LINE__, __VA_ARGS__)

static void nothing_else(int line)
{
	if (!ok(!strstr(next, ": compch_")))
		printf("line %d: and then:%s", line, next);
}

/* The number that it has in the file "cqs" */
static long long cqn_of(const struct cq *cq)
{
	static char buf[65536];
	char cookie[64];
	char *line, *at, *rest = buf;

	must(file_read("/sys/kernel/debug/compch/cqs", buf, sizeof(buf)));
	snprintf(cookie, sizeof(cookie), " cookie=0x%" PRIx64 " ",
		 cq->user_handle);
	while ((line = strsep(&rest, "\n"))) {
		at = strstr(line, " cqn=");
		if (strstr(line, cookie) && at)
			return strtoll(at + strlen(" cqn="), NULL, 10);
	}
	return must(-ENOENT);
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc events[64];
	long long chan_id, merging_id, cqn, other_cqn;
	struct reader reader;
	struct cq cq, other;
	int chan, merging, epoll;
	struct ctx ctx;
	uint64_t cookie;

	abi_init(argc, argv, NULL);
	if (access(TRACING "events/compch", F_OK))
		skip("this kernel has no tracepoints");
	forget();
	must(file_write(TRACING "events/compch/enable", "1\n"));
	ctx = ctx_new(0);

	check_case("create and associate");
	chan = must(channel_create(&ctx, 0));
	merging = must(channel_create(&ctx, COMPCH_CHANNEL_COALESCE));
	chan_id = channel_id(chan);
	merging_id = channel_id(merging);
	cq_on(&ctx, &cq, chan);
	cq_on(&ctx, &other, chan);
	cqn = cqn_of(&cq);
	other_cqn = cqn_of(&other);
	ok(cqn != other_cqn);
	cookie = cq.user_handle;
	look();
	traced("create: channel=%lld flags=0 device=compch_test0", chan_id);
	traced("create: channel=%lld flags=1 device=compch_test0", merging_id);
	traced("associate: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64,
	       cqn, chan_id, cookie);
	traced("associate: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64,
	       other_cqn, chan_id, other.user_handle);
	nothing_else(__LINE__);

	check_case("events and reads");
	set_nonblock(chan, true);
	eq(fire(&cq, 2), 0);
	eq(fire_in(&other, 1, "hardirq", 0), 0);
	eq(rd(chan, events, DESC_SIZE), DESC_SIZE);
	eq(rd(chan, events, sizeof(events)), 2 * DESC_SIZE);
	eq(rd(chan, events, sizeof(events)), -EAGAIN);
	set_nonblock(chan, false);
	look();
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=1",
	       cqn, chan_id, cookie);
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=2",
	       cqn, chan_id, cookie);
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=1",
	       other_cqn, chan_id, other.user_handle);
	traced("report: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=1",
	       cqn, chan_id, cookie);
	traced("read: channel=%lld events=1 error=0", chan_id);
	traced("report: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=0",
	       other_cqn, chan_id, other.user_handle);
	traced("report: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=0",
	       cqn, chan_id, cookie);
	traced("read: channel=%lld events=2 error=0", chan_id);
	traced("read: channel=%lld events=0 error=-11", chan_id);
	nothing_else(__LINE__);

	check_case("a reader is woken");
	reader_start(&reader, chan, DESC_SIZE);
	eq(fire(&cq, 1), 0);
	eq(reader_end(&reader), DESC_SIZE);
	look();
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=1",
	       cqn, chan_id, cookie);
	traced("wake: device=compch_test0 cqn=%lld channel=%lld pid=%d comm=tracepoints",
	       cqn, chan_id, reader.tid);
	traced("report: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=0",
	       cqn, chan_id, cookie);
	traced("read: channel=%lld events=1 error=0", chan_id);
	nothing_else(__LINE__);

	check_case("who polls is woken");
	epoll = must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, chan,
		       &(struct epoll_event){ .events = EPOLLIN }));
	eq(fire(&cq, 1), 0);
	close(epoll);
	eq(rd(chan, events, DESC_SIZE), DESC_SIZE);
	look();
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=1",
	       cqn, chan_id, cookie);
	traced("wake: device=compch_test0 cqn=%lld channel=%lld pid=0 comm=poll",
	       cqn, chan_id);
	traced("report: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=0",
	       cqn, chan_id, cookie);
	traced("read: channel=%lld events=1 error=0", chan_id);
	nothing_else(__LINE__);

	check_case("it is woken, and nothing else is traced");
	must(file_write(TRACING "events/compch/enable", "0\n"));
	must(file_write(TRACING "events/compch/compch_wake/enable", "1\n"));
	reader_start(&reader, chan, DESC_SIZE);
	eq(fire(&other, 1), 0);
	eq(reader_end(&reader), DESC_SIZE);
	look();
	traced("wake: device=compch_test0 cqn=%lld channel=%lld pid=%d comm=tracepoints",
	       other_cqn, chan_id, reader.tid);
	nothing_else(__LINE__);
	must(file_write(TRACING "events/compch/enable", "1\n"));

	check_case("cancels");
	reader_start(&reader, chan, DESC_SIZE);
	eq(channel_cancel(&ctx, chan), 0);
	eq(reader_end(&reader), -ECANCELED);
	eq(channel_cancel(&ctx, chan), 0);
	eq(rd(chan, events, DESC_SIZE), -ECANCELED);
	look();
	traced("cancel: channel=%lld pid=%d", chan_id, reader.tid);
	traced("wake: device=- cqn=-1 channel=%lld pid=%d comm=tracepoints",
	       chan_id, reader.tid);
	traced("read: channel=%lld events=0 error=-125", chan_id);
	traced("cancel: channel=%lld pid=0", chan_id);
	traced("read: channel=%lld events=0 error=-125", chan_id);
	nothing_else(__LINE__);

	check_case("moves, and events that merge");
	eq(fire(&cq, 3), 0);
	must(assoc_move(&cq, merging));
	eq(fire(&cq, 1), 0);
	eq(rd(merging, events, sizeof(events)), DESC_SIZE);
	look();
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=1",
	       cqn, chan_id, cookie);
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=2",
	       cqn, chan_id, cookie);
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=3",
	       cqn, chan_id, cookie);
	traced("coalesced: device=compch_test0 cqn=%lld channel=%lld merged=2",
	       cqn, chan_id);
	traced("move: device=compch_test0 cqn=%lld from=%lld to=%lld pending=1 merged=2",
	       cqn, chan_id, merging_id);
	traced("event: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=2",
	       cqn, merging_id, cookie);
	traced("coalesced: device=compch_test0 cqn=%lld channel=%lld merged=1",
	       cqn, merging_id);
	traced("report: device=compch_test0 cqn=%lld channel=%lld cookie=0x%" PRIx64 " pending=0",
	       cqn, merging_id, cookie);
	traced("read: channel=%lld events=1 error=0", merging_id);
	nothing_else(__LINE__);

	check_case("the end");
	eq(fire(&other, 5), 0);
	look();
	eq(rd(chan, events, 2 * DESC_SIZE), 2 * DESC_SIZE);
	look();
	must(assoc_destroy(&other, 0, NULL));
	eq(channel_destroy(&ctx, chan), 0);
	close(chan);
	ctx_close(&ctx);
	close(merging);
	look();
	traced("dissociate: device=compch_test0 cqn=%lld channel=%lld reported=4 merged=0 discarded=3",
	       other_cqn, chan_id);
	traced("close: channel=%lld cqs=0 forced=0", chan_id);
	traced("destroy: channel=%lld reported=8", chan_id);
	traced("dissociate: device=compch_test0 cqn=%lld channel=%lld reported=5 merged=3 discarded=0",
	       cqn, merging_id);
	traced("close: channel=%lld cqs=0 forced=1", merging_id);
	traced("destroy: channel=%lld reported=1", merging_id);
	nothing_else(__LINE__);

	must(file_write(TRACING "events/compch/enable", "0\n"));
	return abi_done();
}
