// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The registry: which of the addresses that a program passes to a verb are of
 * objects of ours.
 *
 * A hash table for each kind of object, under one mutex.  An object comes and
 * goes by a single store, after everything before it, so that the copy that a
 * child gets by fork() is in order at any moment.
 *
 * For an event there is compch_registry_peek(), which takes no lock.  It may be
 * looking at a node just when that is taken out, and be led into another bucket
 * when it is used again:
 *
 *	peek				del, then add elsewhere
 *	----				-----------------------
 *	at node X, of another key
 *					X leaves bucket A
 *					X.key = NULL
 *					X.next = head of B, X.key = new key
 *	next (acquire): in bucket B
 *	end of B: finds nothing
 *
 * So it finds the right node or none, and he who finds none asks again under the
 * lock.  The memory of a node of such a kind stays one for ever.
 */
#include "compch-private.h"

#define REGISTRY_BUCKETS 1024

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct compch_node *registry[COMPCH_KINDS][REGISTRY_BUCKETS];

static struct compch_node **registry_bucket(enum compch_kind kind,
					    const void *key)
{
	uint64_t hash = (uintptr_t)key;

	/* Allocated addresses differ in the middle; take the product's top. */
	hash *= 0x9e3779b97f4a7c15ull;
	return &registry[kind][(hash >> 32) % REGISTRY_BUCKETS];
}

/** compch_registry_lock() - take the library's innermost lock */
void compch_registry_lock(void)
{
	pthread_mutex_lock(&registry_mutex);
}

/** compch_registry_unlock() - release it */
void compch_registry_unlock(void)
{
	pthread_mutex_unlock(&registry_mutex);
}

/** compch_registry_fork_child() - make the lock free, whoever held it */
void compch_registry_fork_child(void)
{
	pthread_mutex_init(&registry_mutex, NULL);
}

/**
 * compch_registry_add() - make an object findable
 * @node: its node, which is in the registry no more than once
 * @kind: what it is
 * @key: the address that the program knows it by
 *
 * Passes a reference of the caller's to the registry.
 */
void compch_registry_add(struct compch_node *node, enum compch_kind kind,
			 const void *key)
{
	struct compch_node **bucket = registry_bucket(kind, key);

	node->kind = kind;
	__atomic_store_n(&node->next, *bucket, __ATOMIC_RELAXED);
	/* Both pair with compch_registry_peek(), and the second with fork(). */
	__atomic_store_n(&node->key, key, __ATOMIC_RELEASE);
	__atomic_store_n(bucket, node, __ATOMIC_RELEASE);
}

/**
 * compch_registry_del() - make an object unfindable
 * @node: its node; none is in the registry: nothing happens
 *
 * Passes the registry's reference to the caller.
 */
void compch_registry_del(struct compch_node *node)
{
	struct compch_node **link = registry_bucket(node->kind, node->key);

	for (; *link; link = &(*link)->next) {
		if (*link == node) {
			__atomic_store_n(link, node->next, __ATOMIC_RELEASE);
			__atomic_store_n(&node->key, NULL, __ATOMIC_RELEASE);
			return;
		}
	}
}

/**
 * compch_registry_find() - the object of an address, or NULL
 * @kind: what it must be
 * @key: the address
 */
struct compch_node *compch_registry_find(enum compch_kind kind,
					 const void *key)
{
	struct compch_node *node;

	for (node = *registry_bucket(kind, key); node; node = node->next) {
		if (node->key == key)
			return node;
	}
	return NULL;
}

/**
 * compch_registry_peek() - the same, without the lock
 * @kind: what it must be: one whose memory is never put to another use
 * @key: the address of an object that nobody destroys just now
 *
 * Return: NULL says nothing: ask compch_registry_find().
 */
struct compch_node *compch_registry_peek(enum compch_kind kind,
					 const void *key)
{
	struct compch_node *node;

	/* These pair with compch_registry_add() and compch_registry_del(). */
	node = __atomic_load_n(registry_bucket(kind, key), __ATOMIC_ACQUIRE);
	while (node) {
		if (__atomic_load_n(&node->key, __ATOMIC_ACQUIRE) == key)
			return node;
		node = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);
	}
	return NULL;
}

/**
 * compch_registry_for_each() - call a function for each object of a kind
 * @kind: the kind
 * @fn: may remove the node that it is given, and no other one
 * @arg: passed on to it
 */
void compch_registry_for_each(enum compch_kind kind,
			      void (*fn)(struct compch_node *node, void *arg),
			      void *arg)
{
	struct compch_node *node, *next;
	size_t i;

	for (i = 0; i < REGISTRY_BUCKETS; i++) {
		for (node = registry[kind][i]; node; node = next) {
			next = node->next;
			fn(node, arg);
		}
	}
}
