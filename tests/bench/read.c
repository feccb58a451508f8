// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What it costs to read an event, by the number of events that the reader has
 * room for; and to read an eventfd, which is what a read() costs that does as
 * little as possible.
 */
#include "bench.h"

#include <sys/eventfd.h>

#define MAX	64

static struct ctx ctx;

/* @n events of @cqs CQs, and a buffer for all of them */
static void batch(unsigned int n, unsigned int cqs, const char *parameter)
{
	struct ib_uverbs_comp_event_desc events[MAX];
	struct samples samples = {};
	int chan = chan_new(&ctx);
	struct cq *cq = cqs_new(&ctx, chan, cqs);
	/* A stock channel has one event a call, whatever the room. */
	unsigned int calls = ours ? 1 : n;
	int i;

	for (i = 0; i < 65; i++) {
		bench_fire(cq, cqs, n, NULL);
		sample(&samples, timed_loop(timed_read, chan, events,
					    n * DESC_SIZE, calls,
					    n * DESC_SIZE) / n);
	}
	eq(poll_now(chan), 0);
	cqs_free(cq, cqs);
	close(chan);
	row("read", parameter, &samples);
}

static void floor_of_read(void)
{
	struct samples samples = {};
	int fd = must(eventfd(0, EFD_CLOEXEC));
	uint64_t value;
	int i;

	for (i = 0; i < 65; i++) {
		value = 1;
		must(write(fd, &value, sizeof(value)));
		sample(&samples, timed_loop(timed_read, fd, &value,
					    sizeof(value), 1, sizeof(value)));
	}
	close(fd);
	row("read of an eventfd", "the floor", &samples);
}

int main(int argc, char **argv)
{
	bench_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	batch(1, 1, "1 event");
	batch(8, 8, "8 events of 8 CQs");
	batch(64, 64, "64 events of 64 CQs");
	batch(64, 1, "64 events of 1 CQ");
	floor_of_read();
	return abi_done();
}
