// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an event costs in the driver's interrupt: the completion handler.  A
 * call of a handler that does nothing is subtracted.
 */
#include "bench.h"

static struct ctx ctx;

/* One event of each of @n CQs of a channel that is empty before */
static double first_events(unsigned int n, unsigned int rounds)
{
	struct samples samples = {}, reads = {};
	struct fired fired;
	int chan = chan_new(&ctx);
	struct cq *cqs = cqs_new(&ctx, chan, n);
	char parameter[32];
	unsigned int i;
	uint64_t t;

	for (i = 0; i < rounds; i++) {
		bench_fire(cqs, n, n, &fired);
		sample(&samples, fired.ticks / n);
		t = ticks();
		read_all(chan, n);
		sample(&reads, (double)(ticks() - t) / n);
	}
	cqs_free(cqs, n);
	close(chan);
	snprintf(parameter, sizeof(parameter), "%u CQ%s", n, n > 1 ? "s" : "");
	row("enqueue", parameter, &samples);
	if (n > 1)
		row("read many CQs", parameter, &reads);
	return median(&samples);
}

/* Further events of a CQ that has one unread */
static void further_events(void)
{
	struct samples samples = {};
	struct fired fired;
	int chan = chan_new(&ctx);
	struct cq *cqs = cqs_new(&ctx, chan, 1);
	int i;

	for (i = 0; i < 65; i++) {
		bench_fire(cqs, 1, 1, NULL);
		bench_fire(cqs, 1, 64, &fired);
		sample(&samples, fired.ticks / 64);
		read_all(chan, 65);
	}
	cqs_free(cqs, 1);
	close(chan);
	row("enqueue", "further events of 1 CQ", &samples);
}

int main(int argc, char **argv)
{
	double few, many;

	bench_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	few = first_events(1, 129);
	first_events(100, 33);
	many = first_events(10000, 3);
	further_events();
	if (icount)
		row_unit("enqueue growth", "1 to 10000 CQs", many / few,
			 "times");
	return abi_done();
}
