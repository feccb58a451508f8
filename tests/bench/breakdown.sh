#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Where do the instructions go? See usage().

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--flow]

Have QEMU log every instruction for a moment, while a program in the virtual
machine fires events and reads them, and print how many each function takes: of
the completion handler, and of the read() of one event and of 64, on stock
channels and on ours, of the read() of an eventfd, and of attaching and detaching
a CQ. --flow prints the functions
in the order in which they run as well, "function:instructions" each. Takes some
minutes.

Interrupts that come in between are left out. Of each, the shortest that was seen
is shown.
END
}

flow=
case ${1:-} in
'') ;;
--flow) flow=1 ;;
-h | --help) usage; exit 0 ;;
*) usage >&2; exit 2 ;;
esac

cd "$top" || exit 1
log=build/log/breakdown
work=$(mktemp -d) || exit 1
vm=

# shellcheck disable=SC2317 # called by the trap
cleanup()
{
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
	wait
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- look -----------------------------------------------------------------

# wait_until SECONDS COMMAND...
wait_until()
{
	local end=$((SECONDS + $1))
	shift

	until "$@"; do
		if [ "$SECONDS" -ge "$end" ] || ! kill -0 "$vm" 2>/dev/null; then
			cat "$work/out" "$log"/1.out >&2
			die "the virtual machine does not get there"
		fi
		sleep 0.1
	done
}

# Has a program started, for the $1th time?
has_started()
{
	[ "$(grep -ac '^GO' "$log/1.out" 2>/dev/null)" = "$1" ]
}

# Some million instructions
is_long()
{
	[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt 200000000 ]
}

tell()
{
	printf '%s\n' "$@" >"$work/monitor.in"
	sleep 0.2
}

prepare "building" make --no-print-directory -s all tests || exit 1
release=$(scripts/kernel.sh --version) || exit 1
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-$ID}")
dir=/run/compch/build/$release
mkfifo "$work/monitor.in" "$work/monitor.out"
cat "$work/monitor.out" >/dev/null &
rm -rf "$log"
# The guest sees in its log folder what is written there.
# shellcheck disable=SC2016 # expanded over there
tests/vm/run.sh --name breakdown --smp 1 --timeout 600 \
	--qemu -chardev --qemu "pipe,id=monitor,path=$work/monitor" \
	--qemu -mon --qemu chardev=monitor \
	--env BENCH_CLOCK=wall --env STOP=/run/log/stop \
	--env "COMPCH_KO=$dir/ib_compch.ko" \
	--env "COMPCH_TESTDEV_KO=$dir/compch_testdev.ko" \
	--env "COMPCH_BUILD=/run/compch/build/user-$codename" \
	-- 'tests/bench/guest.sh alloc compch &&
		cat /proc/kallsyms >/run/log/kallsyms &&
		for mode in stock compch; do
			STOP=$STOP.$mode /tmp/bench/endless $mode || exit 1
		done
		tests/bench/guest.sh end' >"$work/out" 2>&1 &
vm=$!

n=0
for mode in stock compch; do
	n=$((n + 1))
	wait_until 300 has_started "$n"
	# The second command is what newer versions of QEMU call the first.
	tell "logfile $work/$mode.log" "singlestep on" "one-insn-per-tb on"
	tell "log exec,nochain"
	wait_until 200 is_long "$work/$mode.log"
	tell "log none" "singlestep off" "one-insn-per-tb off"
	tell "logfile $work/rest.log"
	: >"$log/stop.$mode"
done
wait "$vm" || { cat "$work/out" >&2; die "the virtual machine failed"; }
vm=

# --- tell -----------------------------------------------------------------

# An address is always 16 digits: it can be compared as a string, but not as a
# number, for awk has 53 bits.
awk 'tolower($2) ~ /^[tw]$/ { print $1, "0", $3 }' "$log/kallsyms" >"$work/symbols"
for mode in stock compch; do
	sed -n 's|^Trace [^/]*/\([0-9a-f]\{16\}\)/.*|\1|p' "$work/$mode.log" \
		>"$work/$mode.pcs"
	[ -s "$work/$mode.pcs" ] || die "QEMU has logged nothing"
	sort -u "$work/$mode.pcs" | sed 's/$/ 1/' | sort - "$work/symbols" |
		awk '$2 == 0 { if ($1 != at) { name = $3; at = $1 } next }
		     $1 < "ffffffff80000000" { print $1, "user", 0; next }
		     { print $1, name, $1 == at }' >"$work/$mode.names"
	awk -v "mode=$mode" -v "flow=$flow" '
	function finish(what, from, to,	i, order, n, j, sum)
	{
		if (what in shortest && to - from >= shortest[what])
			return
		shortest[what] = to - from
		split("", count)
		line = ""
		last = ""
		for (i = from; i < to; i++) {
			count[names[i]]++
			if (names[i] != last) {
				if (last != "")
					line = line ":" run " "
				line = line names[i]
				last = names[i]
				run = 0
			}
			run++
		}
		flows[what] = line ":" run
		n = 0
		for (i in count)
			order[++n] = i
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && count[order[j]] > count[order[j - 1]]; j--) {
				sum = order[j]
				order[j] = order[j - 1]
				order[j - 1] = sum
			}
		tables[what] = ""
		for (i = 1; i <= n; i++)
			tables[what] = tables[what] \
				sprintf("%8d %s\n", count[order[i]], order[i])
	}
	FNR == NR { name[$1] = $2; is_start[$1] = $3; next }
	{
		symbol = name[$1]
		if (symbol == "native_irq_return_iret") {
			if (depth)
				depth--
			next
		}
		if (is_start[$1] && symbol ~ /^asm_(sysvec|common|exc)_/)
			depth++
		if (symbol == "user")
			depth = 0
		# Another task may go on from here.
		if (symbol == "__schedule") {
			what = ""
			depth = 0
		}
		if (depth)
			next
		if (is_start[$1] && symbol ~ /^(ib_uverbs_comp|compch_comp)_handler$/) {
			n = 0
			what = "handler"
		} else if (is_start[$1] && symbol == "entry_SYSCALL_64") {
			n = 0
			what = "system call"
		} else if (what == "handler" && symbol == "bench_loop") {
			finish("the completion handler", 0, n)
			what = ""
		} else if (what != "" && symbol == "user") {
			if (what != "system call" && what != "handler")
				finish(what, 0, n)
			what = ""
		} else if (what == "system call") {
			if (symbol == "eventfd_read")
				what = "read() of an eventfd"
			else if (symbol ~ /^ib_uverbs_(comp_)?event_read/ ||
				 symbol == "compch_channel_read_iter")
				what = "read() of an event"
			else if (symbol == "compch_handler_COMPCH_METHOD_ASSOC_CREATE")
				what = "ASSOC CREATE"
			else if (symbol == "compch_assoc_destroy_uobj")
				what = "ASSOC DESTROY"
		} else if (what == "read() of an event" &&
			   symbol == "compch_queue_read" &&
			   names[n - 1] == symbol && ++copied > 600) {
			# It is in there for so long.
			what = "read() of 64 events"
		}
		if (names[n - 1] != symbol)
			copied = 0
		if (what != "")
			names[n++] = symbol
	}
	END {
		for (what in shortest) {
			seen++
			printf "\n%s, %s: %d\n%s", what,
				mode == "stock" ? "stock" : "ours",
				shortest[what], tables[what]
			if (flow)
				print flows[what]
		}
		exit seen < (mode == "stock" ? 3 : 6)
	}' "$work/$mode.names" "$work/$mode.pcs" ||
		die "not all of it was seen on $mode channels: try again"
done
