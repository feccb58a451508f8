#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Build everything for User Mode Linux, and run the tests of the stock kernels
# there, under its sanitizers; at the end, nothing may have leaked.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--kernel DIR] [--only REGEX] [--list]

  --kernel DIR   kernel to boot (default: from scripts/uml-kernel.sh)
  --only REGEX   run only the tests whose name matches
  --list         print the list for tests/vm/uml.sh, and run nothing
END
}

kernel=
only=.
print=
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift ;;
	--only) only=${2?}; shift ;;
	--list) print=1 ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

list()
{
	echo "kmemleak clear: tests/cases/kmemleak.sh clear"
	{ cat tests/cases/LIST && tests/cases/abi.sh --list; } |
		awk -v "only=$only" '/^(#|$)/ { next }
			{ name = $0; sub(/( timeout=[0-9]+)?: .*/, "", name) }
			name ~ only'
	echo "kmemleak: tests/cases/kmemleak.sh check"
	# A report of lockdep's is its last one.
	echo "lockdep is on: grep 'debug_locks: *1\$' /proc/lockdep_stats"
}

uml()
{
	local codename

	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	list >build/list.uml
	# A warning in a hard interrupt ("hrtimer: interrupt took ...") makes
	# lockdep complain of the lock of UML's console, and leave it at that.
	step "tests in User Mode Linux" tests/vm/uml.sh --name test-uml \
		--kernel "$kernel" --list build/list.uml --append loglevel=4 \
		--env "COMPCH_KO=/run/compch/build/uml/ib_compch.ko" \
		--env "COMPCH_TESTDEV_KO=/run/compch/build/uml/compch_testdev.ko" \
		--env "COMPCH_BUILD=/run/compch/build/user-$codename"
}

cd "$top" || exit 1
[ -z "$print" ] || { list; exit; }
mkdir -p build
[ -n "$kernel" ] || kernel=$(scripts/uml-kernel.sh) || exit 1
prepare "building for User Mode Linux" \
	scripts/build-module.sh "$kernel/build" build/uml ARCH=um &&
	prepare "building the tests" make --no-print-directory tests &&
	uml
sum
