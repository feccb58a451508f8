#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Fetch a stock Debian kernel into the cache, without installing it, and print
# the directory that holds its boot/vmlinuz-* and lib/modules/.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--version] [KERNEL]

KERNEL is
  host              the kernel of this system's release whose headers are
                    installed here (default)
  SUITE             the one of the test chroot for SUITE, such as trixie or
                    trixie-backports; makes the chroot when there is none

With --version, print the kernel's release (as in uname -r) instead.
END
}

# in_root ROOT COMMAND... - on this system, or in the chroot.
in_root()
{
	local root=$1
	shift

	if [ -z "$root" ]; then
		"$@"
	else
		"$top/scripts/chroot.sh" run -- "$@"
	fi
}

# download ROOT DIR PACKAGE=VERSION
download()
{
	local root=$1 dir=$2 package=$3

	if [ -z "$root" ]; then
		# As root, apt fetches as the user _apt, who needs to write.
		( cd "$dir" && apt-get -qq -o APT::Sandbox::User=root \
			download "$package" )
	else
		# shellcheck disable=SC2016 # expanded in there
		"$top/scripts/chroot.sh" run --bind "$dir" /mnt -- \
			sh -c 'cd /mnt && apt-get -qq download "$1"' sh "$package"
	fi
}

make_kernel()
{
	local dir=$1 root=$2 version=$3 release=$4 package deb

	say "fetching the kernel $release"
	mkdir "$dir/deb"
	if ! download "$root" "$dir/deb" "linux-image-$release=$version"; then
		# The list may be older than the archive.
		[ "$(id -u)" = 0 ]
		say "refreshing the package lists"
		in_root "$root" apt-get -qq update
		download "$root" "$dir/deb" "linux-image-$release=$version"
	fi
	# Since 7.x this is only a set of dependencies: binary, modules, base.
	for package in $(dpkg-deb -f "$dir"/deb/*.deb Depends |
			grep -Eo "linux-[a-z]+-[0-9][^ ,]*" | sort -u); do
		download "$root" "$dir/deb" "$package=$version"
	done
	for deb in "$dir"/deb/*.deb; do
		dpkg-deb -x "$deb" "$dir"
	done
	rm -rf "${dir:?}/deb" "${dir:?}/usr/share"
	# A merged-/usr package has usr/lib only.
	if [ ! -e "$dir/lib" ]; then
		ln -s usr/lib "$dir/lib"
	fi
	# Since 7.x the image is installed to /boot from beside the modules.
	if [ ! -e "$dir/boot/vmlinuz-$release" ]; then
		mkdir -p "$dir/boot"
		mv "$dir/lib/modules/$release/vmlinuz" \
			"$dir/boot/vmlinuz-$release"
	fi
	"$depmod" -b "$dir" "$release"
}

depmod=$(PATH=$PATH:/sbin:/usr/sbin command -v depmod) ||
	die "depmod is missing: install the package kmod"
if [ "${1:-}" = make ]; then
	shift
	make_kernel "$@"
	exit
fi

want=dir
kernel=host
while [ $# -gt 0 ]; do
	case $1 in
	--version) want=release ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) kernel=$1 ;;
	esac
	shift
done

arch=$(dpkg --print-architecture) || die "this needs a Debian system"
if [ "$kernel" = host ]; then
	root=
	# "linux-headers-6.1.0-57-amd64 (= 6.1.192-3)"
	depends=$(dpkg-query -W -f '${Depends}\n' "linux-headers-$arch" \
		2>/dev/null | tr ',' '\n' | grep '^ *linux-headers-[0-9]') ||
		die "the package linux-headers-$arch is not installed:" \
			"run scripts/deps.sh build"
	read -r release _ version <<<"$depends"
	release=${release#linux-headers-}
	version=${version%)}
else
	root=$("$top/scripts/chroot.sh" path) || exit 1
	read -r _ release version < <(grep "^$kernel " "$root/etc/compch-kernels") ||
		die "the chroot knows no kernel '$kernel':" \
			"$(cut -d' ' -f1 "$root/etc/compch-kernels" | tr '\n' ' ')"
fi

if [ $want = release ]; then
	printf '%s\n' "$release"
	exit 0
fi
cache_entry "kernel/linux-image-${release}_$version" "$root" "$version" "$release" ||
	die "cannot fetch linux-image-$release $version; if the archive has a" \
		"newer one, the headers need an upgrade:" \
		"apt-get install linux-headers-$arch"
