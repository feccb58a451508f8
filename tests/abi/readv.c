// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * readv() with segments of any length: events are laid out across them as if
 * they were one buffer.
 */
#include "abi.h"

static int rdv(int fd, const struct iovec *iov, int n)
{
	ssize_t ret = readv(fd, iov, n);

	return ret < 0 ? -errno : ret;
}

int main(int argc, char **argv)
{
	static const size_t layouts[][8] = {
		{ 8 }, { 4, 4 }, { 1, 7 }, { 7, 1 }, { 3, 3, 3 },
		{ 0, 8, 0 }, { 1, 1, 1, 1, 1, 1, 1, 1 }, { 13, 3 },
		{ 5, 11, 7, 40 }, { 16, 1, 15 }, { 255, 257, 3 }, { 300, 300 },
	};
	struct ib_uverbs_comp_event_desc want[128], got[128];
	struct cq a, b;
	struct ctx ctx;
	unsigned int i, j;
	int chan;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cq_on(&ctx, &a, chan);
	cq_on(&ctx, &b, chan);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		want[i].cq_handle = i % 2 ? b.user_handle : a.user_handle;

	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct iovec iov[8];
		char segments[8][320];
		char *at = (char *)got;
		size_t total = 0, size, copied = 0;

		check_case("layout %u", i);
		for (j = 0; j < 8; j++) {
			iov[j].iov_base = segments[j];
			iov[j].iov_len = layouts[i][j];
			total += layouts[i][j];
		}
		memset(segments, 0x5a, sizeof(segments));
		eq(fire(&a, 60), 0);
		eq(fire(&b, 60), 0);
		size = total / DESC_SIZE * DESC_SIZE;
		eq(rdv(chan, iov, 8), size);
		for (j = 0; j < 8; j++) {
			size_t n = layouts[i][j];

			if (n > size - copied)
				n = size - copied;
			memcpy(at + copied, segments[j], n);
			copied += n;
			for (; n < sizeof(segments[j]); n++)
				if (!eq(segments[j][n], 0x5a))
					break;
		}
		eq(memcmp(got, want, size), 0);
		while (poll_now(chan))
			ok(rd(chan, got, sizeof(got)) > 0);
	}

	check_case("too short");
	{
		char buf[7];
		struct iovec iov[] = {
			{ .iov_base = buf, .iov_len = 3 },
			{ .iov_base = buf + 3, .iov_len = 4 },
		};

		eq(fire(&a, 1), 0);
		eq(rdv(chan, iov, 2), -EINVAL);
		eq(rd(chan, got, sizeof(got)), DESC_SIZE);
	}
	check_case("after all");
	eq(cq_off(&a) + cq_off(&b), ARRAY_SIZE(layouts) * 120 + 1);
	return abi_done();
}
