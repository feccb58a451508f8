#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Boot a stock kernel in a virtual machine and run commands in it. See usage()
# below and Documentation/testing.rst.
#
# A command passes only if the guest says on its own channel (a second serial
# port) that it ended with status 0, and if the kernel had nothing to complain
# about meanwhile (kmsg-scan.sh). A verdict that is missing is a failure.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [OPTION]... -- COMMAND [ARG]...
       $ME [OPTION]... --list FILE

Run COMMAND, or each one that FILE lists, in a virtual machine as root.
A line of FILE is "NAME: COMMAND" or "NAME timeout=SECONDS: COMMAND", where
COMMAND is given to sh -c; empty lines and those that start with # are ignored.

  --kernel DIR       kernel to boot, from scripts/kernel.sh (default: host)
  --root DIR         the guest's root directory, read-only (default: /)
  --tree DIR         what the guest sees in /run/compch, read-only, and starts
                     in (default: $top)
  --env NAME=VALUE   set in the commands' environment
  --smp N            processors (default: 2)
  --mem M            memory in MiB (default: 1024)
  --icount           one processor whose clock counts instructions
  --timeout SECONDS  the longest that a command may take (default: 300)
  --append ARGS      more for the kernel's command line
  --allow FILE       complaints of the kernel to ignore, see kmsg-scan.sh
  --name NAME        of a single command, and of the log directory (default: vm)
  --log DIR          where output, kernel logs and console go; emptied first
                     (default: $top/build/log/NAME)
  --plain            no TAP: just the commands' output, as they print it

Exit status of a command: 0 passed, 77 skipped (its last line says why), else
failed. Exits with 0 if none failed. Last line: N passed, N failed, N skipped

COMPCH_KVM=0 or 1 in the environment forbids or forces KVM, which is otherwise
used when a probe shows that it works (kvm-probe.sh).
END
}

kernel=
root=/
tree=$top
smp=2
mem=1024
icount=
limit=300
append=
allow=(--allow "$here/kmsg.allow")
name=vm
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
	--icount) icount=1; shift; continue ;;
	--plain) plain=1; shift; continue ;;
	-h | --help) usage; exit 0 ;;
	--) shift; break ;;
	esac
	need $#
	case $1 in
	--kernel) kernel=$2 ;;
	--root) root=$2 ;;
	--tree) tree=$2 ;;
	--env) env+=("$2") ;;
	--smp) smp=$2 ;;
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

have qemu-system-x86_64 ||
	die "qemu-system-x86_64 is missing: run scripts/deps.sh test"
have busybox ||
	die "busybox is missing: run scripts/deps.sh test"
[ -n "$kernel" ] || kernel=$("$top/scripts/kernel.sh") || exit 1

# --- what to run ----------------------------------------------------------

names=()
limits=()
commands=()

if [ -n "$list" ]; then
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'' | '#'*) continue ;;
		*': '*) ;;
		*) die "$list: not 'NAME: COMMAND': $line" ;;
		esac
		head=${line%%: *}
		commands+=("${line#*: }")
		names+=("${head%% timeout=*}")
		case $head in
		*' timeout='*) limits+=("${head##* timeout=}") ;;
		*) limits+=("$limit") ;;
		esac
	done <"$list" || exit 1
	[ ${#names[@]} -gt 0 ] || die "$list: no command"
else
	[ $# -gt 0 ] || { usage >&2; exit 2; }
	names=("$name")
	limits=("$limit")
	if [ $# -eq 1 ]; then
		commands=("$1")
	else
		commands=("${*@Q}")
	fi
fi
total=${#names[@]}

# --- the result -----------------------------------------------------------

passed=0
failed=0
skipped=0

tap()
{
	[ -n "$plain" ] || printf '%s\n' "$*"
}

# Lines from standard input, as TAP comments.
comment()
{
	tr -d '\000\r' | sed 's/^/# /'
}

# result ID ok|skip|fail REASON
result()
{
	local id=$1 what=$2 reason=$3 title=${names[$1 - 1]}

	case $what in
	ok)
		passed=$((passed + 1))
		tap "ok $id - $title # $reason"
		;;
	skip)
		skipped=$((skipped + 1))
		tap "ok $id - $title # SKIP $reason"
		;;
	fail)
		failed=$((failed + 1))
		if [ -n "$plain" ]; then
			say "$title: $reason"
		else
			tap "not ok $id - $title # $reason"
		fi
		;;
	esac
}

# --- the guest's files ----------------------------------------------------

[ -n "$log" ] || log=$top/build/log/$name
rm -rf "$log"
mkdir -p "$log" || exit 1
log=$(cd "$log" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/compch-vm.XXXXXXXX") || exit 1
qemu=

# shellcheck disable=SC2317 # called by the trap
cleanup()
{
	[ -z "$qemu" ] || kill -KILL "$qemu" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir "$work/vm"
cp "$here/guest.sh" "$work/vm/"
for ((i = 1; i <= total; i++)); do
	printf '%s %s\n' "$i" "${limits[i - 1]}" >>"$work/vm/list"
	printf '%s\n' "${commands[i - 1]}" >"$work/vm/command.$i"
	printf '%s\t%s\n' "$i" "${names[i - 1]}" >>"$log/names"
done
for i in "${env[@]}"; do
	printf 'export %s=%q\n' "${i%%=*}" "${i#*=}" >>"$work/vm/env"
done
"$here/initramfs.sh" "$work/initramfs" "$kernel" "$here/init.sh" "$work/vm" \
	9pnet_virtio virtio_pci 9p || exit 1
image=$(echo "$kernel"/boot/vmlinuz-*)

# --- the virtual machine --------------------------------------------------

accel=(-accel "tcg,thread=multi" -cpu max)
if [ -n "$icount" ]; then
	smp=1
	accel=(-accel tcg -cpu max -icount "shift=0,sleep=off")
elif "$here/kvm-probe.sh" "$kernel"; then
	accel=(-accel kvm -cpu host)
fi

# A slow host must not make the guest's own watchdogs bark.
cmdline="console=ttyS0 panic=-1 oops=panic log_buf_len=8M printk.devkmsg=on"
cmdline+=" rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 $append"

share()
{
	printf '%s\n' -fsdev \
		"local,id=$1,path=$2,security_model=none,multidevs=remap$3" \
		-device "virtio-9p-pci,fsdev=$1,mount_tag=$1"
}
mapfile -t shares < <(
	share root "$(realpath "$root")" ,readonly=on
	share modules "$(realpath "$kernel/lib/modules")" ,readonly=on
	share tree "$(realpath "$tree")" ,readonly=on
	share log "$log" ""
)

verdicts=$work/verdicts
: >"$verdicts"
tap "TAP version 13"
tap "1..$total"
SECONDS=0
qemu-system-x86_64 "${accel[@]}" -M pc -smp "$smp" -m "$mem" \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$image" -initrd "$work/initramfs" -append "$cmdline" \
	-serial "file:$log/console" -serial "file:$verdicts" \
	"${shares[@]}" </dev/null >"$log/qemu" 2>&1 &
qemu=$!
echo "$qemu" >"$log/pid"

# --- what the guest says --------------------------------------------------

exec 3<"$verdicts"
partial=

# verdict DEADLINE - the next complete line in $verdict. Fails with the reason
# in $lost when there is none by the time that $SECONDS says DEADLINE, or when
# there can be none any more.
verdict()
{
	local deadline=$1 gone="" next=$((SECONDS + 60)) since=$SECONDS

	while :; do
		if IFS= read -r verdict <&3; then
			verdict=$partial${verdict%$'\r'}
			partial=
			return 0
		fi
		partial=$partial$verdict
		if [ -n "$gone" ]; then
			lost="the virtual machine ended"
			! grep -aq 'Kernel panic' "$log/console" ||
				lost="the kernel panicked"
			return 1
		fi
		if ! kill -0 "$qemu" 2>/dev/null; then
			gone=1 # and read what it has written till then
			continue
		fi
		if [ "$SECONDS" -ge "$deadline" ]; then
			lost="the virtual machine hangs"
			return 1
		fi
		if [ "$SECONDS" -ge "$next" ]; then
			next=$((SECONDS + 60))
			tap "# ... $((SECONDS - since)) s"
		fi
		sleep 0.1
	done 2>/dev/null
}

scan()
{
	"$here/kmsg-scan.sh" "${allow[@]}"
}

# judge ID STATUS SECONDS - the result of a command that ended.
judge()
{
	local id=$1 status=$2 took=$3 out=$log/$1.out kmsg=$log/$1.kmsg
	local bad="" reason

	[ -z "$plain" ] || tr -d '\000' <"$out"
	if ! grep -aq "compch-vm: end $id\$" "$kmsg"; then
		bad="no kernel log"
	elif ! scan <"$kmsg" >"$log/$id.bad"; then
		bad="the kernel complained"
	else
		rm "$log/$id.bad"
	fi
	case $status in
	0 | 77) reason=$bad ;;
	timeout) reason="timeout after ${limits[id - 1]} s${bad:+, and $bad}" ;;
	*) reason="exit status $status${bad:+, and $bad}" ;;
	esac
	if [ -n "$reason" ]; then
		result "$id" fail "$reason"
		[ -n "$plain" ] || tail -n 40 "$out" | comment
		[ ! -f "$log/$id.bad" ] || head -n 60 "$log/$id.bad" | comment
	elif [ "$status" = 77 ]; then
		reason=$(tr -d '\000\r' <"$out" | grep . | tail -n 1)
		reason=${reason#SKIP: }
		result "$id" skip "${reason:-no reason given}"
	else
		result "$id" ok "$took s"
	fi
}

# Beyond its commands' limits, how long may the guest take to answer?
grace=${COMPCH_VM_GRACE:-60}
lost=
finished=
running=
next=1
deadline=$((SECONDS + 300))
while verdict "$deadline"; do
	read -r word id status <<<"$verdict"
	case $word in
	ready)
		tap "# Linux $id, up in $SECONDS s"
		deadline=$((SECONDS + grace))
		;;
	start)
		[ "$id" = "$next" ] || { lost="the guest lost count"; break; }
		running=$id
		since=$SECONDS
		deadline=$((SECONDS + limits[id - 1] + grace))
		;;
	end)
		[ "$id" = "$running" ] || { lost="the guest lost count"; break; }
		judge "$id" "$status" $((SECONDS - since))
		running=
		next=$((id + 1))
		deadline=$((SECONDS + grace))
		;;
	done)
		finished=1
		break
		;;
	fatal)
		lost="the guest gave up: $id $status"
		break
		;;
	*)
		lost="the guest talks nonsense"
		break
		;;
	esac
done

# It writes nothing more, but let it go by itself if it does.
[ -z "$finished" ] || for ((i = 0; i < 50; i++)); do
	kill -0 "$qemu" 2>/dev/null || break
	sleep 0.1
done
{ kill -KILL "$qemu" && wait "$qemu"; } 2>/dev/null
qemu=

for ((; next <= total; next++)); do
	[ -z "$finished" ] || lost="no verdict"
	if [ "$next" = "$running" ]; then
		result "$next" fail "$lost while this ran"
		tail -n 40 "$log/$next.out" 2>/dev/null | comment
	else
		result "$next" fail "${lost:-no verdict}"
	fi
done
if [ -z "$finished" ]; then
	tail -n 40 "$log/qemu" "$log/console" | comment
fi

# What the kernel said while no command ran: at boot, and after the last one.
outside()
{
	sed -e '/compch-vm: start [0-9]*$/,/compch-vm: end [0-9]*$/d' \
		"$log/all.kmsg"
}
if [ -n "$finished" ] && ! outside | scan >"$log/outside.bad"; then
	total=$((total + 1))
	names+=("kernel log outside of the commands")
	result "$total" fail "the kernel complained"
	head -n 60 "$log/outside.bad" | comment
else
	rm -f "$log/outside.bad"
fi

[ -n "$plain" ] || [ "$failed" = 0 ] || tap "# logs are in $log"
[ -n "$plain" ] ||
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
