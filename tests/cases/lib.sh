# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Helpers for the case scripts, which run as root in a virtual machine (see
# tests/vm/run.sh); to be sourced. What they make, they take away at the end.
#
# From the environment:
#   COMPCH_KO      the module, built for the running kernel
#   COMPCH_BUILD   the build directory of the userspace and the test programs
#   COMPCH_SRC     this tree

fail()
{
	echo "FAIL: $*"
	exit 1
}

skip()
{
	echo "SKIP: $*"
	exit 77
}

case_links=
case_netdevs=
case_module=

case_cleanup()
{
	status=$?

	trap - EXIT
	for link in $case_links; do
		rdma link delete "$link" || status=1
	done
	for netdev in $case_netdevs; do
		ip link delete "$netdev" || status=1
	done
	if [ -n "$case_module" ]; then
		compch_unload || status=1
	fi
	exit "$status"
}
trap case_cleanup EXIT

# wait_for WHAT COMMAND... - until COMMAND succeeds, for at most a minute.
wait_for()
{
	what=$1
	shift

	until_time=$(($(uptime_seconds) + 60))
	until "$@" >/dev/null 2>&1; do
		[ "$(uptime_seconds)" -lt "$until_time" ] ||
			fail "waited a minute for $what"
		sleep 0.1
	done
}

uptime_seconds()
{
	cut -d. -f1 /proc/uptime
}

# --- the module -----------------------------------------------------------

# compch_load [PARAMETER=VALUE]... - load our module. To be done before devices
# are made: it extends those that are registered later.
compch_load()
{
	[ -f "${COMPCH_KO:-}" ] || fail "no module: COMPCH_KO='${COMPCH_KO:-}'"
	modprobe ib_uverbs || fail "cannot load ib_uverbs"
	insmod "$COMPCH_KO" "$@" || fail "cannot load $COMPCH_KO"
	case_module=1
}

# Its devices hold the module until they are gone, and a program that was
# killed may still hold a device.
compch_unload()
{
	case_module=
	wait_for "the module's last user" compch_is_unused
	rmmod ib_compch
}

compch_is_unused()
{
	[ "$(cat /sys/module/ib_compch/refcnt)" = 0 ]
}

# Run COMMAND... on our channels, or fail: there is no way back to stock ones.
compch_run()
{
	COMPCH=require LD_PRELOAD="$COMPCH_BUILD/libcompch.so.0" "$@"
}

# The same, by the tool.
compch_tool()
{
	"$COMPCH_BUILD/compch" run --require -- "$@"
}

# All counters of the module, a line "NAME VALUE" each.
compch_counters()
{
	cat /sys/kernel/debug/compch/counters
}

# The value of one of them.
compch_counter()
{
	compch_counters | awk -v "name=$1" '
		$1 == name { print $2; found = 1 }
		END { exit !found }' || fail "the module has no counter '$1'"
}

# --- devices --------------------------------------------------------------

# rxe_add DEVICE [SUBNET] - an rxe device on a dummy Ethernet interface of its
# own, "DEVICE-net", with the addresses 10.9.SUBNET.1 and fd09:SUBNET::1
# (default: 0). It can talk to itself. Returns when it is usable.
rxe_add()
{
	# On newer kernels, nothing that rxe needs loads ib_uverbs.
	modprobe -a dummy ib_uverbs rdma_rxe || skip "this kernel has no rdma_rxe"
	ip link add "$1-net" type dummy || fail "cannot add $1-net"
	case_netdevs="$case_netdevs $1-net"
	ip link set "$1-net" up
	ip address add "10.9.${2:-0}.1/24" dev "$1-net"
	ip address add "fd09:${2:-0}::1/64" dev "$1-net" nodad
	rdma link add "$1" type rxe netdev "$1-net" || fail "cannot add $1"
	case_links="$1 $case_links"
	wait_for "$1's uverbs device" rdma_uverbs "$1"
	wait_for "$1's port" rdma_port_is_active "$1"
	wait_for "$1's IPv4 GID" rdma_gid "$1"
}

# Delete one before the end.
rxe_delete()
{
	rdma link delete "$1" || fail "cannot delete $1"
	ip link delete "$1-net" || fail "cannot delete $1-net"
	case_links=$(echo "$case_links" | sed "s/\<$1\>//")
	case_netdevs=$(echo "$case_netdevs" | sed "s/\<$1-net\>//")
}

# rdma_uverbs DEVICE - its file in /dev/infiniband.
rdma_uverbs()
{
	for node in "/sys/class/infiniband/$1/device/infiniband_verbs"/uverbs* \
			/sys/class/infiniband_verbs/uverbs*; do
		[ "$(cat "$node/ibdev" 2>/dev/null)" = "$1" ] || continue
		[ -c "/dev/infiniband/${node##*/}" ] || continue
		echo "/dev/infiniband/${node##*/}"
		return 0
	done
	return 1
}

rdma_port_is_active()
{
	grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# rdma_gid DEVICE - the index of its first RoCE v2 GID with an IPv4 address.
rdma_gid()
{
	index=0
	ports=/sys/class/infiniband/$1/ports/1
	while [ -e "$ports/gids/$index" ]; do
		if grep -q '^0000:0000:0000:0000:0000:ffff:' \
				"$ports/gids/$index" &&
		   grep -q 'RoCE v2' "$ports/gid_attrs/types/$index" 2>/dev/null
		then
			echo "$index"
			return 0
		fi
		index=$((index + 1))
		[ "$index" -lt 16 ] || return 1
	done
	return 1
}

# Has our module extended this device?
compch_extends()
{
	[ -d "/sys/class/infiniband/$1/compch" ]
}

# --- client and server ----------------------------------------------------

# Does anything listen at this TCP port?
port_is_open()
{
	hex=$(printf '%04X' "$1")
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		grep -q "^ *[0-9]*: [0-9A-F]*:$hex [0-9A-F]*:0000 0A "
}

# Seconds that each of them may take.
pair_limit=120

# pair RUN PORT COMMAND... - run COMMAND as the server and, once it listens at
# PORT, COMMAND with this host's address as the client; both through RUN, which is
# "env", "compch_run" or "compch_tool". Fails when one of them does, or takes too
# long. The output is in /tmp/pair.server and /tmp/pair.client.
pair()
{
	run=$1 port=$2
	shift 2

	# shellcheck disable=SC2016 # expanded in there
	"$run" timeout -s KILL "$pair_limit" sh -c 'echo $$ >/tmp/pair.pid; exec "$@"' \
		sh "$@" >/tmp/pair.server 2>&1 &
	server=$!
	# If there is no server after all, the client fails by itself.
	while ! port_is_open "$port" && kill -0 "$server" 2>/dev/null; do
		sleep 0.1
	done
	"$run" timeout -s KILL "$pair_limit" "$@" 127.0.0.1 >/tmp/pair.client 2>&1
	client_status=$?
	# While it lives, its device cannot be deleted.
	[ "$client_status" = 0 ] ||
		kill -KILL "$(cat /tmp/pair.pid)" 2>/dev/null
	wait "$server"
	server_status=$?
	[ "$client_status $server_status" = "0 0" ]
}

# What pair() left, for a person.
pair_show()
{
	echo "server: exit status ${server_status}"
	cat /tmp/pair.server
	echo "client: exit status ${client_status}"
	cat /tmp/pair.client
}
