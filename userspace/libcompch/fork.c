// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fork(): the child must neither deadlock on our locks nor disturb its parent.
 *
 * The child has copies of the program's structures and of its file descriptors,
 * but there is one set of kernel objects, and one queue of events, for both.
 * Stock verbs have two answers to that, which we keep: destroying a channel
 * only closes the caller's descriptor, destroying a CQ destroys the kernel's.
 */
#include <unistd.h>

#include "compch-private.h"

static uint32_t fork_generation;

static void fork_reset_channel(struct compch_node *node, void *arg)
{
	struct compch_channel *ch;

	(void)arg;
	ch = compch_container_of(node, struct compch_channel, node);
	ch->destroying = ch->dead;
	/* The mapping is the parent's alone. */
	ch->ring.head = NULL;
}

static void fork_reset_cq(struct compch_node *node, void *arg)
{
	struct compch_cq *c = compch_container_of(node, struct compch_cq, node);

	(void)arg;
	pthread_mutex_init(&c->lock, NULL);
}

/*
 * The threads that held a lock or were in the middle of a call do not exist
 * here.  References that they held are never dropped: a leak, no danger.
 *
 * Nothing is locked before fork(): the library is initialized after those that
 * it is preloaded into, so a lock of ours would be taken before theirs, while
 * another thread may hold theirs and call a verb.  What our locks guard is in
 * order at any moment instead, but for what is mended here.
 */
static void fork_child(void)
{
	fork_generation++;
	compch_registry_fork_child();
	compch_channel_fork_child();
	compch_wait_fork_child();
	compch_stock_fork_child();
	compch_registry_for_each(COMPCH_CHANNEL, fork_reset_channel, NULL);
	compch_registry_for_each(COMPCH_CQ, fork_reset_cq, NULL);
}

static void __attribute__((constructor)) fork_init(void)
{
	/*
	 * Not at the first call of a verb: looking them up takes the dynamic
	 * linker's lock, which may be held by a thread that runs constructors,
	 * and those may call a verb.
	 */
	compch_real();
	pthread_atfork(NULL, NULL, fork_child);
}

/**
 * compch_process() - a number that differs between a parent and its children
 *
 * A process ID alone could be that of an ancestor, in another PID namespace;
 * the count of forks alone misses a clone() that runs no handlers.
 */
uint64_t compch_process(void)
{
	return (uint64_t)fork_generation << 32 | (uint32_t)getpid();
}
