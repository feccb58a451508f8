// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs that this library puts in the place of libibverbs' own.
 *
 * All are in this one file, so that a program that links the static archive
 * gets all of them or none.  Each decides whether an object of ours is
 * concerned, and passes the call on if not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compch-private.h"

/** ibv_open_device() - as in libibverbs; the library notes the context */
COMPCH_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = compch_real()->open_device(device);

	if (context && compch_policy() != COMPCH_POLICY_OFF)
		compch_context_opened(context);
	return context;
}

/** ibv_import_device() - as in libibverbs; the library notes the context */
COMPCH_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct ibv_context *context = compch_real()->import_device(cmd_fd);

	if (context && compch_policy() != COMPCH_POLICY_OFF)
		compch_context_opened(context);
	return context;
}

/** ibv_close_device() - as in libibverbs; the library forgets the context */
COMPCH_EXPORT int ibv_close_device(struct ibv_context *context)
{
	compch_context_closing(context);
	return compch_real()->close_device(context);
}

/**
 * ibv_create_comp_channel() - create a completion channel
 * @context: a device context
 *
 * One of ours where the device has the extension, else, or with COMPCH=off, a
 * stock one; with COMPCH=require, EOPNOTSUPP.  Further errors are those of
 * compch_channel_create().
 */
COMPCH_EXPORT struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel;
	int ret;

	ret = compch_create_channel(context, NULL, &channel);
	if (!ret)
		return channel;
	errno = ret;
	return NULL;
}

/**
 * ibv_destroy_comp_channel() - destroy a completion channel
 * @channel: a stock one or one of ours
 *
 * See compch_channel_destroy().
 */
COMPCH_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct compch_channel *ch = compch_channel_get(channel);
	int ret;

	if (!ch)
		return compch_stock_destroy(channel);
	ret = compch_channel_destroy(ch);
	compch_channel_put(ch);
	return ret;
}

struct make_cq {
	struct ibv_context *context;
	int cqe;
	void *cq_context;
	int comp_vector;
};

static struct ibv_cq *make_cq(struct compch_context *ctx,
			      struct ibv_comp_channel *channel, void *arg)
{
	const struct make_cq *make = arg;

	(void)ctx;
	return compch_real()->create_cq(make->context, make->cqe,
					make->cq_context, channel,
					make->comp_vector);
}

/**
 * ibv_create_cq() - create a CQ
 * @context: as in libibverbs
 * @cqe: as in libibverbs
 * @cq_context: as in libibverbs
 * @channel: NULL, a stock channel, or one of ours, of any context
 * @comp_vector: as in libibverbs
 *
 * See compch_cq_create().
 */
COMPCH_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
					   void *cq_context,
					   struct ibv_comp_channel *channel,
					   int comp_vector)
{
	struct make_cq make = {
		.context = context,
		.cqe = cqe,
		.cq_context = cq_context,
		.comp_vector = comp_vector,
	};
	struct compch_channel *ch;
	struct ibv_cq *cq;

	ch = channel ? compch_channel_get(channel) : NULL;
	if (!ch)
		return compch_real()->create_cq(context, cqe, cq_context,
						channel, comp_vector);
	cq = compch_cq_create(ch, context, make_cq, &make);
	compch_channel_put(ch);
	return cq;
}

/* A function that makes an extended CQ, and its further arguments */
struct make_cq_ex {
	struct ibv_cq_init_attr_ex *attr;
	struct ibv_cq_ex *(*call)(struct compch_context *ctx,
				  struct ibv_cq_init_attr_ex *attr,
				  const struct make_cq_ex *make);
	void *provider_attr;
	uint32_t inlen;
};

/*
 * The attributes grow with new bits of comp_mask, and the program's are its
 * own: they may be shared by threads, or constant.  So work on a copy, of as
 * many bytes as the mask says that there are.  With a bit that we do not know
 * that is unknown too; then there is only the original to work on.
 */
static struct ibv_cq *make_cq_ex(struct compch_context *ctx,
				 struct ibv_comp_channel *channel, void *arg)
{
	const struct make_cq_ex *make = arg;
	struct ibv_cq_init_attr_ex *attr = make->attr, copy = {};
	struct ibv_comp_channel *named = attr->channel;
	struct ibv_cq_ex *cq;
	size_t size;

	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS |
					  IBV_CQ_INIT_ATTR_MASK_PD)) {
		attr->channel = channel;
		cq = make->call(ctx, attr, make);
		attr->channel = named;
	} else {
		if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
			size = offsetof(struct ibv_cq_init_attr_ex,
					parent_domain) +
			       sizeof(copy.parent_domain);
		else if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
			size = offsetof(struct ibv_cq_init_attr_ex, flags) +
			       sizeof(copy.flags);
		else
			size = offsetof(struct ibv_cq_init_attr_ex, flags);
		memcpy(&copy, attr, size);
		copy.channel = channel;
		cq = make->call(ctx, &copy, make);
	}
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

/* On our channel, if that is what the attributes name; else *OURS is false. */
static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context,
				      struct make_cq_ex *make, bool *ours)
{
	struct compch_channel *ch = NULL;
	struct ibv_cq *cq;

	if (make->attr->channel)
		ch = compch_channel_get(make->attr->channel);
	*ours = ch;
	if (!ch)
		return NULL;
	cq = compch_cq_create(ch, context, make_cq_ex, make);
	compch_channel_put(ch);
	return (struct ibv_cq_ex *)cq;
}

static struct ibv_cq_ex *call_create_cq_ex(struct compch_context *ctx,
					   struct ibv_cq_init_attr_ex *attr,
					   const struct make_cq_ex *make)
{
	(void)make;
	return compch_context_create_cq_ex(ctx)(ctx->context, attr);
}

/**
 * compch_shim_create_cq_ex() - what ibv_create_cq_ex() calls
 * @context: as in libibverbs
 * @attr: as in libibverbs, but the channel may be one of ours, of any context
 *
 * See compch_cq_create().
 */
struct ibv_cq_ex *compch_shim_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	struct make_cq_ex make = { .attr = attr, .call = call_create_cq_ex };
	compch_create_cq_ex_fn create;
	struct compch_context *ctx;
	struct ibv_cq_ex *cq;
	bool ours;

	ctx = compch_context_get(context);
	if (!ctx)
		return NULL;
	create = compch_context_create_cq_ex(ctx);
	if (!create) {
		compch_context_put(ctx);
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = create_cq_ex(context, &make, &ours);
	if (!ours)
		cq = create(context, attr);
	compch_context_put(ctx);
	return cq;
}

static struct ibv_cq_ex *call_mlx5dv_create_cq(struct compch_context *ctx,
					       struct ibv_cq_init_attr_ex *attr,
					       const struct make_cq_ex *make)
{
	return compch_real_mlx5dv_create_cq()(ctx->context, attr,
					       make->provider_attr);
}

COMPCH_EXPORT struct ibv_cq_ex *
mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
		 struct mlx5dv_cq_init_attr *mlx5_attr);

/**
 * mlx5dv_create_cq() - create a CQ of the provider mlx5
 * @context: as in libmlx5
 * @attr: as in libmlx5, but the channel may be one of ours, of any context
 * @mlx5_attr: as in libmlx5
 *
 * See compch_cq_create().
 */
struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *mlx5_attr)
{
	struct make_cq_ex make = {
		.attr = attr,
		.call = call_mlx5dv_create_cq,
		.provider_attr = mlx5_attr,
	};
	struct ibv_cq_ex *cq;
	bool ours;

	cq = create_cq_ex(context, &make, &ours);
	if (ours)
		return cq;
	return compch_real_mlx5dv_create_cq()(context, attr, mlx5_attr);
}

static struct ibv_cq_ex *call_efadv_create_cq(struct compch_context *ctx,
					      struct ibv_cq_init_attr_ex *attr,
					      const struct make_cq_ex *make)
{
	return compch_real_efadv_create_cq()(ctx->context, attr,
					      make->provider_attr, make->inlen);
}

COMPCH_EXPORT struct ibv_cq_ex *
efadv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
		struct efadv_cq_init_attr *efa_attr, uint32_t inlen);

/**
 * efadv_create_cq() - create a CQ of the provider efa
 * @context: as in libefa
 * @attr: as in libefa, but the channel may be one of ours, of any context
 * @efa_attr: as in libefa
 * @inlen: as in libefa
 *
 * See compch_cq_create().
 */
struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context,
				  struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa_attr,
				  uint32_t inlen)
{
	struct make_cq_ex make = {
		.attr = attr,
		.call = call_efadv_create_cq,
		.provider_attr = efa_attr,
		.inlen = inlen,
	};
	struct ibv_cq_ex *cq;
	bool ours;

	cq = create_cq_ex(context, &make, &ours);
	if (ours)
		return cq;
	return compch_real_efadv_create_cq()(context, attr, efa_attr, inlen);
}

/**
 * ibv_destroy_cq() - destroy a CQ
 * @cq: on a stock channel, on none, or on one of ours
 *
 * See compch_cq_destroy().  Sets errno as well, as libibverbs happens to do.
 */
COMPCH_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct compch_cq *c = compch_cq_get(cq);
	int ret;

	if (!c)
		return compch_real()->destroy_cq(cq);
	ret = compch_cq_destroy(c);
	compch_cq_put(c);
	if (ret)
		errno = ret;
	return ret;
}
