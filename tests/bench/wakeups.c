// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How many threads wake up for an event, of those that wait for one; and what
 * all of that takes, until the last one sleeps again (on one processor, where
 * the threads go before the one that fires).
 */
#include "bench.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#define MAX	64
#define EVENTS	20

struct waiter {
	pthread_t thread;
	pid_t tid;
	int epoll;	/* one of its own, or -1 */
};

static int chan;
static unsigned int events_read;
static struct waiter waiters[MAX];

static void *wait_main(void *arg)
{
	struct sched_param param = { .sched_priority = 1 };
	struct ib_uverbs_comp_event_desc event;
	struct waiter *waiter = arg;
	struct epoll_event ev;
	int ret;

	must(-pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
	__atomic_store_n(&waiter->tid, own_tid(), __ATOMIC_RELEASE);
	for (;;) {
		if (waiter->epoll >= 0)
			must(epoll_wait(waiter->epoll, &ev, 1, -1));
		ret = rd(chan, &event, sizeof(event));
		if (ret == (int)sizeof(event))
			__atomic_add_fetch(&events_read, 1, __ATOMIC_RELEASE);
		else
			must(ret == -EAGAIN && waiter->epoll >= 0 ? 0 : ret);
	}
	return NULL;
}

static bool all_blocked(unsigned int n)
{
	pid_t tid;

	while (n--) {
		tid = __atomic_load_n(&waiters[n].tid, __ATOMIC_ACQUIRE);
		if (!tid || !task_blocked(getpid(), tid,
					  waiters[n].epoll < 0 ?
					  SYS_read : SYS_epoll_wait))
			return false;
	}
	return true;
}

static long long all_sleeps(unsigned int n)
{
	long long sum = 0;

	while (n--)
		sum += must(task_sleeps(waiters[n].tid));
	return sum;
}

/* Ticks of firing one event */
static double fire_one(struct cq *cq)
{
	uint64_t t = ticks();

	bench_fire(cq, 1, 1, NULL);
	return ticks() - t;
}

static bool have_read(unsigned int events)
{
	return __atomic_load_n(&events_read, __ATOMIC_ACQUIRE) == events;
}

static void measure(struct ctx *ctx, unsigned int n, bool poll, uint32_t flags,
		    const char *parameter)
{
	struct epoll_event event = { .events = EPOLLIN | flags };
	struct samples alone = {}, samples = {};
	long long sleeps;
	unsigned int i;
	struct cq cq;

	chan = chan_new(ctx);
	cq_on(ctx, &cq, chan);
	for (i = 0; i < EVENTS; i++) {
		sample(&alone, fire_one(&cq));
		read_all(chan, 1);
	}

	set_nonblock(chan, poll);
	events_read = 0;
	for (i = 0; i < n; i++) {
		memset(&waiters[i], 0, sizeof(waiters[i]));
		waiters[i].epoll = -1;
		if (poll) {
			waiters[i].epoll = must(epoll_create1(EPOLL_CLOEXEC));
			must(epoll_ctl(waiters[i].epoll, EPOLL_CTL_ADD, chan,
				       &event) ? -errno : 0);
		}
		must(-pthread_create(&waiters[i].thread, NULL, wait_main,
				     &waiters[i]));
	}
	eventually(all_blocked(n));

	sleeps = all_sleeps(n);
	for (i = 1; i <= EVENTS; i++) {
		sample(&samples, fire_one(&cq) - median(&alone));
		eventually(have_read(i) && all_blocked(n));
	}
	sleeps = all_sleeps(n) - sleeps;

	for (i = 0; i < n; i++)
		must(-pthread_cancel(waiters[i].thread));
	for (i = 0; i < n; i++) {
		must(-pthread_join(waiters[i].thread, NULL));
		if (poll)
			close(waiters[i].epoll);
	}
	cq_off(&cq);
	close(chan);

	row_unit("wake-ups an event", parameter, (double)sleeps / EVENTS,
		 "wake-ups");
	if (cpus_online() == 1)
		row("wake-ups take", parameter, &samples);
}

int main(int argc, char **argv)
{
	struct ctx ctx;

	bench_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	measure(&ctx, 1, false, 0, "1 blocked reader");
	measure(&ctx, 4, false, 0, "4 blocked readers");
	measure(&ctx, 16, false, 0, "16 blocked readers");
	measure(&ctx, 64, false, 0, "64 blocked readers");
	measure(&ctx, 16, true, 0, "16 in epoll_wait()");
	measure(&ctx, 16, true, EPOLLEXCLUSIVE, "16 with EPOLLEXCLUSIVE");
	return abi_done();
}
