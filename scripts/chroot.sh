#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The newer Debian that the newer kernels are tested with: a trixie in the
# cache, with the kernel headers of trixie and of its backports and all that
# builds and tests need. Nothing of it is installed on, or stays mounted on,
# this system.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME path                                    make it if needed; print where
       $ME run [--bind DIR MOUNTPOINT]... -- COMMAND [ARG]...
       $ME remove

"run" runs COMMAND in it with this tree at /src, where it starts.
COMPCH_MIRROR in the environment replaces the mirror that apt uses here.
END
}

suite=trixie
kernels=("$suite" "$suite-backports")
packages=(build-essential pkg-config libibverbs-dev librdmacm-dev liburing-dev
	libmnl-dev python3
	ibverbs-utils ibverbs-providers rdmacm-utils rdma-core perftest
	iproute2 kmod procps strace busybox-static)

in_chroot()
{
	local root=$1
	shift

	# shellcheck disable=SC2016 # expanded in there
	unshare --mount bash -c '
		set -e
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --rbind -o ro /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/tmp"
		mount -t tmpfs tmpfs "$root/run"
		for file in resolv.conf hosts; do
			[ ! -f "/etc/$file" ] ||
				mount --bind "/etc/$file" "$root/etc/$file"
		done
		while [ "$1" != -- ]; do
			mount --bind "$1" "$root$2"
			shift 2
		done
		shift
		exec env -i TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 HOME=/root \
			DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			chroot "$root" sh -c '\''cd "$0" 2>/dev/null; exec "$@"'\'' \
			/src "$@"
	' in_chroot "$root" "$@"
}

make_chroot()
{
	local root=$1 main=$2 security=$3 s headers

	say "installing $suite from $main"
	debootstrap --variant=minbase --force-check-gpg \
		--keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
		"$suite" "$root" "$main" >"$root.log" 2>&1 || {
		tail -n 20 "$root.log" >&2
		rm -f "$root.log"
		return 1
	}
	rm -f "$root.log"
	mkdir -p "$root/src"
	touch "$root/etc/resolv.conf"
	echo "127.0.0.1 localhost" >"$root/etc/hosts"

	rm -f "$root/etc/apt/sources.list"
	{
		printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n\n' \
			"$main" "$suite $suite-backports"
		[ -z "$security" ] ||
			printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' \
				"$security" "$suite-security"
	} >"$root/etc/apt/sources.list.d/debian.sources"
	# Proxies and the like.
	apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries|Force)' |
		grep -v -i auto-detect >"$root/etc/apt/apt.conf.d/50host" || :
	cat >"$root/etc/apt/apt.conf.d/51compch" <<-'END'
	APT::Install-Recommends "false";
	APT::Sandbox::User "root";
	Acquire::Languages "none";
	END
	# It is rebuilt rather than repaired.
	cat >"$root/etc/dpkg/dpkg.cfg.d/compch" <<-'END'
	force-unsafe-io
	path-exclude=/usr/share/doc/*
	path-exclude=/usr/share/man/*
	path-exclude=/usr/share/locale/*
	END
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"

	in_chroot "$root" -- apt-get -qq update
	headers=()
	for s in "${kernels[@]}"; do
		read -r release version < <(kernel_of "$root" "$s")
		say "kernel of $s: $release, package version $version"
		headers+=("linux-headers-$release=$version")
		printf '%s %s %s\n' "$s" "$release" "$version" \
			>>"$root/etc/compch-kernels"
	done
	say "installing compilers, kernel headers and RDMA tools in it"
	in_chroot "$root" -- apt-get -qq install "${packages[@]}" \
		"${headers[@]}" >"$root.log" 2>&1 || {
		tail -n 20 "$root.log" >&2
		rm -f "$root.log"
		return 1
	}
	rm -f "$root.log"
	in_chroot "$root" -- apt-get clean
}

# kernel_of ROOT SUITE - the release and version that the headers' meta package
# of this suite depends on. (A plain suite includes its security updates.)
kernel_of()
{
	local root=$1 s=$2 meta version depends

	meta=linux-headers-$(dpkg --print-architecture)
	# "linux-headers-amd64 | 6.12.117-1 | http://... trixie/main amd64 Packages"
	version=$(in_chroot "$root" -- apt-cache madison "$meta" |
		grep -E " ($s|$s-security)/" | head -n 1 | cut -d'|' -f2 |
		tr -d ' ')
	depends=$(in_chroot "$root" -- apt-cache show "$meta=$version" |
		sed -n 's/^Depends: //p' | tr ',' '\n' |
		grep '^ *linux-headers-[0-9]')
	read -r release _ version <<<"$depends"
	release=${release#linux-headers-}
	version=${version%)}
	[ -n "$release" ] && [ -n "$version" ] &&
		printf '%s %s\n' "$release" "$version"
}

path()
{
	local main=${COMPCH_MIRROR:-} security="" key

	[ "$(id -u)" = 0 ] || die "the $suite chroot needs root"
	if [ -z "$main" ]; then
		main=$(mirror Debian) || {
			apt-get -qq update
			main=$(mirror Debian)
		} || die "apt has no Debian mirror that debootstrap can use;" \
			"name one in COMPCH_MIRROR"
		security=$(mirror Debian-Security)
	fi
	# All that decides what comes out, except the archive's state.
	key=$({ echo "$main $security ${packages[*]} ${kernels[*]}"
		sed -n '/^make_chroot/,/^}/p' "$top/scripts/chroot.sh"; } |
		sha256sum | cut -c 1-12)
	name=chroot/$suite-$key
	if [ ! -d "$CACHE/$name" ]; then
		have debootstrap ||
			die "debootstrap is missing: run scripts/deps.sh newer"
		cache_sweep
	fi
	[ -n "${1:-}" ] || cache_entry "$name" "$main" "$security" ||
		die "cannot make the $suite chroot"
}

case ${1:-} in
make)
	shift
	make_chroot "$@"
	;;
path)
	path
	;;
run)
	shift
	binds=("$top" /src)
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		[ "$1 $(($# >= 3))" = "--bind 1" ] || { usage >&2; exit 2; }
		binds+=("$2" "$3")
		shift 3
	done
	[ $# -gt 1 ] || { usage >&2; exit 2; }
	shift
	root=$(path) || exit 1
	in_chroot "$root" "${binds[@]}" -- "$@"
	;;
remove)
	path name-only
	rm -rf --one-file-system "${CACHE:?}/$name"
	;;
-h | --help)
	usage
	;;
*)
	usage >&2
	exit 2
	;;
esac
