// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SIGIO, once asked for, comes for events, and on ours for cancels, a move and
 * the end of the channel; and no more once it is asked for no longer.
 */
#include "abi.h"

static int sig;

/* The signal's si_band and si_fd are right; 0 if there is none. */
static int signalled(int fd)
{
	struct timespec zero = {};
	siginfo_t info;
	sigset_t set;
	int n = 0;

	sigemptyset(&set);
	sigaddset(&set, sig);
	while (sigtimedwait(&set, &info, &zero) == sig) {
		n++;
		if (sig != SIGIO) {
			eq(info.si_code, POLL_IN);
			eq(info.si_fd, fd);
			eq(info.si_band, POLLIN | POLLRDNORM);
		}
	}
	return n;
}

static void async(int fd, bool on)
{
	int flags = must(fcntl(fd, F_GETFL));

	must(fcntl(fd, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC));
}

static void one_signal(void)
{
	struct ib_uverbs_comp_event_desc event;
	struct ctx ctx = ctx_new(0);
	int chan = chan_new(&ctx);
	struct cq cq;

	cq_on(&ctx, &cq, chan);
	must(fcntl(chan, F_SETOWN, getpid()));
	must(fcntl(chan, F_SETSIG, sig == SIGIO ? 0 : sig));

	check_case("signal %d, not asked for", sig);
	eq(fire(&cq, 1), 0);
	eq(signalled(chan), 0);

	check_case("signal %d", sig);
	async(chan, true);
	eq(signalled(chan), 0);
	eq(fire(&cq, 1), 0);
	eq(signalled(chan), 1);
	eq(fire_in(&cq, 1, "softirq", -1), 0);
	eq(signalled(chan), 1);
	eq(fire_in(&cq, 1, "hardirq", cpus_online() - 1), 0);
	eq(signalled(chan), 1);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(signalled(chan), 0);

	if (ours) {
		int from = chan_new(&ctx);
		struct cq moved;

		check_case("signal %d for a cancel", sig);
		eq(channel_cancel(&ctx, chan), 0);
		eq(signalled(chan), 1);

		check_case("signal %d for a move", sig);
		cq_on(&ctx, &moved, from);
		must(assoc_move(&moved, chan));
		eq(signalled(chan), 0);
		must(assoc_move(&moved, from));
		eq(signalled(chan), 0);
		eq(fire(&moved, 1), 0);
		eq(signalled(chan), 0);
		must(assoc_move(&moved, chan));
		eq(signalled(chan), 1);
		cq_off(&moved);
	}

	check_case("signal %d, not asked for any more", sig);
	async(chan, false);
	eq(fire(&cq, 1), 0);
	eq(signalled(chan), 0);
	async(chan, true);

	check_case("signal %d for the end", sig);
	if (ours) {
		cq_off(&cq);
		eq(signalled(chan), 0);
		eq(channel_destroy(&ctx, chan), 0);
	} else {
		ctx_close(&ctx);
	}
	eq(signalled(chan), 1);
	eq(close(chan), 0);
}

int main(int argc, char **argv)
{
	sigset_t set;

	abi_init(argc, argv, "stock compch");
	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGRTMIN);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	sig = SIGIO;
	one_signal();
	sig = SIGRTMIN;
	one_signal();
	return abi_done();
}
