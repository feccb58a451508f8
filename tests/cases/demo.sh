#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What "make demo" shows.

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

counters()
{
	for name in events reported discarded associations; do
		printf '  %s %s' "$name" "$(compch_counter $name)"
	done
	echo
}

compch_load
rxe_add rxe0
echo "kernel:      $(uname -r)"
echo "module:      $(modinfo -F version "$COMPCH_KO")"
echo "device:      rxe0 on $(cat /sys/class/infiniband/rxe0/parent)," \
	"extended: $(compch_extends rxe0 && echo yes || echo no)"
echo "counters:   $(counters)"
echo "program:     LD_PRELOAD=libcompch.so.0 ibv_rc_pingpong -e"
pair compch_run 18515 ibv_rc_pingpong -e -d rxe0 -g "$(rdma_gid rxe0)" || {
	pair_show
	fail "the program failed"
}
sed -n '/seconds\|iters/s/^/             /p' /tmp/pair.client
echo "counters:   $(counters)"
