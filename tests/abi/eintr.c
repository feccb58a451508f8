// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A signal ends a blocked read with EINTR, or the read goes on if its handler
 * has SA_RESTART; no event gets lost either way.
 */
#include "abi.h"

#include <sys/syscall.h>

static int handled;

static void on_signal(int sig)
{
	(void)sig;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void act(int flags)
{
	struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = flags,
	};

	sigaction(SIGUSR1, &action, NULL);
}

static bool sleeps(struct reader *reader)
{
	return task_blocked(getpid(), reader->tid, SYS_read);
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	struct reader reader, second;
	struct ctx ctx;
	struct cq cq;
	int chan, i;

	abi_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cq_on(&ctx, &cq, chan);

	check_case("without SA_RESTART");
	act(0);
	reader_start(&reader, chan, 64);
	must(-pthread_kill(reader.thread, SIGUSR1));
	eq(reader_end(&reader), -EINTR);
	eq(handled, 1);
	eq(poll_now(chan), 0);

	check_case("the other reader goes on");
	reader_start(&reader, chan, 64);
	reader_start(&second, chan, 64);
	must(-pthread_kill(reader.thread, SIGUSR1));
	eq(reader_end(&reader), -EINTR);
	ok(!reader_done(&second));
	eq(fire(&cq, 1), 0);
	eq(reader_end(&second), DESC_SIZE);

	check_case("with SA_RESTART");
	act(SA_RESTART);
	handled = 0;
	reader_start(&reader, chan, 64);
	for (i = 1; i <= 10; i++) {
		must(-pthread_kill(reader.thread, SIGUSR1));
		eventually(__atomic_load_n(&handled, __ATOMIC_RELAXED) == i);
		eventually(sleeps(&reader));
		ok(!reader_done(&reader));
	}
	eq(fire(&cq, 1), 0);
	eq(reader_end(&reader), DESC_SIZE);
	eq(reader.events[0].cq_handle, cq.user_handle);

	check_case("a signal that is blocked is none");
	{
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		reader_start(&reader, chan, 64);
		must(-pthread_kill(reader.thread, SIGUSR1));
		ok(!reader_done(&reader));
		eq(fire(&cq, 1), 0);
		eq(reader_end(&reader), DESC_SIZE);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}

	check_case("events first");
	eq(fire(&cq, 1), 0);
	eq(rd(chan, &event, sizeof(event)), DESC_SIZE);
	eq(cq_off(&cq), 4);
	return abi_done();
}
