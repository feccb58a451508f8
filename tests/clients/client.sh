#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# client.sh stock|ours LIST NAME
# client.sh stock|ours|end
#
# In a virtual machine, as root. Without a client: make the device for stock
# channels, with our module not loaded, or then for ours, and leave it there;
# "end" removes all. With one: run the client NAME of LIST on these channels.
#
# The results are in /run/log/NAME.stock ("RESULT EVENTS REASON") and NAME.row
# ("STOCK OURS EVENTS"). When this script does not get to its end, they are hangs.

set -u
. "${COMPCH_SRC:-.}/tests/cases/lib.sh"

mode=${1:?}
# The longest that a side may take, in seconds, unless the list has another.
limit=180
tries=1
device=rxe0
address=10.9.0.1
trace=/sys/kernel/tracing
work=/tmp/client
mkdir -p $work

# --- who delivers the events ----------------------------------------------

# Let the kernel count what is read from stock channels, by the result.
watch()
{
	modprobe ib_uverbs || fail "cannot load ib_uverbs"
	# shellcheck disable=SC2016 # the kernel's variable
	echo 'r:compch_client/read ib_uverbs_comp_event_read ret=$retval:s64' \
		>>$trace/kprobe_events || fail "cannot watch stock channels"
	echo 'hist:keys=ret' >$trace/events/compch_client/read/trigger ||
		fail "cannot count the events of stock channels"
}

# How many events have been read from stock channels, one of 8 bytes each?
stock_events()
{
	awk '$2 == "ret:" && $3 == 8 { n = $6 } END { print n + 0 }' \
		$trace/events/compch_client/read/hist
}

# --- the device -----------------------------------------------------------

if [ $# -eq 1 ]; then
	# What the last one has left, for the cleanup to find.
	[ ! -e /sys/class/infiniband/$device ] || case_links=$device
	[ ! -e /sys/class/net/$device-net ] || case_netdevs=$device-net
	[ ! -e /sys/module/ib_compch ] || case_module=1
	case $mode in
	stock)
		watch
		rxe_add $device
		;;
	ours)
		rxe_delete $device
		compch_load
		rxe_add $device
		compch_extends $device || fail "$device is not extended"
		;;
	end)
		exit 0
		;;
	esac
	# For the next one to use.
	case_links='' case_netdevs='' case_module=''
	exit 0
fi
list=${2:?}
client=${3:?}

# --- client and server ----------------------------------------------------

cm_is_open()
{
	rdma resource show cm_id 2>/dev/null |
		grep -q "state LISTEN .* src-addr [^ ]*:$1 "
}

has_joined()
{
	ip maddress show dev $device-net | grep -qF "inet  $1"
}

server_is_ready()
{
	case $ready in
	tcp:*) port_is_open "${ready#tcp:}" ;;
	cm:*) cm_is_open "${ready#cm:}" ;;
	joined:*) has_joined "${ready#joined:}" ;;
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

# It may have left its session, and keeps the device from being removed.
end_strays()
{
	for pid in $(find /proc/[0-9]*/fd -lname '/dev/infiniband/*' 2>/dev/null |
			cut -d/ -f3 | sort -u); do
		kill -KILL "$pid" 2>/dev/null
	done
}

# run_on RUN - set $result to pass, fail, hang or skip, and $try.
run_on()
{
	try=1
	run_once "$1"
	while [ "$result" != pass ] && [ $try -lt "$tries" ]; do
		echo "try $try: $result"
		try=$((try + 1))
		run_once "$1"
	done
}

# It has not passed on ours: does it pass on stock channels, each of $tries times?
# (Of one that always passes there, it is known.)
is_worse()
{
	ours=$result
	try=1
	while [ $try -lt "$tries" ]; do
		try=$((try + 1))
		run_once env
		echo "once more on stock channels: $result"
		[ "$result" = pass ] || return 1
	done
	result=$ours
}

run_once()
{
	server=
	server_status=0
	rm -f $work/*
	if [ "$ready" != - ]; then
		side "$1" server "$server_command" &
		server=$!
		# If there is no server after all, the client fails by itself.
		until server_is_ready || ! kill -0 "$server" 2>/dev/null; do
			sleep 0.1
		done
	fi
	side "$1" client "$client_command"
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
	[ $result = pass ] || end_strays
}

# --- the result -----------------------------------------------------------

last_words()
{
	[ ! -f $work/client ] || tr -d '\000' <$work/client | grep . | tail -n 1
}

# Write it down.
keep()
{
	if [ "$mode" = stock ]; then
		echo "$result $events $(last_words)" >"/run/log/$client.stock"
	else
		echo "$stock $result $events" >"/run/log/$client.row"
	fi
}

# For a person.
show()
{
	for who in server client; do
		[ -f $work/$who ] || continue
		eval "echo \"--- $who: exit status \$${who}_status\""
		tail -n 30 $work/$who
	done
}

# --- this client ----------------------------------------------------------

read -r _ package channels ready command <<END
$(grep "^$client " "$list")
END
[ -n "${command:-}" ] || fail "$list has no '$client'"
while :; do
	word=${command%% *}
	case $word in
	timeout=*) limit=${word#*=} ;;
	tries=*) tries=${word#*=} ;;
	*) break ;;
	esac
	command=${command#* }
done
stock=hang reason="no result"
[ "$mode" = stock ] || read -r stock _ reason <"/run/log/$client.stock" ||
	fail "there is no result on stock channels"
# It may be all that remains.
result=hang events=0
rm -f $work/*
keep

gid=$(rdma_gid $device) || fail "$device has no GID"
command=$(echo "$command" | sed "s/\<DEV\>/$device/g; s/\<GID\>/$gid/g
	s/\<ADDR\>/$address/g; s/\<MODE\>/$mode/g")
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

stock_before=$(stock_events)
if [ "$mode" = stock ]; then
	run_on env
	events=$(($(stock_events) - stock_before))
else
	before=$(compch_counter reported)
	run_on compch_run
	events=$(($(compch_counter reported) - before))
	fallen=$(($(stock_events) - stock_before))
fi
keep
echo "$client of $package on $mode channels: $result, $events events, try $try"
show

if [ "$mode" = stock ]; then
	[ "$result" = pass ] || skip "$result: $(last_words)"
else
	[ "$stock" = pass ] || skip "on stock channels: $stock: $reason"
	[ "$result" = pass ] || is_worse || skip "$ours; $result on stock channels as well"
	[ "$result" = pass ] || fail "on stock channels: pass; on ours: $result"
	[ "$fallen" = 0 ] ||
		fail "it has read $fallen events of stock channels as well"
fi
case $channels in
events)
	[ "$events" -gt 0 ] || fail "it has read no event of $mode channels"
	;;
none)
	[ "$events" = 0 ] ||
		fail "it should use no channel, and has read $events events"
	;;
maybe) ;;
*) fail "$list: '$channels' is not one of events, none, maybe" ;;
esac
