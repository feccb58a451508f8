#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# module.sh WHAT
#
# The module's own life:
#   busy      it cannot be unloaded while it extends a device
#   cycles    load, use and unload it, ten times
#   older     a device that was there before it gets the new channels when it
#             is registered anew
#   netns     or when it is moved to another network namespace and back
#   container in another network namespace, the extension shows in sysfs

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

gid=
netns=
testdev=

cleanup()
{
	status=$?
	[ -z "$netns" ] || ip netns delete "$netns"
	[ -z "$testdev" ] || rmmod compch_testdev
	(exit "$status")
	case_cleanup
}
trap cleanup EXIT

# The device carries events, through the module or, "stock", past it.
use()
{
	before=$(compch_counter reported)
	pair "$1" 18515 ibv_rc_pingpong -e -d rxe0 -g "$gid" -n 20 || {
		pair_show
		fail "ibv_rc_pingpong fails"
	}
	after=$(compch_counter reported)
	if [ "${2:-}" = stock ]; then
		[ "$after" = "$before" ] || fail "events came through the module"
	else
		[ "$after" -gt "$before" ] || fail "no event came through the module"
	fi
}

nothing_is_left()
{
	for name in devices channels associations; do
		count=$(compch_counter "$name") || exit 1
		[ "$count" = 0 ] || return 1
	done
}

auto()
{
	COMPCH=auto LD_PRELOAD="$COMPCH_BUILD/libcompch.so.0" "$@"
}

busy()
{
	compch_load
	rxe_add rxe0
	gid=$(rdma_gid rxe0)
	! rmmod ib_compch 2>/dev/null || fail "unloaded under a device"
	use compch_run
	rxe_delete rxe0
	wait_for "the end of all objects" nothing_is_left
	compch_unload || fail "it does not unload"
	[ ! -e /sys/module/ib_compch ] || fail "it is still there"
}

cycles()
{
	modprobe -a dummy rdma_rxe || skip "this kernel has no rdma_rxe"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		compch_load
		rxe_add rxe0
		gid=$(rdma_gid rxe0)
		use compch_run
		rxe_delete rxe0
		wait_for "the end of all objects" nothing_is_left
		compch_unload || fail "it does not unload in round $i"
	done
}

older()
{
	rxe_add rxe0
	gid=$(rdma_gid rxe0)
	insmod "$COMPCH_TESTDEV_KO" || fail "cannot load $COMPCH_TESTDEV_KO"
	testdev=1
	compch_load
	compch_extends rxe0 || fail "rxe0 does not show in sysfs"
	wait_for "compch_test0's uverbs device" rdma_uverbs compch_test0
	"$COMPCH_BUILD/tests/abi/extended" no || fail "no EPROTONOSUPPORT"
	use auto stock
	! compch_run ibv_rc_pingpong -e -d rxe0 -g "$gid" >/tmp/out 2>&1 ||
		fail "COMPCH=require does without"
	grep -q "^libcompch: COMPCH=require: rxe0: " /tmp/out ||
		fail "no reason given: $(cat /tmp/out)"

	rxe_delete rxe0
	rxe_add rxe0
	gid=$(rdma_gid rxe0)
	use compch_run
	echo del 0 >/sys/kernel/debug/compch_testdev/ctl
	echo add 0 >/sys/kernel/debug/compch_testdev/ctl
	wait_for "compch_test0's uverbs device" rdma_uverbs compch_test0
	"$COMPCH_BUILD/tests/abi/extended" yes || fail "still not extended"
}

in_netns()
{
	ip netns exec compch "$@"
}

shows_in_netns()
{
	in_netns test -e "/sys/class/infiniband/$1/compch/abi_version"
}

netns()
{
	rdma system set netns exclusive || fail "cannot separate namespaces"
	ip netns add compch || fail "cannot make a namespace"
	netns=compch
	ip netns attach compch-first $$ || fail "cannot name the first one"
	insmod "$COMPCH_TESTDEV_KO" disassociate=1 ||
		fail "cannot load $COMPCH_TESTDEV_KO"
	testdev=1
	compch_load
	wait_for "compch_test0's uverbs device" rdma_uverbs compch_test0
	"$COMPCH_BUILD/tests/abi/extended" no || fail "no EPROTONOSUPPORT"

	rdma dev set compch_test0 netns compch || fail "cannot move the device"
	wait_for "the device over there" shows_in_netns compch_test0
	in_netns rdma dev set compch_test0 netns compch-first ||
		fail "cannot move the device back"
	wait_for "compch_test0's uverbs device" rdma_uverbs compch_test0
	"$COMPCH_BUILD/tests/abi/extended" yes || fail "still not extended"
	ip netns delete compch-first
	ip netns delete compch
	netns=
	rmmod compch_testdev
	testdev=
	rdma system set netns shared
	wait_for "the end of all objects" nothing_is_left
}

container()
{
	compch_load
	ip netns add compch || fail "cannot make a namespace"
	netns=compch
	rxe_add rxe0	# after the namespace
	shows_in_netns rxe0 || fail "rxe0 does not show"
	ip netns delete compch
	ip netns add compch # after the device
	wait_for "rxe0 in the namespace" shows_in_netns rxe0
	[ "$(in_netns cat /sys/class/infiniband/rxe0/compch/driver_id)" = \
	  "$(cat /sys/class/infiniband/rxe0/compch/driver_id)" ] ||
		fail "another driver_id"
	[ "$(compch_counter devices)" = 1 ] || fail "extended twice"
	rxe_delete rxe0
	wait_for "the end of all objects" nothing_is_left
}

case ${1:?} in
busy | cycles | older | netns | container) "$1" ;;
*) fail "what is '$1'?" ;;
esac
