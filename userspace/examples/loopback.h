/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the examples need besides channels: a device, and QPs that are connected
 * to themselves, so that whatever is sent is received at once.
 */
#ifndef EXAMPLES_LOOPBACK_H
#define EXAMPLES_LOOPBACK_H

#include <infiniband/verbs.h>

struct loopback {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char buffer[64];
};

/* What cannot go on says why, and exits with 1. */
void die(const char *what, int error) __attribute__((noreturn));
/* 0 or an errno value, from a verb */
void must(const char *what, int error);

/* A device by its name, or the first one */
void loopback_open(struct loopback *loop, const char *device);
void loopback_close(struct loopback *loop);
/* A QP whose sends and receives complete on this CQ */
struct ibv_qp *loopback_qp(struct loopback *loop, struct ibv_cq *cq);
/* One message: two completions */
void loopback_send(struct loopback *loop, struct ibv_qp *qp);
/* Polls until there is nothing more; the number of completions */
int loopback_poll(struct ibv_cq *cq);

#endif /* EXAMPLES_LOOPBACK_H */
