#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Build everything and run all tests on the given kernels, and sum up.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--only REGEX] [TARGET]...

  selftest           does the runner of the virtual machines catch failures?
  library            the library, on a model of libibverbs and the kernel
  tool               the command-line tool
  kunit              the KUnit suites, in User Mode Linux
  uml                the tests in User Mode Linux, under its sanitizers
  host               this system's release and its kernel (default)
  trixie...          the kernel of that suite, in the trixie chroot

--only runs the tests whose name matches.
END
}

only=.
targets=()
while [ $# -gt 0 ]; do
	case $1 in
	--only) only=${2?}; shift ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) targets+=("$1") ;;
	esac
	shift
done
[ ${#targets[@]} -gt 0 ] || targets=(host)

list()
{
	cat tests/cases/LIST
	tests/cases/abi.sh --list
}

# on KERNEL - build for it, and run.
on()
{
	local target=$1 root=/ build=(make --no-print-directory) kernel release
	local codename

	if [ "$target" != host ]; then
		prepare "the chroot for $target" scripts/chroot.sh path ||
			return
		root=$(scripts/chroot.sh path)
		build=(scripts/chroot.sh run -- "${build[@]}")
	fi
	prepare "the kernel of $target" scripts/kernel.sh "$target" || return
	kernel=$(scripts/kernel.sh "$target")
	release=$(scripts/kernel.sh --version "$target")
	codename=$(sed -n 's/^VERSION_CODENAME=//p' "$root/etc/os-release")
	prepare "building for $release" "${build[@]}" all tests \
		"KDIR=/lib/modules/$release/build" || return
	# Once more on rings, two minutes, is enough on one kernel and in UML.
	list | awk -v "only=$only" -v "target=$target" '/^(#|$)/ { next }
		{ name = $0; sub(/( timeout=[0-9]+)?: .*/, "", name) }
		name == "rings" && target != "host" { next }
		name ~ only' >"build/list.$target"
	step "tests on $release" tests/vm/run.sh --name "$target" \
		--kernel "$kernel" --root "$root" --list "build/list.$target" \
		--env "COMPCH_KO=/run/compch/build/$release/ib_compch.ko" \
		--env "COMPCH_TESTDEV_KO=/run/compch/build/$release/compch_testdev.ko" \
		--env "COMPCH_BUILD=/run/compch/build/user-$codename"
}

cd "$top" || exit 1
mkdir -p build
for target in "${targets[@]}"; do
	case $target in
	selftest) step "the runner itself" tests/vm/selftest.sh ;;
	library) step "the library, without a device" \
		make --no-print-directory -s check-library ;;
	tool)
		prepare "building the tool" make --no-print-directory userspace &&
			step "the tool" tests/tool/check.sh "$(make -s userspace-dir)"
		;;
	kunit) step "KUnit" kunit/run.sh ;;
	uml) step "User Mode Linux" tests/uml.sh --only "$only" ;;
	*) on "$target" ;;
	esac
done
sum
