// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * epoll, level- and edge-triggered, one-shot and nested; after an edge one
 * read of ours drains the channel.
 */
#include "abi.h"

#include <sys/epoll.h>
#include <sys/syscall.h>

#define ALL	(EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLOUT | EPOLLRDHUP)

static int watch(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };
	int ep = must(epoll_create1(EPOLL_CLOEXEC));

	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event) ? -errno : 0);
	return ep;
}

/* The events of the one file, or 0 */
static int ready(int ep)
{
	struct epoll_event event[2];
	int n = epoll_wait(ep, event, 2, 0);

	return n < 0 ? -errno : n ? (int)event[0].events : 0;
}

struct waiter {
	pthread_t thread;
	int ep;
	pid_t tid;
	int events;
	bool done;
};

static void *waiter_main(void *arg)
{
	struct waiter *w = arg;
	struct epoll_event event = {};

	__atomic_store_n(&w->tid, own_tid(), __ATOMIC_RELEASE);
	w->events = epoll_wait(w->ep, &event, 1, -1) == 1 ? (int)event.events :
							    -errno;
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool waiter_sleeps(struct waiter *w)
{
	pid_t tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);

	return tid && (task_blocked(getpid(), tid, SYS_epoll_wait) ||
		       task_blocked(getpid(), tid, SYS_epoll_pwait));
}

static void waiter_start(struct waiter *w, int ep)
{
	memset(w, 0, sizeof(*w));
	w->ep = ep;
	must(-pthread_create(&w->thread, NULL, waiter_main, w));
	eventually(waiter_sleeps(w));
}

static int waiter_end(struct waiter *w)
{
	eventually(__atomic_load_n(&w->done, __ATOMIC_ACQUIRE));
	must(-pthread_join(w->thread, NULL));
	return w->events;
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc events[64];
	struct ctx ctx;
	int chan, level, edge, once, outer;
	int readable = EPOLLIN | EPOLLRDNORM;
	struct waiter w, w2;
	struct cq cq;
	int i;

	abi_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cq_on(&ctx, &cq, chan);
	set_nonblock(chan, true);
	level = watch(chan, ALL);
	edge = watch(chan, ALL | EPOLLET);
	once = watch(chan, ALL | EPOLLONESHOT);
	outer = watch(edge, EPOLLIN);

	check_case("empty");
	eq(ready(level), 0);
	eq(ready(edge), 0);
	eq(ready(once), 0);
	eq(ready(outer), 0);

	check_case("events");
	eq(fire(&cq, 5), 0);
	eq(ready(outer), EPOLLIN);
	for (i = 0; i < 3; i++) {
		eq(ready(level), readable);
		eq(ready(edge), i ? 0 : readable);
		eq(ready(once), i ? 0 : readable);
	}
	eq(ready(outer), 0);

	check_case("one more is an edge");
	eq(fire(&cq, 1), 0);
	eq(ready(outer), EPOLLIN);
	eq(ready(edge), readable);
	eq(ready(edge), 0);
	eq(ready(once), 0);

	check_case("drained");
	if (ours) {
		eq(rd(chan, events, sizeof(events)), 6 * DESC_SIZE);
	} else {
		for (i = 0; i < 6; i++)
			eq(rd(chan, events, sizeof(events)), DESC_SIZE);
	}
	eq(rd(chan, events, sizeof(events)), -EAGAIN);
	eq(ready(level), 0);
	eq(ready(edge), 0);

	check_case("blocked waiters");
	waiter_start(&w, level);
	waiter_start(&w2, edge);
	eq(fire_in(&cq, 1, "hardirq", -1), 0);
	eq(waiter_end(&w), readable);
	eq(waiter_end(&w2), readable);
	eq(rd(chan, events, sizeof(events)), DESC_SIZE);

	if (ours) {
		check_case("cancel");
		waiter_start(&w, level);
		waiter_start(&w2, edge);
		eq(channel_cancel(&ctx, chan), 0);
		eq(waiter_end(&w), EPOLLIN);
		eq(waiter_end(&w2), EPOLLIN);
		eq(ready(level), EPOLLIN);
		eq(ready(edge), 0);
		/* Events are behind it. */
		eq(fire(&cq, 1), 0);
		eq(ready(level), EPOLLIN);
		eq(ready(edge), EPOLLIN);
		eq(rd(chan, events, sizeof(events)), -ECANCELED);
		eq(ready(level), readable);
		eq(rd(chan, events, sizeof(events)), DESC_SIZE);
		eq(ready(level), 0);
	}

	if (ours) {
		int from = chan_new(&ctx);
		struct cq moved;

		check_case("events that are moved here");
		cq_on(&ctx, &moved, from);
		eq(fire(&moved, 2), 0);
		waiter_start(&w, level);
		waiter_start(&w2, edge);
		must(assoc_move(&moved, chan));
		eq(waiter_end(&w), readable);
		eq(waiter_end(&w2), readable);
		eq(ready(edge), 0);
		eq(rd(chan, events, sizeof(events)), 2 * DESC_SIZE);
		cq_off(&moved);
		eq(ready(level), 0);
	}

	check_case("closed");
	waiter_start(&w, level);
	waiter_start(&w2, edge);
	if (ours) {
		cq_off(&cq);
		eq(channel_destroy(&ctx, chan), 0);
	} else {
		ctx_close(&ctx);
	}
	eq(waiter_end(&w), EPOLLERR);
	eq(waiter_end(&w2), EPOLLERR);
	eq(ready(level), EPOLLERR);
	eq(ready(edge), 0);

	check_case("the file is gone");
	eq(close(chan), 0);
	eq(ready(level), 0);
	return abi_done();
}
