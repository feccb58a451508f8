// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Device contexts: whether they can have channels of ours, and what the library
 * keeps for each.
 */
#include <errno.h>
#include <stdlib.h>

#include "compch-private.h"

/*
 * ibv_create_cq_ex() is an inline function that calls a pointer in the public
 * structure around the context.  The pointer is read without a lock, so it is
 * changed by one aligned store; whoever has read the old one just before has
 * not got a channel of ours yet.
 */
static void context_patch(struct compch_context *ctx)
{
	struct verbs_context *vctx;

	vctx = verbs_get_ctx_op(ctx->context, create_cq_ex);
	if (!vctx || vctx->create_cq_ex == compch_shim_create_cq_ex)
		return;
	ctx->create_cq_ex = vctx->create_cq_ex;
	__atomic_store_n(&vctx->create_cq_ex, compch_shim_create_cq_ex,
			 __ATOMIC_RELEASE);
}

static void context_unpatch(struct compch_context *ctx)
{
	struct verbs_context *vctx;

	if (!ctx->create_cq_ex)
		return;
	vctx = verbs_get_ctx_op(ctx->context, create_cq_ex);
	if (vctx && vctx->create_cq_ex == compch_shim_create_cq_ex)
		__atomic_store_n(&vctx->create_cq_ex, ctx->create_cq_ex,
				 __ATOMIC_RELEASE);
}

static struct compch_context *context_find_locked(struct ibv_context *context)
{
	struct compch_node *node;

	node = compch_registry_find(COMPCH_CONTEXT, context);
	if (!node)
		return NULL;
	return compch_container_of(node, struct compch_context, node);
}

/**
 * compch_context_ref_locked() - take a reference
 * @ctx: what the caller has, or can find
 */
void compch_context_ref_locked(struct compch_context *ctx)
{
	ctx->refs++;
}

/**
 * compch_context_put_locked() - drop a reference
 * @ctx: what to drop it of
 *
 * Return: whether the caller must free() it, after unlocking.
 */
bool compch_context_put_locked(struct compch_context *ctx)
{
	return !--ctx->refs;
}

/**
 * compch_context_put() - drop a reference
 * @ctx: what to drop it of
 */
void compch_context_put(struct compch_context *ctx)
{
	bool last;

	compch_registry_lock();
	last = compch_context_put_locked(ctx);
	compch_registry_unlock();
	if (last)
		free(ctx);
}

/**
 * compch_context_get() - what the library keeps for a device context
 * @context: the program's context
 *
 * Finds out about the device when asked for the first time, and from then on
 * watches ibv_create_cq_ex() on it.  Fails with ENOMEM only.
 *
 * Return: a reference, to be dropped with compch_context_put().
 */
struct compch_context *compch_context_get(struct ibv_context *context)
{
	struct compch_context *ctx, *other;
	int saved = errno;

	compch_registry_lock();
	ctx = context_find_locked(context);
	if (ctx)
		ctx->refs++;
	compch_registry_unlock();
	if (ctx)
		return ctx;

	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return NULL;
	ctx->context = context;
	ctx->support = compch_device_probe(context, &ctx->driver_id);
	if (ctx->support == COMPCH_SUPPORTED)
		ctx->cmd_fd = context->cmd_fd;

	compch_registry_lock();
	other = context_find_locked(context);
	if (other) {
		other->refs++;
	} else {
		ctx->refs = 2; /* the program's and the caller's */
		compch_registry_add(&ctx->node, COMPCH_CONTEXT, context);
		if (ctx->support == COMPCH_SUPPORTED)
			context_patch(ctx);
	}
	compch_registry_unlock();
	if (other) {
		free(ctx);
		ctx = other;
	}
	errno = saved;
	return ctx;
}

/**
 * compch_context_support() - whether a context can have channels of ours
 * @ctx: the context
 */
enum compch_support compch_context_support(struct compch_context *ctx)
{
	enum compch_support support;

	compch_registry_lock();
	support = ctx->support;
	compch_registry_unlock();
	return support;
}

/**
 * compch_context_unsupported() - no channel of ours can be had on a context
 * @ctx: the context
 * @support: why
 *
 * Return: 0 if the stock channel will do, EOPNOTSUPP with COMPCH=require, which
 * is explained on standard error once for each context.
 */
int compch_context_unsupported(struct compch_context *ctx,
			       enum compch_support support)
{
	bool told;

	compch_registry_lock();
	ctx->support = support;
	told = ctx->told;
	ctx->told = compch_policy() == COMPCH_POLICY_REQUIRE;
	compch_registry_unlock();

	if (compch_policy() != COMPCH_POLICY_REQUIRE)
		return 0;
	if (!told)
		compch_complain("COMPCH=require: %s: %s",
				ctx->context->device ?
				ibv_get_device_name(ctx->context->device) :
				"(no device)",
				compch_support_reason(support));
	return EOPNOTSUPP;
}

/**
 * compch_context_stock() - a stock channel of a context
 * @ctx: the context
 *
 * Some providers set a CQ's interrupts up only when it is created with a
 * channel.  This one serves all CQs of the context; nobody reads from it, and
 * there is nothing to read, since a CQ's events go to its association from
 * before it can be armed until after it is unused.
 *
 * Return: the channel, which lives until the context is closed, or NULL with
 * the errno of ibv_create_comp_channel().
 */
struct ibv_comp_channel *compch_context_stock(struct compch_context *ctx)
{
	const struct compch_real *real = compch_real();
	struct ibv_comp_channel *stock, *made;
	int saved = errno;

	compch_registry_lock();
	stock = ctx->stock;
	compch_registry_unlock();
	if (stock)
		return stock;

	made = real->create_comp_channel(ctx->context);
	if (!made)
		return NULL;
	compch_registry_lock();
	if (!ctx->stock)
		ctx->stock = made;
	stock = ctx->stock;
	compch_registry_unlock();
	if (stock != made)
		real->destroy_comp_channel(made);
	errno = saved;
	return stock;
}

/**
 * compch_context_create_cq_ex() - what ibv_create_cq_ex() would have called
 * @ctx: the context
 *
 * Return: the function, or NULL if there is none.
 */
compch_create_cq_ex_fn compch_context_create_cq_ex(struct compch_context *ctx)
{
	compch_create_cq_ex_fn fn;

	compch_registry_lock();
	fn = ctx->create_cq_ex;
	compch_registry_unlock();
	return fn;
}

/**
 * compch_context_closing() - a context is about to be closed
 * @context: the program's context, or one that the library does not know
 *
 * Channels of ours stay until the program destroys them; the kernel closes them
 * with the context.  CQs that the program has not destroyed go with it.
 */
void compch_context_closing(struct ibv_context *context)
{
	struct ibv_comp_channel *stock;
	struct compch_context *ctx;

	compch_registry_lock();
	ctx = context_find_locked(context);
	if (ctx) {
		compch_registry_del(&ctx->node);
		context_unpatch(ctx);
		stock = ctx->stock;
		ctx->stock = NULL;
		ctx->context = NULL;
	}
	compch_registry_unlock();
	if (!ctx)
		return;

	compch_cq_forget_all(ctx);
	if (stock) {
		/* Not EBUSY, for CQs that nobody can destroy any more. */
		stock->refcnt = 0;
		compch_real()->destroy_comp_channel(stock);
	}
	compch_context_put(ctx);
}

/**
 * compch_context_opened() - a context has been opened
 * @context: the program's context
 *
 * A CQ may be created on it with a channel of another context, which no other
 * call would announce: so ibv_create_cq_ex() is watched from the beginning.
 */
void compch_context_opened(struct ibv_context *context)
{
	struct compch_context *ctx;

	/* One that was closed behind our back, at the same address? */
	compch_context_closing(context);
	ctx = compch_context_get(context);
	if (ctx)
		compch_context_put(ctx);
}
