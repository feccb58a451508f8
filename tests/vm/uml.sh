#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Boot the kernel of scripts/uml-kernel.sh, a program, and run commands in it.
# It sees this system's root directory. See usage() below, and run.sh, whose
# counterpart this is.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
# shellcheck source=tests/vm/judge.sh
. "$here/judge.sh"

usage()
{
	cat <<END
usage: $ME [OPTION]... -- COMMAND [ARG]...
       $ME [OPTION]... --list FILE

Run COMMAND, or each one that FILE lists, in User Mode Linux as root.
A line of FILE is "NAME: COMMAND" or "NAME timeout=SECONDS: COMMAND", where
COMMAND is given to sh -c; empty lines and those that start with # are ignored.

  --kernel DIR       kernel to boot (default: from scripts/uml-kernel.sh)
  --tree DIR         what the guest sees in /run/compch, read-only, and starts
                     in (default: $top)
  --env NAME=VALUE   set in the commands' environment
  --mem M            memory in MiB (default: 1024)
  --timeout SECONDS  the longest that a command may take (default: 300)
  --append ARGS      more for the kernel's command line
  --allow FILE       complaints of the kernel to ignore, see kmsg-scan.sh
  --name NAME        of a single command, and of the log directory (default: uml)
  --log DIR          where output, kernel logs and console go; emptied first
                     (default: $top/build/log/NAME)
  --plain            no TAP: just the commands' output, as they print it

Exit status of a command: 0 passed, 77 skipped (its last line says why), else
failed. Exits with 0 if none failed. Last line: N passed, N failed, N skipped
END
}

kernel=
tree=$top
mem=1024
limit=300
append=
allow=(--allow "$here/uml.allow")
name=uml
log=
list=
plain=
env=()

need()
{
	[ "$1" -gt 1 ] || { usage >&2; exit 2; }
}

while [ $# -gt 0 ]; do
	case $1 in
	--plain) plain=1; shift; continue ;;
	-h | --help) usage; exit 0 ;;
	--) shift; break ;;
	esac
	need $#
	case $1 in
	--kernel) kernel=$2 ;;
	--tree) tree=$2 ;;
	--env) env+=("$2") ;;
	--mem) mem=$2 ;;
	--timeout) limit=$2 ;;
	--append) append=$2 ;;
	--allow) allow+=(--allow "$2") ;;
	--name) name=$2 ;;
	--log) log=$2 ;;
	--list) list=$2 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift 2
done
if [ -n "$list" ]; then
	judge_list "$list"
else
	[ $# -gt 0 ] || { usage >&2; exit 2; }
	judge_single "$@"
fi

have busybox setsid || die "something is missing: run scripts/deps.sh uml"
[ -n "$kernel" ] || kernel=$("$top/scripts/uml-kernel.sh") || exit 1
kernel=$(realpath "$kernel")
tree=$(realpath "$tree")

[ -n "$log" ] || log=$top/build/log/$name
rm -rf "$log"
mkdir -p "$log" || exit 1
log=$(cd "$log" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/compch-uml.XXXXXXXX") || exit 1
linux=

# Its userspace are processes of this system, all of one group.
# shellcheck disable=SC2317 # called by the trap
stop()
{
	[ -n "$linux" ] || return 0
	{ kill -KILL -- "-$linux" && wait "$linux"; } 2>/dev/null
	linux=
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# UML marks neither the beginning nor the end of a stack, which kmsg-scan.sh
# looks for. And the reports that uml.allow tells about are known by several
# lines together, where kmsg-scan.sh sees one at a time: so each gets a line of
# its own.
judge_kmsg_filter()
{
	tr -d '\000\r' | awk '
		function leave()
		{
			if (!stack)
				return
			if (maple && frames ~ /mas_find\+.*force_flush_all\+.*fork_handler\+/)
				print " known: the maple tree, at the first fork"
			print " </TASK>"
			stack = maple = 0
		}
		/WARNING: suspicious RCU usage$/ { maple = 0 }
		/lib\/maple_tree\.c:[0-9]+ suspicious rcu_dereference_check/ {
			maple = 1
		}
		!/^(\[[^]]*\])? *\[<[0-9a-f]+>\]/ { leave() }
		{ print; frames = frames $0 }
		/Call Trace:$/ { print " <TASK>"; stack = 1; frames = "" }
		END { leave() }'
}

judge_guest "$work/vm" "${env[@]}"
cp "$(command -v busybox)" "$work/vm/busybox"

# What the guest says goes through a pipe: UML must wait for its output.
mkfifo "$work/pipe" || exit 1
: >"$work/verdicts"
cat "$work/pipe" >"$work/verdicts" &
exec 4>"$work/pipe"

tap "TAP version 13"
tap "1..$total"
SECONDS=0
# shellcheck disable=SC2086 # words
setsid "$kernel/linux" "mem=${mem}M" root=/dev/root rootfstype=hostfs \
	rootflags=/ ro "init=$here/uml-init.sh" \
	con=null con0=null,fd:1 ssl=null ssl1=null,fd:4 noreboot \
	"uml_dir=$work" umid=uml panic=-1 printk.devkmsg=on \
	"compch_kernel=$kernel" "compch_tree=$tree" "compch_log=$log" \
	"compch_vm=$work/vm" $append </dev/null >"$log/console" 2>&1 &
linux=$!
exec 4>&-
echo "$linux" >"$log/pid"

judge "$linux" "$work/verdicts"
stop
judge_end
