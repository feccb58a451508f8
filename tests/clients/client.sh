#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# client.sh LIST NAME
#
# In a virtual machine, as root: the client NAME of LIST on stock channels, where
# our module is not even loaded, and then on ours. Writes "NAME STOCK OURS
# EVENTS" to /run/log/NAME.row, with what is known at the time: if this script
# does not get to its end, OURS, or both, are "hang".

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

list=${1:?}
client=${2:?}
# The longest that a side may take, in seconds.
limit=90
device=rxe0
address=10.9.0.1
trace=/sys/kernel/tracing
work=/tmp/client
mkdir -p $work

row()
{
	echo "$client $*" >"/run/log/$client.row"
}

# --- who delivers the events ----------------------------------------------

# Let the kernel count what is read from stock channels, by the result.
watch()
{
	modprobe ib_uverbs || fail "cannot load ib_uverbs"
	# shellcheck disable=SC2016 # the kernel's variable
	[ -d $trace/events/compch_client ] ||
		echo 'r:compch_client/read ib_uverbs_comp_event_read ret=$retval:s64' \
			>>$trace/kprobe_events || fail "cannot watch stock channels"
	# Not there twice.
	echo '!hist:keys=ret' >$trace/events/compch_client/read/trigger 2>/dev/null
	echo 'hist:keys=ret' >$trace/events/compch_client/read/trigger ||
		fail "cannot watch stock channels"
}

# How many events have been read from stock channels, one of 8 bytes each?
stock_events()
{
	awk '$2 == "ret:" && $3 == 8 { n = $6 } END { print n + 0 }' \
		$trace/events/compch_client/read/hist
}

# --- client and server ----------------------------------------------------

cm_is_open()
{
	rdma resource show cm_id 2>/dev/null |
		grep -q "state LISTEN .* src-addr [^ ]*:$1 "
}

server_is_ready()
{
	case $ready in
	tcp:*) port_is_open "${ready#tcp:}" ;;
	cm:*) cm_is_open "${ready#cm:}" ;;
	joined:*) ip maddress show dev $device-net |
		grep -qF "inet  ${ready#joined:}" ;;
	esac
}

# side RUN NAME COMMAND - COMMAND by a shell, in a session of its own, for at most
# $limit seconds. Its output is $work/NAME.
side()
{
	# shellcheck disable=SC2016 # expanded in there
	"$1" timeout -s KILL "$limit" setsid -w \
		sh -c 'echo $$ >"$0"; eval "$1"' "$work/$2.session" "$3" \
		>"$work/$2" 2>&1 </dev/null
}

# Kill all that is left of a side.
end_side()
{
	[ ! -s "$work/$1.session" ] ||
		kill -KILL "-$(cat "$work/$1.session")" 2>/dev/null
}

# run_on RUN MODE - set $result to pass, fail, hang or skip.
run_on()
{
	server_now=$(echo "$server_command" | sed "s/\<MODE\>/$2/g")
	client_now=$(echo "$client_command" | sed "s/\<MODE\>/$2/g")
	server=
	server_status=0
	rm -f $work/*
	if [ "$ready" != - ]; then
		side "$1" server "$server_now" &
		server=$!
		# If there is no server after all, the client fails by itself.
		until server_is_ready || ! kill -0 "$server" 2>/dev/null; do
			sleep 0.1
		done
	fi
	side "$1" client "$client_now"
	client_status=$?
	end_side client
	if [ -n "$server" ]; then
		[ "$client_status" = 0 ] || end_side server
		wait "$server"
		server_status=$?
		end_side server
	fi
	case $client_status,$server_status in
	0,0) result=pass ;;
	137,* | 0,137) result=hang ;;
	77,* | 0,77) result=skip ;;
	*) result=fail ;;
	esac
}

# For a person.
show()
{
	for who in server client; do
		[ -f $work/$who ] || continue
		eval "echo \"--- $1, $who: exit status \$${who}_status\""
		tail -n 30 $work/$who
	done
}

# --- this client ----------------------------------------------------------

read -r _ package channels ready command <<END
$(grep "^$client " "$list")
END
[ -n "${command:-}" ] || fail "$list has no '$client'"

case $command in
timeout=*)
	limit=${command%% *}
	limit=${limit#timeout=}
	command=${command#* }
	;;
esac
row hang hang 0
watch
rxe_add $device
gid=$(rdma_gid $device) || fail "$device has no GID"
command=$(echo "$command" |
	sed "s/\<DEV\>/$device/g; s/\<GID\>/$gid/g; s/\<ADDR\>/$address/g")
server_command=${command%% // *}
client_command=${command##* // }
if [ "$client_command" = "$server_command" ]; then
	case $ready in
	tcp:*) client_command="$command $address" ;;
	cm:*)
		server_command="$command -b $address"
		client_command="$command -s $address"
		;;
	esac
fi

before=$(stock_events)
run_on env stock
stock=$result
stock_read=$(($(stock_events) - before))
echo "$client of $package on stock channels: $stock, $stock_read events"
show stock
reason=$(grep . $work/client | tail -n 1)
row "$stock" hang 0
rxe_delete $device

compch_load
rxe_add $device
compch_extends $device || fail "$device is not extended"
before=$(stock_events)
run_on compch_run ours
ours=$result
events=$(compch_counter reported)
fallen=$(($(stock_events) - before))
echo "$client of $package on ours: $ours, $events events"
show ours
row "$stock" "$ours" "$events"

case $stock in
pass) ;;
*) skip "on stock channels: $stock: $reason" ;;
esac
[ "$ours" = pass ] || fail "on stock channels: pass; on ours: $ours"
[ "$fallen" = 0 ] || fail "it read $fallen events of stock channels on ours"
case $channels in
events)
	[ "$stock_read" -gt 0 ] || fail "it has read no event on stock channels"
	[ "$events" -gt 0 ] || fail "none of its events came through the module"
	;;
none)
	[ "$stock_read" = 0 ] ||
		fail "it is said to use no channel, and read $stock_read events"
	[ "$events" = 0 ] ||
		fail "it is said to use no channel; the module has $events events"
	;;
*) fail "$list: '$channels' is neither events nor none" ;;
esac
