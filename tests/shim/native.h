/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tests of <infiniband/compch.h> share, on top of rdma.h.  They are
 * programs native_*.c, linked with the library, and run with COMPCH=require and
 * with COMPCH=off: what the header says of stock channels is tested as well.
 */
#ifndef COMPCH_TESTS_SHIM_NATIVE_H
#define COMPCH_TESTS_SHIM_NATIVE_H

#include <pthread.h>
#include <infiniband/compch.h>

#include "rdma.h"

#define SECOND 1000000000ll

/*
 * ibv_create_comp_channel(), but with NATIVE_RING=N the channel has an event ring
 * with room for N CQs: nothing else may differ.
 */
struct ibv_comp_channel *native_channel(struct ibv_context *context);
#define ibv_create_comp_channel(context) native_channel(context)

/* A stock channel, whatever COMPCH says. */
struct ibv_comp_channel *native_stock_channel(struct ibv_context *context);
/* Skips a test that has nothing to say of stock channels. */
#define native_need_ours(rdma) rdma_need_ours(rdma)

/* A CQ on a channel, and its QP. */
struct native_cq {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

void native_cq(struct rdma *rdma, struct native_cq *n,
	       struct ibv_comp_channel *channel);
void native_cq_destroy(struct native_cq *n);
/*
 * Arms the CQ and has an event raised on it; the completions are polled.  It
 * returns when the event is there, if the channel was empty or is ours.
 */
void native_event(struct rdma *rdma, struct native_cq *n);

/* A thread that runs fn(arg), and can be seen to sleep. */
struct native_thread {
	pthread_t thread;
	void (*fn)(void *arg);
	void *arg;
	int tid, done;
};

void native_start(struct native_thread *t, void (*fn)(void *arg), void *arg);
/* Until it sleeps, for more than a moment. */
void native_asleep(struct native_thread *t);
bool native_done(struct native_thread *t);
void native_join(struct native_thread *t);

#endif /* COMPCH_TESTS_SHIM_NATIVE_H */
