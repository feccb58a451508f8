# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Runs in the guest as its first process, or started by that of a system on a
# disk: the commands of /run/vm/list, one after the other. Tells the host about
# them on the second serial port, one line each, so that nothing a command or
# the kernel prints can be taken for a verdict:
#
#   ready RELEASE       the guest is up
#   start ID            command ID starts
#   end ID STATUS       it has ended; "timeout" instead of its exit status
#   done                all have ended, and the whole kernel log is written
#   fatal REASON        the guest gives up
#
# Each command leaves ID.out, its output, and ID.kmsg, the kernel log from its
# marker to its end, in /run/log.

bb=/run/vm/busybox

file_systems()
{
	mkdir -p /dev/pts /dev/shm
	mount -t devpts devpts /dev/pts
	mount -t tmpfs tmpfs /dev/shm
	for fs in debugfs:/sys/kernel/debug tracefs:/sys/kernel/tracing \
		configfs:/sys/kernel/config securityfs:/sys/kernel/security; do
		[ ! -d "${fs#*:}" ] || mount -t "${fs%:*}" "${fs%:*}" "${fs#*:}" 2>/dev/null
	done
	ln -sf /proc/self/fd /dev/fd
	ln -sf /proc/self/fd/0 /dev/stdin
	ln -sf /proc/self/fd/1 /dev/stdout
	ln -sf /proc/self/fd/2 /dev/stderr
}

own_init=
if [ -d /run/systemd/system ]; then
	own_init=1
else
	file_systems
fi

$bb stty -F /dev/ttyS1 raw -echo -opost
exec 4>/dev/ttyS1 5>/dev/kmsg

verdict()
{
	echo "$*" >&4
}

mark()
{
	echo "compch-vm: $*" >&5
}

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root TMPDIR=/tmp LANG=C.UTF-8 TERM=dumb
export COMPCH_SRC=/run/compch
# shellcheck source=/dev/null
[ ! -f /run/vm/env ] || . /run/vm/env

ip link set lo up || $bb ip link set lo up
ulimit -l unlimited
ulimit -c 0
cd /run/compch || verdict "fatal no source tree"

run()
{
	id=$1 limit=$2

	rm -f /run/vm/timeout
	# Sessions of their own: each can be killed with all it has started.
	$bb setsid /bin/sh "/run/vm/command.$id" >"/run/log/$id.out" 2>&1 </dev/null \
		3<&- 4>&- 5>&- &
	pid=$!
	# The blocked tasks' stacks go to the kernel log before the kill.
	$bb setsid "$bb" sh -c "sleep $limit; : >/run/vm/timeout
		echo w >/proc/sysrq-trigger
		kill -KILL -- -$pid" </dev/null >/dev/null 2>&1 3<&- 4>&- 5>&- &
	dog=$!
	wait "$pid"
	status=$?
	# The watchdog may not have got to setsid, and so have no group yet.
	kill -KILL -- -$dog $dog -$pid 2>/dev/null
	wait "$dog" 2>/dev/null
	[ ! -e /run/vm/timeout ] || status=timeout
}

verdict "ready $(uname -r)"
while read -r id limit <&3; do
	mark "start $id"
	verdict "start $id"
	run "$id" "$limit"
	mark "end $id"
	$bb dmesg | sed -n "/compch-vm: start $id\$/,\$p" >"/run/log/$id.kmsg"
	verdict "end $id $status"
done 3</run/vm/list
mark "done"
$bb dmesg >/run/log/all.kmsg
verdict "done"
if [ -n "$own_init" ]; then
	systemctl reboot
else
	$bb sync
	$bb reboot -f
fi
