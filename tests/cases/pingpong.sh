#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pingpong.sh stock|ours|tool [rc|uc|ud|srq|xsrq]...
#
# libibverbs' own pingpong programs (all by default), in event mode over rxe,
# on stock channels or, unmodified, on ours, by "compch run" for "tool". One that
# does not run on a stock channel, because rxe lacks what it needs, says nothing
# about ours.

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

mode=${1:?}
shift
[ $# -gt 0 ] || set -- rc uc ud srq xsrq

# pingpong RUN KIND - is right only if it says that it exchanged everything.
pingpong()
{
	iterations=500
	if ! pair "$1" 18515 "ibv_$2_pingpong" -e -d rxe0 -g "$gid" \
			-n $iterations; then
		return 1
	fi
	for side in server client; do
		grep -q "^$iterations iters in " "/tmp/pair.$side" ||
			# each client of xsrq does some of them
			[ "$2" = xsrq ] || return 1
	done
}

[ "$mode" = stock ] || compch_load
rxe_add rxe0
gid=$(rdma_gid rxe0)
ran=0
for kind; do
	command -v "ibv_${kind}_pingpong" >/dev/null ||
		fail "ibv_${kind}_pingpong is missing"
	if [ "$mode" = stock ]; then
		run="env"
	else
		run=compch_run
		[ "$mode" = ours ] || run=compch_tool
		compch_extends rxe0 || fail "rxe0 is not extended"
		before=$(compch_counter reported)
	fi
	if pingpong $run "$kind"; then
		echo "$kind: $(grep ' iters in ' /tmp/pair.client)"
		ran=$((ran + 1))
		[ "$mode" = stock ] ||
			[ "$(compch_counter reported)" -gt "$before" ] ||
			fail "$kind: no event came through the module"
		continue
	fi
	pair_show
	if [ "$mode" = stock ]; then
		[ "$kind" = xsrq ] || fail "ibv_${kind}_pingpong fails"
	elif pingpong env "$kind"; then
		fail "ibv_${kind}_pingpong fails on ours, and runs on stock"
	fi
	echo "$kind: does not run on stock channels"
done
[ "$ran" -gt 0 ] || skip "ibv_${kind}_pingpong does not run on stock channels"
