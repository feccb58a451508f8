// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * libibverbs' own functions, which this library's stand before.
 *
 * Each is looked up by the version that programs are bound to: libibverbs has
 * an ibv_create_cq@IBVERBS_1.0 as well, which takes other structures.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "compch-private.h"

static pthread_once_t real_once = PTHREAD_ONCE_INIT;
static struct compch_real real;

/* What is called when libibverbs lacks a function, or is not there at all. */

static struct ibv_context *no_open_device(struct ibv_device *device)
{
	(void)device;
	errno = ENOSYS;
	return NULL;
}

static struct ibv_context *no_import_device(int cmd_fd)
{
	(void)cmd_fd;
	errno = ENOSYS;
	return NULL;
}

static int no_close_device(struct ibv_context *context)
{
	(void)context;
	return ENOSYS;
}

static struct ibv_comp_channel *
no_create_comp_channel(struct ibv_context *context)
{
	(void)context;
	errno = ENOSYS;
	return NULL;
}

static int no_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	(void)channel;
	return ENOSYS;
}

static struct ibv_cq *no_create_cq(struct ibv_context *context, int cqe,
				   void *cq_context,
				   struct ibv_comp_channel *channel,
				   int comp_vector)
{
	(void)context;
	(void)cqe;
	(void)cq_context;
	(void)channel;
	(void)comp_vector;
	errno = ENOSYS;
	return NULL;
}

static int no_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return ENOSYS;
}

static void no_ack_cq_events(struct ibv_cq *cq, unsigned int events)
{
	(void)cq;
	(void)events;
}

static int no_get_cq_event(struct ibv_comp_channel *channel,
			   struct ibv_cq **cq, void **cq_context)
{
	(void)channel;
	(void)cq;
	(void)cq_context;
	errno = ENOSYS;
	return -1;
}

static struct ibv_cq_ex *
no_mlx5dv_create_cq(struct ibv_context *context,
		    struct ibv_cq_init_attr_ex *attr,
		    struct mlx5dv_cq_init_attr *mlx5_attr)
{
	(void)context;
	(void)attr;
	(void)mlx5_attr;
	errno = ENOSYS;
	return NULL;
}

static struct ibv_cq_ex *
no_efadv_create_cq(struct ibv_context *context,
		   struct ibv_cq_init_attr_ex *attr,
		   struct efadv_cq_init_attr *efa_attr, uint32_t inlen)
{
	(void)context;
	(void)attr;
	(void)efa_attr;
	(void)inlen;
	errno = ENOSYS;
	return NULL;
}

static void *real_find_in(void *handle, const char *name, const char *version)
{
	return handle ? dlvsym(handle, name, version) : NULL;
}

/*
 * What comes after this library in the program's order of symbols.  That may be
 * a second copy of it: a program has it linked in, and runs with it preloaded.
 * Then libibverbs is asked directly, for the copies would take each other's
 * channels for stock ones.
 */
static void *real_find_next(const char *name, const char *version)
{
	if (dlsym(RTLD_NEXT, "compch_is_native"))
		return NULL;
	return real_find_in(RTLD_NEXT, name, version);
}

static void real_find(void *fn, const char *name, const char *version)
{
	void *found = real_find_next(name, version);

	if (!found)
		found = real_find_in(dlopen("libibverbs.so.1",
					    RTLD_LAZY | RTLD_NOLOAD),
				     name, version);
	if (!found && !dlsym(RTLD_NEXT, "compch_is_native"))
		found = dlsym(RTLD_NEXT, name);
	if (found)
		memcpy(fn, &found, sizeof(found));
}

static void real_find_all(void)
{
	real.open_device = no_open_device;
	real.import_device = no_import_device;
	real.close_device = no_close_device;
	real.create_comp_channel = no_create_comp_channel;
	real.destroy_comp_channel = no_destroy_comp_channel;
	real.create_cq = no_create_cq;
	real.destroy_cq = no_destroy_cq;
	real.ack_cq_events = no_ack_cq_events;
	real.get_cq_event = no_get_cq_event;

	real_find(&real.open_device, "ibv_open_device", "IBVERBS_1.1");
	real_find(&real.import_device, "ibv_import_device", "IBVERBS_1.10");
	real_find(&real.close_device, "ibv_close_device", "IBVERBS_1.1");
	real_find(&real.create_comp_channel, "ibv_create_comp_channel",
		  "IBVERBS_1.0");
	real_find(&real.destroy_comp_channel, "ibv_destroy_comp_channel",
		  "IBVERBS_1.0");
	real_find(&real.create_cq, "ibv_create_cq", "IBVERBS_1.1");
	real_find(&real.destroy_cq, "ibv_destroy_cq", "IBVERBS_1.1");
	real_find(&real.ack_cq_events, "ibv_ack_cq_events", "IBVERBS_1.1");
	real_find(&real.get_cq_event, "ibv_get_cq_event", "IBVERBS_1.1");
}

/**
 * compch_real() - libibverbs' own functions
 *
 * Never NULL, nor is a member; what is missing answers ENOSYS.
 */
const struct compch_real *compch_real(void)
{
	int saved = errno;

	pthread_once(&real_once, real_find_all);
	errno = saved;
	return &real;
}

/*
 * A provider's function, when it is called: the provider may come with a plugin,
 * long after this library and where nothing but its name leads to it.  And a
 * program that is linked with this library before the provider may be without
 * the latter, for the linker saw no use for it.
 */
static void *real_find_provider(void **cache, const char *name,
				const char *version, const char *library)
{
	void *found = __atomic_load_n(cache, __ATOMIC_RELAXED);
	int saved = errno;

	if (found)
		return found;
	found = real_find_next(name, version);
	if (!found)
		found = real_find_in(dlopen(library, RTLD_LAZY), name, version);
	__atomic_store_n(cache, found, __ATOMIC_RELAXED);
	errno = saved;
	return found;
}

/** compch_real_mlx5dv_create_cq() - libmlx5's own function; never NULL */
compch_mlx5dv_create_cq_fn compch_real_mlx5dv_create_cq(void)
{
	compch_mlx5dv_create_cq_fn fn = no_mlx5dv_create_cq;
	static void *cache;
	void *found;

	found = real_find_provider(&cache, "mlx5dv_create_cq", "MLX5_1.1",
				   "libmlx5.so.1");
	if (found)
		memcpy(&fn, &found, sizeof(found));
	return fn;
}

/** compch_real_efadv_create_cq() - libefa's own function; never NULL */
compch_efadv_create_cq_fn compch_real_efadv_create_cq(void)
{
	compch_efadv_create_cq_fn fn = no_efadv_create_cq;
	static void *cache;
	void *found;

	found = real_find_provider(&cache, "efadv_create_cq", "EFA_1.2",
				   "libefa.so.1");
	if (found)
		memcpy(&fn, &found, sizeof(found));
	return fn;
}
