#!/bin/sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The first process in User Mode Linux, which uml.sh starts on this system's
# root directory, read-only: put the guest's file system together as init.sh
# does, and hand over to guest.sh. The environment says what is where on the
# host: compch_kernel, compch_tree, compch_log, compch_vm.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
: "${compch_kernel:?}" "${compch_tree:?}" "${compch_log:?}" "${compch_vm:?}"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev

fail()
{
	echo "compch-vm: $*" >/dev/kmsg
	echo "fatal $*" >/dev/ttyS1
	exit 1
}

# share DIRECTORY MOUNT-POINT ro|rw - of the host.
share()
{
	mount -t hostfs -o "$3,$1" none "$2" || fail "cannot mount $1"
}

mount -t tmpfs tmpfs /run || fail "cannot mount /run"
mkdir /run/compch /run/log /run/vm /run/lock
cp -r "$compch_vm/." /run/vm/ || fail "no commands"
for dir in /tmp /var/tmp /root /home /mnt; do
	[ ! -d $dir ] || mount -t tmpfs tmpfs $dir
done
chmod 1777 /tmp /var/tmp
[ -d /lib/modules ] || fail "this system has no /lib/modules"
share "$compch_kernel/lib/modules" /lib/modules ro
share "$compch_tree" /run/compch ro
share "$compch_log" /run/log rw
unset compch_kernel compch_tree compch_log compch_vm
exec /run/vm/busybox sh /run/vm/guest.sh
