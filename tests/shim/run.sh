#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# run.sh stock|ours [PROGRAM]...
# run.sh policy|removed
#
# In a virtual machine, as root: the tests that LIST names (or those PROGRAMs),
# on stock channels or on ours; or the tests of COMPCH=, or of a device's
# removal, in all ways. Needs COMPCH_BUILD and, but for "stock", COMPCH_KO; see
# tests/cases/lib.sh. With SHIM_STATIC the programs have the library in them.

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

mode=${1:?}
shift
tests=$COMPCH_BUILD/tests/shim
library=$COMPCH_BUILD/libcompch.so.0
failed=0
ran=0

# run NAME COMMAND... - and count the result.
run()
{
	name=$1
	shift

	status=0
	"$@" >/tmp/out 2>&1 </dev/null || status=$?
	case $status in
	0) echo "ok - $name" ;;
	77) echo "skip - $name" ;;
	*) echo "NOT OK - $name: status $status" ;;
	esac
	sed 's/^/    /' /tmp/out
	case $status in
	0) ran=$((ran + 1)) ;;
	77) ;;
	*) failed=$((failed + 1)) ;;
	esac
}

# ours COMMAND... - run it on our channels.
ours()
{
	if [ -n "${SHIM_STATIC:-}" ]; then
		COMPCH=require "$@"
	else
		compch_run "$@"
	fi
}

# stock COMMAND... - run it on stock channels.
stock()
{
	# Those that are linked with the library need a word.
	case ${1##*/} in
	native_*) COMPCH=off "$@" ;;
	*) "$@" ;;
	esac
}

run_list()
{
	while read -r program arguments; do
		[ -z "$wanted" ] || case " $wanted " in
		*" $program "*) ;;
		*) continue ;;
		esac
		# shellcheck disable=SC2086 # arguments
		case $mode in
		ours)
			run "$program $arguments" ours \
				"$tests/$program" $arguments
			case $program in
			native_create | native_warn) ;;
			native_*) run "$program $arguments, with rings" ours \
				env NATIVE_RING=64 "$tests/$program" $arguments ;;
			esac
			;;
		stock) run "$program $arguments" stock \
			"$tests/$program" $arguments ;;
		esac
	done <"$tests/LIST"
}

# policy COMPCH DEVICE ours|stock|fail STDERR... - one way, and what it must say.
policy()
{
	value=$1 device=$2 want=$3
	shift 3

	run "COMPCH=$value $device: $want" env "COMPCH=$value" \
		"LD_PRELOAD=$library" "$tests/policy" "$device" "$want"
	[ "$(cat /tmp/out)" = "$*" ] || {
		echo "NOT OK - it did not say '$*'"
		failed=$((failed + 1))
	}
}

policy_all()
{
	bad='libcompch: COMPCH=nonsense is not auto, off or require; using auto'
	old='libcompch: COMPCH=require: rxe1: the device is older than the'
	old="$old module ib_compch and must be registered anew"

	rxe_add rxe1 1 # before there is a module
	policy auto rxe1 stock
	policy off rxe1 stock
	policy nonsense rxe1 stock "$bad"
	policy require rxe1 fail "libcompch: COMPCH=require: rxe1: the module" \
		"ib_compch is not loaded, or not for this device"
	compch_load
	rxe_add rxe0
	policy auto rxe0 ours
	policy "" rxe0 ours
	policy off rxe0 stock
	policy require rxe0 ours
	policy nonsense rxe0 ours "$bad"
	policy auto rxe1 stock
	policy require rxe1 fail "$old"
}

# removed RUN [ENV]... - one way, with a device that is gone afterwards.
removed()
{
	on=$1
	shift

	rxe_add rxe2 2
	run "removed, $on $*" "$on" env "$@" "$tests/removed" rxe2
	# It may have been left to go later than the program.
	wait_for "the removal of rxe2" [ ! -e /sys/class/infiniband/rxe2 ]
	ip link delete rxe2-net
	case_links=
	case_netdevs=
}

# native_removed [ENV]... - the same on our channels.
native_removed()
{
	rxe_add rxe2 2
	run "native_removed $*" ours env "$@" "$tests/native_removed" rxe2
	wait_for "the removal of rxe2" [ ! -e /sys/class/infiniband/rxe2 ]
	ip link delete rxe2-net
	case_links=
	case_netdevs=
}

removed_all()
{
	compch_load
	removed env COMPCH=off
	removed env COMPCH=off RDMAV_ALLOW_DISASSOC_DESTROY=1
	removed ours
	removed ours RDMAV_ALLOW_DISASSOC_DESTROY=1
	native_removed
	native_removed RDMAV_ALLOW_DISASSOC_DESTROY=1
}

# rsocket - in the ways that there are; those events must be of our channels.
rsockets()
{
	[ "$mode" = ours ] || {
		run "rsocket" stock "$tests/rsocket" 10.9.0.1
		return
	}
	before=$(compch_counter reported)
	run "rsocket" ours "$tests/rsocket" 10.9.0.1
	[ "$(compch_counter reported)" -gt "$before" ] || {
		echo "NOT OK - none of its events came from our channels"
		failed=$((failed + 1))
	}
}

wanted=$*
case $mode in
policy)
	policy_all
	;;
removed)
	removed_all
	;;
*)
	[ "$mode" = stock ] || compch_load
	rxe_add rxe0 0
	rxe_add rxe1 1
	run_list
	[ -n "$wanted" ] || rsockets
	;;
esac
echo "$mode: $ran passed, $failed failed"
[ "$failed" = 0 ] || exit 1
[ "$ran" -gt 0 ] || skip "none of the tests can be run here"
