// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "bench.h"

#include <inttypes.h>
#include <sys/resource.h>

#define BENCH_FILE	"/sys/kernel/debug/compch_testdev/bench"
#define READ_EVENTS	1024

bool icount;

static double ns_of_tick = 1;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* How long is a tick?  Over a tenth of a second. */
static double calibrate(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };
	uint64_t t = ticks(), ns = now_ns();

	nanosleep(&pause, NULL);
	ns = now_ns() - ns;
	return (double)ns / (ticks() - t);
}

void bench_init(int argc, char **argv, const char *modes)
{
	const char *clock = getenv("BENCH_CLOCK");
	struct rlimit limit;

	abi_init(argc, argv, modes);
	icount = clock && !strcmp(clock, "icount");
	/*
	 * The clock runs ahead while the machine waits for its host: a limit
	 * is for the host to set.
	 */
	deadline(icount ? 1000000 : 600);
	if (!icount)
		ns_of_tick = calibrate();
	must(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &limit));
}

/* --- rows ------------------------------------------------------------------ */

void sample(struct samples *samples, double value)
{
	if (ok(samples->n < ARRAY_SIZE(samples->value)))
		samples->value[samples->n++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(const struct samples *samples)
{
	struct samples sorted = *samples;

	must(samples->n ? 0 : -ENODATA);
	qsort(sorted.value, sorted.n, sizeof(sorted.value[0]), compare);
	/* One that was measured, not the mean of two. */
	return sorted.value[(sorted.n - 1) / 2];
}

void row_unit(const char *name, const char *parameter, double value,
	      const char *unit)
{
	printf("BENCH,%s,%s,%.10g,%s\n", name, parameter,
	       (double)(int64_t)(value * 100 + (value < 0 ? -0.5 : 0.5)) / 100,
	       unit);
}

void row_ticks(const char *name, const char *parameter, double value)
{
	row_unit(name, parameter, value * ns_of_tick,
		 icount ? "instructions" : "ns");
}

void row(const char *name, const char *parameter,
	 const struct samples *samples)
{
	row_ticks(name, parameter, median(samples));
}

double tick_ns(void)
{
	return ns_of_tick;
}

/* --- events ---------------------------------------------------------------- */

int bench_fire_open(void)
{
	int file = open(BENCH_FILE, O_RDWR | O_CLOEXEC);

	return file < 0 ? -errno : file;
}

int bench_fire_at(int file, const struct cq *cq, unsigned int n,
		  unsigned int count, struct fired *fired)
{
	uint64_t all, empty, start, end;
	unsigned int calls;
	char buf[256];
	int len;

	len = snprintf(buf, sizeof(buf), "%" PRIu64 " %u %u", cq->tag, n,
		       count);
	if (write(file, buf, len) != len)
		return -errno;
	len = pread(file, buf, sizeof(buf) - 1, 0);
	if (len < 0)
		return -errno;
	buf[len] = '\0';
	if (sscanf(buf, "calls %u ticks %" SCNu64 " empty %" SCNu64
		   " start %" SCNu64 " end %" SCNu64, &calls, &all, &empty,
		   &start, &end) != 5 || calls != count)
		return -EPROTO;
	fired->ticks = (double)all - empty;
	fired->start = start;
	fired->end = end;
	return 0;
}

void bench_fire(const struct cq *cq, unsigned int n, unsigned int count,
		struct fired *fired)
{
	static int file = -1;
	struct fired unused;

	if (file < 0)
		file = must(bench_fire_open());
	must(bench_fire_at(file, cq, n, count, fired ? fired : &unused));
}

struct cq *cqs_new(struct ctx *ctx, int chan, unsigned int n)
{
	struct cq *cqs = calloc(n, sizeof(*cqs));
	unsigned int i;

	must(cqs ? 0 : -ENOMEM);
	for (i = 0; i < n; i++) {
		cq_on(ctx, &cqs[i], chan);
		must(cqs[i].tag == cqs[0].tag + i ? 0 : -EPROTO);
	}
	return cqs;
}

void cqs_free(struct cq *cqs, unsigned int n)
{
	while (n--)
		cq_off(&cqs[n]);
	free(cqs);
}

/* --- loops ----------------------------------------------------------------- */

/* As programs do it */
long timed_read(int fd, void *buf, size_t len)
{
	return read(fd, buf, len);
}

__attribute__((noinline))
long timed_nothing(int fd, void *buf, size_t len)
{
	asm volatile("" : : "D" (fd), "S" (buf), "d" (len) : "memory");
	return 0;
}

__attribute__((noinline))
static uint64_t loop(timed_fn fn, int fd, void *buf, size_t len,
		     unsigned int calls, long *sum)
{
	uint64_t begin = ticks();

	while (calls--)
		*sum += fn(fd, buf, len);
	return ticks() - begin;
}

double timed_loop(timed_fn fn, int fd, void *buf, size_t len,
		  unsigned int calls, long bytes)
{
	uint64_t empty, all;
	long sum = 0;

	empty = loop(timed_nothing, fd, buf, len, calls, &sum);
	sum = 0;
	all = loop(fn, fd, buf, len, calls, &sum);
	must(sum == bytes ? 0 : -EPROTO);
	return (double)all - empty;
}

void read_all(int chan, uint64_t events)
{
	static struct ib_uverbs_comp_event_desc buf[READ_EVENTS];
	size_t len;
	int ret;

	while (events) {
		len = (events < READ_EVENTS ? events : READ_EVENTS) * DESC_SIZE;
		ret = must(rd(chan, buf, len));
		must(ret && !(ret % DESC_SIZE) ? 0 : -EPROTO);
		events -= ret / DESC_SIZE;
	}
	eq(poll_now(chan), 0);
}
