/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A libibverbs and a kernel that are none, to test libcompch without a device
 * and to see what it does when calls fail that in truth hardly do.
 *
 * fake_verbs.c and fake_kernel.c are built as a libibverbs.so.1.
 * fake_syscalls.c is in each program, and catches what the libraries ask of the
 * kernel: the files in /sys, the ioctls, and the events that are read.  The
 * tests exit as those with a device do (../rdma.h); and fake_rdma.c lets those
 * run here, too.
 *
 * A channel's file descriptor is that of a pipe with a byte in it for each
 * event or cancel, so that it can be polled; what is read are not these bytes.
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
	FAKE_CHANNEL_CANCEL,
	FAKE_CHANNEL_QUERY,
	FAKE_ASSOC_CREATE,
	FAKE_ASSOC_MOVE,
	FAKE_ASSOC_DESTROY,
	FAKE_ASSOC_QUERY,
	FAKE_METHODS,
};

struct fake {
	/* What the files in /sys say; NULL: there is none. */
	const char *abi_version;
	const char *driver_id;
	/* There is no /sys. */
	bool no_sysfs;
	/* Errors to answer with, in place of doing anything. */
	int fail[FAKE_METHODS];
	int fail_create_comp_channel;
	int fail_create_cq;
	int fail_destroy_cq;
	int fail_read;
	/* What the provider answers to ibv_req_notify_cq(), ibv_poll_cq(). */
	int fail_arm, fail_poll;
	/* Called at the beginning of each method. */
	void (*hook)(enum fake_method method);
	/* The CQs are used by something. */
	bool used;
	/* Called and existing, by now. */
	int opens, calls[FAKE_METHODS], wrong_driver_ids;
	int contexts, stock_channels, cqs, channels, assocs, old_cqs;
	/* The channel that the last CQ was created with. */
	struct ibv_comp_channel *cq_channel;
	/* comp_events_completed of the last CQ that was destroyed. */
	unsigned int acknowledged;
	/* Calls of the provider's hook for an event, and of read(). */
	int cq_events, reads;
	/* Calls of providers' own functions, and the last one's arguments. */
	int mlx5_cqs, efa_cqs;
	const void *provider_attr;
	uint32_t inlen;
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
/* An event of a CQ, armed or not. */
void fake_event(struct ibv_cq *cq);
/* A completion, and an event if the CQ is armed for it. */
void fake_complete(struct ibv_cq *cq, bool solicited);
/* Something uses a CQ (1), or no longer does (-1). */
void fake_use(struct ibv_cq *cq, int users);
/* Devices are removed, all of them. */
void fake_remove(void);
bool fake_is_ours(int fd);
struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr);
/* Nothing of the program's is left. */
bool fake_is_clean(void);

int fake_open(const char *path);
int fake_ioctl(int fd, void *arg);
/* Returns false if the file descriptor is no channel. */
bool fake_read(int fd, void *buffer, size_t size, bool nowait, ssize_t *ret);

/* What fake_verbs.c asks of fake_kernel.c */
int fake_kernel_stock_channel(void);
uint32_t fake_kernel_create_cq(struct ibv_cq *cq, int channel_fd);
int fake_kernel_destroy_cq(struct ibv_cq *cq, unsigned int *reported);
int fake_kernel_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc);
void fake_kernel_arm_cq(struct ibv_cq *cq, bool solicited);
void fake_kernel_close(int cmd_fd);

/* Several threads count. */
#define FAKE_COUNT(member, n)						\
	__atomic_add_fetch(&fake.member, n, __ATOMIC_RELAXED)
#define FAKE_READ(member) __atomic_load_n(&fake.member, __ATOMIC_RELAXED)

/* Those of ../rdma.h are the same. */
#ifndef FAKE_NO_CHECKS
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
#endif

/* The program's own part. */
void test(void);

#endif /* COMPCH_TESTS_SHIM_FAKE_H */
