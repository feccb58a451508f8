// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A read fills the buffer with as many whole events as fit and are queued; a
 * stock channel gives one at a time. None is lost, and each counts.
 */
#include "abi.h"

#include <sys/mman.h>

#define QUEUED	600

static struct ctx ctx;

static int expected(size_t len, int queued)
{
	int fit = len / DESC_SIZE;

	if (!fit)
		return -EINVAL;
	if (!ours)
		fit = 1;
	return (fit < queued ? fit : queued) * DESC_SIZE;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {
		1, 7, 8, 9, 15, 16, 64, 255, 256, 257, 264, 4096, 8192,
	};
	static char buf[8192 + 64];
	unsigned int i, j;
	int chan, queued, ret, want;
	struct cq cq;

	abi_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		check_case("%zu bytes", sizes[i]);
		chan = chan_new(&ctx);
		cq_on(&ctx, &cq, chan);
		eq(fire(&cq, QUEUED), 0);
		for (queued = QUEUED; queued; queued -= ret / (int)DESC_SIZE) {
			want = expected(sizes[i], queued);
			memset(buf, 0x5a, sizeof(buf));
			ret = rd(chan, buf, sizes[i]);
			if (!eq(ret, want) || ret < 0)
				break;
			for (j = 0; j < (unsigned int)ret; j += DESC_SIZE)
				if (!eq(memcmp(buf + j, &cq.user_handle,
					       DESC_SIZE), 0))
					break;
			/* Nothing beyond what it says */
			for (; j < sizes[i] + 64; j++)
				if (!eq(buf[j], 0x5a))
					break;
		}
		if (sizes[i] < DESC_SIZE) {
			eq(queued, QUEUED);
			if (ours)
				assoc_is(&cq, QUEUED, 0, 0);
		} else {
			eq(queued, 0);
			eq(poll_now(chan), 0);
		}
		eq(cq_off(&cq), QUEUED - queued);
		eq(close(chan), 0);
	}
	return abi_done();
}
