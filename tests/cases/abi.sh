#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# abi.sh [--rings | PROGRAM [MODE]]
#
# The tests of the kernel interface: all that tests/abi/LIST names, each with
# its own verdict, or a single one. In the end no object of ours may be left,
# and both modules must unload.
#
# With --rings, those of our channels once more, where all channels have an
# event ring; and those of more than one channel, where every second one has.
#
# abi.sh --list prints a list for tests/vm/run.sh that runs each one by itself,
# with its part of the kernel log.
#
# From the environment, besides what lib.sh needs:
#   COMPCH_TESTDEV_KO   compch_testdev.ko, built for the running kernel

set -u
programs=${COMPCH_BUILD:-${COMPCH_SRC:-.}/build}/tests/abi
list=$(dirname "$0")/../abi/LIST

lines()
{
	sed -e '/^#/d' -e '/^$/d' "$list"
}

if [ "${1:-}" = --list ]; then
	lines | while read -r program mode; do
		name="abi $program${mode:+ $mode}"
		echo "$name: tests/cases/abi.sh $program $mode"
	done
	exit 0
fi

. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

[ -f "${COMPCH_TESTDEV_KO:-}" ] ||
	fail "no module: COMPCH_TESTDEV_KO='${COMPCH_TESTDEV_KO:-}'"
compch_load
insmod "$COMPCH_TESTDEV_KO" || fail "cannot load $COMPCH_TESTDEV_KO"
for dev in compch_test0 compch_test1; do
	compch_extends "$dev" || fail "$dev is not extended"
	rdma_uverbs "$dev" >/dev/null || fail "$dev has no uverbs device"
done

# Those that say nothing new are left out, and what is not known of a ring.
rings()
{
	lines | grep -v -E ' stock|^(ring|sysfs|extended|fail_nth|counters|listing|tracepoints)' |
		grep -v '^move_stress' | sed 's/^/all:/'
	lines | grep -E '^(move|coalesce|two_devices|close_channel|order)$' |
		sed 's/^/some:/'
}

passed=0 failed=0 skipped=0
if [ "${1:-}" = --rings ]; then
	rings
elif [ $# -gt 0 ]; then
	echo "$*"
else
	lines
fi >/tmp/abi.list

while read -r program mode <&3; do
	name=$program${mode:+ $mode}
	unset COMPCH_ABI_RING
	case $program in
	*:*)
		export COMPCH_ABI_RING="${program%%:*}"
		program=${program#*:}
		;;
	esac
	[ ! -w /dev/kmsg ] || echo "compch-abi: $name" >/dev/kmsg
	# shellcheck disable=SC2086 # there may be none
	"$programs/$program" $mode >/tmp/abi.out 2>&1 3<&-
	status=$?
	case $status in
	0)
		passed=$((passed + 1))
		echo "ok - $name"
		sed -n 's/^info: /# /p' /tmp/abi.out
		;;
	77)
		skipped=$((skipped + 1))
		echo "ok - $name # SKIP $(tail -n 1 /tmp/abi.out)"
		;;
	*)
		failed=$((failed + 1))
		echo "not ok - $name # exit status $status"
		tail -n 60 /tmp/abi.out | sed 's/^/# /'
		;;
	esac
done 3</tmp/abi.list
echo "$passed passed, $failed failed, $skipped skipped"

left=0
for name in channels associations; do
	count=$(compch_counter "$name") || exit 1
	[ "$count" = 0 ] || { echo "not ok - $count $name are left"; left=1; }
done
if [ -s /sys/kernel/debug/compch_testdev/cqs ]; then
	echo "not ok - CQs are left:"
	cat /sys/kernel/debug/compch_testdev/cqs
	left=1
fi
rmmod compch_testdev || fail "compch_testdev does not unload"
count=$(compch_counter devices) || exit 1
[ "$count" = 0 ] || { echo "not ok - $count devices are left"; left=1; }
compch_unload || fail "ib_compch does not unload"

[ "$failed" = 0 ] && [ "$left" = 0 ] || exit 1
if [ "$passed" = 0 ]; then
	tail -n 1 /tmp/abi.out
	exit 77
fi
