#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# build-module.sh KDIR OUT [MAKE-ARGUMENT]...
#
# Build the kernel modules against the kernel (headers) in KDIR. kbuild writes
# beside an external module's sources, so it works on a copy of them in OUT,
# one for each kernel. The results are OUT/ib_compch.ko and, for the tests,
# OUT/compch_testdev.ko.

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
kdir=$1
out=$2
shift 2

mkdir -p "$out"
out=$(cd "$out" && pwd)
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
