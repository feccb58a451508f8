// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a channel, by DESTROY or with its context, wakes every blocked
 * reader with EIO, and poll() says EPOLLERR.
 */
#include "abi.h"

#include <sys/syscall.h>

#define N 6

struct poller {
	pthread_t thread;
	int fd;
	pid_t tid;
	bool done;
	int revents;
};

static void *poller_main(void *arg)
{
	struct poller *p = arg;
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

	__atomic_store_n(&p->tid, own_tid(), __ATOMIC_RELEASE);
	eq(poll(&pfd, 1, -1), 1);
	p->revents = pfd.revents;
	__atomic_store_n(&p->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool poller_sleeps(struct poller *p)
{
	pid_t tid = __atomic_load_n(&p->tid, __ATOMIC_ACQUIRE);

	return tid && task_blocked(getpid(), tid, SYS_poll);
}

static void one(const char *how, bool by_destroy)
{
	struct ib_uverbs_comp_event_desc event;
	struct ctx ctx = ctx_new(0), other = ctx_new(1);
	struct reader readers[N];
	struct poller poller = {};
	int chan = chan_new(&ctx);
	int i;

	check_case("%s", how);
	for (i = 0; i < N; i++)
		reader_start(&readers[i], chan, i % 2 ? 64 : DESC_SIZE);
	poller.fd = chan;
	must(-pthread_create(&poller.thread, NULL, poller_main, &poller));
	eventually(poller_sleeps(&poller));
	for (i = 0; i < N; i++)
		ok(!reader_done(&readers[i]));

	if (by_destroy)
		eq(channel_destroy(&other, chan), 0);
	else
		ctx_close(&ctx);
	for (i = 0; i < N; i++)
		eq(reader_end(&readers[i]), -EIO);
	eventually(__atomic_load_n(&poller.done, __ATOMIC_ACQUIRE));
	must(-pthread_join(poller.thread, NULL));
	eq(poller.revents, POLLERR);
	eq(poll_now(chan), POLLERR);
	eq(rd(chan, &event, sizeof(event)), -EIO);
	set_nonblock(chan, true);
	eq(rd(chan, &event, sizeof(event)), -EIO);
	eq(close(chan), 0);
	if (by_destroy)
		ctx_close(&ctx);
	ctx_close(&other);
}

int main(int argc, char **argv)
{
	abi_init(argc, argv, "stock compch");
	one("its context goes away", false);
	if (ours)
		one("destroyed", true);
	return abi_done();
}
