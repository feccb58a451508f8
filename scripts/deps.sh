#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Install the Debian packages that a part of this tree needs, if missing.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--list] GROUP...

Install what is missing of the groups' packages; --list only prints them all.

  build   to build the module and the userspace
  test    to boot virtual machines and run the tests in them
  uml     to build the User Mode Linux kernel and to run the tests in it
  clients to run the real clients, besides "test"
  coverage to see what tests reach, besides "uml"
  sanitize to run the library under sanitizers and valgrind, besides "build"
  bench   to plot what is measured, besides "test"
  model   to check the models of the event queue
  deb     to build the Debian packages, besides "build"
  packages to install them in a virtual machine, besides "deb" and "test"
  newer   to make the chroot for newer kernels, see scripts/chroot.sh
  check   to run the static checks
END
}

packages_of()
{
	case $1 in
	build)
		echo gcc libc6-dev make pkg-config kmod \
			"linux-headers-$(dpkg --print-architecture)" \
			libibverbs-dev librdmacm-dev liburing-dev \
			libmnl-dev
		;;
	test)
		echo qemu-system-x86 busybox-static kmod xz-utils util-linux \
			iproute2 procps strace rdma-core ibverbs-utils \
			ibverbs-providers rdmacm-utils perftest bpftrace \
			linux-perf
		;;
	uml)
		echo linux-source-6.1 gcc libc6-dev make flex bison bc xz-utils \
			kmod busybox-static iproute2 procps
		;;
	clients)
		echo ibverbs-utils rdmacm-utils perftest ibacm python3-pyverbs \
			ucx-utils libfabric-bin libfabric-dev qperf fio \
			dpkg-dev bsdextrautils
		;;
	coverage)
		echo lcov
		;;
	sanitize)
		echo valgrind
		;;
	bench)
		echo gnuplot-nox
		;;
	model)
		echo spin gcc libc6-dev
		;;
	deb)
		echo build-essential debhelper dh-dkms lintian
		;;
	packages)
		echo mmdebstrap e2fsprogs
		;;
	newer)
		echo debootstrap debian-archive-keyring util-linux xz-utils
		;;
	check)
		echo sparse codespell shellcheck g++ clang perl xz-utils mandoc \
			python3-docutils
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
}

list=
groups=()
while [ $# -gt 0 ]; do
	case $1 in
	--list) list=1 ;;
	-h | --help) usage; exit 0 ;;
	*) groups+=("$1") ;;
	esac
	shift
done
[ ${#groups[@]} -gt 0 ] || { usage >&2; exit 2; }
have dpkg-query apt-get ||
	die "this is no Debian system; see '$ME --list' for what is needed"

wanted=()
for group in "${groups[@]}"; do
	names=$(packages_of "$group") || exit
	read -r -a names <<<"$names"
	wanted+=("${names[@]}")
done
if [ -n "$list" ]; then
	printf '%s\n' "${wanted[@]}" | sort -u
	exit 0
fi

missing()
{
	comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}\n' |
			sed -n 's/^installed //p' | sort -u) | tr '\n' ' '
}

install()
{
	# shellcheck disable=SC2086 # one word a package
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o DPkg::Lock::Timeout=600 install --no-install-recommends $1
}

packages=$(missing)
[ -n "$packages" ] || exit 0
[ "$(id -u)" = 0 ] ||
	die "these packages are missing, and installing them needs root: $packages"
say "installing $packages"
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
# The package lists may be missing, or older than what the mirror has.
if ! install "$packages" >"$out" 2>&1; then
	say "refreshing the package lists"
	if ! apt-get -qq update >"$out" 2>&1 ||
	   ! install "$packages" >"$out" 2>&1; then
		tail -n 20 "$out" >&2
		die "cannot install: $packages"
	fi
fi
packages=$(missing)
[ -z "$packages" ] || die "still missing after their installation: $packages"
