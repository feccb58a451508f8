// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A read into a buffer that cannot be written loses no event and counts none;
 * what fits in front of an unwritable page is delivered. Pages that are there
 * but not present (not touched yet, or swapped out) are no error.
 */
#include "abi.h"

#include <sys/mman.h>

#define PAGE	4096

static struct ctx ctx;
static int chan;
static struct cq a, b;
static int reported;

/* Nothing has happened: same count, and A goes first again. */
static void unchanged(int pending)
{
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 2, 0, pending, reported);
	eq(poll_now(chan), POLLIN | POLLRDNORM);
}

static void all_there(int n)
{
	struct ib_uverbs_comp_event_desc events[64];
	int i;

	eq(rd(chan, events, sizeof(events)), n * DESC_SIZE);
	for (i = 0; i < n; i++)
		eq(events[i].cq_handle,
		   i % 2 ? b.user_handle : a.user_handle);
	reported += n;
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc *events;
	struct iovec iov[2];
	char *map, *fresh, two[16];
	int i, prefix;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	cq_on(&ctx, &a, chan);
	cq_on(&ctx, &b, chan);
	map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(map == MAP_FAILED ? -errno : 0);
	must(munmap(map + PAGE, PAGE));
	must(mprotect(map + 2 * PAGE, PAGE, PROT_READ));
	must(mprotect(map + 3 * PAGE, PAGE, PROT_NONE));

	check_case("bad from the start");
	eq(fire(&a, 10), 0);
	eq(fire(&b, 10), 0);
	for (i = 0; i < 3; i++) {
		eq(rd(chan, map + (i + 1) * PAGE, 8), -EFAULT);
		unchanged(20);
		eq(rd(chan, map + (i + 1) * PAGE, PAGE), -EFAULT);
		unchanged(20);
		eq(rd_nowait(chan, map + (i + 1) * PAGE, PAGE), -EFAULT);
		unchanged(20);
	}
	eq(rd(chan, (void *)-4096UL, 8), -EFAULT);
	unchanged(20);
	eq(rd(chan, NULL, 64), -EFAULT);
	unchanged(20);
	/* Less than one whole event fits. */
	for (i = 1; i < 8; i++) {
		eq(rd(chan, map + PAGE - i, 64), -EFAULT);
		unchanged(20);
	}
	all_there(20);

	check_case("bad after a while");
	for (prefix = 1; prefix <= 40; prefix++) {
		int extra = prefix % 8;

		eq(fire(&a, 25), 0);
		eq(fire(&b, 25), 0);
		events = (void *)(map + PAGE - prefix * DESC_SIZE - extra);
		eq(rd(chan, events, 3 * PAGE), prefix * DESC_SIZE);
		reported += prefix;
		for (i = 0; i < prefix; i++) {
			uint64_t handle;

			memcpy(&handle, &events[i], sizeof(handle));
			if (!eq(handle, i % 2 ? b.user_handle : a.user_handle))
				break;
		}
		unchanged(50 - prefix);
		if (prefix % 2) {
			/* Now it is B's turn; put that right. */
			struct ib_uverbs_comp_event_desc one;

			eq(rd(chan, &one, sizeof(one)), DESC_SIZE);
			eq(one.cq_handle, b.user_handle);
			reported++;
		}
		all_there(50 - prefix - prefix % 2);
	}

	check_case("readv");
	eq(fire(&a, 2), 0);
	eq(fire(&b, 2), 0);
	iov[0] = (struct iovec){ two, 16 };
	iov[1] = (struct iovec){ map + PAGE, 16 };
	eq(readv(chan, iov, 2), 16);
	reported += 2;
	unchanged(2);
	iov[0] = (struct iovec){ two, 4 };
	eq(readv(chan, iov, 2) < 0 ? -errno : 0, -EFAULT);
	unchanged(2);
	all_there(2);

	check_case("pages that are not there yet");
	for (i = 0; i < 20; i++) {
		fresh = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(fresh == MAP_FAILED ? -errno : 0);
		eq(fire(&a, 5), 0);
		eq(fire(&b, 5), 0);
		/* One of them straddles the pages. */
		eq(rd(chan, fresh + PAGE - 4 * DESC_SIZE - 3, 200), 80);
		reported += 10;
		eq(memcmp(fresh + PAGE - 3, &a.user_handle, 8), 0);
		eq(poll_now(chan), 0);
		must(munmap(fresh, 2 * PAGE));
	}
	check_case("a blocked reader's buffer turns out to be bad");
	{
		struct reader bad, good;

		/* The oldest gets the event, and must pass it on. */
		reader_start_at(&bad, chan, map + PAGE, 64);
		reader_start(&good, chan, 64);
		ok(!reader_done(&bad));
		eq(fire(&a, 1), 0);
		eq(reader_end(&bad), -EFAULT);
		eq(reader_end(&good), DESC_SIZE);
		eq(good.events[0].cq_handle, a.user_handle);
		reported++;
	}

	check_case("after all");
	eq(cq_off(&a) + cq_off(&b), reported);
	return abi_done();
}
