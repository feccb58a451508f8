#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Show an unmodified verbs program on the new channels, in a virtual machine.

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

cd "$top"
kernel=$(scripts/kernel.sh)
release=$(scripts/kernel.sh --version)
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mkdir -p build
say "building"
make --no-print-directory all "KDIR=/lib/modules/$release/build" \
	>build/demo.log 2>&1 || {
	cat build/demo.log >&2
	die "the build failed"
}
say "booting Linux $release"
tests/vm/run.sh --plain --name demo --kernel "$kernel" \
	--env "COMPCH_KO=/run/compch/build/$release/ib_compch.ko" \
	--env "COMPCH_BUILD=/run/compch/build/user-$codename" \
	-- tests/cases/demo.sh
