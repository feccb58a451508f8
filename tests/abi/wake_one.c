// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * With N blocked readers, M events make M reads return. On a channel of ours
 * the others do not even wake up.
 */
#include "abi.h"

#include <sys/syscall.h>

#define N 12

static struct ctx ctx;
static int chan;
static struct cq cqs[2];

static int how_many_done(struct reader *readers)
{
	int n = 0, i;

	for (i = 0; i < N; i++)
		n += reader_done(&readers[i]);
	return n;
}

static bool asleep(struct reader *reader)
{
	return task_blocked(getpid(), reader->tid, SYS_read);
}

static void one(int events, const char *context, bool burst)
{
	struct reader readers[N];
	long long sleeps[N];
	int i, woken;

	check_case("%d events, %s, %s", events, context,
		   burst ? "at once" : "one by one");
	for (i = 0; i < N; i++)
		reader_start(&readers[i], chan, DESC_SIZE);
	for (i = 0; i < N; i++)
		sleeps[i] = must(task_sleeps(readers[i].tid));

	if (burst) {
		eq(fire_in(&cqs[0], events, context, -1), 0);
		eventually(how_many_done(readers) == events);
	} else {
		for (i = 0; i < events; i++) {
			eq(fire_in(&cqs[i % 2], 1, context, -1), 0);
			eventually(how_many_done(readers) == i + 1);
		}
	}
	eq(poll_now(chan), 0);

	woken = 0;
	for (i = 0; i < N; i++) {
		if (reader_done(&readers[i]))
			continue;
		/* It may be on its way back to sleep. */
		eventually(asleep(&readers[i]));
		if (must(task_sleeps(readers[i].tid)) != sleeps[i])
			woken++;
	}
	if (ours)
		eq(woken, 0);
	else
		printf("stock: %d events woke %d readers in vain\n", events,
		       woken);
	eq(how_many_done(readers), events);

	eq(fire(&cqs[0], N - events), 0);
	for (i = 0; i < N; i++)
		eq(reader_end(&readers[i]), DESC_SIZE);
	eq(poll_now(chan), 0);
}

int main(int argc, char **argv)
{
	static const char *const contexts[] = { "process", "softirq", "hardirq" };
	int events, i;

	abi_init(argc, argv, "stock compch");
	ctx = ctx_new(0);
	chan = chan_new(&ctx);
	for (i = 0; i < 2; i++)
		cq_on(&ctx, &cqs[i], chan);
	for (i = 0; i < 3; i++)
		for (events = 1; events < N; events += 3) {
			one(events, contexts[i], false);
			one(events, contexts[i], true);
		}
	for (i = 0; i < 2; i++)
		cq_off(&cqs[i]);
	return abi_done();
}
