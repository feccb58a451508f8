/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A libibverbs and a kernel that are none, to test libcompch without a device
 * and to see what it does when calls fail that in truth hardly do.
 *
 * fake_verbs.c is built as a libibverbs.so.1.  fake_main.c is in each program,
 * and catches what the library asks of the kernel: the files in /sys and the
 * ioctls.  The tests exit as those with a device do (../rdma.h).
 */
#ifndef COMPCH_TESTS_SHIM_FAKE_H
#define COMPCH_TESTS_SHIM_FAKE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>
#include <rdma/compch-abi.h>

#define FAKE_DRIVER_ID 17

enum fake_method {
	FAKE_CHANNEL_CREATE,
	FAKE_CHANNEL_DESTROY,
	FAKE_ASSOC_CREATE,
	FAKE_ASSOC_DESTROY,
	FAKE_METHODS,
};

struct fake {
	/* What the files in /sys say; NULL: there is none. */
	const char *abi_version;
	const char *driver_id;
	/* Errors to answer with, in place of doing anything. */
	int fail[FAKE_METHODS];
	int fail_create_comp_channel;
	int fail_create_cq;
	int fail_destroy_cq;
	/* Called at the beginning of each method. */
	void (*hook)(enum fake_method method);
	/* The CQs are used by something. */
	bool used;
	/* Called and existing, by now. */
	int opens, calls[FAKE_METHODS];
	int contexts, stock_channels, cqs, channels, assocs, old_cqs;
	/* The channel that the last CQ was created with. */
	struct ibv_comp_channel *cq_channel;
	/* comp_events_completed of the last CQ that was destroyed. */
	unsigned int acknowledged;
};

extern struct fake fake;

/* Two devices. */
struct ibv_device *fake_device(int i);

static inline struct ibv_context *fake_context(int i)
{
	return ibv_open_device(fake_device(i));
}

/* A context that ends without ibv_close_device(). */
void fake_vanish(struct ibv_context *context);
/* As if read() had returned so many events of a CQ. */
void fake_report(struct ibv_cq *cq, unsigned int events);
/* As if the association of a CQ were gone with its device. */
void fake_forget(struct ibv_cq *cq);
/* Nothing of the program's is left. */
bool fake_is_clean(void);

int fake_open(const char *path);
int fake_ioctl(int fd, void *arg);

#define CHECK(condition) do {						\
	if (!(condition)) {						\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,	\
			#condition);					\
		exit(1);						\
	}								\
} while (0)
#define CHECK_EQ(a, b) do {						\
	long long a_ = (a), b_ = (b);					\
	if (a_ != b_) {							\
		fprintf(stderr, "%s:%d: %s is %lld, not %lld\n",	\
			__FILE__, __LINE__, #a, a_, b_);		\
		exit(1);						\
	}								\
} while (0)
#define CHECK_NULL(call, error) do {					\
	errno = 0;							\
	CHECK((call) == NULL);						\
	CHECK_EQ(errno, error);						\
} while (0)

/* The program's own part. */
void test(void);

#endif /* COMPCH_TESTS_SHIM_FAKE_H */
