// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion channels for RDMA, as an extension of ib_uverbs. */

#include <linux/module.h>

#include "compch.h"

static int __init compch_init(void)
{
	int ret;

	ret = compch_channel_init();
	if (ret)
		return ret;
	ret = compch_assoc_init();
	if (ret)
		goto exit_channel;
	compch_stats_init();

	/* Last: from now on the module is in use. */
	ret = compch_device_init();
	if (ret)
		goto exit_stats;
	return 0;

exit_stats:
	compch_stats_exit();
	compch_assoc_exit();
exit_channel:
	compch_channel_exit();
	return ret;
}

static void __exit compch_exit(void)
{
	compch_device_exit();
	compch_stats_exit();
	compch_assoc_exit();
	compch_ring_exit();
	compch_channel_exit();
}

module_init(compch_init);
module_exit(compch_exit);

MODULE_DESCRIPTION("Completion channels for RDMA");
MODULE_AUTHOR("The compch developers");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(COMPCH_VERSION);
