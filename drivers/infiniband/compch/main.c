// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion channels for RDMA, as an extension of ib_uverbs. */

#include <linux/module.h>

MODULE_DESCRIPTION("Completion channels for RDMA");
MODULE_AUTHOR("The compch developers");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(COMPCH_VERSION);
