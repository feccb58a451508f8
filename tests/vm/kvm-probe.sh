#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kvm-probe.sh KERNEL - can KVM run the kernel in this directory?
#
# /dev/kvm may be there and usable, and a guest may still hang on it (nested
# virtualisation): so boot one and see whether it comes to its init. The answer
# is kept for as long as this system runs.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

case ${COMPCH_KVM:-} in
0) exit 1 ;;
1) exit 0 ;;
esac
[ -r /dev/kvm ] && [ -w /dev/kvm ] || exit 1

probe()
{
	local dir=$1 kernel=$2

	cat >"$dir/init" <<-'END'
	#!/bin/busybox sh
	/bin/busybox mkdir /dev
	/bin/busybox mount -t devtmpfs devtmpfs /dev
	echo works >/dev/ttyS1
	/bin/busybox reboot -f
	END
	"$here/initramfs.sh" "$dir/initramfs" "$kernel" "$dir/init" ""
	say "trying whether KVM works"
	{ timeout -s KILL 3 qemu-system-x86_64 -accel kvm -cpu host -m 256 \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$kernel"/boot/vmlinuz-* -initrd "$dir/initramfs" \
		-append "quiet panic=-1" -serial null \
		-serial "file:$dir/answer" </dev/null || :; } >/dev/null 2>&1
	if grep -aqs works "$dir/answer"; then
		touch "$dir/works"
	else
		say "it does not; using emulation"
	fi
	rm -f "$dir/init" "$dir/initramfs"
}

if [ "$1" = make ]; then
	shift
	probe "$@"
	exit
fi

boot=$(cat /proc/sys/kernel/random/boot_id)
entry=$(cache_entry "kvm/$boot" "$1") || exit 1
find "$CACHE/kvm" -mindepth 1 -maxdepth 1 ! -name "$boot" -exec rm -rf {} +
[ -e "$entry/works" ]
