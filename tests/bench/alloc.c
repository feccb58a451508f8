// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How often the completion handler allocates memory, by the kernel's own
 * tracepoints.
 */
#include "bench.h"

#include <inttypes.h>

#define TRACING	"/sys/kernel/tracing/"
#define EVENTS	1000

static const char *const points[] = {
	"kmalloc", "kmalloc_node", "kmem_cache_alloc", "kmem_cache_alloc_node",
};

static void trace(bool on)
{
	unsigned int found = 0, i;
	char path[128];

	for (i = 0; i < ARRAY_SIZE(points); i++) {
		snprintf(path, sizeof(path), TRACING "events/kmem/%s/filter",
			 points[i]);
		/* Kernels have two or four of them. */
		if (access(path, F_OK))
			continue;
		if (on)
			must(file_write(path, "common_pid == %d", getpid()));
		snprintf(path, sizeof(path), TRACING "events/kmem/%s/enable",
			 points[i]);
		must(file_write(path, "%d", on));
		found++;
	}
	must(found >= 2 ? 0 : -ENOENT);
}

static long long traced(void)
{
	long long sum = 0, entries, overrun;
	char path[128];
	int cpu;

	for (cpu = 0; cpu < cpus_online(); cpu++) {
		snprintf(path, sizeof(path), TRACING "per_cpu/cpu%d/stats",
			 cpu);
		must(file_value(path, "entries:", &entries, 10));
		must(file_value(path, "overrun:", &overrun, 10));
		sum += entries + overrun;
	}
	return sum;
}

static long long allocations(struct cq *cq, unsigned int events)
{
	long long before = traced();

	trace(true);
	bench_fire(cq, 1, events, NULL);
	trace(false);
	return traced() - before;
}

int main(int argc, char **argv)
{
	long long one, many;
	struct ctx ctx;
	struct cq *cq;
	int chan;

	bench_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cq = cqs_new(&ctx, chan, 1);
	/* What tracing itself allocates differs the first time. */
	allocations(cq, 1);
	/* What firing itself allocates is in both. */
	one = allocations(cq, 1);
	many = allocations(cq, 1 + EVENTS);
	must(one ? 0 : -ENODATA);
	read_all(chan, 3 + EVENTS);
	cqs_free(cq, 1);
	close(chan);
	row_unit("allocations an event", "unread", (double)(many - one) / EVENTS,
		 "allocations");
	return abi_done();
}
