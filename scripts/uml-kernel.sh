#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Build the User Mode Linux kernel of the tests into the cache, and print the
# directory with it:
#
#   linux          the kernel, a program
#   build/         what modules are built against: KDIR, with ARCH=um
#   lib/modules/   its modules
#   log            what the build printed

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
PATH=$PATH:/sbin:/usr/sbin

config=$top/tests/vm/uml.config
package=linux-source-6.1
tarball=/usr/src/$package.tar.xz

usage()
{
	cat <<END
usage: $ME [--jobs N]

Build Debian's $package with tests/vm/uml.config, unless that has been done
before (it takes about six minutes on two processors), and print the directory.
END
}

# Say every half minute how far the build is, until killed.
progress()
{
	while sleep 30; do
		say "$SECONDS s, $(grep -c '^  [A-Z]' "$1") files made"
	done
}

# build DIR JOBS TARGET...
build()
{
	local dir=$1 jobs=$2
	shift 2

	if ! nice make ARCH=um "-j$jobs" "$@" >>"$dir/log" 2>&1 </dev/null; then
		grep -E -B5 'error:|\*\*\*' "$dir/log" | tail -n 40 >&2
		say "cannot build the UML kernel"
		return 1
	fi
}

# Of the tree, keep what modules are built against; the rest takes gigabytes.
prune()
{
	find . -mindepth 1 -maxdepth 1 -type d ! -name arch ! -name include \
		! -name scripts -exec rm -rf {} +
	find arch -mindepth 1 -maxdepth 1 -type d ! -name um ! -name x86 \
		-exec rm -rf {} +
	find . -type f ! -path './scripts/*' ! \( \
		-name '*.h' -o -name 'Makefile*' -o -name 'Kbuild*' \
		-o -name Module.symvers -o -name .config \
		-o -name auto.conf -o -name kernel.release \) -delete
	find . -type d -empty -delete
}

make_kernel()
{
	local dir=$1 jobs=$2 lost release

	mkdir "$dir/build"
	say "unpacking $tarball"
	tar -xf "$tarball" -C "$dir/build" --strip-components=1
	cd "$dir/build" || return
	# UML 6.1 has no room for the registers of a processor with AMX.
	sed -i 's/DEFINE_LONGS(HOST_FP_SIZE, 2696)/DEFINE_LONGS(HOST_FP_SIZE, 12288)/' \
		arch/x86/um/user-offsets.c
	grep -q 'HOST_FP_SIZE, 12288' arch/x86/um/user-offsets.c
	build "$dir" 1 allnoconfig "KCONFIG_ALLCONFIG=$config"
	if lost=$(grep '^CONFIG_' "$config" | grep -vxFf .config); then
		say "this kernel does not take:" "$lost"
		return 1
	fi

	say "building the UML kernel, $jobs jobs"
	progress "$dir/log" &
	# shellcheck disable=SC2064 # it is known now
	trap "kill $!" EXIT
	build "$dir" "$jobs" linux modules
	build "$dir" 1 modules_install "INSTALL_MOD_PATH=$dir"
	mv linux "$dir/linux"
	release=$(cat include/config/kernel.release)
	rm -f "$dir/lib/modules/$release/source"
	ln -sfn ../../../build "$dir/lib/modules/$release/build"
	prune
}

if [ "${1:-}" = make ]; then
	shift
	make_kernel "$@"
	exit
fi

jobs=$(nproc)
while [ $# -gt 0 ]; do
	case $1 in
	--jobs) jobs=${2:?}; shift ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) || version=
if [ -z "$version" ] || [ ! -r "$tarball" ] ||
   ! have make gcc flex bison bc depmod xz; then
	die "something is missing: run scripts/deps.sh uml"
fi
# All that the result depends on
hash=$({ cat "$config" && declare -f make_kernel build prune &&
	gcc -dumpfullversion; } | sha256sum | cut -c 1-12)
cache_entry "uml/$version-$hash" "$jobs"
