// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMA devices, and whether the module extends them: the truth about that is
 * what their ioctl says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/compch-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "compch.h"

#define CLASS	"/sys/class/infiniband"

#define ADOPT	"run \"compch adopt\", or register the device anew"

/* Those that have no driver in sysfs, being made of software alone */
static const struct {
	unsigned int id;
	const char *driver;
} soft_drivers[] = {
	{ RDMA_DRIVER_RXE, "rdma_rxe" },
	{ RDMA_DRIVER_SIW, "siw" },
};

static bool read_number(unsigned int *value, const char *device,
			const char *file)
{
	char *text = sys_read(CLASS "/%s/compch/%s", device, file), *end;
	unsigned long number;

	if (!text)
		return false;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end || number > UINT32_MAX)
		errno = EINVAL;
	*value = number;
	free(text);
	return !errno;
}

static char *find_uverbs(const char *device)
{
	char **names = sys_list("/sys/class/infiniband_verbs"), **name;
	char *found = NULL, *ibdev;

	for (name = names; *name && !found; name++) {
		ibdev = sys_read("/sys/class/infiniband_verbs/%s/ibdev", *name);
		if (ibdev && !strcmp(ibdev, device)) {
			found = strdup(*name);
			if (!found)
				exit(compch_no_memory());
		}
		free(ibdev);
	}
	sys_list_free(names);
	return found;
}

/* That of the device itself, or what the module says */
static char *find_driver(const char *device, bool known, unsigned int id)
{
	char *driver = sys_link_name(CLASS "/%s/device/driver", device);
	size_t i;

	for (i = 0; !driver && known && i < ARRAY_SIZE(soft_drivers); i++) {
		if (soft_drivers[i].id != id)
			continue;
		driver = strdup(soft_drivers[i].driver);
		if (!driver)
			exit(compch_no_memory());
	}
	return driver;
}

/*
 * Asks for a method of the module, with a fd that is none: on a device that is
 * extended it fails for that reason, and has done nothing.
 */
static int ask(const char *uverbs, unsigned int driver_id)
{
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		char room[sizeof(struct ib_uverbs_ioctl_hdr) +
			  sizeof(struct ib_uverbs_attr)];
	} call = {};
	struct ib_uverbs_attr *attr = call.hdr.attrs;
	char *path = sys_path("/dev/infiniband/%s", uverbs);
	int fd = open(path, O_RDWR | O_CLOEXEC), ret = 0;

	if (fd < 0)
		ret = errno;
	free(path);
	if (fd < 0)
		return ret;
	call.hdr.length = sizeof(call);
	call.hdr.object_id = COMPCH_OBJECT_CHANNEL;
	call.hdr.method_id = COMPCH_METHOD_CHANNEL_CANCEL;
	call.hdr.driver_id = driver_id;
	call.hdr.num_attrs = 1;
	attr->attr_id = COMPCH_ATTR_CHANNEL_CANCEL_FD;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data_s64 = -1;
	if (ioctl(fd, RDMA_VERBS_IOCTL, &call.hdr))
		ret = errno;
	close(fd);
	return ret;
}

static void unknown(struct device *device, const char *why, const char *advice)
{
	device->extended = EXTENDED_UNKNOWN;
	device->why = why;
	device->advice = advice;
}

static void is_not(struct device *device, const char *why, const char *advice)
{
	device->extended = EXTENDED_NO;
	device->why = why;
	device->advice = advice;
}

static void find_out(struct device *device, bool known, unsigned int driver_id)
{
	if (!sys_exists(CLASS "/%s/compch", device->name)) {
		if (!sys_exists("/sys/module/ib_compch"))
			is_not(device, "the module ib_compch is not loaded",
			       "modprobe ib_compch");
		else
			is_not(device, "its driver uses the module's object ids",
			       "it cannot be extended; the kernel's log says so too");
		return;
	}
	if (!known) {
		unknown(device, "cannot understand its files in sysfs",
			"install the module and this tool from one version");
		return;
	}
	if (device->abi != COMPCH_ABI_VERSION) {
		is_not(device, "the module's interface has another version",
		       "install the module and this tool from one version");
		return;
	}
	if (!device->uverbs) {
		is_not(device, "it has no uverbs device",
		       "modprobe ib_uverbs; if that is loaded, its driver does not serve programs");
		return;
	}
	switch (ask(device->uverbs, driver_id)) {
	case EPROTONOSUPPORT:
		is_not(device, "it was registered before the module was loaded",
		       ADOPT);
		device->adoptable = true;
		break;
	case EINVAL:
	case EBADF:
		device->extended = EXTENDED_YES;
		break;
	case EACCES:
	case EPERM:
		unknown(device, "no permission to open its uverbs device",
			"be root, or have its file in /dev/infiniband made readable and writable");
		break;
	case ENOENT:
	case ENXIO:
		unknown(device, "its file in /dev/infiniband is missing",
			"in a container, pass it on; else see whether udev runs");
		break;
	default:
		unknown(device, "its uverbs device does not answer",
			"see the kernel's log");
	}
}

/**
 * device_get() - find out about a device
 * @name: its name
 *
 * Return: to be freed by device_free(), or NULL if there is no such device
 */
struct device *device_get(const char *name)
{
	struct device *device;
	unsigned int driver_id;
	bool known;

	if (!sys_is_name(name) || !sys_exists(CLASS "/%s", name))
		return NULL;
	device = calloc(1, sizeof(*device));
	if (!device)
		exit(compch_no_memory());
	device->name = strdup(name);
	if (!device->name)
		exit(compch_no_memory());
	device->uverbs = find_uverbs(name);
	known = read_number(&driver_id, name, "driver_id") &&
		read_number(&device->abi, name, "abi_version");
	device->driver = find_driver(name, known, driver_id);
	find_out(device, known, driver_id);
	return device;
}

/**
 * device_free() - free what device_get() has returned
 * @device: that
 */
void device_free(struct device *device)
{
	if (!device)
		return;
	free(device->name);
	free(device->uverbs);
	free(device->driver);
	free(device);
}

/**
 * device_list() - the names of all devices
 *
 * Return: see sys_list()
 */
char **device_list(void)
{
	return sys_list(CLASS);
}
