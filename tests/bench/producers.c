// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two processors that fire events, each of 32 CQs of its own, and one reader of
 * their channel that takes up to 64 at once: events a second, till the last one
 * has been read.
 */
#include "bench.h"

#include <sched.h>

#define CQS	32
#define EVENTS	200000u

static struct cq *cqs;
static pthread_barrier_t barrier;

static void *produce(void *arg)
{
	int cpu = (int)(intptr_t)arg;
	struct fired fired;
	cpu_set_t set;
	int file;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set) ? -errno : 0);
	file = must(bench_fire_open());
	pthread_barrier_wait(&barrier);
	must(bench_fire_at(file, cqs + cpu * CQS, CQS, EVENTS, &fired));
	close(file);
	return NULL;
}

static double measure(int chan)
{
	struct ib_uverbs_comp_event_desc events[64];
	pthread_t threads[2];
	unsigned int n = 0;
	uint64_t t;
	intptr_t i;

	must(-pthread_barrier_init(&barrier, NULL, 3));
	for (i = 0; i < 2; i++)
		must(-pthread_create(&threads[i], NULL, produce, (void *)i));
	pthread_barrier_wait(&barrier);
	t = ticks();
	while (n < 2 * EVENTS)
		n += must(rd(chan, events, sizeof(events))) / DESC_SIZE;
	t = ticks() - t;
	for (i = 0; i < 2; i++)
		must(-pthread_join(threads[i], NULL));
	must(-pthread_barrier_destroy(&barrier));
	eq(n, 2 * EVENTS);
	return n / (t * tick_ns() / 1e9);
}

int main(int argc, char **argv)
{
	struct samples samples = {};
	struct ctx ctx;
	int chan, i;

	bench_init(argc, argv, "stock compch");
	if (cpus_online() < 2)
		skip("this needs two processors");
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cqs = cqs_new(&ctx, chan, 2 * CQS);
	for (i = 0; i < 5; i++)
		sample(&samples, measure(chan));
	cqs_free(cqs, 2 * CQS);
	close(chan);
	row_unit("events a second", "2 producers and 1 reader",
		 median(&samples), "1/s");
	return abi_done();
}
