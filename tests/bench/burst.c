// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many events of one CQ that nobody reads yet: what one takes, how much memory
 * they occupy, and whether all of them are there in the end.
 */
#include "bench.h"

static struct ctx ctx;

static long long slab_kb(void)
{
	long long kb;

	must(file_value("/proc/meminfo", "Slab:", &kb, 10));
	return kb;
}

/* How many of @events there are to read */
static uint64_t read_what_is_there(int chan, uint64_t events)
{
	static struct ib_uverbs_comp_event_desc buf[4096];
	uint64_t n = 0;
	int ret;

	set_nonblock(chan, true);
	while ((ret = rd(chan, buf, sizeof(buf))) > 0)
		n += ret / DESC_SIZE;
	eq(ret, -EAGAIN);
	ok(n <= events);
	return n;
}

static void burst(unsigned int n, unsigned int rounds)
{
	struct samples samples = {}, memory = {}, lost = {};
	long long before = 0;
	struct fired fired;
	char parameter[32];
	int chan = chan_new(&ctx);
	struct cq *cq = cqs_new(&ctx, chan, 1);

	snprintf(parameter, sizeof(parameter), "%u event%s", n,
		 n > 1 ? "s" : "");
	while (rounds--) {
		before = slab_kb();
		bench_fire(cq, 1, n, &fired);
		sample(&memory, slab_kb() - before);
		sample(&samples, fired.ticks / n);
		sample(&lost, n - read_what_is_there(chan, n));
	}
	cqs_free(cq, 1);
	close(chan);

	row("burst", parameter, &samples);
	row_unit("burst memory", parameter, median(&memory), "kB");
	row_unit("burst lost", parameter, median(&lost), "events");
}

int main(int argc, char **argv)
{
	bench_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	burst(1, 33);
	burst(100, 33);
	burst(10000, 3);
	burst(1000000, 1);
	return abi_done();
}
