#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Make a disk with a small Debian of this release, a host for the packages, and
# print the directory that holds it: "disk", an ext4 file system, and "release",
# that of its kernel.
#
# It starts by its own systemd, from an initramfs that has no more than that
# needs, and makes itself an RDMA device rxe0. Then it runs what tests/vm/run.sh
# gives it.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

packages=systemd-sysv,udev,kmod,initramfs-tools,linux-image-amd64
packages+=,linux-headers-amd64,dkms,gcc,libc6-dev,make,pkg-config,libibverbs-dev
packages+=,rdma-core,ibverbs-utils,ibverbs-providers,iproute2,procps
# DKMS makes its key for signatures with it; update-initramfs does better with it.
packages+=,openssl,zstd
size=3G

# Runs on the new root before the kernel is installed.
configure()
{
	local root=$1

	mkdir -p "$root/etc/initramfs-tools/conf.d" \
		"$root/etc/systemd/system/multi-user.target.wants" \
		"$root/etc/systemd/journald.conf.d" "$root/usr/local/sbin"
	# All modules for all hosts take minutes to collect, in emulation.
	echo MODULES=list >"$root/etc/initramfs-tools/conf.d/compch-test"
	echo host >"$root/etc/hostname"
	echo "127.0.0.1 localhost host" >"$root/etc/hosts"
	printf '[Journal]\nStorage=none\n' \
		>"$root/etc/systemd/journald.conf.d/compch-test.conf"
	install -m 755 "$here"/guest/compch-test-* "$root/usr/local/sbin/"
	install -m 644 "$here"/guest/*.service "$root/etc/systemd/system/"
	for unit in "$here"/guest/*.service; do
		ln -s "/etc/systemd/system/${unit##*/}" \
			"$root/etc/systemd/system/multi-user.target.wants/"
	done
	install -m 755 -D "$here/guest/initramfs-script" \
		"$root/etc/initramfs-tools/scripts/init-bottom/compch-test"
	printf '%s\n' virtio_pci virtio_blk ext4 \
		>>"$root/etc/initramfs-tools/modules"
}

make_image()
{
	local dir=$1 suite=$2 main=$3 security=$4 option
	local options=() root=$dir/root

	# Proxies and the like
	while IFS= read -r option; do
		options+=("--aptopt=$option")
	done < <(apt-config dump | grep -v -i auto-detect |
		grep -E '^Acquire::(https?::|Check-|Retries|Force)')
	say "installing $suite from $main"
	mmdebstrap --variant=minbase --quiet "${options[@]}" \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--include="$packages" \
		--essential-hook="'$0' configure \"\$1\"" \
		"$suite" "$root" "$main" \
		${security:+"deb $security $suite-security main"} >"$dir/log" 2>&1 || {
		tail -n 20 "$dir/log"
		return 1
	}
	basename "$root"/boot/vmlinuz-* | sed 's/^vmlinuz-//' >"$dir/release"
	truncate -s "$size" "$dir/disk"
	mke2fs -q -t ext4 -d "$root" "$dir/disk"
	rm -rf --one-file-system "$root" "$dir/log"
}

case ${1:-} in
make)
	shift
	make_image "$@"
	exit
	;;
configure)
	configure "$2"
	exit
	;;
'') ;;
*) die "usage: $ME" ;;
esac

have mmdebstrap mke2fs || die "something is missing: run scripts/deps.sh packages"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
main=${COMPCH_MIRROR:-}
security=
if [ -z "$main" ]; then
	main=$(mirror Debian) || {
		apt-get -qq update
		main=$(mirror Debian)
	} || die "apt has no Debian mirror; name one in COMPCH_MIRROR"
	security=$(mirror Debian-Security)
fi
# All that decides what comes out, except the archive's state.
key=$({ echo "$suite $main $security"; cat "$0" "$here"/guest/*; } |
	sha256sum | cut -c 1-12)
cache_entry "packages/$suite-$key" "$suite" "$main" "$security" ||
	die "cannot make the disk"
