// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * compch_get_events(): several events in a call, in their order, no more than
 * asked for; with and without a timeout; of many threads each gets its own, or
 * returns; signals; a file descriptor that does not block, or is closed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "native.h"

#define CQS 5
#define THREADS 8

static struct rdma rdma;
static struct ibv_comp_channel *channel;
static struct native_cq n[CQS];
static bool ours;

static int get(struct ibv_cq **cqs, int max, int64_t timeout, int *count)
{
	int ret;

	*count = 4711;
	errno = 4711;
	ret = compch_get_events(channel, cqs, max, timeout, count);
	CHECK_EQ(errno, 4711);
	CHECK(ret ? !*count : *count >= 1 && *count <= max);
	return ret;
}

static void expect(int64_t timeout, int want)
{
	struct ibv_cq *cq;
	int count;

	CHECK_EQ(get(&cq, 1, timeout, &count), want);
}

/* So many, of all CQs */
static void expect_events(int events)
{
	struct ibv_cq *cqs[CQS];
	int i, count;

	while (events) {
		CHECK_EQ(get(cqs, CQS, 10 * SECOND, &count), 0);
		for (i = 0; i < count; i++)
			compch_ack(cqs[i], 1);
		events -= count;
	}
	expect(0, ETIMEDOUT);
}

static void batches(void)
{
	struct ibv_cq *cqs[CQS];
	int i, count;

	CHECK_EQ(get(cqs, 0, 0, &count), EINVAL);
	CHECK_EQ(get(cqs, -1, 0, &count), EINVAL);
	expect(0, ETIMEDOUT);
	expect(1, ETIMEDOUT);
	expect(SECOND / 10, ETIMEDOUT);
	for (i = CQS; i--; )
		native_event(&rdma, &n[i]);
	if (!ours) {
		expect_events(CQS);
		return;
	}
	CHECK_EQ(get(cqs, CQS - 2, 0, &count), 0);
	CHECK_EQ(count, CQS - 2);
	for (i = 0; i < count; i++) {
		CHECK(cqs[i] == n[CQS - 1 - i].cq);
		compch_ack(cqs[i], 1);
	}
	CHECK_EQ(get(cqs, CQS, -1, &count), 0);
	CHECK_EQ(count, 2);
	CHECK(cqs[0] == n[1].cq && cqs[1] == n[0].cq);
	compch_ack(cqs[0], 1);
	ibv_ack_cq_events(cqs[1], 1);
	expect(0, ETIMEDOUT);
}

/* More than one call returns */
static void limit(void)
{
	enum { EXTRA = 3, MAX = COMPCH_MAX_EVENTS };
	struct ibv_cq *cqs[2 * MAX];
	int i, count;

	if (!ours)
		return;
	for (i = 0; i < MAX + EXTRA; i++)
		native_event(&rdma, &n[0]);
	CHECK_EQ(get(cqs, 2 * MAX, 0, &count), 0);
	CHECK_EQ(count, MAX);
	for (i = 0; i < count; i++)
		CHECK(cqs[i] == n[0].cq);
	CHECK_EQ(get(cqs, 2 * MAX, 0, &count), 0);
	CHECK_EQ(count, EXTRA);
	compch_ack(n[0].cq, MAX + EXTRA);
}

/* A thread sleeps in the call until there is an event. */
static int64_t later_timeout;

static void get_one(void *arg)
{
	int *ret = arg, count;
	struct ibv_cq *cq;

	*ret = get(&cq, 1, later_timeout, &count);
	if (!*ret)
		compch_ack(cq, 1);
}

static void later(int64_t timeout)
{
	struct native_thread t;
	int ret;

	later_timeout = timeout;
	native_start(&t, get_one, &ret);
	native_asleep(&t);
	CHECK_EQ(ibv_req_notify_cq(n[0].cq, 0), 0);
	rdma_send(&rdma, n[0].qp);
	native_join(&t);
	CHECK_EQ(ret, 0);
	rdma_expect_completions(n[0].cq, 2);
}

/* Some threads get an event, and the others return without. */
static void threads(void)
{
	struct native_thread t[THREADS];
	int ret[THREADS], i, got = 0;

	later_timeout = SECOND / 2;
	for (i = 0; i < THREADS; i++)
		native_start(&t[i], get_one, &ret[i]);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(ibv_req_notify_cq(n[i].cq, 0), 0);
		rdma_send(&rdma, n[i].qp);
	}
	for (i = 0; i < THREADS; i++) {
		native_join(&t[i]);
		CHECK(!ret[i] || ret[i] == ETIMEDOUT);
		got += !ret[i];
	}
	/* Those whose time was over before the events came left them. */
	for (i = 0; i < 3; i++)
		rdma_expect_completions(n[i].cq, 2);
	CHECK(got <= 3);
	expect_events(3 - got);
}

static void handler(int signal)
{
	(void)signal;
}

static void interrupted(int64_t timeout)
{
	struct sigaction action = { .sa_handler = handler };
	struct native_thread t;
	int ret;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	later_timeout = timeout;
	native_start(&t, get_one, &ret);
	native_asleep(&t);
	CHECK_EQ(pthread_kill(t.thread, SIGUSR1), 0);
	native_join(&t);
	CHECK_EQ(ret, EINTR);
}

int main(int argc, char **argv)
{
	int i, nonblock;

	test_deadline(120);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	channel = ibv_create_comp_channel(rdma.context);
	CHECK(channel != NULL);
	ours = rdma_is_ours(channel);
	for (i = 0; i < CQS; i++)
		native_cq(&rdma, &n[i], channel);

	for (nonblock = 0; nonblock < 2; nonblock++) {
		CHECK_EQ(fcntl(channel->fd, F_SETFL,
			       nonblock ? O_NONBLOCK : 0), 0);
		batches();
		later(-1);
		later(INT64_MIN);
		later(INT64_MAX);	/* too far to be a deadline */
		later(60 * SECOND);
		threads();
		interrupted(-1);
		interrupted(60 * SECOND);
	}
	limit();

	for (i = 0; i < CQS; i++)
		native_cq_destroy(&n[i]);
	expect(0, ETIMEDOUT);
	close(channel->fd);
	/* With a ring, nobody looks at it who is not to wait. */
	expect(getenv("NATIVE_RING") ? 1 : 0, EBADF);
	expect(-1, EBADF);
	expect(SECOND, EBADF);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	if (ours) {
		/* Its memory stays. */
		expect(0, EBADF);
		CHECK_EQ(compch_cancel(channel), EBADF);
	}
	rdma_close(&rdma);
	return 0;
}
