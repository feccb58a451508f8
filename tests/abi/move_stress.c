// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CQs of two devices are moved between channels of two devices while events
 * are fired in every context and read on every channel: in the end each event
 * has been read once, and no more.
 */
#include "abi.h"

#define CHANS	3
#define CQS	4

/* Of each CQ; on one processor, those in softirqs come with its ticks. */
static long long events_each;

static struct ctx ctx[2];
static int chans[CHANS];
static struct cq cqs[CQS];
static long long counts[CQS];
static bool stop;

static void *reader_main(void *arg)
{
	struct ib_uverbs_comp_event_desc events[16];
	int chan = chans[(long)arg];
	int ret, i, j;

	for (;;) {
		ret = rd(chan, events, sizeof(events));
		if (ret == -ECANCELED)
			return NULL;
		if (!ok(ret > 0 && ret % DESC_SIZE == 0))
			return NULL;
		for (i = 0; i < ret / (int)DESC_SIZE; i++) {
			for (j = 0; j < CQS; j++)
				if (events[i].cq_handle == cqs[j].user_handle)
					break;
			if (ok(j < CQS))
				__atomic_fetch_add(&counts[j], 1,
						   __ATOMIC_RELAXED);
		}
	}
}

static void *mover_main(void *arg)
{
	long index = (long)arg;
	long long moves = 0;
	unsigned int seed = index + 1;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		eq(assoc_move(&cqs[rand_r(&seed) % CQS],
			      chans[rand_r(&seed) % CHANS]), 0);
		moves++;
	}
	return (void *)(long)moves;
}

static bool all_read(void)
{
	int i;

	for (i = 0; i < CQS; i++)
		if (__atomic_load_n(&counts[i], __ATOMIC_RELAXED) < events_each)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	static const char *const contexts[] = { "process", "softirq", "hardirq" };
	struct compch_assoc_destroy_resp resp;
	pthread_t readers[CHANS], movers[2];
	long long moves = 0;
	void *ret;
	long i;

	abi_init(argc, argv, NULL);
	deadline(180);
	events_each = cpus_online() > 1 ? 10000 : 2000;
	for (i = 0; i < 2; i++)
		ctx[i] = ctx_new(i);
	for (i = 0; i < CHANS; i++)
		chans[i] = must(channel_create(&ctx[i % 2], 0));
	for (i = 0; i < CQS; i++) {
		must(cq_create(&ctx[i % 2], &cqs[i], -1));
		must(assoc_create(&cqs[i], chans[i % CHANS]));
	}
	for (i = 0; i < CHANS; i++)
		must(-pthread_create(&readers[i], NULL, reader_main,
				     (void *)i));
	for (i = 0; i < 2; i++)
		must(-pthread_create(&movers[i], NULL, mover_main, (void *)i));
	for (i = 0; i < CQS; i++)
		must(fire_start(&cqs[i], events_each, contexts[i % 3],
				i % cpus_online()));

	eventually(all_read());
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++) {
		must(-pthread_join(movers[i], &ret));
		moves += (long)ret;
	}
	printf("%lld moves\n", moves);
	ok(moves > 100);
	for (i = 0; i < CHANS; i++) {
		eq(poll_now(chans[i]), 0);
		eq(channel_cancel(&ctx[0], chans[i]), 0);
		must(-pthread_join(readers[i], NULL));
	}
	for (i = 0; i < CQS; i++) {
		check_case("CQ %ld", i);
		eq(fire_stop(&cqs[i]), 0);
		eq(fired(&cqs[i]), events_each);
		eq(counts[i], events_each);
		must(assoc_destroy(&cqs[i], 0, &resp));
		eq(resp.events_reported, events_each);
		eq(resp.events_discarded, 0);
		must(cq_destroy(&cqs[i]));
	}
	for (i = 0; i < CHANS; i++)
		eq(channel_destroy(&ctx[1], chans[i]), 0);
	return abi_done();
}
