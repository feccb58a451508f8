// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events of a CQ arrive at its channel, as many as were fired, from every
 * context and on every CPU, and with the CQ's user_handle; the counts balance.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	static const char *const contexts[] = { "process", "softirq", "hardirq" };
	struct ib_uverbs_comp_event_desc event;
	struct cq cq, other, plain;
	long long total = 0;
	struct ctx ctx;
	unsigned int i;
	int chan, cpu, n;

	abi_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	ok(fcntl(chan, F_GETFD) & FD_CLOEXEC);
	eq(fcntl(chan, F_GETFL) & O_ACCMODE, ours ? O_RDWR : O_RDONLY);
	eq(lseek(chan, 0, SEEK_SET) < 0 ? -errno : 0, -ESPIPE);
	eq(write(chan, &event, sizeof(event)) < 0 ? -errno : 0,
	   ours ? -EINVAL : -EBADF);

	cq_on(&ctx, &cq, chan);
	cq_on(&ctx, &other, chan);
	must(cq_create(&ctx, &plain, -1));
	eq(poll_now(chan), 0);

	for (i = 0; i < ARRAY_SIZE(contexts); i++)
		for (cpu = -1; cpu < cpus_online(); cpu++) {
			check_case("%s, CPU %d", contexts[i], cpu);
			for (n = 1; n <= 300; n += 299) {
				int left = n;

				eq(fire_in(&cq, n, contexts[i], cpu), 0);
				total += n;
				while (left--) {
					eq(poll_now(chan), POLLIN | POLLRDNORM);
					memset(&event, 0, sizeof(event));
					eq(rd(chan, &event, sizeof(event)),
					   DESC_SIZE);
					eq(event.cq_handle, cq.user_handle);
				}
				eq(poll_now(chan), 0);
			}
		}
	check_case("after all");
	eq(fired(&cq), total);
	/* One without a channel keeps quiet. */
	eq(fire(&plain, 1), 0);
	eq(poll_now(chan), 0);
	eq(cq_destroy(&plain), 0);

	eq(fire(&other, 1), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(event.cq_handle, other.user_handle);

	eq(cq_off(&cq), total);
	eq(cq_off(&other), 1);
	eq(poll_now(chan), 0);
	eq(close(chan), 0);
	return abi_done();
}
