// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What the kernel module tells about a device, in
 * /sys/class/infiniband/DEVICE/compch/, or, where there is no such device in
 * /sys, as in a container without it, in the device's ioctls.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compch-private.h"

/* More than there are in enum rdma_driver_id of any kernel */
#define DRIVER_IDS 64

static int device_read(const char *device, const char *file, uint32_t *value)
{
	char path[128], text[32], *end;
	unsigned long number;
	ssize_t len;
	int fd;

	len = snprintf(path, sizeof(path), "/sys/class/infiniband/%s/compch/%s",
		       device, file);
	if ((size_t)len >= sizeof(path))
		return ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return EINVAL;
	text[len] = '\0';
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || (*end && *end != '\n') ||
	    number > UINT32_MAX)
		return EINVAL;
	*value = number;
	return 0;
}

/* Is the device in /sys, with or without the module's files? */
static bool device_has_sysfs(const char *device)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/*
 * Asks for the state of a channel that there cannot be.  The kernel looks at
 * driver_id first, and says EINVAL if it is not the device's; then it looks for
 * the method, and says EPROTONOSUPPORT if there is none; and the module's method
 * says EBADF.
 */
static enum compch_support device_ask(int cmd_fd, uint32_t *driver_id)
{
	struct compch_context ctx = { .cmd_fd = cmd_fd };
	struct compch_channel_info info;

	/* A context without a file would have EBADF, too. */
	if (fcntl(cmd_fd, F_GETFD) < 0)
		return COMPCH_NO_DEVICE;
	for (; ctx.driver_id < DRIVER_IDS; ctx.driver_id++) {
		switch (compch_ioctl_channel_query(&ctx, -1, &info)) {
		case EINVAL:
			break;
		case EBADF:
			*driver_id = ctx.driver_id;
			return COMPCH_SUPPORTED;
		case EPROTONOSUPPORT:
			return COMPCH_NO_MODULE;
		case ENOTTY:
			return COMPCH_NO_IOCTL;
		default:
			return COMPCH_NO_DEVICE;
		}
	}
	return COMPCH_NO_DEVICE;
}

static enum compch_support device_probe(const struct ibv_context *context,
					uint32_t *driver_id)
{
	const char *device = context->device ? context->device->name : "";
	uint32_t version;
	int ret;

	/*
	 * The name comes first: a program bound to IBVERBS_1.0 passes a
	 * structure that is shorter than ours, with an empty name in it.
	 */
	if (!device[0] || strnlen(device, IBV_SYSFS_NAME_MAX) ==
	    IBV_SYSFS_NAME_MAX || strchr(device, '/'))
		return COMPCH_NO_DEVICE;
	if (context->cmd_fd < 0)
		return COMPCH_NO_DEVICE;
	ret = device_read(device, "abi_version", &version);
	if (ret && ret != EINVAL && !device_has_sysfs(device))
		return device_ask(context->cmd_fd, driver_id);
	if (ret)
		return ret == EINVAL ? COMPCH_BAD_MODULE : COMPCH_NO_MODULE;
	if (version != COMPCH_ABI_VERSION)
		return COMPCH_NO_ABI;
	ret = device_read(device, "driver_id", driver_id);
	if (ret)
		return COMPCH_BAD_MODULE;
	return COMPCH_SUPPORTED;
}

/**
 * compch_device_probe() - whether a context can have channels of ours
 * @context: the device context
 * @driver_id: set to what its ioctls need, if it can
 *
 * May change errno.
 */
enum compch_support compch_device_probe(const struct ibv_context *context,
					uint32_t *driver_id)
{
	enum compch_support support;
	int state = compch_cancel_off();

	support = device_probe(context, driver_id);
	compch_cancel_on(state);
	return support;
}

/**
 * compch_support_reason() - say why a device has no channels of ours
 * @support: what compch_device_probe() answered
 */
const char *compch_support_reason(enum compch_support support)
{
	switch (support) {
	case COMPCH_SUPPORTED:
		break;
	case COMPCH_NO_DEVICE:
		return "not a device of the kernel's";
	case COMPCH_NO_MODULE:
		return "the module ib_compch is not loaded, or not for this device";
	case COMPCH_BAD_MODULE:
		return "cannot understand the device's compch/ files in /sys";
	case COMPCH_NO_ABI:
		return "the module ib_compch has another interface version";
	case COMPCH_NO_METHOD:
		return "the device is older than the module ib_compch and must be registered anew";
	case COMPCH_NO_IOCTL:
		return "the kernel has no uverbs ioctl interface";
	}
	return "supported";
}
