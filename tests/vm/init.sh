#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's first process, from the initramfs that run.sh packs: load what
# 9p needs, put the guest's file system together and hand over to guest.sh.
#
#   /               share "root", read-only
#   /lib/modules    share "modules", read-only: the modules of this kernel
#   /run/compch     share "tree", read-only: sources and build results
#   /run/log        share "log", the only place that the host sees
#   /run/vm         this initramfs' own files, busybox among them
#   /tmp ...        empty, in memory

/bin/busybox mkdir -p /proc /sys /dev /mnt /bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev

fail()
{
	echo "compch-vm: $*" >/dev/kmsg
	echo "fatal $*" >/dev/ttyS1
	reboot -f
}

share()
{
	mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,$3" \
		"$1" "$2" || fail "cannot mount the share '$1'"
}

while read -r module; do
	insmod "/modules/$module" || fail "cannot load $module"
done </modules/order

share root /mnt ro,cache=loose
# A program may look for any of these; only what the root has can be used.
for dir in tmp run var/tmp root home mnt; do
	[ ! -d "/mnt/$dir" ] || mount -t tmpfs tmpfs "/mnt/$dir"
done
chmod 1777 /mnt/tmp /mnt/var/tmp
[ -d /mnt/lib/modules ] || fail "the guest's root has no /lib/modules"
share modules /mnt/lib/modules ro,cache=loose
mkdir -p /mnt/run/compch /mnt/run/log /mnt/run/vm /mnt/run/lock
share tree /mnt/run/compch ro,cache=loose
share log /mnt/run/log rw,cache=none
cp -r /vm/. /mnt/run/vm/
cp /bin/busybox /mnt/run/vm/busybox
mount --move /proc /mnt/proc
mount --move /sys /mnt/sys
mount --move /dev /mnt/dev
exec switch_root /mnt /run/vm/busybox sh /run/vm/guest.sh
