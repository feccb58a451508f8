#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# initramfs.sh OUTPUT KERNEL INIT DIR [MODULE...]
#
# Pack an initramfs: the host's static busybox, INIT as /init, the contents of
# DIR (may be empty) in /vm, and the given modules of the kernel in directory
# KERNEL (see scripts/kernel.sh) with what they need, in /modules; their order
# is in /modules/order.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
PATH=$PATH:/sbin:/usr/sbin

[ $# -ge 4 ] || die "usage: $ME OUTPUT KERNEL INIT DIR [MODULE...]"
output=$1
kernel=$2
init=$3
dir=$4
shift 4

release=$(basename "$kernel"/boot/vmlinuz-*)
release=${release#vmlinuz-}
root=$output.root
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/modules" "$root/vm" || exit 1
cp "$(command -v busybox)" "$root/bin/busybox"
install -m 755 "$init" "$root/init"
[ -z "$dir" ] || cp -r "$dir/." "$root/vm/"

unpack()
{
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -qdc "$1" ;;
	*.gz) gzip -dc "$1" ;;
	*) cat "$1" ;;
	esac
}

: >"$root/modules/order"
for module; do
	# Built-in ones are in the list too.
	modprobe -d "$kernel" -S "$release" --show-depends "$module" ||
		die "the kernel $release has no module $module"
done | while read -r word file _; do
	name=$(basename "$file")
	name=${name%%.ko*}.ko
	[ "$word" = insmod ] && [ ! -e "$root/modules/$name" ] || continue
	unpack "$file" >"$root/modules/$name"
	printf '%s\n' "$name" >>"$root/modules/order"
done || exit 1
( cd "$root" && find . | "$root/bin/busybox" cpio -o -H newc 2>/dev/null ) \
	>"$output" || die "cannot pack $output"
