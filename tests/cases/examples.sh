#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# examples.sh stock|ours - the programs of userspace/examples over rxe, and what
# they must say at the end.

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

mode=${1:?}
examples=$COMPCH_BUILD/examples
clients=3
messages=200

# on COMMAND... - on the channels that are asked for, and with an end.
on()
{
	case $mode in
	stock) COMPCH=off timeout -s KILL 120 "$@" ;;
	ours) COMPCH=require timeout -s KILL 120 "$@" ;;
	esac
}

# example STATUS TEXT COMMAND... - must end like that, and say something like it.
example()
{
	status=$1 text=$2
	shift 2

	on "$@" >/tmp/out 2>&1
	got=$?
	cat /tmp/out
	[ "$got" = "$status" ] || fail "${1##*/}: exit status $got, not $status"
	grep -Eq "$text" /tmp/out || fail "${1##*/} does not say '$text'"
}

epoll_server()
{
	on "$examples/epoll_server" -n $clients 10.9.0.1 >/tmp/server 2>&1 &
	server=$!
	running=
	for client in $(seq $clients); do
		epoll_client "$client" &
		running="$running $!"
	done
	for client in $running; do
		wait "$client" || {
			cat /tmp/server
			fail "a client of epoll_server fails"
		}
	done
	wait $server || { cat /tmp/server; fail "epoll_server fails"; }
	cat /tmp/server
	[ "$(grep -c "^$messages messages sent back" /tmp/server)" = $clients ] ||
		fail "epoll_server has not sent everything back"
}

# It may come before the server listens.
epoll_client()
{
	for try in $(seq 50); do
		if on "$examples/epoll_server" -c -n $messages 10.9.0.1 \
				>"/tmp/client.$1" 2>&1; then
			cat "/tmp/client.$1"
			return 0
		fi
		grep -q 'rdma_connect' "/tmp/client.$1" || break
		sleep 0.2
	done
	cat "/tmp/client.$1"
	echo "gave up after try $try"
	return 1
}

[ "$mode" = stock ] || compch_load
modprobe -a rdma_ucm rdma_cm || skip "this kernel has no rdma_ucm"
rxe_add rxe0 0
rxe_add rxe1 1
case $mode in
stock)
	example 0 '^2000 completions, on a stock channel' \
		"$examples/minimal" rxe0
	epoll_server
	example 0 '^2000 messages on 4 CQs, [0-9]{4,} events in [1-9]' \
		"$examples/io_uring_loop" rxe0
	example 77 'stock channels cannot' "$examples/steering" rxe0
	example 77 'one device only' "$examples/two_devices" rxe0 rxe1
	;;
ours)
	example 0 '^2000 completions, on a native channel' \
		"$examples/minimal" rxe0
	epoll_server
	example 0 '^2000 messages on 4 CQs, [0-9]{4,} events in [1-9]' \
		"$examples/io_uring_loop" rxe0
	example 0 '^8000 messages, [1-9][0-9]* moves; .*: [1-9][0-9]* and [1-9]' \
		"$examples/steering" rxe0
	example 0 '^1000 messages on rxe0 and rxe1, [0-9]{3,} events' \
		"$examples/two_devices" rxe0 rxe1
	[ "$(compch_counter reported)" -gt 0 ] ||
		fail "no event came through the module"
	;;
esac
