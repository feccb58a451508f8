// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The channel is destroyed by another thread at each moment of the creation of
 * a CQ on it: one of the two fails, and its file descriptor is not closed, so
 * that its number cannot be another file, while the creation may still use it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "fake.h"

static struct ibv_comp_channel *channel;
static int result, fd_after;

static void *destroy(void *arg)
{
	(void)arg;
	result = ibv_destroy_comp_channel(channel);
	fd_after = fcntl(channel->fd, F_GETFD);
	return NULL;
}

static void destroy_in_thread(void)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, destroy, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void before_association(enum fake_method method)
{
	if (method != FAKE_ASSOC_CREATE)
		return;
	fake.hook = NULL;
	destroy_in_thread();
}

void test(void)
{
	struct ibv_context *context = fake_context(0);
	struct ibv_cq *cq;

	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	fake.hook = before_association;
	CHECK_NULL(ibv_create_cq(context, 1, NULL, channel, 0), EBADF);
	CHECK_EQ(result, 0);
	CHECK(fd_after >= 0); /* it was still open */
	CHECK(fcntl(channel->fd, F_GETFD) < 0);
	CHECK_EQ(fake.cqs, 0);

	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	CHECK(cq != NULL);
	destroy_in_thread();
	CHECK_EQ(result, EBUSY);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	destroy_in_thread();
	CHECK_EQ(result, 0);
	CHECK_EQ(ibv_close_device(context), 0);
}
