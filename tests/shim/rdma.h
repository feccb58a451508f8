/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tests of libcompch share: a device, and QPs that talk to themselves,
 * so that completions occur on CQs at will.
 *
 * Each test is a program that takes the name of a device, or takes the first
 * one; it exits with 0 (passed), 1 (failed) or 77 (skipped, and the last line
 * says why).  It knows nothing of libcompch, and calls libibverbs only: run
 * with LD_PRELOAD it tests our channels, and without it must find the same,
 * unless it begins with rdma_need_ours().
 */
#ifndef COMPCH_TESTS_SHIM_RDMA_H
#define COMPCH_TESTS_SHIM_RDMA_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
/* Must be true. */
#define CHECK(condition)						\
	((condition) ? (void)0 : FAIL("%s", #condition))
/* Two integers must be equal. */
#define CHECK_EQ(a, b)							\
	test_eq(__FILE__, __LINE__, #a, (long long)(a), #b, (long long)(b))
/* A function must answer NULL and set errno to this. */
#define CHECK_NULL(call, error) do {					\
	errno = 0;							\
	CHECK((call) == NULL);						\
	CHECK_EQ(errno, error);						\
} while (0)

void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void test_eq(const char *file, int line, const char *a_text, long long a,
	     const char *b_text, long long b);
void test_skip(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* The whole test fails after so many seconds; to be called first. */
void test_deadline(unsigned int seconds);
uint64_t test_ms(void);			/* a clock */
void test_sleep_ms(unsigned int ms);	/* to widen a race, not to win it */

struct rdma {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *buffer;			/* 8 KiB: received in the first half */
	union ibv_gid gid;
	int gid_index;
	uint8_t port;
	enum ibv_mtu mtu;
};

/* Opens a device, the first one for a NULL.  Skips when there is none. */
void rdma_open(struct rdma *rdma, const char *name);
void rdma_close(struct rdma *rdma);

/* An RC QP that is connected to itself. */
struct ibv_qp *rdma_qp(struct rdma *rdma, struct ibv_cq *send_cq,
		       struct ibv_cq *recv_cq);
/* One message: a completion on the send CQ and one on the receive CQ. */
void rdma_send(struct rdma *rdma, struct ibv_qp *qp);
/* The same, but the one on the receive CQ is solicited. */
void rdma_send_solicited(struct rdma *rdma, struct ibv_qp *qp);

/* Whether a channel is one of ours; the test is skipped when it is not. */
bool rdma_is_ours(const struct ibv_comp_channel *channel);
void rdma_need_ours(struct rdma *rdma);

/* Whether something is to be read, after so long at most. */
bool rdma_readable(const struct ibv_comp_channel *channel, int ms);
/* The next event, acknowledged, which must be of this CQ; bounded. */
void rdma_expect_event(struct ibv_comp_channel *channel, struct ibv_cq *cq);
/* Polls, without an event, until so many completions have been seen. */
void rdma_expect_completions(struct ibv_cq *cq, int count);
/* Arms, sends, gets the event and the completions, of one CQ for both. */
void rdma_round(struct rdma *rdma, struct ibv_comp_channel *channel,
		struct ibv_cq *cq, struct ibv_qp *qp);

/* Open file descriptors of this process. */
int rdma_count_fds(void);
/* CQs of the device, as the kernel counts them, or -1 if that is unknown. */
int rdma_count_cqs(const struct rdma *rdma);

#endif /* COMPCH_TESTS_SHIM_RDMA_H */
