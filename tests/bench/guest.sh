#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# guest.sh [rxe-]PROGRAM stock|compch
# guest.sh end
#
# Runs a measurement in a virtual machine, as root; run.sh collects the rows that
# it prints. The first one loads the modules, and they stay: all measure in one
# boot, on the same devices. "end" unloads them, when nothing may be left.
#
# Needs COMPCH_KO, COMPCH_TESTDEV_KO, COMPCH_BUILD and, for the programs,
# BENCH_CLOCK, which is "icount" or "wall".

set -u
# shellcheck source=tests/cases/lib.sh
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

# A clock that counts instructions runs ahead while the machine waits for the
# host, and a limit may be reached that nobody has waited for.
pair_limit=1000000

setup()
{
	echo 0 >/proc/sys/kernel/hung_task_timeout_secs
	compch_load
	insmod "${COMPCH_TESTDEV_KO:-}" || fail "cannot load compch_testdev"
	wait_for "compch_test0's uverbs device" rdma_uverbs compch_test0
	rxe_add rxe0
	# They stay.
	case_module='' case_links='' case_netdevs=''
	# Nor must the host's files be waited for in the middle of it.
	cp -r "$COMPCH_BUILD/tests/bench" /tmp/bench
	cp -L "$COMPCH_BUILD/libcompch.so.0" /tmp/bench/
}

end()
{
	for name in channels associations; do
		count=$(compch_counter "$name") || exit 1
		[ "$count" = 0 ] || fail "$count $name are left"
	done
	case_module=1 case_links=rxe0 case_netdevs=rxe0-net
	rmmod compch_testdev || fail "compch_testdev does not unload"
}

# The programs of libibverbs, as they are, on the one channel or the other.
on()
{
	case $mode in
	stock) COMPCH=off "$@" ;;
	compch) COMPCH=require LD_PRELOAD=/tmp/bench/libcompch.so.0 "$@" ;;
	esac
}

# Three times; the middle one. It prints microseconds, of a clock that may count
# instructions, for a message there and back.
pingpong()
{
	gid=$(rdma_gid rxe0)
	for _ in 1 2 3; do
		pair on 18515 ibv_rc_pingpong -e -d rxe0 -g "$gid" -n 1000 || {
			pair_show >&2
			fail "ibv_rc_pingpong"
		}
		sed -n 's|^1000 iters in .* = \([0-9.]*\) usec/iter$|\1|p' \
			/tmp/pair.client
	done | sort -n | awk -v clock="$BENCH_CLOCK" '
		{ us[NR] = $1 }
		END {
			if (NR != 3)
				exit 1
			printf "BENCH,pingpong,ibv_rc_pingpong -e,%.0f,%s\n",
				us[2] * 1000,
				clock == "icount" ? "instructions" : "ns"
		}'
}

if [ "${1:?}" = end ]; then
	end
	exit 0
fi
[ -e /tmp/bench ] || setup
program=$1 mode=${2:?}
case $program in
rxe-pingpong) pingpong ;;
rxe-*) on "/tmp/bench/${program#rxe-}" "$mode" ;;
*) "/tmp/bench/$program" "$mode" ;;
esac >/tmp/bench.out 2>&1
status=$?
cat /tmp/bench.out
exit $status
