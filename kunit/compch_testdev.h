/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * compch_testdev - RDMA devices that do nothing but fire completion events,
 * when and where a test wants them. For tests only; see compch_testdev.c.
 */
#ifndef _COMPCH_TESTDEV_H
#define _COMPCH_TESTDEV_H

#include <linux/types.h>

struct ib_cq;

#define COMPCH_TESTDEV_MAX_DEVS		16

/* Fire from whatever CPU the caller happens to be on */
#define COMPCH_TESTDEV_ANY_CPU		(-1)

/**
 * enum compch_testdev_context - where a completion handler is called
 * @COMPCH_TESTDEV_PROCESS: in process context, interrupts and preemption on
 * @COMPCH_TESTDEV_SOFTIRQ: in a tasklet
 * @COMPCH_TESTDEV_HARDIRQ: in a hard interrupt
 */
enum compch_testdev_context {
	COMPCH_TESTDEV_PROCESS,
	COMPCH_TESTDEV_SOFTIRQ,
	COMPCH_TESTDEV_HARDIRQ,
};

/*
 * All of these may sleep, and return 0 or a negative errno. When one returns,
 * the completion handler has returned too.
 */
int compch_testdev_fire(u64 tag, unsigned int count,
			enum compch_testdev_context context, int cpu);
int compch_testdev_fire_cq(struct ib_cq *ibcq, unsigned int count,
			   enum compch_testdev_context context, int cpu);
int compch_testdev_start(u64 tag, unsigned int count,
			 enum compch_testdev_context context, int cpu);
int compch_testdev_stop(u64 tag);
int compch_testdev_add(unsigned int index);
int compch_testdev_del(unsigned int index);

#endif /* _COMPCH_TESTDEV_H */
