#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# container.sh stock|ours|netns|older
#
# A program that sees no more of the system than a container may: its /dev has
# the device's file and nothing else, /sys and /proc are empty, and it is nobody.
#   stock   libibverbs runs there at all, with no library of ours
#   ours    and on our channels, with it
#   netns   the same in a network namespace of its own, which shares the device
#   older   on a device that was there before the module, there is a reason why
#           it cannot have them

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

mode=${1:?}
netns=

cleanup()
{
	status=$?
	[ -z "$netns" ] || ip netns delete "$netns"
	(exit "$status")
	case_cleanup
}
trap cleanup EXIT

# bare COMMAND... - in such a container.
bare()
{
	# shellcheck disable=SC2016 # expanded in there
	unshare --mount sh -c '
		set -e
		node=$1 number=$2 user=$3
		shift 3
		mount -t tmpfs tmpfs /dev
		mkdir /dev/infiniband
		# shellcheck disable=SC2086 # major and minor
		mknod -m 666 "$node" c $number
		mount -t tmpfs -o ro tmpfs /sys
		mount -t tmpfs -o ro tmpfs /proc
		[ "$(find /dev /sys /proc ! -type d)" = "$node" ]
		exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
	' sh "$node" "$(stat -c '0x%t 0x%T' "$node")" 65534 "$@"
}

bare_ours()
{
	bare env COMPCH=require "LD_PRELOAD=$COMPCH_BUILD/libcompch.so.0" "$@"
}

bare_auto()
{
	bare env COMPCH=auto "LD_PRELOAD=$COMPCH_BUILD/libcompch.so.0" "$@"
}

use()
{
	pair "$1" 18515 ibv_rc_pingpong -e -d rxe0 -g "$gid" -n 200 || {
		pair_show
		fail "ibv_rc_pingpong fails"
	}
	grep '^200 iters in ' /tmp/pair.client ||
		fail "it has not sent everything"
}

# What the program tells others of itself, in pair(), is for anybody to write.
: >/tmp/pair.pid
chmod 666 /tmp/pair.pid

# The part of "netns" that is in there
if [ "$mode" = inside ]; then
	use bare_ours
	exit
fi

case $mode in
ours | netns) compch_load ;;
older) modprobe ib_uverbs ;;
esac
rxe_add rxe0
gid=$(rdma_gid rxe0)
node=$(rdma_uverbs rxe0)
case $mode in
stock)
	use bare
	;;
ours)
	before=$(compch_counter reported)
	use bare_ours
	after=$(compch_counter reported)
	[ "$after" -gt "$before" ] || fail "no event came through the module"
	;;
netns)
	ip netns add compch || fail "cannot make a namespace"
	netns=compch
	ip -n compch link set lo up
	export gid node
	before=$(compch_counter reported)
	ip netns exec compch "$0" inside || fail "not in another namespace"
	after=$(compch_counter reported)
	[ "$after" -gt "$before" ] || fail "no event came through the module"
	;;
older)
	compch_load
	! bare_ours timeout 60 ibv_rc_pingpong -e -d rxe0 -g "$gid" \
		>/tmp/out 2>&1 || fail "it runs with COMPCH=require"
	cat /tmp/out
	grep -q '^libcompch: COMPCH=require: rxe0: the module ib_compch is not' \
		/tmp/out ||
		fail "it does not say why it cannot"
	use bare_auto
	[ "$(compch_counter reported)" = 0 ] || fail "events came through the module"
	;;
esac
