// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fires and reads an event, an eventfd and, on a channel of ours, 64 events at
 * once, and detaches and attaches a CQ, again and again; for breakdown.sh to look
 * at.  It ends when the file STOP is there.
 */
#include "bench.h"

#include <sys/eventfd.h>

#define CQS	64

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc events[CQS];
	const char *stop = getenv("STOP");
	uint64_t value = 1;
	struct ctx ctx;
	struct cq *cqs;
	int chan, fd;

	bench_init(argc, argv, "stock compch");
	must(stop ? 0 : -EINVAL);
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cqs = cqs_new(&ctx, chan, CQS);
	fd = must(eventfd(0, EFD_CLOEXEC));
	printf("GO\n");
	while (access(stop, F_OK)) {
		bench_fire(cqs, 1, 1, NULL);
		must(rd(chan, events, DESC_SIZE));
		must(write(fd, &value, sizeof(value)));
		must(rd(fd, &value, sizeof(value)));
		if (!ours)
			continue;
		bench_fire(cqs, CQS, CQS, NULL);
		eq(must(rd(chan, events, sizeof(events))), sizeof(events));
		must(assoc_destroy(&cqs[0], 0, NULL));
		must(assoc_create(&cqs[0], chan));
	}
	cqs_free(cqs, CQS);
	close(fd);
	close(chan);
	return abi_done();
}
