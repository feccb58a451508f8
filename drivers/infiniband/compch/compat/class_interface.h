/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Linux 6.4 dropped the interface argument of class_interface's add_dev() and
 * remove_dev().  COMPAT_CLASS_INTERFACE_ADD_DEV(name) and its like head the
 * definition of such a function, of which the device is called dev.
 */
#ifndef _COMPCH_COMPAT_CLASS_INTERFACE_H
#define _COMPCH_COMPAT_CLASS_INTERFACE_H

#include <linux/device.h>

#ifdef COMPAT_HAVE_CLASS_INTERFACE_DEV_ONLY
#define COMPAT_CLASS_INTERFACE_ADD_DEV(name) \
	int name(struct device *dev)
#define COMPAT_CLASS_INTERFACE_REMOVE_DEV(name) \
	void name(struct device *dev)
#else
#define COMPAT_CLASS_INTERFACE_ADD_DEV(name) \
	int name(struct device *dev, struct class_interface *intf)
#define COMPAT_CLASS_INTERFACE_REMOVE_DEV(name) \
	void name(struct device *dev, struct class_interface *intf)
#endif

#endif /* _COMPCH_COMPAT_CLASS_INTERFACE_H */
