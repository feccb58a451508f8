// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The kernel's methods, as <rdma/compch-abi.h> documents them: each function
 * returns 0 or one of the errno values given there.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "compch-private.h"

#define IOCTL_MAX_ATTRS 4

/* The header ends in an array without a length; this makes room for it. */
union ioctl_call {
	struct ib_uverbs_ioctl_hdr hdr;
	char room[sizeof(struct ib_uverbs_ioctl_hdr) +
		  IOCTL_MAX_ATTRS * sizeof(struct ib_uverbs_attr)];
};

/* Appends an attribute; the kernel's answer, if any, comes in its data. */
static struct ib_uverbs_attr *ioctl_attr(union ioctl_call *call, uint16_t id,
					 uint16_t len)
{
	struct ib_uverbs_attr *attr = &call->hdr.attrs[call->hdr.num_attrs++];

	attr->attr_id = id;
	attr->len = len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

/* An object's handle, or, with one of the NEW access, room for it. */
static struct ib_uverbs_attr *ioctl_handle(union ioctl_call *call,
					   uint16_t id, uint32_t handle)
{
	struct ib_uverbs_attr *attr = ioctl_attr(call, id, 0);

	attr->data = handle;
	return attr;
}

static struct ib_uverbs_attr *ioctl_fd(union ioctl_call *call, uint16_t id,
				       int fd)
{
	struct ib_uverbs_attr *attr = ioctl_attr(call, id, 0);

	attr->data_s64 = fd;
	return attr;
}

/* Flags, which the kernel takes as 64 bits as well, in place. */
static void ioctl_flags(union ioctl_call *call, uint16_t id, uint64_t flags)
{
	ioctl_attr(call, id, sizeof(flags))->data = flags;
}

static void ioctl_out(union ioctl_call *call, uint16_t id, void *buffer,
		      uint16_t len)
{
	ioctl_attr(call, id, len)->data = (uintptr_t)buffer;
}

static int ioctl_do(const struct compch_context *ctx, union ioctl_call *call,
		    uint16_t object, uint16_t method)
{
	int saved = errno, ret = 0;

	call->hdr.length = sizeof(call->hdr) +
			   call->hdr.num_attrs * sizeof(call->hdr.attrs[0]);
	call->hdr.object_id = object;
	call->hdr.method_id = method;
	call->hdr.driver_id = ctx->driver_id;
	if (ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &call->hdr))
		ret = errno;
	errno = saved;
	return ret;
}

/**
 * compch_ioctl_channel_create() - CHANNEL_CREATE
 * @ctx: the context that it is to belong to
 * @flags: enum compch_channel_flags
 * @ring_cqs: CQs that its ring is to have room for, or 0: no ring
 * @fd: set to its file descriptor
 */
int compch_ioctl_channel_create(const struct compch_context *ctx,
				uint32_t flags, uint32_t ring_cqs, int *fd)
{
	union ioctl_call call = { .room = "" };
	struct ib_uverbs_attr *out;
	int ret;

	out = ioctl_fd(&call, COMPCH_ATTR_CHANNEL_CREATE_FD, 0);
	if (flags)
		ioctl_flags(&call, COMPCH_ATTR_CHANNEL_CREATE_FLAGS, flags);
	/* Small input stands in the attribute itself, at its beginning. */
	if (ring_cqs)
		memcpy(&ioctl_attr(&call, COMPCH_ATTR_CHANNEL_CREATE_RING,
				   sizeof(ring_cqs))->data,
		       &ring_cqs, sizeof(ring_cqs));
	ret = ioctl_do(ctx, &call, COMPCH_OBJECT_CHANNEL,
		       COMPCH_METHOD_CHANNEL_CREATE);
	if (!ret)
		*fd = out->data_s64;
	return ret;
}

/**
 * compch_ioctl_channel_destroy() - CHANNEL_DESTROY
 * @ctx: any context
 * @fd: the channel, which is not closed by this
 */
int compch_ioctl_channel_destroy(const struct compch_context *ctx, int fd)
{
	union ioctl_call call = { .room = "" };

	ioctl_fd(&call, COMPCH_ATTR_CHANNEL_DESTROY_FD, fd);
	return ioctl_do(ctx, &call, COMPCH_OBJECT_CHANNEL,
			COMPCH_METHOD_CHANNEL_DESTROY);
}

/**
 * compch_ioctl_channel_cancel() - CHANNEL_CANCEL
 * @ctx: any context
 * @fd: the channel
 */
int compch_ioctl_channel_cancel(const struct compch_context *ctx, int fd)
{
	union ioctl_call call = { .room = "" };

	ioctl_fd(&call, COMPCH_ATTR_CHANNEL_CANCEL_FD, fd);
	return ioctl_do(ctx, &call, COMPCH_OBJECT_CHANNEL,
			COMPCH_METHOD_CHANNEL_CANCEL);
}

/**
 * compch_ioctl_channel_query() - CHANNEL_QUERY
 * @ctx: any context
 * @fd: the channel
 * @info: set to what the kernel knows of it
 */
int compch_ioctl_channel_query(const struct compch_context *ctx, int fd,
			       struct compch_channel_info *info)
{
	union ioctl_call call = { .room = "" };

	ioctl_fd(&call, COMPCH_ATTR_CHANNEL_QUERY_FD, fd);
	ioctl_out(&call, COMPCH_ATTR_CHANNEL_QUERY_RESP, info, sizeof(*info));
	return ioctl_do(ctx, &call, COMPCH_OBJECT_CHANNEL,
			COMPCH_METHOD_CHANNEL_QUERY);
}

/**
 * compch_ioctl_channel_wake() - CHANNEL_WAKE
 * @ctx: any context
 * @fd: the channel
 */
int compch_ioctl_channel_wake(const struct compch_context *ctx, int fd)
{
	union ioctl_call call = { .room = "" };

	ioctl_fd(&call, COMPCH_ATTR_CHANNEL_WAKE_FD, fd);
	return ioctl_do(ctx, &call, COMPCH_OBJECT_CHANNEL,
			COMPCH_METHOD_CHANNEL_WAKE);
}

/**
 * compch_ioctl_assoc_create() - ASSOC_CREATE, with the default cookie
 * @ctx: the context of the CQ
 * @cq_handle: the CQ
 * @channel_fd: the channel
 * @handle: set to the association's handle
 */
int compch_ioctl_assoc_create(const struct compch_context *ctx,
			      uint32_t cq_handle, int channel_fd,
			      uint32_t *handle)
{
	union ioctl_call call = { .room = "" };
	struct ib_uverbs_attr *out;
	int ret;

	out = ioctl_handle(&call, COMPCH_ATTR_ASSOC_CREATE_HANDLE, 0);
	ioctl_handle(&call, COMPCH_ATTR_ASSOC_CREATE_CQ, cq_handle);
	ioctl_fd(&call, COMPCH_ATTR_ASSOC_CREATE_CHANNEL_FD, channel_fd);
	ret = ioctl_do(ctx, &call, COMPCH_OBJECT_ASSOC,
		       COMPCH_METHOD_ASSOC_CREATE);
	if (!ret)
		*handle = out->data;
	return ret;
}

/**
 * compch_ioctl_assoc_move() - ASSOC_MOVE
 * @ctx: the context of the CQ
 * @handle: the association
 * @channel_fd: where to
 */
int compch_ioctl_assoc_move(const struct compch_context *ctx, uint32_t handle,
			    int channel_fd)
{
	union ioctl_call call = { .room = "" };

	ioctl_handle(&call, COMPCH_ATTR_ASSOC_MOVE_HANDLE, handle);
	ioctl_fd(&call, COMPCH_ATTR_ASSOC_MOVE_CHANNEL_FD, channel_fd);
	return ioctl_do(ctx, &call, COMPCH_OBJECT_ASSOC,
			COMPCH_METHOD_ASSOC_MOVE);
}

/**
 * compch_ioctl_assoc_query() - ASSOC_QUERY
 * @ctx: the context of the CQ
 * @handle: the association
 * @info: set to what the kernel knows of it
 */
int compch_ioctl_assoc_query(const struct compch_context *ctx, uint32_t handle,
			     struct compch_assoc_info *info)
{
	union ioctl_call call = { .room = "" };

	ioctl_handle(&call, COMPCH_ATTR_ASSOC_QUERY_HANDLE, handle);
	ioctl_out(&call, COMPCH_ATTR_ASSOC_QUERY_RESP, info, sizeof(*info));
	return ioctl_do(ctx, &call, COMPCH_OBJECT_ASSOC,
			COMPCH_METHOD_ASSOC_QUERY);
}

/**
 * compch_ioctl_assoc_destroy() - ASSOC_DESTROY
 * @ctx: the context of the CQ
 * @handle: the association
 * @flags: enum compch_assoc_destroy_flags
 * @resp: set to the balance of its events
 */
int compch_ioctl_assoc_destroy(const struct compch_context *ctx,
			       uint32_t handle, uint32_t flags,
			       struct compch_assoc_destroy_resp *resp)
{
	union ioctl_call call = { .room = "" };

	ioctl_handle(&call, COMPCH_ATTR_ASSOC_DESTROY_HANDLE, handle);
	ioctl_out(&call, COMPCH_ATTR_ASSOC_DESTROY_RESP, resp, sizeof(*resp));
	if (flags)
		ioctl_flags(&call, COMPCH_ATTR_ASSOC_DESTROY_FLAGS, flags);
	return ioctl_do(ctx, &call, COMPCH_OBJECT_ASSOC,
			COMPCH_METHOD_ASSOC_DESTROY);
}
