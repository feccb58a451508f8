// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an event costs where the channel has an event ring: in the driver's
 * interrupt, and for the program that takes it without a system call.
 */
#include "bench.h"

#define MAX	64

static struct ctx ctx;
static struct compch_ring_user ring;

__attribute__((noinline))
static long timed_take(int fd, void *buf, size_t len)
{
	unsigned int n;
	bool wake;

	(void)fd;
	n = compch_ring_take_events(&ring, buf, len, &wake);
	return n + 1000 * wake;
}

/* @n events of @cqs CQs, of which up to @room are taken in a call */
static void batch(unsigned int n, unsigned int cqs, unsigned int room,
		  const char *parameter)
{
	struct samples takes = {}, fires = {}, both = {};
	int chan = must(channel_create_ring(&ctx, 0, MAX));
	struct cq *cq = cqs_new(&ctx, chan, cqs);
	struct fired fired;
	__u64 cookies[MAX];
	double take;
	int i;

	ring_map(&ctx, chan, &ring);
	for (i = 0; i < 65; i++) {
		bench_fire(cq, cqs, n, &fired);
		take = timed_loop(timed_take, -1, cookies, room, n / room, n);
		sample(&fires, fired.ticks / n);
		sample(&takes, take / n);
		sample(&both, (fired.ticks + take) / n);
	}
	eq(poll_now(chan), 0);
	eq(ring_unmap(&ring), 0);
	cqs_free(cq, cqs);
	close(chan);
	row("ring enqueue", parameter, &fires);
	row("ring", parameter, &takes);
	row("ring enqueue and ring", parameter, &both);
}

static void nothing(void)
{
	struct samples samples = {};
	int chan = must(channel_create_ring(&ctx, 0, MAX));
	__u64 cookies[MAX];
	int i;

	ring_map(&ctx, chan, &ring);
	for (i = 0; i < 65; i++)
		sample(&samples, timed_loop(timed_take, -1, cookies, MAX, 16,
					    0) / 16);
	eq(ring_unmap(&ring), 0);
	close(chan);
	row("ring", "a call that finds nothing", &samples);
}

int main(int argc, char **argv)
{
	bench_init(argc, argv, "compch");
	ctx = ctx_new(0);
	batch(1, 1, 1, "1 event");
	batch(64, 64, 64, "64 events of 64 CQs");
	batch(64, 1, 64, "64 events of 1 CQ");
	batch(64, 64, 1, "64 events of 64 CQs one by one");
	nothing();
	return abi_done();
}
