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

static void real_find(void *fn, const char *name, const char *version)
{
	void *found = dlvsym(RTLD_NEXT, name, version);

	if (!found)
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

	real_find(&real.open_device, "ibv_open_device", "IBVERBS_1.1");
	real_find(&real.import_device, "ibv_import_device", "IBVERBS_1.10");
	real_find(&real.close_device, "ibv_close_device", "IBVERBS_1.1");
	real_find(&real.create_comp_channel, "ibv_create_comp_channel",
		  "IBVERBS_1.0");
	real_find(&real.destroy_comp_channel, "ibv_destroy_comp_channel",
		  "IBVERBS_1.0");
	real_find(&real.create_cq, "ibv_create_cq", "IBVERBS_1.1");
	real_find(&real.destroy_cq, "ibv_destroy_cq", "IBVERBS_1.1");
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
