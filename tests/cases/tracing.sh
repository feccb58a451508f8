#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# tracing.sh bpftrace|perf|hist
#
# The examples of Documentation/tracing.rst, as they stand there, on programs of
# which it is known what they do. ("tracing.sh traffic" runs these.)

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

testdev=

cleanup()
{
	status=$?
	[ -z "$testdev" ] || rmmod compch_testdev
	(exit "$status")
	case_cleanup
}
trap cleanup EXIT

document=$COMPCH_SRC/Documentation/tracing.rst

# example TOOL NAME - the block that follows this comment
example()
{
	awk -v "comment=.. example: $1 $2" '
		$0 == comment { found = 1; next }
		found && /^\t/ { print substr($0, 2); block = 1; next }
		block && !/^$/ { exit }' "$document" | grep . ||
		fail "there is no example '$1 $2' in $document"
}

# expect NAME REGEX... - the output has a line for each.
expect()
{
	name=$1
	shift
	for regex; do
		grep -Eq "$regex" /tmp/out || {
			cat /tmp/out
			fail "$name: nothing like '$regex'"
		}
	done
}

# bpf NAME REGEX... - the example NAME while there is traffic. bpftrace runs no
# scripts.
bpf()
{
	example bpftrace "$1" >/tmp/example
	eval "$(cat /tmp/example) -c '/bin/sh $COMPCH_SRC/tests/cases/tracing.sh traffic'" \
		>/tmp/out 2>&1 || { cat /tmp/out; fail "$1: bpftrace fails"; }
	grep -q "^traffic: 0" /tmp/traffic.status || {
		cat /tmp/traffic
		fail "$1: the programs fail"
	}
	expect "$@"
	echo "$1:"
	grep '^@' /tmp/out
}

# A program that acknowledges, and one that has never heard of it
traffic()
{
	pair compch_run 18515 ibv_rc_pingpong -e -d rxe0 \
		-g "$(rdma_gid rxe0)" -n 100 || { pair_show; return 1; }
	"$COMPCH_BUILD/tests/abi/order"
}

setup()
{
	[ -d /sys/kernel/tracing/events ] || skip "this kernel has no tracepoints"
	command -v "$1" >/dev/null || skip "$1 is not installed here"
	[ -f "${COMPCH_TESTDEV_KO:-}" ] ||
		fail "no module: COMPCH_TESTDEV_KO='${COMPCH_TESTDEV_KO:-}'"
	compch_load
	rxe_add rxe0
	insmod "$COMPCH_TESTDEV_KO" || fail "cannot load $COMPCH_TESTDEV_KO"
	testdev=1
	wait_for "compch_test0's uverbs device" rdma_uverbs compch_test0
}

case ${1:?} in
traffic)
	trap - EXIT
	traffic >/tmp/traffic 2>&1
	echo "traffic: $?" >/tmp/traffic.status
	;;
bpftrace)
	[ -e /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
	setup bpftrace
	bpf wakes '^@\[[0-9]+, ibv_rc_pingpong, rxe0, [0-9]+\]: [1-9]'
	bpf between '^@between_reads\[rxe0, [0-9]+\]:' \
		'^@between_reads\[compch_test0, [0-9]+\]:'
	bpf arms '^@arms\[[0-9]+, ibv_rc_pingpong\]: [1-9]' \
		'^@reads\[[0-9]+, ibv_rc_pingpong\]: [1-9]'
	bpf latency '^@us\[ibv_rc_pingpong\]:'
	;;
perf)
	[ -e /proc/sys/kernel/perf_event_paranoid ] ||
		skip "this kernel has no perf events"
	setup perf
	example perf wakes >/tmp/example
	: >/tmp/go
	while [ -e /tmp/go ]; do
		traffic || : >/tmp/failed
	done >/tmp/traffic 2>&1 &
	sh -e /tmp/example >/tmp/out 2>&1
	status=$?
	rm /tmp/go
	wait
	[ ! -e /tmp/failed ] || { cat /tmp/traffic; fail "the programs fail"; }
	[ "$status" = 0 ] || { cat /tmp/out; fail "perf fails"; }
	expect wakes 'compch:compch_wake:.* device=rxe0 cqn=[0-9]+ channel=[0-9]+ pid=[0-9]+ comm=ibv_rc_pingpong'
	grep -m 3 compch_wake /tmp/out
	;;
hist)
	setup nm
	[ -e /sys/kernel/tracing/uprobe_events ] ||
		skip "this kernel has no probes for programs"
	for what in unacknowledged show end; do
		example hist "$what" >"/tmp/example.$what"
	done
	sh -e /tmp/example.unacknowledged || fail "cannot begin"
	traffic >/tmp/traffic 2>&1 || { cat /tmp/traffic; fail "traffic"; }
	sh -e /tmp/example.show >/tmp/out || fail "cannot show it"
	sh -e /tmp/example.end || fail "cannot end"
	cat /tmp/out
	# Of each, events read, and less those acknowledged
	sed -n 's/^{ common_pid: \([^ ]*\) *\[ *\([0-9]*\)\] } hitcount: *\([0-9]*\)/\1 \2 \3/p' \
		/tmp/out | awk '
		$4 == "events:" { left[$1 " " $2] -= $5; next }
		{ left[$1 " " $2] += $3 }
		END { for (who in left) print who, left[who] }' >/tmp/left
	cat /tmp/left
	[ "$(grep -c '^ibv_rc_pingpong [0-9]* 0$' /tmp/left)" = 2 ] ||
		fail "the programs acknowledge, and that is not seen"
	grep -q '^order [0-9]* [1-9]' /tmp/left ||
		fail "one does not, and that is not seen"
	;;
*) fail "what is '$1'?" ;;
esac
