// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many readers under a storm of signals: each event is read exactly once, and
 * none stays behind while a reader sleeps.
 */
#include "abi.h"

#define READERS	6
#define CQS	3
#define EVENTS	4000

static int chan;
static bool stop;
static long long counts[READERS][CQS];
static long long interrupted;
static struct cq cqs[CQS];
static pthread_t threads[READERS];

static void on_signal(int sig)
{
	(void)sig;
}

static void *reader_main(void *arg)
{
	struct ib_uverbs_comp_event_desc events[3];
	long index = (long)arg;
	int ret, i, j;

	for (;;) {
		ret = rd(chan, events, index % 2 ? sizeof(events) :
						   sizeof(events[0]));
		if (ret == -EINTR) {
			__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
			if (__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
				return NULL;
			continue;
		}
		if (!ok(ret > 0 && ret % DESC_SIZE == 0)) {
			eq(ret, DESC_SIZE);
			return NULL;
		}
		for (i = 0; i < ret / (int)DESC_SIZE; i++) {
			for (j = 0; j < CQS; j++)
				if (events[i].cq_handle == cqs[j].user_handle)
					break;
			if (ok(j < CQS))
				__atomic_fetch_add(&counts[index][j], 1,
						   __ATOMIC_RELAXED);
		}
	}
}

static long long total(int cq)
{
	long long sum = 0;
	int i;

	for (i = 0; i < READERS; i++)
		sum += __atomic_load_n(&counts[i][cq], __ATOMIC_RELAXED);
	return sum;
}

int main(int argc, char **argv)
{
	static const char *const contexts[] = { "process", "softirq", "hardirq" };
	struct sigaction action = { .sa_handler = on_signal };
	struct ctx ctx;
	long i;

	abi_init(argc, argv, "stock compch");
	deadline(120);
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < CQS; i++)
		cq_on(&ctx, &cqs[i], chan);
	for (i = 0; i < READERS; i++)
		must(-pthread_create(&threads[i], NULL, reader_main,
				     (void *)i));

	for (i = 0; i < CQS; i++)
		must(fire_start(&cqs[i], EVENTS, contexts[i],
				i % cpus_online()));
	for (i = 0; total(0) + total(1) + total(2) < CQS * EVENTS; i++) {
		pthread_kill(threads[i % READERS], SIGUSR1);
		/* Nothing but signals would wake them in the end. */
		if (fired(&cqs[0]) + fired(&cqs[1]) + fired(&cqs[2]) ==
		    CQS * EVENTS)
			break;
	}
	for (i = 0; i < CQS; i++) {
		eventually(total(i) == EVENTS);
		must(fire_stop(&cqs[i]));
	}
	eq(poll_now(chan), 0);
	printf("%lld reads were interrupted\n", interrupted);

	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < READERS; i++) {
		while (pthread_tryjoin_np(threads[i], NULL)) {
			pthread_kill(threads[i], SIGUSR1);
			sched_yield();
		}
	}
	for (i = 0; i < CQS; i++) {
		eq(total(i), EVENTS);
		eq(cq_off(&cqs[i]), EVENTS);
	}
	return abi_done();
}
