// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kill -9 in the middle of traffic, with readers blocked, with CQs on the
 * channels of other contexts, and while objects come and go: nothing is left.
 */
#include "abi.h"

#define CHANS	3
#define CQS	6

static struct ctx ctx[2];
static int chans[CHANS];

static void *reader_main(void *arg)
{
	struct ib_uverbs_comp_event_desc events[16];

	while (rd(chans[(long)arg], events, sizeof(events)) > 0)
		;
	return NULL;
}

static void *churn_main(void *arg)
{
	unsigned int seed = (long)arg;
	struct cq cq;

	for (;;) {
		if (cq_create(&ctx[rand_r(&seed) % 2], &cq, -1) < 0)
			continue;
		if (ours) {
			assoc_create(&cq, chans[rand_r(&seed) % CHANS]);
			fire(&cq, 10);
			assoc_move(&cq, chans[rand_r(&seed) % CHANS]);
			if (rand_r(&seed) % 2)
				assoc_destroy(&cq, 0, NULL);
		}
		cq_destroy(&cq);
	}
	return NULL;
}

static void victim(int report)
{
	static const char *const contexts[] = { "process", "softirq", "hardirq" };
	struct cq cqs[CQS];
	pthread_t thread;
	long i;

	for (i = 0; i < 2; i++)
		ctx[i] = ctx_new(i);
	for (i = 0; i < CHANS; i++)
		chans[i] = chan_new(&ctx[i % 2]);
	for (i = 0; i < CQS; i++) {
		/* A stock channel serves its own context only. */
		if (ours)
			cq_on(&ctx[i % 2], &cqs[i], chans[i % CHANS]);
		else
			cq_on(&ctx[i % CHANS % 2], &cqs[i], chans[i % CHANS]);
		must(fire_start(&cqs[i], 0, contexts[i % 3],
				i % cpus_online()));
	}
	for (i = 0; i < 2 * CHANS; i++)
		must(-pthread_create(&thread, NULL, reader_main,
				     (void *)(i % CHANS)));
	for (i = 0; i < 2; i++)
		must(-pthread_create(&thread, NULL, churn_main, (void *)i));
	eventually(fired(&cqs[CQS - 1]) > 100);
	eq(write(report, "r", 1), 1);
	for (;;)
		pause();
}

static bool no_cqs(void)
{
	char buf[64];

	return file_read("/sys/kernel/debug/compch_testdev/cqs", buf,
			 sizeof(buf)) == 0;
}

static bool all_gone(long long channels, long long assocs)
{
	return !ours || (counter("channels") == channels &&
			 counter("associations") == assocs);
}

int main(int argc, char **argv)
{
	long long channels, assocs;
	int report[2];
	pid_t pid;
	char c;
	int i;

	abi_init(argc, argv, "stock compch");
	deadline(180);
	channels = counter("channels");
	assocs = counter("associations");
	for (i = 0; i < 6; i++) {
		check_case("round %d", i);
		must(pipe2(report, O_CLOEXEC));
		pid = child();
		if (!pid)
			victim(report[1]);
		close(report[1]);
		eq(read(report[0], &c, 1), 1);
		must(kill(pid, SIGKILL));
		eq(child_status(pid), -SIGKILL);
		close(report[0]);
		eventually(no_cqs());
		eventually(all_gone(channels, assocs));
	}
	return abi_done();
}
