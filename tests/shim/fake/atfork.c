// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fork() while another thread, holding a lock that a handler of fork() takes,
 * calls a verb.  The handler is registered before the library is initialized,
 * and so runs after any that the library has.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_comp_channel *channel;
static atomic_bool stop;

static void take(void)
{
	pthread_mutex_lock(&lock);
}

static void release(void)
{
	pthread_mutex_unlock(&lock);
}

static void early(void)
{
	pthread_atfork(take, release, release);
}

static void (*const preinit)(void)
	__attribute__((section(".preinit_array"), used)) = early;

static void *verbs(void *arg)
{
	(void)arg;
	while (!stop) {
		take();
		CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
		release();
		sched_yield(); /* the other thread wants it, too */
	}
	return NULL;
}

void test(void)
{
	struct ibv_context *context = fake_context(0);
	pthread_t thread;
	struct ibv_cq *cq;
	int status, i;
	pid_t pid;

	channel = ibv_create_comp_channel(context);
	CHECK(channel != NULL);
	cq = ibv_create_cq(context, 1, NULL, channel, 0);
	CHECK(cq != NULL);
	CHECK_EQ(pthread_create(&thread, NULL, verbs, NULL), 0);
	for (i = 0; i < 300; i++) {
		pid = fork();
		if (!pid) {
			/* The child's locks are free, its channel is there. */
			alarm(10);
			_exit(ibv_destroy_comp_channel(channel) != EBUSY);
		}
		CHECK(pid > 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	stop = true;
	pthread_join(thread, NULL);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}
