// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two threads attach the same CQ, which has never been on a channel of ours,
 * and detach it again: the library keeps one balance for it, not two.
 */
#include <pthread.h>
#include <time.h>
#include <infiniband/compch.h>

#include "fake.h"

static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static pthread_t thread;

/* One event of it has been read meanwhile.  Another thread may be faster. */
static void *attach_and_detach(void *arg)
{
	int *attached = arg;
	int ret = compch_attach_cq(cq, channel);

	CHECK(!ret || ret == EBUSY);
	if (ret)
		return NULL;
	fake_report(cq, 1);
	ret = compch_detach_cq(cq, NULL);
	/* That thread may even have detached it from under this one. */
	CHECK(!ret || ret == EINVAL);
	++*attached;
	return NULL;
}

static int by_thread;

/* The other thread comes just when this one has found that it is not known. */
static void before_association(enum fake_method method)
{
	const struct timespec nap = { .tv_nsec = 50000000 };

	if (method != FAKE_ASSOC_CREATE)
		return;
	fake.hook = NULL;
	CHECK_EQ(pthread_create(&thread, NULL, attach_and_detach, &by_thread),
		 0);
	/* To give it the chance; it passes all the same if that is missed. */
	nanosleep(&nap, NULL);
}

void test(void)
{
	struct ibv_context *context = fake_context(0);
	struct compch_cq_info info;
	int by_us = 0;

	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	CHECK(cq != NULL);
	fake.hook = before_association;
	attach_and_detach(&by_us);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(by_us + by_thread > 0);

	CHECK_EQ(compch_attach_cq(cq, channel), 0);
	CHECK_EQ(compch_query_cq(cq, &info), 0);
	CHECK_EQ(info.reported, by_us + by_thread);
	compch_ack(cq, by_us + by_thread);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(fake.acknowledged, 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}
