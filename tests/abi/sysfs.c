// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sysfs tells the driver_id that the ioctl needs, and the version of the
 * interface.
 */
#include "abi.h"

int main(int argc, char **argv)
{
	char path[128], buf[64];
	int dev;

	abi_init(argc, argv, NULL);
	for (dev = 0; dev < 2; dev++) {
		check_case("compch_test%d", dev);
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/compch_test%d/compch/driver_id",
			 dev);
		ok(file_read(path, buf, sizeof(buf)) > 0);
		eq(strtol(buf, NULL, 0), TESTDEV_DRIVER_ID);
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/compch_test%d/compch/abi_version",
			 dev);
		ok(file_read(path, buf, sizeof(buf)) > 0);
		eq(strcmp(buf, "1\n"), 0);
	}
	return abi_done();
}
