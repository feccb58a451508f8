// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Does the ioctl tree of compch_test0 have the module's objects? "no" is right
 * for a device that was registered before the module, whatever sysfs says.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	struct compch_channel_info info;
	struct ctx ctx;
	struct cq cq;
	int chan;

	if (abi_init(argc, argv, "yes no")) {
		ctx = ctx_new(0);
		check_case("every method");
		eq(channel_create(&ctx, 0), -EPROTONOSUPPORT);
		eq(channel_destroy(&ctx, 0), -EPROTONOSUPPORT);
		eq(channel_cancel(&ctx, 0), -EPROTONOSUPPORT);
		eq(channel_query(&ctx, 0, &info), -EPROTONOSUPPORT);
		must(cq_create(&ctx, &cq, -1));
		eq(assoc_create(&cq, 0), -EPROTONOSUPPORT);
		eq(assoc_move(&cq, 0), -EPROTONOSUPPORT);
		eq(assoc_destroy(&cq, 0, NULL), -EPROTONOSUPPORT);
		eq(cq_destroy(&cq), 0);
	} else {
		ctx = ctx_new(0);
		chan = must(channel_create(&ctx, 0));
		eq(channel_destroy(&ctx, chan), 0);
	}
	return abi_done();
}
