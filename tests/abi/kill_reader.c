// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A reader that an event, or a cancel, has woken is killed before it gets to
 * run: another blocked reader gets it.
 */
#include "abi.h"

#include <sched.h>
#include <sys/syscall.h>

static struct ctx ctx;
static int chan;
static struct cq cq;

static void pin(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(tid, sizeof(set), &set) ? -errno : 0);
}

/* A process that reads once, and says what it got */
static pid_t reading_process(int cpu)
{
	struct ib_uverbs_comp_event_desc event;
	pid_t pid = child();

	if (!pid) {
		int ret;

		pin(0, cpu);
		ret = rd(chan, &event, sizeof(event));
		_exit(ret == DESC_SIZE ? 10 : ret == -ECANCELED ? 11 :
		      ret == -EINTR ? 12 : 13);
	}
	eventually(task_blocked(pid, pid, SYS_read));
	return pid;
}

static bool hogging;
static bool release;

/* Nobody else runs on its CPU. */
static void *hog_main(void *arg)
{
	struct sched_param param = { .sched_priority = 50 };

	pin(0, (long)arg);
	eq(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), 0);
	__atomic_store_n(&hogging, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&release, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

static char state(pid_t pid)
{
	char path[64], buf[512], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, buf, sizeof(buf)) <= 0)
		return '?';
	p = strrchr(buf, ')');
	return p ? p[2] : '?';
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Returns whether it came to what it is for. */
static bool one(const char *what, bool cancel, int sig)
{
	int got = cancel ? 11 : 10;
	pid_t oldest, next;
	pthread_t hog;
	int status;
	bool hit;

	check_case("%s", what);
	oldest = reading_process(1);
	next = reading_process(0);
	hogging = release = false;
	must(-pthread_create(&hog, NULL, hog_main, (void *)1L));
	eventually(__atomic_load_n(&hogging, __ATOMIC_ACQUIRE));

	if (cancel)
		eq(channel_cancel(&ctx, chan), 0);
	else
		eq(fire_in(&cq, 1, "process", 0), 0);
	/* One of the two has been woken, and is to run on the hog's CPU. */
	eventually(state(oldest) != 'S' || state(next) != 'S');
	hit = state(oldest) == 'R';
	if (hit)
		must(kill(oldest, sig));
	/* The hog cannot have it for ever; did it run nevertheless? */
	hit = hit && !task_blocked(oldest, oldest, SYS_read);
	__atomic_store_n(&release, true, __ATOMIC_RELEASE);
	must(-pthread_join(hog, NULL));

	status = child_status(oldest);
	if (sig == SIGKILL && status == -SIGKILL) {
		/* The other one must have it. */
		eq(child_status(next), got);
	} else {
		/* It lived to tell, so the other one sleeps on. */
		eq(status, got);
		if (sig == SIGKILL)
			hit = false;
		ok(task_blocked(next, next, SYS_read));
		must(kill(next, SIGKILL));
		eq(child_status(next), -SIGKILL);
	}
	eq(poll_now(chan), 0);
	return hit;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	int i, events = 0, hits[4] = {};

	abi_init(argc, argv, NULL);
	if (cpus_online() < 2)
		skip("it takes two CPUs");
	sigaction(SIGUSR1, &action, NULL);
	/* Out of the way of what happens on CPU 1 */
	pin(0, 0);
	ctx = ctx_new(0);
	chan = must(channel_create(&ctx, 0));
	cq_on(&ctx, &cq, chan);

	for (i = 0; i < 5; i++) {
		hits[0] += one("an event, then killed", false, SIGKILL);
		hits[1] += one("a cancel, then killed", true, SIGKILL);
		hits[2] += one("an event, then a signal", false, SIGUSR1);
		hits[3] += one("a cancel, then a signal", true, SIGUSR1);
		events += 2;
	}
	for (i = 0; i < 4; i++)
		ok(hits[i] > 0);
	/* Each has been counted for the one who got it. */
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, events);
	eq(cq_off(&cq), events);
	return abi_done();
}
