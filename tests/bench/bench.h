/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the measurements have in common.  Each is a program that takes "stock"
 * or "compch" and prints a line for each row of the table that it measures.
 *
 * The clock is the processor's cycle counter.  In a virtual machine that is run
 * with --icount it counts instructions; otherwise it is a time, and rows are in
 * nanoseconds.  In both cases what reading the clock and going round a loop
 * take is measured with the same code around nothing, and subtracted.
 *
 * A row is the median of several rounds: a timer interrupt in one of them does
 * not show.
 */
#ifndef BENCH_H
#define BENCH_H

#include "../abi/abi.h"

#include <time.h>

/* The clock counts instructions */
extern bool icount;

/* Instead of abi_init(): @modes as there, "stock compch" in most cases */
void bench_init(int argc, char **argv, const char *modes);

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	/* It builds; nothing here runs on any other machine so far. */
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
#endif
}

/* Samples of one row */
struct samples {
	unsigned int n;
	double value[256];
};

void sample(struct samples *samples, double value);
double median(const struct samples *samples);

/* A row, in instructions or nanoseconds; the values are ticks */
void row(const char *name, const char *parameter,
	 const struct samples *samples);
void row_ticks(const char *name, const char *parameter, double value);
/* A row in any other unit */
void row_unit(const char *name, const char *parameter, double value,
	      const char *unit);
/* Of 1 tick */
double tick_ns(void);

/* What firing took, without what the loop around it takes */
struct fired {
	double ticks;
	uint64_t start;		/* when the last 256 of the calls began */
	uint64_t end;		/* and ended */
};

/*
 * Fires @count events, of the @n CQs from @cq on in turn, which must have been
 * created one after the other.
 */
void bench_fire(const struct cq *cq, unsigned int n, unsigned int count,
		struct fired *fired);
/* The same with a file of one's own; bench_fire() is for one thread only */
int bench_fire_open(void);
int bench_fire_at(int file, const struct cq *cq, unsigned int n,
		  unsigned int count, struct fired *fired);

/* @n CQs on a channel, stock or ours; no more than there is memory for */
struct cq *cqs_new(struct ctx *ctx, int chan, unsigned int n);
void cqs_free(struct cq *cqs, unsigned int n);

/* Something that is timed in a loop: a system call, or nothing */
typedef long (*timed_fn)(int fd, void *buf, size_t len);
long timed_read(int fd, void *buf, size_t len);
long timed_nothing(int fd, void *buf, size_t len);
/*
 * Ticks of @calls calls, without those of the loop; @bytes is what they must
 * return together.
 */
double timed_loop(timed_fn fn, int fd, void *buf, size_t len,
		  unsigned int calls, long bytes);

/* Reads exactly @events events */
void read_all(int chan, uint64_t events);

#endif /* BENCH_H */
