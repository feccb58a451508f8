/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libcompch: what completion channels can do beyond <infiniband/verbs.h>.
 *
 * A channel is a struct ibv_comp_channel, and everything in <infiniband/verbs.h>
 * works with it as well.  Where the kernel module is missing, or not used
 * (COMPCH=off), a channel is a stock one.  The functions then do what can be
 * done with that, and answer EOPNOTSUPP to the rest; those that take a CQ alone
 * answer EINVAL when it is on no channel of the module's.
 *
 * Functions that return an int return 0 or an errno value; errno itself is left
 * alone.  Times are in nanoseconds, of CLOCK_MONOTONIC; a negative timeout is
 * none at all.  All functions may be called by several threads at once.  Each has a
 * manual page.
 */
#ifndef INFINIBAND_COMPCH_H
#define INFINIBAND_COMPCH_H

#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/compch-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one compch_get_events() returns at most */
#define COMPCH_MAX_EVENTS 256

/* struct compch_channel_attr.comp_mask: which members there are */
enum compch_channel_attr_mask {
	/* ring_cqs and reserved */
	COMPCH_CHANNEL_ATTR_RING = 1 << 0,
};

/**
 * struct compch_channel_attr - how a channel is to be
 * @comp_mask: enum compch_channel_attr_mask
 * @flags:     enum compch_channel_flags
 * @ring_cqs:  have an event ring with room for so many CQs, 1 to
 *	       COMPCH_RING_MAX_CQS: compch_get_events() then takes events that
 *	       are there without a system call
 * @reserved:  0
 */
struct compch_channel_attr {
	uint32_t comp_mask;
	uint32_t flags;
	uint32_t ring_cqs;
	uint32_t reserved;
};

/**
 * struct compch_cq_info - the events of a CQ
 * @pending:	  waiting to be read
 * @reported:	  read, on any channel of the module
 * @merged:	  that merged with one that waited (COMPCH_CHANNEL_COALESCE)
 * @acknowledged: by compch_ack() and ibv_ack_cq_events(), modulo 2^32
 * @reserved:	  0
 */
struct compch_cq_info {
	uint64_t pending;
	uint64_t reported;
	uint64_t merged;
	uint32_t acknowledged;
	uint32_t reserved;
};

/* Flags of compch_wait_cq() */
enum compch_wait_flags {
	/* Be woken by solicited completions and errors only */
	COMPCH_WAIT_SOLICITED = 1 << 0,
};

int compch_create_channel(struct ibv_context *context,
			  const struct compch_channel_attr *attr,
			  struct ibv_comp_channel **channel);
int compch_destroy_channel(struct ibv_comp_channel *channel);
int compch_is_native(struct ibv_comp_channel *channel);
int compch_query_channel(struct ibv_comp_channel *channel,
			 struct compch_channel_info *info);

int compch_attach_cq(struct ibv_cq *cq, struct ibv_comp_channel *channel);
int compch_detach_cq(struct ibv_cq *cq,
		     struct compch_assoc_destroy_resp *balance);
int compch_move_cq(struct ibv_cq *cq, struct ibv_comp_channel *channel);
int compch_query_cq(struct ibv_cq *cq, struct compch_cq_info *info);

int compch_get_events(struct ibv_comp_channel *channel, struct ibv_cq **cqs,
		      int max, int64_t timeout, int *count);
int compch_ack(struct ibv_cq *cq, unsigned int events);
int compch_cancel(struct ibv_comp_channel *channel);
int compch_wait_cq(struct ibv_cq *cq, struct ibv_wc *wc, int max,
		   uint32_t flags, int64_t timeout, int *count);

#ifdef __cplusplus
}
#endif

#endif /* INFINIBAND_COMPCH_H */
