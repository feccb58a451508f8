#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# tool.sh WHAT
#
# The command-line tool on devices:
#   list      it lists what there is, of the fake device and of rxe
#   adopt     it extends the fake device, and says how to do so with rxe, or
#             does it
#   users     not while somebody uses it, unless forced
#   doctor    it finds nothing wrong, or what is

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

compch=$COMPCH_BUILD/compch
testdev=
reader=

cleanup()
{
	status=$?
	[ -z "$reader" ] || kill "$reader" 2>/dev/null
	wait
	[ -z "$testdev" ] || rmmod compch_testdev
	(exit "$status")
	case_cleanup
}
trap cleanup EXIT

load_testdev()
{
	insmod "$COMPCH_TESTDEV_KO" || fail "cannot load $COMPCH_TESTDEV_KO"
	testdev=1
	wait_for "compch_test0's uverbs device" rdma_uverbs compch_test0
}

# says REGEX COMMAND... - it succeeds, and its output has a line like that.
says()
{
	regex=$1
	shift
	"$@" >/tmp/out 2>&1 || { cat /tmp/out; fail "$* fails"; }
	grep -Eq "$regex" /tmp/out || {
		cat /tmp/out
		fail "$*: no '$regex'"
	}
}

# refuses REGEX COMMAND... - it fails, and says something like that.
refuses()
{
	regex=$1
	shift
	! "$@" >/tmp/stdout 2>/tmp/out || fail "$* succeeds"
	grep -Eq "$regex" /tmp/out || {
		cat /tmp/stdout /tmp/out
		fail "$*: no '$regex'"
	}
}

# is EXPRESSION COMMAND... - it prints JSON, "x", of which that is true.
is()
{
	expression=$1
	shift
	"$@" >/tmp/out || fail "$* fails"
	[ "$(python3 -c 'import json, sys
x = json.load(open("/tmp/out"))
print(eval("(" + sys.argv[1] + ")"))' "$expression")" = True ] || {
		cat /tmp/out
		fail "$*: not so: $expression"
	}
}

list()
{
	compch_load
	load_testdev
	rxe_add rxe0
	says '^compch_test1 +uverbs[0-9]+ +- +yes +0 +0 +0 +-$' "$compch" dev
	says '^rxe0 +uverbs[0-9]+ +rdma_rxe +yes +0 +0 +0 +-$' \
		"$compch" dev show rxe0
	is 'x[0]["extended"] is True and x[0]["abi_version"] == 1' \
		"$compch" -j dev show compch_test0
	is 'x == []' "$compch" -j channel

	# A server waits for its client, with a channel and a CQ.
	# It is the process itself whose number is wanted.
	env COMPCH=require "LD_PRELOAD=$COMPCH_BUILD/libcompch.so.0" \
		ibv_rc_pingpong -e -d rxe0 -g "$(rdma_gid rxe0)" -n 300 \
		>/tmp/server 2>&1 &
	reader=$!
	wait_for "the server" port_is_open 18515
	says " $reader  ibv_rc_pingpong\$" "$compch" channel
	is "len(x) == 1 and x[0]['pid'] == $reader and x[0]['cqs'] == 1 and
x[0]['device'] == 'rxe0' and x[0]['state'] == 'open' and
x[0]['idle_ms'] is None and x[0]['comm'] == 'ibv_rc_pingpong'" \
		"$compch" -j channel show pid "$reader"
	is "len(x) == 1 and x[0]['reported'] == 0" "$compch" -j cq pid "$reader"
	is 'x == []' "$compch" -j cq pid 1
	# As rdma(8) has it
	is "any(c['cqn'] == $("$compch" -j cq |
		sed -n 's/.*"cqn":\([0-9]*\).*/\1/p') and c['pid'] == $reader
for c in x)" rdma -j resource show cq
	says "^ *0\.0  rxe0 .*  $reader  ibv_rc_pingpong" \
		"$compch" top -n 1 -d 0.2

	compch_run ibv_rc_pingpong -e -d rxe0 -g "$(rdma_gid rxe0)" -n 300 \
		127.0.0.1 >/tmp/client 2>&1 || {
		cat /tmp/client /tmp/server
		fail "the client fails"
	}
	wait "$reader" || { cat /tmp/server; fail "the server fails"; }
	reader=
	is 'x == []' "$compch" -j channel

	# It fires, and another program reads.
	stress >/tmp/stress 2>&1 &
	reader=$!
	wait_for "move_stress" busy
	touch /tmp/enough
	wait "$reader" || { cat /tmp/stress; fail "move_stress fails"; }
	reader=
}

# Until somebody has seen it: it may be over sooner than one can look.
stress()
{
	rm -f /tmp/enough
	while [ ! -e /tmp/enough ]; do
		"$COMPCH_BUILD/tests/abi/move_stress" || return
	done
}

# Is there a CQ with events?
busy()
{
	"$compch" -j top -n 1 -d 0.1 | grep -q '"events_per_second":[1-9]'
}

# The device is as it was, or as it should be.
extended()
{
	[ "$("$compch" -j dev show "$1" | sed 's/.*"extended":\([a-z]*\).*/\1/')" = \
		"$2" ] || { "$compch" dev; fail "$1: extended is not $2"; }
}

adopt()
{
	load_testdev
	rxe_add rxe0
	refuses '^compch: compch_test0: the module ib_compch is not loaded: modprobe' \
		"$compch" adopt compch_test0
	says '^rxe0 .* no .*the module ib_compch is not loaded' "$compch" dev
	compch_load
	extended compch_test0 false
	says '^compch_test0 .* no .* before the module was loaded' "$compch" dev
	says '^wrong    device: compch_test0: it was registered before ' \
		sh -c "'$compch' doctor || [ \$? = 1 ]"
	mode=$(rdma system)
	says '^compch: compch_test0 is extended now$' "$compch" adopt compch_test0
	extended compch_test0 true
	extended compch_test1 false
	[ "$(rdma system)" = "$mode" ] || fail "another mode: $(rdma system)"
	says '^compch: compch_test0 is extended already$' "$compch" adopt compch_test0
	"$COMPCH_BUILD/tests/abi/extended" yes || fail "it is not, really"

	# With another namespace about, no device can be moved.
	ip netns add compch || fail "cannot make a namespace"
	! "$compch" adopt compch_test1 2>/tmp/out || fail "it is in the way"
	ip netns delete compch
	grep -q 'all network namespaces share the devices, and there are others' \
		/tmp/out || { cat /tmp/out; fail "another reason"; }
	extended compch_test1 false
	wait_for "the end of the namespace" "$compch" adopt compch_test1
	extended compch_test1 true

	# rxe can be moved since Linux 7; before, this is to be done.
	"$compch" adopt rxe0 >/tmp/command 2>/tmp/out
	case $? in
	0)
		[ ! -s /tmp/command ] || fail "a command: $(cat /tmp/command)"
		echo "rxe0 was moved"
		;;
	1)
		grep -q '^compch: rxe0: its driver cannot move it' /tmp/out || {
			cat /tmp/out
			fail "another reason"
		}
		[ "$(cat /tmp/command)" = "rdma link delete rxe0 && rdma link add rxe0 type rxe netdev rxe0-net" ] ||
			fail "wrong command: $(cat /tmp/command)"
		sh -e /tmp/command || fail "the command fails"
		wait_for "rxe0's uverbs device" rdma_uverbs rxe0
		echo "rxe0 was registered anew, as the tool says"
		;;
	*) cat /tmp/out; fail "adopt" ;;
	esac
	extended rxe0 true
	wait_for "rxe0's GID" rdma_gid rxe0
	pair compch_tool 18515 ibv_rc_pingpong -e -d rxe0 \
		-g "$(rdma_gid rxe0)" -n 20 || {
		pair_show
		fail "ibv_rc_pingpong fails"
	}
}

# Has it opened the device?
is_open()
{
	readlink /proc/"$reader"/fd/* | grep -qx "$node"
}

users()
{
	load_testdev
	compch_load
	node=$(rdma_uverbs compch_test0)
	sleep 1000 <>"$node" &
	reader=$!
	wait_for "the user" is_open
	refuses "^compch: compch_test0 is used by process $reader \(sleep\)\$" \
		"$compch" adopt compch_test0
	grep -q '^compch: compch_test0: --force ' /tmp/out ||
		fail "no word of --force"
	extended compch_test0 false
	says '^compch: compch_test0 is extended now$' \
		"$compch" adopt compch_test0 --force
	extended compch_test0 true
	kill -0 "$reader" || fail "its user has been killed"
	kill "$reader"
	wait "$reader"
	reader=
}

doctor()
{
	refuses '^$' sh -c "'$compch' doctor; s=\$?; echo >&2; exit \$s"
	grep -q '^wrong    module: ib_compch is ' /tmp/stdout || {
		cat /tmp/stdout
		fail "it does not miss the module"
	}
	compch_load
	load_testdev
	says '^ok       device: compch_test0 is extended$' "$compch" doctor
	cat /tmp/out
	for check in kernel module permission list memory library; do
		grep -q "^ok       $check: " /tmp/out || fail "$check is not ok"
	done
	chmod 600 "$(rdma_uverbs compch_test0)"
	refuses '^$' setpriv --reuid nobody --regid nogroup --clear-groups \
		sh -c "'$compch' doctor; s=\$?; echo >&2; exit \$s"
	grep -q '^wrong    permission: /dev/infiniband/uverbs[0-9]*: Permission' \
		/tmp/stdout || { cat /tmp/stdout; fail "it may open the device"; }
	refuses 'is for root$' setpriv --reuid nobody --regid nogroup \
		--clear-groups "$compch" channel
}

case ${1:?} in
list | adopt | users | doctor) "$1" ;;
*) fail "what is '$1'?" ;;
esac
