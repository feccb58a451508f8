/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tests of the kernel interface have in common.  They use nothing but
 * system calls: ioctl() on /dev/infiniband/uverbsN, the files that come out of
 * it, and the debugfs files of compch_testdev.  (One has liburing do the calls.)
 *
 * A function returns 0 or something positive, or a negative errno.
 */
#ifndef ABI_H
#define ABI_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/compch-abi.h>

#include "../../userspace/libcompch/ring.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* The driver_id of compch_testdev's devices */
#define TESTDEV_DRIVER_ID	0x7e57

#define DESC_SIZE	sizeof(struct ib_uverbs_comp_event_desc)

/* --- checks ---------------------------------------------------------------- */

/*
 * Each prints file and line if it fails, and the program goes on, and exits
 * with 1 in the end.  must() exits at once: there is no going on without it.
 */
#define ok(cond)	check_ok(__FILE__, __LINE__, #cond, !!(cond))
#define eq(got, want) \
	check_eq(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define must(call)	check_must(__FILE__, __LINE__, #call, (call))
/* Becomes true before the deadline */
#define eventually(cond) do {						\
	while (!(cond) && check_time(__FILE__, __LINE__, #cond))	\
		;							\
} while (0)

bool check_ok(const char *file, int line, const char *what, bool cond);
bool check_eq(const char *file, int line, const char *what,
	      long long got, long long want);
long long check_must(const char *file, int line, const char *what,
		     long long got);
bool check_time(const char *file, int line, const char *what);
/* Names the case that the checks to come belong to */
void check_case(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- the program ----------------------------------------------------------- */

/* The argument was "compch", or the program knows nothing else */
extern bool ours;

/*
 * Arguments of a program: those in @modes, separated by blanks, of which one
 * must be given; NULL if there are none, and the program tests our channels.
 * Returns the number of the mode.  Skips if what it needs is not there.
 */
int abi_init(int argc, char **argv, const char *modes);
/* Closes what is open, and checks that no object of ours is left.  To return. */
int abi_done(void);
void skip(const char *why, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The deadline, in seconds from now; 60 at first */
void deadline(unsigned int seconds);
/* fork(); the child has a deadline too, and dies with its parent */
pid_t child(void);
/* The exit status of a child, or minus the signal that killed it */
int child_status(pid_t pid);

/* --- files of the system --------------------------------------------------- */

int file_read(const char *path, char *buf, size_t size);
int file_write(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A line "KEY VALUE" of a file; base 0 as in strtoll() */
int file_value(const char *path, const char *key, long long *value, int base);
/* Open file descriptors of this process */
int fd_count(void);
/* A counter of ours */
long long counter(const char *name);
void set_nonblock(int fd, bool nonblock);
/* revents of a poll() for everything that does not wait */
int poll_now(int fd);
/* read(), readv() with a flag */
int rd(int fd, void *buf, size_t len);
int rd_nowait(int fd, void *buf, size_t len);

/* --- contexts -------------------------------------------------------------- */

struct ctx {
	int fd;
	int dev;	/* compch_test%d */
};

/* Just open() */
int ctx_open(struct ctx *ctx, int dev);
int ctx_get_context(struct ctx *ctx);
/* Both of them, or exit */
struct ctx ctx_new(int dev);
void ctx_close(struct ctx *ctx);

/* --- ioctl ----------------------------------------------------------------- */

struct cmd {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[16];
};

void cmd_init(struct cmd *cmd, unsigned int object, unsigned int method);
struct ib_uverbs_attr *cmd_attr(struct cmd *cmd, unsigned int id,
				unsigned int len, uint64_t data);
struct ib_uverbs_attr *cmd_in(struct cmd *cmd, unsigned int id,
			      const void *data, unsigned int len);
struct ib_uverbs_attr *cmd_out(struct cmd *cmd, unsigned int id, void *data,
			       unsigned int len);
struct ib_uverbs_attr *cmd_find(struct cmd *cmd, unsigned int id);
int cmd_run(const struct ctx *ctx, struct cmd *cmd);
/* One of the write() commands */
int cmd_write(const struct ctx *ctx, unsigned int command, const void *in,
	      unsigned int in_len, void *out, unsigned int out_len);

/* --- stock objects --------------------------------------------------------- */

struct cq {
	struct ctx *ctx;
	uint32_t handle;
	uint64_t tag;
	uint64_t user_handle;
	uint32_t assoc;
};

int stock_channel(const struct ctx *ctx);
int pd_alloc(const struct ctx *ctx);
int pd_dealloc(const struct ctx *ctx, uint32_t handle);
/* A work queue, something that uses a CQ */
int wq_create(const struct ctx *ctx, uint32_t pd, uint32_t cq);
int wq_destroy(const struct ctx *ctx, uint32_t handle);
/* @stock_fd is a stock channel, or -1.  Tag and user_handle are made up. */
int cq_create(struct ctx *ctx, struct cq *cq, int stock_fd);
/* Returns comp_events_reported */
int cq_destroy(struct cq *cq);

/* --- our objects ----------------------------------------------------------- */

/* With a ring, if COMPCH_ABI_RING is set: "some" is every second one */
int channel_create(const struct ctx *ctx, uint64_t flags);
int channel_create_ring(const struct ctx *ctx, uint64_t flags, uint32_t cqs);
/* Maps the ring of a channel, or exit; abi_done() unmaps it, if need be */
void ring_map(const struct ctx *ctx, int fd, struct compch_ring_user *ring);
int ring_unmap(const struct compch_ring_user *ring);
int channel_wake(const struct ctx *ctx, int fd);
int channel_destroy(const struct ctx *ctx, int fd);
int channel_cancel(const struct ctx *ctx, int fd);
int channel_query(const struct ctx *ctx, int fd,
		  struct compch_channel_info *info);
/* Its number, as lists and tracepoints have it */
long long channel_id(int fd);
/* The cookie is the CQ's user_handle */
int assoc_create(struct cq *cq, int fd);
int assoc_create_cookie(struct cq *cq, int fd, uint64_t cookie);
int assoc_move(const struct cq *cq, int fd);
int assoc_destroy(const struct cq *cq, uint64_t flags,
		  struct compch_assoc_destroy_resp *resp);
int assoc_query(const struct cq *cq, struct compch_assoc_info *info);

/* One check each of what a query tells */
#define channel_is(ctx, fd, state, assocs, cancels, pending, reported)	\
	check_channel(__FILE__, __LINE__, ctx, fd, state, assocs,	\
		      cancels, pending, reported)
#define assoc_is(cq, pending, reported, merged) \
	check_assoc(__FILE__, __LINE__, cq, pending, reported, merged)
void check_channel(const char *file, int line, const struct ctx *ctx, int fd,
		   unsigned int state, unsigned int assocs,
		   unsigned int cancels, uint64_t pending, uint64_t reported);
void check_assoc(const char *file, int line, const struct cq *cq,
		 uint64_t pending, uint64_t reported, uint64_t merged);

/* --- either ---------------------------------------------------------------- */

/* A channel and a CQ on it, stock or ours, or exit */
int chan_new(const struct ctx *ctx);
void cq_on(struct ctx *ctx, struct cq *cq, int chan);
/* Destroys it again, or exit; returns the events that have been reported */
long long cq_off(struct cq *cq);

/* --- events ---------------------------------------------------------------- */

int fire(const struct cq *cq, unsigned int count);
int fire_in(const struct cq *cq, unsigned int count, const char *context,
	    int cpu);
int fire_start(const struct cq *cq, unsigned int count, const char *context,
	       int cpu);
int fire_stop(const struct cq *cq);
/* The driver reads the CQ's handler now, and calls it later */
int fire_load(const struct cq *cq);
int fire_late(const struct cq *cq, unsigned int count, const char *context);
/* Events fired so far */
long long fired(const struct cq *cq);
/*
 * Reads what there is, not blocking, and returns how many events; adds up in
 * @counts how many of each of the @n CQs.  Anything else is an error.
 */
int drain(int fd, struct cq *const *cqs, int n, long long *counts);

/* --- threads --------------------------------------------------------------- */

/*
 * A thread that does one read().  It is "blocked" when it sleeps in there.
 */
struct reader {
	pthread_t thread;
	int fd;
	void *buf;
	size_t len;
	pid_t tid;
	bool done;
	int ret;
	struct ib_uverbs_comp_event_desc events[64];
};

/* Return when it is blocked, or done; the first reads into @events */
void reader_start(struct reader *reader, int fd, size_t len);
void reader_start_at(struct reader *reader, int fd, void *buf, size_t len);
bool reader_done(struct reader *reader);
/* Waits for its end; returns what its read() did */
int reader_end(struct reader *reader);

pid_t own_tid(void);
/* Has the task gone to sleep in this system call? */
bool task_blocked(pid_t pid, pid_t tid, long syscall);
/* Voluntary context switches: how often it has gone to sleep */
long long task_sleeps(pid_t tid);
int cpus_online(void);

#endif /* ABI_H */
