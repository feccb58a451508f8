// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extends RDMA devices: puts the module's objects into their ioctl trees.
 *
 * uverbs builds a device's tree, from its own definitions and from
 * ib_device.driver_def, when the uverbs client is added to the device.  An
 * interface of the infiniband class is called before that, in device_add(),
 * and again in device_del(), when all clients are gone.  So add_dev puts a list
 * that chains the driver's own and then the module's into driver_def, and
 * remove_dev restores what was there.
 *
 * A device that is registered already has its tree.  It gets the new one when
 * the uverbs client is added again: see Documentation/design.rst.
 *
 * The class also holds the devices that show an RDMA device in other network
 * namespaces.  They share the RDMA device, and only get the attributes in
 * sysfs, by which a program there finds the extension.
 */

#include <linux/device.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "../../../include/uapi/rdma/compch-abi.h"
#include "compat/class_interface.h"
#include "compch.h"

/**
 * struct compch_device - an extended device
 * @node: in compch_devices
 * @ibdev: the device
 * @driver_def: what ibdev->driver_def was
 * @def: what it is now
 */
struct compch_device {
	struct list_head node;
	struct ib_device *ibdev;
	const struct uapi_definition *driver_def;
	struct uapi_definition def[4];
};

/* Guarded by the mutex of the infiniband class. */
static LIST_HEAD(compch_devices);

static ssize_t abi_version_show(struct device *dev,
				struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", COMPCH_ABI_VERSION);
}
static DEVICE_ATTR_RO(abi_version);

static ssize_t driver_id_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  rdma_device_to_ibdev(dev)->ops.driver_id);
}
static DEVICE_ATTR_RO(driver_id);

static struct attribute *compch_device_attrs[] = {
	&dev_attr_abi_version.attr,
	&dev_attr_driver_id.attr,
	NULL
};

static const struct attribute_group compch_device_group = {
	.name = "compch",
	.attrs = compch_device_attrs,
};

static bool compch_def_is_ours(const struct uapi_definition *def)
{
	return def->object_start.object_id == COMPCH_OBJECT_CHANNEL ||
	       def->object_start.object_id == COMPCH_OBJECT_ASSOC;
}

static void compch_device_hide(struct device *dev, void *unused)
{
	sysfs_remove_group(&dev->kobj, &compch_device_group);
}

/*
 * Shows the attributes.  The device resource notes that they are there, for
 * remove_dev; it has no data.
 */
static int compch_device_show(struct device *dev)
{
	void *res;
	int ret;

	res = devres_alloc(compch_device_hide, 0, GFP_KERNEL);
	if (!res)
		return -ENOMEM;
	ret = sysfs_create_group(&dev->kobj, &compch_device_group);
	if (ret)
		goto free_res;
	devres_add(dev, res);
	return 0;

free_res:
	devres_free(res);
	return ret;
}

/* Does the list, or one that it chains, use an object id of the module? */
static bool compch_def_has_ids(const struct uapi_definition *def)
{
	if (!def)
		return false;
	for (; def->kind != UAPI_DEF_END; def++) {
		switch (def->kind) {
		case UAPI_DEF_CHAIN:
			if (compch_def_has_ids(def->chain))
				return true;
			break;
		case UAPI_DEF_CHAIN_OBJ_TREE:
		case UAPI_DEF_OBJECT_START:
			if (compch_def_is_ours(def))
				return true;
			break;
		}
	}
	return false;
}

static struct compch_device *compch_device_find(struct ib_device *ibdev)
{
	struct compch_device *cdev;

	list_for_each_entry(cdev, &compch_devices, node)
		if (cdev->ibdev == ibdev)
			return cdev;
	return NULL;
}

static struct compch_device *compch_device_extend(struct ib_device *ibdev)
{
	struct compch_device *cdev;

	if (compch_def_has_ids(ibdev->driver_def)) {
		ibdev_warn(ibdev, "its driver uses the object ids of completion channels, device left alone\n");
		return ERR_PTR(-EBUSY);
	}
	/* Fails while the module is being unloaded. */
	if (!try_module_get(THIS_MODULE))
		return ERR_PTR(-ENODEV);

	/*
	 * Freed after remove_dev, by the driver core: a list that somebody else
	 * has put into driver_def since may chain this one.
	 */
	cdev = devm_kzalloc(&ibdev->dev, sizeof(*cdev), GFP_KERNEL);
	if (!cdev) {
		module_put(THIS_MODULE);
		return ERR_PTR(-ENOMEM);
	}
	cdev->ibdev = ibdev;
	cdev->driver_def = ibdev->driver_def;
	cdev->def[0] = (struct uapi_definition)UAPI_DEF_CHAIN(ibdev->driver_def);
	cdev->def[1] = (struct uapi_definition)UAPI_DEF_CHAIN(compch_channel_defs);
	cdev->def[2] = (struct uapi_definition)UAPI_DEF_CHAIN(compch_assoc_defs);
	cdev->def[3] = (struct uapi_definition){ .kind = UAPI_DEF_END };
	list_add(&cdev->node, &compch_devices);
	compch_live_inc(COMPCH_LIVE_DEVICES);

	/*
	 * The uverbs client may be looking at this very moment, if the device
	 * is registered already; it reads the pointer once, and the list
	 * through it.
	 */
	smp_store_release(&ibdev->driver_def, cdev->def);

	if (refcount_read(&ibdev->refcount))
		ibdev_info(ibdev, "completion channels come with the next registration of the device\n");
	return cdev;
}

static void compch_device_restore(struct compch_device *cdev)
{
	/* No client is left to look at it. */
	if (cdev->ibdev->driver_def == cdev->def)
		cdev->ibdev->driver_def = cdev->driver_def;
	list_del(&cdev->node);
	compch_live_dec(COMPCH_LIVE_DEVICES);
	/*
	 * compch_device_exit() waits for the class mutex, so this function has
	 * returned before its text can go.
	 */
	module_put(THIS_MODULE);
}

static bool compch_device_is_core(struct device *dev)
{
	struct ib_core_device *coredev =
		container_of(dev, struct ib_core_device, dev);

	return coredev == &coredev->owner->coredev;
}

static COMPAT_CLASS_INTERFACE_ADD_DEV(compch_device_add)
{
	struct ib_device *ibdev = rdma_device_to_ibdev(dev);
	struct compch_device *cdev;
	int ret;

	/* One of another namespace comes after the device that it shows. */
	if (compch_device_is_core(dev))
		cdev = compch_device_extend(ibdev);
	else
		cdev = compch_device_find(ibdev);
	if (IS_ERR_OR_NULL(cdev))
		return PTR_ERR_OR_ZERO(cdev);

	ret = compch_device_show(dev);
	if (ret)
		ibdev_warn(ibdev, "no compch attributes in sysfs: %d\n", ret);
	return ret;
}

static COMPAT_CLASS_INTERFACE_REMOVE_DEV(compch_device_remove)
{
	struct compch_device *cdev;

	/* Fails if they are not there. */
	devres_release(dev, compch_device_hide, NULL, NULL);

	cdev = compch_device_find(rdma_device_to_ibdev(dev));
	if (cdev && compch_device_is_core(dev))
		compch_device_restore(cdev);
}

static struct class_interface compch_interface = {
	.add_dev = compch_device_add,
	.remove_dev = compch_device_remove,
};

struct compch_probe_device {
	struct ib_device ibdev;
};

/**
 * compch_device_init() - Start to extend devices.
 *
 * The class is not exported: a device that is never registered tells it.
 *
 * Return: 0 or a negative errno.
 */
int compch_device_init(void)
{
	struct compch_probe_device *probe;

	probe = ib_alloc_device(compch_probe_device, ibdev);
	if (!probe)
		return -ENOMEM;
	compch_interface.class = probe->ibdev.dev.class;
	ib_dealloc_device(&probe->ibdev);

	return class_interface_register(&compch_interface);
}

/**
 * compch_device_exit() - Extend no more devices.
 *
 * No device is extended now: each holds the module.
 */
void compch_device_exit(void)
{
	class_interface_unregister(&compch_interface);
}
