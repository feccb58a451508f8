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
# shellcheck source=tests/vm/judge.sh
. "$here/judge.sh"

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
  --disk DIR         boot the system of DIR/disk by its own kernel and init, and
                     let it write there, see tests/packages/image.sh
  --tree DIR         what the guest sees in /run/compch, read-only, and starts
                     in (default: $top)
  --env NAME=VALUE   set in the commands' environment
  --smp N            processors (default: 2)
  --mem M            memory in MiB (default: 1024)
  --icount           one processor whose clock counts instructions
  --timeout SECONDS  the longest that a command may take (default: 300)
  --append ARGS      more for the kernel's command line
  --qemu ARG         one more argument for QEMU
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
disk=
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
qemu_args=()

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
	--disk) disk=$2 ;;
	--tree) tree=$2 ;;
	--env) env+=("$2") ;;
	--smp) smp=$2 ;;
	--mem) mem=$2 ;;
	--timeout) limit=$2 ;;
	--append) append=$2 ;;
	--qemu) qemu_args+=("$2") ;;
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
[ -n "$kernel$disk" ] || kernel=$("$top/scripts/kernel.sh") || exit 1

if [ -n "$list" ]; then
	judge_list "$list"
else
	[ $# -gt 0 ] || { usage >&2; exit 2; }
	judge_single "$@"
fi

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

judge_guest "$work/vm" "${env[@]}"
if [ -n "$disk" ]; then
	cp "$(command -v busybox)" "$work/vm/"
	release=$(cat "$disk/release") || exit 1
	image=$work/vmlinuz
	for file in vmlinuz initrd.img; do
		debugfs -R "dump /boot/$file-$release $work/$file" \
			"$disk/disk" 2>/dev/null
		[ -s "$work/$file" ] || die "there is no $file in $disk/disk"
	done
	mv "$work/initrd.img" "$work/initramfs"
	append="root=/dev/vda rw $append"
else
	"$here/initramfs.sh" "$work/initramfs" "$kernel" "$here/init.sh" \
		"$work/vm" 9pnet_virtio virtio_pci 9p || exit 1
	image=$(echo "$kernel"/boot/vmlinuz-*)
fi

# --- the virtual machine --------------------------------------------------

accel=(-accel "tcg,thread=multi" -cpu max)
if [ -n "$icount" ]; then
	smp=1
	accel=(-accel tcg -cpu max -icount "shift=0,sleep=off")
elif "$here/kvm-probe.sh" "${kernel:-$("$top/scripts/kernel.sh")}"; then
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
	if [ -n "$disk" ]; then
		printf '%s\n' -drive \
			"file=$disk/disk,if=virtio,format=raw,cache=unsafe"
		share vm "$work/vm" ,readonly=on
	else
		share root "$(realpath "$root")" ,readonly=on
		share modules "$(realpath "$kernel/lib/modules")" ,readonly=on
	fi
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
	"${shares[@]}" "${qemu_args[@]}" </dev/null >"$log/qemu" 2>&1 &
qemu=$!
echo "$qemu" >"$log/pid"

judge "$qemu" "$verdicts"

# It writes nothing more, but let it go by itself if it has finished: a system on
# a disk is shut down.
[ -z "$finished" ] || for ((i = 0; i < ${disk:+12}50; i++)); do
	kill -0 "$qemu" 2>/dev/null || break
	sleep 0.1
done
{ kill -KILL "$qemu" && wait "$qemu"; } 2>/dev/null
qemu=
judge_end
