// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device is removed: whoever waits for events returns with EIO, and so does
 * ibv_destroy_cq(), which waits for acknowledgements.
 */
#include <pthread.h>
#include <unistd.h>
#include <infiniband/compch.h>

#include "fake.h"

static struct ibv_comp_channel *channel;
static struct ibv_cq *cq[2];

static void *get_events(void *arg)
{
	struct ibv_cq *got;
	int count;

	(void)arg;
	CHECK_EQ(compch_get_events(channel, &got, 1, -1, &count), EIO);
	return NULL;
}

static void *wait_cq(void *arg)
{
	struct ibv_wc wc;
	int count;

	(void)arg;
	CHECK_EQ(compch_wait_cq(cq[1], &wc, 1, 0, -1, &count), EIO);
	return NULL;
}

static void *destroy_cq(void *arg)
{
	(void)arg;
	CHECK_EQ(ibv_destroy_cq(cq[0]), EIO);
	return NULL;
}

void test(void)
{
	static void *(*const fn[])(void *) = { get_events, wait_cq, destroy_cq };
	struct compch_assoc_destroy_resp balance;
	struct compch_channel_info info;
	struct compch_cq_info cq_info;
	struct ibv_context *context;
	pthread_t thread[3];
	struct ibv_cq *got;
	int i, count;

	context = fake_context(0);
	channel = ibv_create_comp_channel(context);
	for (i = 0; i < 2; i++) {
		cq[i] = ibv_create_cq(context, 1, NULL, channel, 0);
		CHECK(cq[i] != NULL);
	}
	fake_event(cq[0]);
	CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), 0);
	CHECK(got == cq[0]);
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, fn[i], NULL), 0);
	/* Until it waits */
	while (FAKE_READ(assocs) > 1)
		usleep(1000);
	usleep(20000);
	fake_remove();
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);

	CHECK_EQ(compch_get_events(channel, &got, 1, 0, &count), EIO);
	CHECK_EQ(compch_query_channel(channel, &info), EIO);
	CHECK_EQ(compch_query_cq(cq[1], &cq_info), EIO);
	CHECK_EQ(compch_move_cq(cq[1], channel), EIO);
	CHECK_EQ(compch_detach_cq(cq[1], &balance), EIO);
	CHECK_EQ(compch_cancel(channel), EIO);
	CHECK_EQ(ibv_destroy_cq(cq[1]), EIO);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
	for (i = 0; i < 2; i++)
		free(cq[i]);
	fake.cqs = 0;
	fake.stock_channels = 0;
}
