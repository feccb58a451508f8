/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the files of libcompch share.
 *
 * Objects and lifetime
 * --------------------
 * The library remembers three kinds of objects, each by the address of the
 * public verbs structure that the program has of it:
 *
 *   struct compch_context	a device context (struct ibv_context) on which
 *				a channel was asked for, or that was opened on
 *				a device with the kernel module's extension
 *   struct compch_channel	a channel of ours; it begins with the
 *				struct ibv_comp_channel that the program holds
 *   struct compch_cq		a CQ that is, or has been, associated with one
 *				of them
 *   struct compch_stock	a stock channel that a function of
 *				<infiniband/compch.h> waited on
 *
 * Each has a count of references.  The program holds one, until it destroys or
 * closes the object; a CQ holds one on its channel and one on its context, a
 * channel one on its context, and a call in progress one on what it works with.
 * When the last one of a channel is dropped its file descriptor is closed, so
 * that a number cannot be reused while somebody is about to hand it to the
 * kernel.  The memory of channels and CQs is never given back, see channel.c and
 * compch_registry_peek().
 *
 * A call on an event's path takes no reference, which would take a lock, but
 * counts itself in struct compch_channel.users.
 *
 * Locks
 * -----
 *  compch_registry_lock()	guards the registry, every reference count and
 *	every member marked [R].  It is a leaf: no system call, no allocation,
 *	no call into libibverbs and no other lock is made or taken under it.
 *	fork() does not wait for it (fork.c).
 *
 *  struct compch_waiters.lock	see wait.c.  Taken first.
 *
 *  struct compch_stock.lock	who reads from a stock channel, one at a time.
 *
 *  struct compch_cq.lock	serialises the calls with the handle of one
 *	association.  The kernel only tries for its lock of that handle, and
 *	two calls at the same moment would make one of them fail with an EBUSY
 *	that says nothing about the CQ.  Taken before the registry's lock, and
 *	taken to change a member marked [C].
 *
 *  ibv_cq.mutex, ibv_context.mutex	libibverbs' own.  The first is taken,
 *	without any lock of ours, while destroying a CQ waits until its events
 *	are acknowledged.
 *
 * Errors
 * ------
 * Functions that return an int return 0 or a positive errno value, and those
 * that return a pointer return NULL and set errno, as the verbs themselves do.
 */
#ifndef COMPCH_PRIVATE_H
#define COMPCH_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <infiniband/compch.h>
#include <infiniband/verbs.h>
#include <rdma/compch-abi.h>

#include "ring.h"

#define COMPCH_EXPORT __attribute__((visibility("default")))
#define COMPCH_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define compch_container_of(ptr, type, member)				\
	((type *)((char *)(ptr) - offsetof(type, member)))

/* log.c */
void compch_complain(const char *format, ...) COMPCH_PRINTF(1, 2);

/* policy.c: what COMPCH= in the environment asks for */
enum compch_policy {
	COMPCH_POLICY_AUTO,	/* ours where it can be, else the stock one */
	COMPCH_POLICY_OFF,	/* never ours */
	COMPCH_POLICY_REQUIRE,	/* ours or an error */
};

enum compch_policy compch_policy(void);
unsigned int compch_policy_warn_ms(void);
bool compch_policy_auto_ack(void);

/* The providers' own, of which nothing but the name is needed */
struct mlx5dv_cq_init_attr;
struct efadv_cq_init_attr;

/* real.c: the functions that this library stands before */
struct compch_real {
	struct ibv_context *(*open_device)(struct ibv_device *device);
	struct ibv_context *(*import_device)(int cmd_fd);
	int (*close_device)(struct ibv_context *context);
	struct ibv_comp_channel *
		(*create_comp_channel)(struct ibv_context *context);
	int (*destroy_comp_channel)(struct ibv_comp_channel *channel);
	struct ibv_cq *(*create_cq)(struct ibv_context *context, int cqe,
				    void *cq_context,
				    struct ibv_comp_channel *channel,
				    int comp_vector);
	int (*destroy_cq)(struct ibv_cq *cq);
	void (*ack_cq_events)(struct ibv_cq *cq, unsigned int events);
	int (*get_cq_event)(struct ibv_comp_channel *channel,
			    struct ibv_cq **cq, void **cq_context);
};

typedef struct ibv_cq_ex *
(*compch_mlx5dv_create_cq_fn)(struct ibv_context *context,
			      struct ibv_cq_init_attr_ex *attr,
			      struct mlx5dv_cq_init_attr *mlx5_attr);
typedef struct ibv_cq_ex *
(*compch_efadv_create_cq_fn)(struct ibv_context *context,
			     struct ibv_cq_init_attr_ex *attr,
			     struct efadv_cq_init_attr *efa_attr,
			     uint32_t inlen);

const struct compch_real *compch_real(void);
compch_mlx5dv_create_cq_fn compch_real_mlx5dv_create_cq(void);
compch_efadv_create_cq_fn compch_real_efadv_create_cq(void);

/* registry.c: objects by the addresses that the program knows */
enum compch_kind {
	COMPCH_CONTEXT,
	COMPCH_CHANNEL,
	COMPCH_CQ,
	COMPCH_STOCK,
	COMPCH_KINDS
};

struct compch_node {
	struct compch_node *next;
	const void *key;
	enum compch_kind kind;
};

void compch_registry_lock(void);
void compch_registry_unlock(void);
void compch_registry_fork_child(void);
/* With the lock held: */
void compch_registry_add(struct compch_node *node, enum compch_kind kind,
			 const void *key);
void compch_registry_del(struct compch_node *node);
struct compch_node *compch_registry_find(enum compch_kind kind,
					 const void *key);
/* Without: */
struct compch_node *compch_registry_peek(enum compch_kind kind,
					 const void *key);
/* With it again: */
void compch_registry_for_each(enum compch_kind kind,
			      void (*fn)(struct compch_node *node, void *arg),
			      void *arg);

/* fork.c */
uint64_t compch_process(void);

/* device.c: the device's files of the kernel module in /sys */
enum compch_support {
	COMPCH_SUPPORTED,
	COMPCH_NO_DEVICE,	/* the context is none of a kernel device */
	COMPCH_NO_MODULE,	/* the files are missing */
	COMPCH_BAD_MODULE,	/* the files make no sense */
	COMPCH_NO_ABI,		/* another version of the interface */
	COMPCH_NO_METHOD,	/* the device was not registered anew */
	COMPCH_NO_IOCTL,	/* the kernel's uverbs has no ioctl interface */
};

enum compch_support compch_device_probe(const struct ibv_context *context,
					uint32_t *driver_id);
const char *compch_support_reason(enum compch_support support);

/* context.c */
typedef struct ibv_cq_ex *(*compch_create_cq_ex_fn)(
		struct ibv_context *context,
		struct ibv_cq_init_attr_ex *attr);

struct compch_context {
	struct compch_node node;	/* [R] */
	unsigned int refs;		/* [R] */
	struct ibv_context *context;	/* [R] NULL once it is closed */
	int cmd_fd;
	uint32_t driver_id;
	enum compch_support support;	/* [R] may change from SUPPORTED */
	bool told;			/* [R] the reason has been printed */
	struct ibv_comp_channel *stock;	/* [R] set once, see there */
	compch_create_cq_ex_fn create_cq_ex; /* [R] libibverbs' own */
};

struct compch_context *compch_context_get(struct ibv_context *context);
void compch_context_ref_locked(struct compch_context *ctx);
/* With the lock held; true: the caller frees it when it has unlocked */
bool compch_context_put_locked(struct compch_context *ctx);
void compch_context_put(struct compch_context *ctx);
enum compch_support compch_context_support(struct compch_context *ctx);
int compch_context_unsupported(struct compch_context *ctx,
			       enum compch_support support);
struct ibv_comp_channel *compch_context_stock(struct compch_context *ctx);
compch_create_cq_ex_fn
compch_context_create_cq_ex(struct compch_context *ctx);
void compch_context_opened(struct ibv_context *context);
void compch_context_closing(struct ibv_context *context);

/* wait.c */
struct compch_waiter;

struct compch_waiters {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct compch_waiter *list;	/* who waits for a CQ on this channel */
	bool leader;			/* one of them reads from the channel */
};

void compch_waiters_init(struct compch_waiters *waiters);
bool compch_waiters_of(const struct compch_waiters *waiters,
		       const struct ibv_cq *cq);
void compch_wait_fork_child(void);

/* channel.c */
struct compch_channel {
	struct ibv_comp_channel base;	/* refcnt: [R], CQs on this channel */
	struct compch_node node;	/* [R] */
	unsigned int refs;		/* [R] */
	unsigned int users;		/* atomic: calls that work with the fd */
	struct compch_context *ctx;
	uint64_t process;		/* that created it, see fork.c */
	bool destroying;		/* [R] or destroyed */
	bool dead;			/* [R] destroyed, see there */
	bool lost;			/* [R] the fd is no longer ours */
	struct compch_channel *next_dead; /* [R] */
	struct compch_waiters waiters;
	struct compch_ring_user ring;	/* head NULL: it has none, as in a child */
	size_t ring_size;
};

void compch_channel_fork_child(void);
struct compch_channel *compch_channel_create(struct compch_context *ctx,
					     uint32_t flags, uint32_t ring_cqs);
int compch_channel_context(struct compch_channel *ch,
			   struct compch_context **ctx);
struct compch_channel *compch_channel_get(struct ibv_comp_channel *channel);
void compch_channel_put(struct compch_channel *ch);
struct compch_channel *compch_channel_use(struct ibv_comp_channel *channel);
void compch_channel_unuse(struct compch_channel *ch);
int compch_channel_destroy(struct compch_channel *ch);

/* cq.c */
struct compch_cq {
	struct compch_node node;	/* [R] */
	unsigned int refs;		/* [R] */
	struct compch_cq *next_free;	/* [R] */
	struct ibv_cq *cq;
	struct compch_context *ctx;	/* of the CQ, not of the channel */
	/*
	 * The channel that libibverbs knows the CQ to be on: for one that was
	 * created on a channel of ours that of the context, which the program
	 * does not see; for any other one the program's, or none.
	 */
	struct ibv_comp_channel *stock;
	bool own;			/* it was created on a channel of ours */
	pthread_mutex_t lock;
	struct compch_channel *ch;	/* [C] and [R]; NULL: it is detached */
	uint32_t handle;		/* [C] of the association */
	bool destroying;		/* [C] or destroyed */
	/*
	 * The balance, in which counts are modulo 2^32.  What the program has
	 * acknowledged is the sum of cq->comp_events_completed, which
	 * libibverbs counts, and of what is in @acks.
	 */
	uint32_t base;			/* [C] that sum when it was attached */
	uint64_t reported;		/* [C] by associations that are gone */
	uint64_t acks;			/* atomic, see event.c */
	/* [C] What cq_settle() has taken out of both sides of it */
	uint64_t settled;
	uint32_t settled_acks;
};

/* In compch_cq.acks: somebody waits for cq->cond */
#define COMPCH_ACKS_AWAITED (1ull << 63)

/*
 * Makes a CQ, with @channel in place of the channel that the program named: any
 * function of libibverbs or of a provider's direct verbs that can.
 */
typedef struct ibv_cq *(*compch_cq_make_fn)(struct compch_context *ctx,
					    struct ibv_comp_channel *channel,
					    void *arg);

struct ibv_cq *compch_cq_create(struct compch_channel *ch,
				struct ibv_context *context,
				compch_cq_make_fn make, void *arg);
struct compch_cq *compch_cq_get(struct ibv_cq *cq);
void compch_cq_put(struct compch_cq *c);
int compch_cq_destroy(struct compch_cq *c);
int compch_cq_attach(struct ibv_cq *cq, struct compch_channel *ch);
int compch_cq_detach(struct compch_cq *c,
		     struct compch_assoc_destroy_resp *balance);
int compch_cq_move(struct compch_cq *c, struct compch_channel *ch);
int compch_cq_query(struct compch_cq *c, struct compch_cq_info *info);
void compch_cq_forget_all(struct compch_context *ctx);
uint32_t compch_cq_acknowledged(const struct compch_cq *c);

/* stock.c: stock channels that a function of ours reads from */
struct compch_stock {
	struct compch_node node;	/* [R] */
	unsigned int refs;		/* [R] */
	struct ibv_comp_channel *channel;
	int cancels;			/* an eventfd; a read takes one away */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool reading;			/* a thread does; others wait for @cond */
	struct compch_waiters waiters;
};

int compch_stock_get(struct ibv_comp_channel *channel,
		     struct compch_stock **stock);
int compch_stock_cancel(struct compch_stock *stock);
void compch_stock_put(struct compch_stock *stock);
int compch_stock_destroy(struct ibv_comp_channel *channel);
void compch_stock_fork_child(void);

/*
 * Around calls that are cancellation points, where a thread would leave
 * something behind.  Only those functions are that whose manual says so.
 */
static inline int compch_cancel_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void compch_cancel_on(int state)
{
	pthread_setcancelstate(state, NULL);
}

static inline void compch_close(int fd)
{
	int state = compch_cancel_off();

	close(fd);
	compch_cancel_on(state);
}

/* event.c */
int64_t compch_now(void);
int64_t compch_deadline(int64_t timeout);
int64_t compch_remaining(int64_t deadline);
int compch_channel_get_events(struct compch_channel *ch, struct ibv_cq **cqs,
			      int max, int64_t timeout, int *count);
int compch_stock_get_events(struct compch_stock *stock, struct ibv_cq **cqs,
			    int max, int64_t timeout, int *count);

/* ioctl.c: the methods of <rdma/compch-abi.h> */
int compch_ioctl_channel_create(const struct compch_context *ctx,
				uint32_t flags, uint32_t ring_cqs, int *fd);
int compch_ioctl_channel_destroy(const struct compch_context *ctx, int fd);
int compch_ioctl_channel_cancel(const struct compch_context *ctx, int fd);
int compch_ioctl_channel_query(const struct compch_context *ctx, int fd,
			       struct compch_channel_info *info);
int compch_ioctl_channel_wake(const struct compch_context *ctx, int fd);
int compch_ioctl_assoc_create(const struct compch_context *ctx,
			      uint32_t cq_handle, int channel_fd,
			      uint32_t *handle);
int compch_ioctl_assoc_move(const struct compch_context *ctx, uint32_t handle,
			    int channel_fd);
int compch_ioctl_assoc_query(const struct compch_context *ctx, uint32_t handle,
			     struct compch_assoc_info *info);
int compch_ioctl_assoc_destroy(const struct compch_context *ctx,
			       uint32_t handle, uint32_t flags,
			       struct compch_assoc_destroy_resp *resp);

/* shim.c: takes the place of verbs_context.create_cq_ex */
struct ibv_cq_ex *compch_shim_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr);

#endif /* COMPCH_PRIVATE_H */
