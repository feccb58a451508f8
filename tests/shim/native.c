// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See native.h. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native.h"

#undef ibv_create_comp_channel

struct ibv_comp_channel *native_channel(struct ibv_context *context)
{
	struct compch_channel_attr attr = {
		.comp_mask = COMPCH_CHANNEL_ATTR_RING,
	};
	struct ibv_comp_channel *channel;
	const char *ring = getenv("NATIVE_RING");
	int ret;

	if (!ring)
		return ibv_create_comp_channel(context);
	attr.ring_cqs = atoi(ring);
	ret = compch_create_channel(context, &attr, &channel);
	if (ret)
		errno = ret;
	return channel;
}

struct ibv_comp_channel *native_stock_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *(*create)(struct ibv_context *context);
	struct ibv_comp_channel *channel;
	void *handle, *found;

	handle = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	CHECK(handle != NULL);
	found = dlsym(handle, "ibv_create_comp_channel");
	CHECK(found != NULL);
	memcpy(&create, &found, sizeof(create));
	channel = create(context);
	dlclose(handle);
	CHECK(channel != NULL);
	CHECK(!rdma_is_ours(channel));
	return channel;
}

void native_cq(struct rdma *rdma, struct native_cq *n,
	       struct ibv_comp_channel *channel)
{
	n->cq = ibv_create_cq(rdma->context, 64, n, channel, 0);
	CHECK(n->cq != NULL);
	n->qp = rdma_qp(rdma, n->cq, n->cq);
}

void native_cq_destroy(struct native_cq *n)
{
	CHECK_EQ(ibv_destroy_qp(n->qp), 0);
	CHECK_EQ(ibv_destroy_cq(n->cq), 0);
}

void native_event(struct rdma *rdma, struct native_cq *n)
{
	struct ibv_comp_channel *channel = n->cq->channel;
	struct compch_cq_info before = {}, now;
	uint64_t end = test_ms() + 10000;
	bool ours;

	ours = channel && compch_is_native(channel);
	if (ours)
		CHECK_EQ(compch_query_cq(n->cq, &before), 0);
	CHECK_EQ(ibv_req_notify_cq(n->cq, 0), 0);
	rdma_send(rdma, n->qp);
	rdma_expect_completions(n->cq, 2);
	if (channel)
		CHECK(rdma_readable(channel, 10000));
	while (ours) {
		CHECK_EQ(compch_query_cq(n->cq, &now), 0);
		if (now.pending + now.merged > before.pending + before.merged)
			break;
		if (test_ms() > end)
			FAIL("there is no event");
		test_sleep_ms(1);
	}
}

static void *run(void *arg)
{
	struct native_thread *t = arg;

	__atomic_store_n(&t->tid, gettid(), __ATOMIC_SEQ_CST);
	t->fn(t->arg);
	__atomic_store_n(&t->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

void native_start(struct native_thread *t, void (*fn)(void *arg), void *arg)
{
	*t = (struct native_thread){ .fn = fn, .arg = arg };
	CHECK_EQ(pthread_create(&t->thread, NULL, run, t), 0);
}

bool native_done(struct native_thread *t)
{
	return __atomic_load_n(&t->done, __ATOMIC_SEQ_CST);
}

static char state_of(int tid)
{
	char path[64], text[256], *end;
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	fclose(file);
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

void native_asleep(struct native_thread *t)
{
	int seen = 0, tid;

	while (seen < 20) {
		CHECK(!native_done(t));
		tid = __atomic_load_n(&t->tid, __ATOMIC_SEQ_CST);
		seen = tid && state_of(tid) == 'S' ? seen + 1 : 0;
		test_sleep_ms(2);
	}
}

void native_join(struct native_thread *t)
{
	CHECK_EQ(pthread_join(t->thread, NULL), 0);
}
