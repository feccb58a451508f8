#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# build-module.sh KDIR OUT [MAKE-ARGUMENT]...
#
# Build the kernel modules against the kernel (headers) in KDIR. kbuild writes
# beside an external module's sources, so it works on a copy of them in OUT,
# one for each kernel. The results are OUT/ib_compch.ko and, for the tests,
# OUT/compch_testdev.ko.
#
# OFA_DIR in the environment names an RDMA stack that was built outside of the
# kernel: its headers, in include/, come first, and its Module.symvers has the
# symbols.

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
kdir=$1
out=$2
shift 2

mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ -n "${OFA_DIR:-}" ]; then
	for file in Module.symvers include/rdma/ib_verbs.h; do
		[ -f "$OFA_DIR/$file" ] ||
			die "OFA_DIR: there is no $OFA_DIR/$file"
	done
	OFA_DIR=$(cd "$OFA_DIR" && pwd)
	# A symbol may come from two modules, but not from one twice, as it
	# seems to if these have the names of the kernel's own.
	sed -E 's,^(0x[0-9a-f]+\t[^\t]+\t),\1ofa/,' "$OFA_DIR/Module.symvers" \
		>"$out/ofa.symvers"
	set -- "OFA_DIR=$OFA_DIR" "KBUILD_EXTRA_SYMBOLS=$out/ofa.symvers" "$@"
fi
cd "$top"
# Keep the times, for make; forget what is no longer there.
cp -Rpu Kbuild VERSION drivers include kunit "$out/"
# What a program does with an event ring, for a suite
cp -pu --parents userspace/libcompch/ring.h "$out/"
( cd "$out" && find Kbuild VERSION drivers include kunit -type f \
	\( -name '*.[ch]' ! -name '*.mod.c' -o -name 'Kbuild*' -o -name Makefile \) ) |
	while read -r file; do
		[ -e "$file" ] || rm "$out/$file"
	done

"${MAKE:-make}" --no-print-directory -C "$kdir" "M=$out" "$@" modules
"${MAKE:-make}" --no-print-directory -C "$kdir" "M=$out/kunit" "$@" modules
ln -sf drivers/infiniband/compch/ib_compch.ko "$out/ib_compch.ko"
ln -sf kunit/compch_testdev.ko "$out/compch_testdev.ko"
