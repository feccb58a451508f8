// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What tracepoints cost: the completion handler and a read while all of them
 * write to the trace, while one does, and after that.
 */
#include "bench.h"

#define EVENTS	"/sys/kernel/tracing/events/compch/"
#define MAX	64

static struct ctx ctx;

/* An event of each of @n CQs, and a read of all of them */
static void measure(unsigned int n, const char *what)
{
	struct ib_uverbs_comp_event_desc events[MAX];
	struct samples enqueue = {}, reads = {};
	int chan = chan_new(&ctx);
	struct cq *cqs = cqs_new(&ctx, chan, n);
	struct fired fired;
	char parameter[64];
	int i;

	for (i = 0; i < 65; i++) {
		bench_fire(cqs, n, n, &fired);
		sample(&enqueue, fired.ticks / n);
		sample(&reads, timed_loop(timed_read, chan, events,
					  n * DESC_SIZE, 1, n * DESC_SIZE));
	}
	cqs_free(cqs, n);
	close(chan);
	snprintf(parameter, sizeof(parameter), "%u CQ%s: %s", n,
		 n > 1 ? "s" : "", what);
	row("traced enqueue", parameter, &enqueue);
	row("traced read", parameter, &reads);
}

static void trace(const char *events, int on)
{
	char path[128];

	snprintf(path, sizeof(path), EVENTS "%senable", events);
	must(file_write(path, "%d\n", on));
}

int main(int argc, char **argv)
{
	bench_init(argc, argv, "compch");
	if (access(EVENTS, F_OK))
		skip("this kernel has no tracepoints");
	ctx = ctx_new(0);
	trace("", 1);
	measure(1, "all on");
	measure(64, "all on");
	trace("", 0);
	trace("compch_read/", 1);
	measure(1, "compch_read on");
	trace("compch_read/", 0);
	measure(1, "off again");
	measure(64, "off again");
	return abi_done();
}
