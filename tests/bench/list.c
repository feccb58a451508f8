// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What a line of the list of CQs costs, by how many there are: with a buffer of
 * 64 kB, of which the kernel fills a page at a time.
 */
#include "bench.h"

#define CQS	"/sys/kernel/debug/compch/cqs"

static struct ctx ctx;

/* Reads the list once; returns the lines in there. */
static unsigned int list(void)
{
	static char buf[65536];
	unsigned int lines = 0;
	int fd = open(CQS, O_RDONLY | O_CLOEXEC);
	ssize_t len, i;

	must(fd < 0 ? -errno : 0);
	while ((len = must(read(fd, buf, sizeof(buf)))))
		for (i = 0; i < len; i++)
			lines += buf[i] == '\n';
	close(fd);
	return lines;
}

/* Of the file, and not of counting lines */
static uint64_t listing(unsigned int n)
{
	static char buf[65536];
	uint64_t begin;
	int fd;

	eq(list(), n);
	begin = ticks();
	fd = open(CQS, O_RDONLY | O_CLOEXEC);
	must(fd < 0 ? -errno : 0);
	while (must(read(fd, buf, sizeof(buf))))
		;
	close(fd);
	return ticks() - begin;
}

static double lines(unsigned int n, unsigned int rounds)
{
	struct samples samples = {};
	int chan = chan_new(&ctx);
	struct cq *cqs = cqs_new(&ctx, chan, n);
	char parameter[32];
	unsigned int i;

	for (i = 0; i < rounds; i++)
		sample(&samples, (double)listing(n) / n);
	cqs_free(cqs, n);
	close(chan);
	snprintf(parameter, sizeof(parameter), "of %u CQs", n);
	row("list a CQ", parameter, &samples);
	return median(&samples);
}

int main(int argc, char **argv)
{
	double few, many;

	bench_init(argc, argv, "compch");
	ctx = ctx_new(0);
	few = lines(100, 33);
	many = lines(10000, 3);
	if (icount)
		row_unit("list growth", "100 to 10000 CQs", many / few,
			 "times");
	return abi_done();
}
