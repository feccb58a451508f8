/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between kernels, included ahead of every file of the module.
 * Only what must be known everywhere stands here; a wrapper has a header of
 * its own, named for what it wraps.
 */
#ifndef _COMPCH_COMPAT_H
#define _COMPCH_COMPAT_H

#include <linux/kconfig.h>
#include <linux/version.h>

/* The oldest kernel that was tested; no single feature stands for that. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "ib_compch needs Linux 6.1 or newer"
#endif

#if !IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
#error "ib_compch needs a kernel with CONFIG_INFINIBAND_USER_ACCESS"
#endif

#endif /* _COMPCH_COMPAT_H */
