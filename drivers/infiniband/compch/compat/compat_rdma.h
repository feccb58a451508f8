/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where a driver's side of the RDMA core differs between kernels.
 */
#ifndef _COMPCH_COMPAT_RDMA_H
#define _COMPCH_COMPAT_RDMA_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/*
 * The last argument of ib_device_ops.create_cq(), and the driver data in it:
 * NULL for a CQ of the kernel's own.
 */
#ifdef COMPAT_HAVE_CREATE_CQ_BUNDLE
#define compat_create_cq_arg uverbs_attr_bundle

static inline struct ib_udata *
compat_create_cq_udata(struct compat_create_cq_arg *arg)
{
	return arg ? &arg->driver_udata : NULL;
}
#else
#define compat_create_cq_arg ib_udata

static inline struct ib_udata *
compat_create_cq_udata(struct compat_create_cq_arg *arg)
{
	return arg;
}
#endif

#endif /* _COMPCH_COMPAT_RDMA_H */
