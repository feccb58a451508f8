// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The provider hears of each event once, whichever function gets it, on stock
 * channels and on ours.
 */
#include <infiniband/compch.h>

#include "fake.h"

static struct ibv_cq *cq;
static int calls;

static void count(struct ibv_cq *of)
{
	CHECK(of == cq);
	calls++;
}

static void on(struct ibv_context *context, struct ibv_comp_channel *channel)
{
	struct ibv_cq *got[8];
	struct ibv_wc wc[8];
	void *cq_context;
	int n, i;

	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	CHECK(cq != NULL);
	context->ops._compat_cq_event = (void *(*)(void))(void *)count;
	calls = 0;
	for (i = 0; i < 6; i++)
		fake_event(cq);
	CHECK_EQ(ibv_get_cq_event(channel, &got[0], &cq_context), 0);
	CHECK_EQ(calls, 1);
	CHECK_EQ(compch_get_events(channel, got, 2, -1, &n), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(calls, 3);
	CHECK_EQ(compch_get_events(channel, got, 8, 0, &n), 0);
	CHECK_EQ(n, 3);
	CHECK_EQ(calls, 6);
	CHECK_EQ(compch_get_events(channel, got, 8, 0, &n), ETIMEDOUT);
	CHECK_EQ(calls, 6);
	compch_ack(cq, 6);
	fake_event(cq);
	CHECK_EQ(compch_wait_cq(cq, wc, 8, 0, 1000, &n), ETIMEDOUT);
	CHECK_EQ(calls, 7);

	/* Providers without one */
	context->ops._compat_cq_event = NULL;
	if (compch_is_native(channel)) {
		fake_event(cq);
		CHECK_EQ(compch_get_events(channel, got, 8, 0, &n), 0);
		compch_ack(cq, 1);
	}
	CHECK_EQ(ibv_destroy_cq(cq), 0);
}

void test(void)
{
	struct ibv_context *context = fake_context(0);
	struct ibv_comp_channel *channel;

	channel = ibv_create_comp_channel(context);
	CHECK_EQ(compch_is_native(channel), 1);
	on(context, channel);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);

	fake.abi_version = NULL;
	context = fake_context(0);
	channel = ibv_create_comp_channel(context);
	CHECK_EQ(compch_is_native(channel), 0);
	on(context, channel);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}
