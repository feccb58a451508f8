// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * From the call of the completion handler to the return of a read() that was
 * blocked, or of an epoll_wait() that was and the read() after it.
 *
 * With two processors the reader has one of its own.  With one it has the
 * higher priority, so that nothing else runs in between.
 */
#include "bench.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

static int chan, epoll = -1;
static pid_t tid;
static uint64_t woken;
static unsigned int rounds;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set) ? -errno : 0);
}

static void *reader(void *arg)
{
	struct sched_param param = { .sched_priority = 1 };
	struct ib_uverbs_comp_event_desc event;
	struct epoll_event ev;
	uint64_t t;

	(void)arg;
	pin(cpus_online() > 1);
	must(-pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
	__atomic_store_n(&tid, own_tid(), __ATOMIC_RELEASE);
	for (;;) {
		if (epoll >= 0)
			must(epoll_wait(epoll, &ev, 1, -1));
		must(rd(chan, &event, sizeof(event)));
		t = ticks();
		__atomic_store_n(&woken, t, __ATOMIC_RELAXED);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool is_blocked(void)
{
	pid_t t = __atomic_load_n(&tid, __ATOMIC_ACQUIRE);

	return t && task_blocked(getpid(), t,
				 epoll < 0 ? SYS_read : SYS_epoll_wait);
}

static uint64_t clock_cost(void)
{
	uint64_t t, least = UINT64_MAX;
	int i;

	for (i = 0; i < 16; i++) {
		t = ticks();
		t = ticks() - t;
		if (t < least)
			least = t;
	}
	return least;
}

static void measure(struct cq *cq, const char *parameter)
{
	struct samples samples = {};
	uint64_t cost = clock_cost();
	struct fired fired;
	pthread_t thread;
	unsigned int i;

	tid = 0;
	rounds = 0;
	must(-pthread_create(&thread, NULL, reader, NULL));
	for (i = 0; i < 65; i++) {
		eventually(is_blocked());
		bench_fire(cq, 1, 1, &fired);
		eventually(__atomic_load_n(&rounds, __ATOMIC_ACQUIRE) > i);
		sample(&samples, (double)woken - fired.start - cost);
	}
	eventually(is_blocked());
	must(-pthread_cancel(thread));
	must(-pthread_join(thread, NULL));
	row("wake-up", parameter, &samples);
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct ctx ctx;
	struct cq cq;

	bench_init(argc, argv, "stock compch");
	pin(0);
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	cq_on(&ctx, &cq, chan);
	measure(&cq, "from read()");
	epoll = must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, chan, &event) ? -errno : 0);
	measure(&cq, "from epoll_wait() and read()");
	close(epoll);
	cq_off(&cq);
	close(chan);
	return abi_done();
}
