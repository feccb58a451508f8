// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CANCEL makes exactly one read return ECANCELED: a blocked one, or the next.
 * Cancels add up, and no event gets lost by one.
 */
#include "abi.h"

#define N 5

static struct ctx ctx;
static int chan;

static int how_many_done(struct reader *readers)
{
	int n = 0, i;

	for (i = 0; i < N; i++)
		n += reader_done(&readers[i]);
	return n;
}

static void *cancel_main(void *arg)
{
	int i, n = (long)arg;

	for (i = 0; i < n; i++)
		eq(channel_cancel(&ctx, chan), 0);
	return NULL;
}

/* Cancels and events race: each reader gets one or the other. */
static void stress(struct cq *cq)
{
	struct ib_uverbs_comp_event_desc event;
	int cancelled, events, ret, i, round;
	struct reader readers[N];
	pthread_t thread;

	check_case("cancels and events at once");
	for (round = 0; round < 100; round++) {
		cancelled = 0;
		events = 0;
		for (i = 0; i < N; i++)
			reader_start(&readers[i], chan, DESC_SIZE);
		must(-pthread_create(&thread, NULL, cancel_main, (void *)4L));
		for (i = 0; i < 4; i++)
			eq(fire_in(cq, 1, i % 2 ? "hardirq" : "process", -1), 0);
		must(-pthread_join(thread, NULL));
		/* Eight of them for five readers, and three more reads */
		for (i = 0; i < N + 3; i++) {
			ret = i < N ? reader_end(&readers[i]) :
				      rd(chan, &event, sizeof(event));
			if (ret == -ECANCELED)
				cancelled++;
			else if (eq(ret, DESC_SIZE))
				events++;
		}
		eq(cancelled, 4);
		eq(events, 4);
		if (!eq(poll_now(chan), 0))
			break;
	}
}

int main(int argc, char **argv)
{
	struct ib_uverbs_comp_event_desc event;
	struct reader readers[N];
	struct ctx other;
	int i, cancelled;
	struct cq cq;

	abi_init(argc, argv, NULL);
	ctx = ctx_new(0);
	other = ctx_new(1);
	chan = must(channel_create(&ctx, 0));
	cq_on(&ctx, &cq, chan);

	check_case("the next reads");
	for (i = 1; i <= 3; i++) {
		eq(channel_cancel(i % 2 ? &ctx : &other, chan), 0);
		channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, i, 0, 0);
		eq(poll_now(chan), POLLIN);
	}
	for (i = 2; i >= 0; i--) {
		eq(rd(chan, &event, sizeof(event)), -ECANCELED);
		channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, i, 0, 0);
	}
	eq(poll_now(chan), 0);

	check_case("a short or bad buffer uses up none");
	eq(channel_cancel(&ctx, chan), 0);
	eq(rd(chan, &event, 7), -EINVAL);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 1, 0, 0);
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);

	check_case("blocked reads");
	for (i = 0; i < N; i++)
		reader_start(&readers[i], chan, 64);
	eq(channel_cancel(&ctx, chan), 0);
	eventually(how_many_done(readers) == 1);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 0);
	eq(poll_now(chan), 0);
	eq(channel_cancel(&ctx, chan), 0);
	eq(channel_cancel(&other, chan), 0);
	eventually(how_many_done(readers) == 3);
	eq(fire(&cq, 1), 0);
	eventually(how_many_done(readers) == 4);
	channel_is(&ctx, chan, COMPCH_CHANNEL_OPEN, 1, 0, 0, 1);
	eq(channel_cancel(&ctx, chan), 0);
	cancelled = 0;
	for (i = 0; i < N; i++) {
		int ret = reader_end(&readers[i]);

		if (ret == -ECANCELED)
			cancelled++;
		else
			eq(ret, DESC_SIZE);
	}
	eq(cancelled, 4);
	eq(poll_now(chan), 0);

	check_case("events stay");
	eq(fire(&cq, 2), 0);
	eq(channel_cancel(&ctx, chan), 0);
	eq(poll_now(chan), POLLIN);
	eq(rd(chan, &event, sizeof(event)), -ECANCELED);
	eq(poll_now(chan), POLLIN | POLLRDNORM);
	eq(rd(chan, readers[0].events, 64), 2 * DESC_SIZE);

	check_case("a move does not take it along");
	{
		int target = must(channel_create(&ctx, 0));

		eq(channel_cancel(&ctx, chan), 0);
		must(assoc_move(&cq, target));
		eq(poll_now(target), 0);
		must(assoc_move(&cq, chan));
		eq(rd(chan, &event, sizeof(event)), -ECANCELED);
		eq(channel_destroy(&ctx, target), 0);
	}

	stress(&cq);

	check_case("closed");
	eq(channel_cancel(&ctx, chan), 0);
	cq_off(&cq);
	eq(channel_destroy(&ctx, chan), 0);
	eq(rd(chan, &event, sizeof(event)), -EIO);
	eq(channel_cancel(&ctx, chan), -EIO);
	channel_is(&ctx, chan, COMPCH_CHANNEL_CLOSED, 0, 0, 0, 403);
	return abi_done();
}
