// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Threads create CQs on a channel while another thread destroys it: exactly one
 * of the two succeeds, whichever is first, and nothing is left behind.
 */
#include <pthread.h>

#include "rdma.h"

#define CREATORS 3
#define SECONDS 5

static struct ibv_comp_channel *shared;
static int stop;
static unsigned long created, refused, destroyed, busy;
static struct rdma rdma;

static void *create(void *arg)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8 };
	bool ex = arg;
	struct ibv_cq_ex *cq_ex;
	struct ibv_cq *cq;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		attr.channel = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
		if (ex) {
			cq_ex = ibv_create_cq_ex(rdma.context, &attr);
			cq = cq_ex ? ibv_cq_ex_to_cq(cq_ex) : NULL;
		} else {
			cq = ibv_create_cq(rdma.context, 8, NULL, attr.channel,
					   0);
		}
		if (!cq) {
			CHECK_EQ(errno, EBADF);
			__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
			continue;
		}
		__atomic_add_fetch(&created, 1, __ATOMIC_RELAXED);
		CHECK(cq->channel == attr.channel);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_comp_channel *next;
	pthread_t thread[CREATORS];
	uint64_t end;
	int fds, cqs, ret, i;

	test_deadline(SECONDS + 60);
	rdma_open(&rdma, argc > 1 ? argv[1] : NULL);
	rdma_need_ours(&rdma);
	shared = ibv_create_comp_channel(rdma.context);
	CHECK(shared != NULL);
	/* What is created once for a context stays. */
	CHECK_EQ(ibv_destroy_cq(ibv_create_cq(rdma.context, 8, NULL, shared,
					      0)), 0);
	fds = rdma_count_fds();
	cqs = rdma_count_cqs(&rdma);
	for (i = 0; i < CREATORS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, create,
					i ? NULL : &thread), 0);

	end = test_ms() + SECONDS * 1000;
	while (test_ms() < end) {
		ret = ibv_destroy_comp_channel(shared);
		if (ret) {
			CHECK_EQ(ret, EBUSY);
			busy++;
			continue;
		}
		destroyed++;
		next = ibv_create_comp_channel(rdma.context);
		CHECK(next != NULL);
		__atomic_store_n(&shared, next, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < CREATORS; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	printf("CQs: %lu created, %lu refused; channel: %lu destroyed, %lu busy\n",
	       created, refused, destroyed, busy);
	CHECK_EQ(rdma_count_fds(), fds);
	CHECK_EQ(rdma_count_cqs(&rdma), cqs);
	CHECK_EQ(shared->refcnt, 0);
	CHECK_EQ(ibv_destroy_comp_channel(shared), 0);
	rdma_close(&rdma);
	return 0;
}
