// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CHANNEL DESTROY against ASSOC CREATE or ASSOC MOVE at the same time: exactly
 * one of the two succeeds, and the other says why not.
 */
#include "abi.h"

#define ROUNDS	3000

static struct ctx ctx, other;
static struct cq cq;
static int chan, home;
static pthread_barrier_t barrier;
static int destroyed;
static bool stop;

static void *destroyer_main(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_barrier_wait(&barrier);
		if (__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
			return NULL;
		destroyed = channel_destroy(&other, chan);
		pthread_barrier_wait(&barrier);
	}
}

/* Lets the two come close to each other, one first, then the other. */
static void delay(int round)
{
	volatile int i;

	for (i = 0; i < round % 64 * 20; i++)
		;
}

static void race(const char *what, int (*join)(void), int (*leave)(void))
{
	int won = 0, round, joined;

	check_case("%s", what);
	for (round = 0; round < ROUNDS; round++) {
		chan = must(channel_create(&ctx, 0));
		pthread_barrier_wait(&barrier);
		delay(round);
		joined = join();
		pthread_barrier_wait(&barrier);
		if (!joined) {
			won++;
			eq(destroyed, -EBUSY);
			channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 0);
			must(leave());
			eq(channel_destroy(&ctx, chan), 0);
		} else {
			eq(joined, -EIO);
			eq(destroyed, 0);
			channel_is(&ctx, chan, COMPCH_CHANNEL_CLOSED, 0, 0, 0,
				   0);
		}
		must(close(chan));
	}
	printf("%s won %d of %d\n", what, won, ROUNDS);
	/* Or else there was no race. */
	ok(won > 0 && won < ROUNDS);
}

static int create(void)
{
	return assoc_create(&cq, chan);
}

static int uncreate(void)
{
	return assoc_destroy(&cq, 0, NULL);
}

static int move(void)
{
	return assoc_move(&cq, chan);
}

static int unmove(void)
{
	return assoc_move(&cq, home);
}

int main(int argc, char **argv)
{
	pthread_t destroyer;

	abi_init(argc, argv, NULL);
	deadline(180);
	if (cpus_online() < 2)
		skip("it takes two CPUs");
	ctx = ctx_new(0);
	other = ctx_new(1);
	must(cq_create(&ctx, &cq, -1));
	home = must(channel_create(&ctx, 0));
	must(-pthread_barrier_init(&barrier, NULL, 2));
	must(-pthread_create(&destroyer, NULL, destroyer_main, NULL));

	race("ASSOC CREATE", create, uncreate);
	must(assoc_create(&cq, home));
	race("ASSOC MOVE", move, unmove);
	channel_is(&ctx, home, COMPCH_CHANNEL_OPEN, 1, 0, 0, 0);

	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_barrier_wait(&barrier);
	must(-pthread_join(destroyer, NULL));
	cq_off(&cq);
	return abi_done();
}
