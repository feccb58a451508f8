#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# tool.sh WHAT
#
# The command-line tool on devices:
#   list      it lists what there is, of the fake device and of rxe

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
	"$COMPCH_BUILD/tests/abi/move_stress" >/tmp/stress 2>&1 &
	reader=$!
	wait_for "move_stress" busy
	wait "$reader" || { cat /tmp/stress; fail "move_stress fails"; }
	reader=
}

# Is there a CQ with events?
busy()
{
	"$compch" -j top -n 1 -d 0.1 | grep -q '"events_per_second":[1-9]'
}

case ${1:?} in
list) "$1" ;;
*) fail "what is '$1'?" ;;
esac
