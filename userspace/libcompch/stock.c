// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Stock channels that a function of <infiniband/compch.h> reads from.  Their
 * kernel side knows neither a read() that does not wait nor one that can be
 * cancelled; what it takes for that is kept here, from the first such call until
 * the channel is destroyed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "compch-private.h"

static struct compch_stock *stock_find_locked(struct ibv_comp_channel *channel)
{
	struct compch_node *node;
	struct compch_stock *stock;

	node = compch_registry_find(COMPCH_STOCK, channel);
	if (!node)
		return NULL;
	stock = compch_container_of(node, struct compch_stock, node);
	stock->refs++;
	return stock;
}

/* Nobody reads, nobody waits. */
static void stock_init(struct compch_stock *stock)
{
	pthread_mutex_init(&stock->lock, NULL);
	pthread_cond_init(&stock->cond, NULL);
	stock->reading = false;
	compch_waiters_init(&stock->waiters);
}

static struct compch_stock *stock_make(struct ibv_comp_channel *channel)
{
	struct compch_stock *stock = calloc(1, sizeof(*stock));

	if (!stock)
		return NULL;
	stock->cancels = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	if (stock->cancels < 0) {
		free(stock);
		return NULL;
	}
	stock->refs = 2; /* the registry's and the caller's */
	stock->channel = channel;
	stock_init(stock);
	return stock;
}

static void stock_free(struct compch_stock *stock)
{
	compch_close(stock->cancels);
	pthread_cond_destroy(&stock->cond);
	pthread_mutex_destroy(&stock->lock);
	free(stock);
}

/**
 * compch_stock_get() - what the library keeps for a stock channel
 * @channel: what the program passed
 * @stock: set to a reference, to be dropped with compch_stock_put()
 *
 * Errors: ENOMEM, EMFILE, ENFILE
 */
int compch_stock_get(struct ibv_comp_channel *channel,
		     struct compch_stock **stock)
{
	struct compch_stock *made, *other;
	int saved = errno;
	int ret;

	compch_registry_lock();
	*stock = stock_find_locked(channel);
	compch_registry_unlock();
	if (*stock)
		return 0;

	made = stock_make(channel);
	ret = made ? 0 : errno;
	errno = saved;
	if (ret)
		return ret;
	compch_registry_lock();
	other = stock_find_locked(channel);
	if (!other)
		compch_registry_add(&made->node, COMPCH_STOCK, channel);
	compch_registry_unlock();
	if (other)
		stock_free(made);
	*stock = other ? other : made;
	return 0;
}

/**
 * compch_stock_put() - drop a reference
 * @stock: what to drop it of
 */
void compch_stock_put(struct compch_stock *stock)
{
	bool last;

	compch_registry_lock();
	last = !--stock->refs;
	compch_registry_unlock();
	if (last)
		stock_free(stock);
}

/**
 * compch_stock_destroy() - destroy a stock channel, and forget it
 * @channel: what the program passed
 *
 * It is forgotten before it is destroyed: as soon as that is done, another
 * thread can create one at the same address, and wait on it.  One that has CQs
 * will not be destroyed, and threads may be waiting on it.
 *
 * Errors: those of libibverbs' ibv_destroy_comp_channel()
 */
int compch_stock_destroy(struct ibv_comp_channel *channel)
{
	struct compch_stock *stock, *other = NULL;
	int ret;

	if (channel->refcnt)
		return compch_real()->destroy_comp_channel(channel);
	compch_registry_lock();
	stock = stock_find_locked(channel);
	if (stock)
		compch_registry_del(&stock->node);
	compch_registry_unlock();
	ret = compch_real()->destroy_comp_channel(channel);
	if (!stock)
		return ret;
	if (ret) {
		compch_registry_lock();
		other = stock_find_locked(channel);
		if (!other)
			compch_registry_add(&stock->node, COMPCH_STOCK,
					    channel);
		compch_registry_unlock();
	}
	/* The registry's, and that from above */
	if (!ret || other)
		compch_stock_put(stock);
	compch_stock_put(stock);
	if (other)
		compch_stock_put(other);
	return ret;
}

/**
 * compch_stock_cancel() - make one compch_get_events() return ECANCELED
 * @stock: the channel
 */
int compch_stock_cancel(struct compch_stock *stock)
{
	const uint64_t one = 1;
	int saved = errno;
	int ret = 0;

	if (write(stock->cancels, &one, sizeof(one)) < 0)
		ret = errno == EAGAIN ? EOVERFLOW : errno;
	errno = saved;
	return ret;
}

static void stock_reset(struct compch_node *node, void *arg)
{
	struct compch_stock *stock;

	(void)arg;
	stock = compch_container_of(node, struct compch_stock, node);
	stock_init(stock);
}

/** compch_stock_fork_child() - make all locks free, whoever held them */
void compch_stock_fork_child(void)
{
	compch_registry_for_each(COMPCH_STOCK, stock_reset, NULL);
}
