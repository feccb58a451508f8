#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# host.sh install|boot|initramfs|purge|gone
#
# What an administrator does with the packages, a boot of the host each, and what
# must be so then. Whatever is done is printed as it would be typed.

set -u
keep=/var/lib/compch-test
release=$(uname -r)
device=/sys/class/infiniband/rxe0
export DEBIAN_FRONTEND=noninteractive

fail()
{
	echo "FAIL: $*"
	exit 1
}

# it COMMAND... - print and run it; it must succeed.
it()
{
	echo "# $*"
	"$@" </dev/null || fail "exit status $?: $*"
}

# Everything that a package may leave; directories too. DKMS keeps its key.
inventory()
{
	find /etc /usr /lib/modules /boot /var/lib/dkms -xdev \
		! -path '/var/lib/dkms/mok.*' | sort
}

initramfs_has()
{
	lsinitramfs "/boot/initrd.img-$release" | grep "/$1\.ko"
}

# It cannot do without a driver for the disk.
loaded_by_initramfs()
{
	grep -q '^virtio_blk ' /run/initramfs-modules ||
		fail "who knows what the initramfs has loaded"
	grep -q "^$1 " /run/initramfs-modules
}

extended()
{
	[ -e $device/compch/abi_version ]
}

counter()
{
	awk -v "name=$1" '$1 == name { print $2 }' \
		/sys/kernel/debug/compch/counters
}

# serve COMMAND... - ibv_rc_pingpong as a server, until it listens; sets $server.
serve()
{
	"$@" >/tmp/server 2>&1 </dev/null &
	server=$!
	tries=0
	# If there is no server after all, the client fails by itself.
	until grep -q ':4853 [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6 ||
			! kill -0 $server || [ $tries -ge 600 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
}

# pingpong RUN... - client and server, by RUN.
pingpong()
{
	echo "# $* ibv_rc_pingpong -e -d rxe0 -g 1 127.0.0.1"
	serve "$@" timeout -s KILL 120 ibv_rc_pingpong -e -d rxe0 -g 1
	"$@" timeout -s KILL 120 ibv_rc_pingpong -e -d rxe0 -g 1 127.0.0.1 ||
		{ cat /tmp/server; fail "the client: exit status $?"; }
	wait $server || { cat /tmp/server; fail "the server: exit status $?"; }
}

# by_module RUN... - the same, and our module must have delivered.
by_module()
{
	before=$(counter reported)
	pingpong "$@"
	after=$(counter reported)
	echo "# events read through the module: $before, then $after"
	[ "$after" -gt "$before" ] || fail "no event came through the module"
}

# Does the tool have this command?
has()
{
	compch --help | grep -q "^  $1 "
}

# What the tool tells of a host on which a program works
look()
{
	has dev || return 0
	serve compch run --require ibv_rc_pingpong -e -d rxe0 -g 1 -n 1000000
	compch run --require ibv_rc_pingpong -e -d rxe0 -g 1 -n 1000000 \
		127.0.0.1 >/tmp/client 2>&1 </dev/null &
	client=$!
	while [ "$(counter associations)" -lt 2 ]; do
		kill -0 $client || { cat /tmp/client; fail "no program works"; }
		sleep 0.1
	done
	it compch dev
	it compch channel
	it compch cq
	it compch top -b -n 1 -d 1
	it compch doctor
	kill $client $server
	wait $client $server
}

install()
{
	[ -e $device ] || fail "the host has no RDMA device"
	! extended || fail "there is a module already"
	mkdir -p $keep
	inventory >$keep/before

	it apt-get -q -y -o Dpkg::Use-Pty=0 install /run/compch/build/deb/libcompch0_*.deb \
		/run/compch/build/deb/libcompch-dev_*.deb \
		/run/compch/build/deb/compch-dkms_*.deb \
		/run/compch/build/deb/compch-tools_*.deb
	it dkms status
	dkms status | grep -q "^compch/.*, $release, .*: installed" ||
		fail "DKMS has not installed the module"
	it modinfo -F filename ib_compch
	it modinfo -F version ib_compch
	it modinfo -F signer ib_compch
	[ -n "$(modinfo -F signer ib_compch)" ] || fail "it is not signed"
	it cat /usr/lib/modprobe.d/compch.conf

	# Until it is registered anew, the device has what it had.
	pingpong compch run
	! compch run --require timeout 60 ibv_rc_pingpong -e -d rxe0 -g 1 \
		>/tmp/out 2>&1 || fail "--require runs without the module"
	cat /tmp/out
	grep -q 'ib_compch' /tmp/out || fail "and says nothing of the module"

	# Without a reboot
	it modprobe ib_compch
	if has adopt; then
		echo "# compch adopt rxe0"
		compch adopt rxe0 || echo "# exit status $?"
	fi
	it rdma link delete rxe0
	it rdma link add rxe0 type rxe netdev rxe0-net
	by_module compch run --require
}

boot()
{
	! loaded_by_initramfs ib_core || fail "the initramfs has loaded ib_core"
	it cat $device/compch/abi_version
	by_module compch run --require
	by_module env COMPCH=require LD_PRELOAD=libcompch.so.0
	look

	# What a developer does
	it cp -r /usr/share/doc/libcompch-dev/examples /tmp/examples
	# shellcheck disable=SC2046 # words
	it gcc -Wall -o /tmp/minimal /tmp/examples/minimal.c \
		/tmp/examples/loopback.c -pthread \
		$(pkg-config --cflags --libs compch)
	it env COMPCH=require /tmp/minimal rxe0

	# And a host that needs RDMA for its root
	! initramfs_has ib_compch || fail "it is in an initramfs without ib_core"
	echo rdma_rxe >>/etc/initramfs-tools/modules
	it update-initramfs -u
	initramfs_has ib_compch || fail "the initramfs does not get the module"
	initramfs_has rdma_rxe || fail "the initramfs does not get rdma_rxe"
}

initramfs()
{
	it cut -d' ' -f1 /run/initramfs-modules
	loaded_by_initramfs rdma_rxe || fail "the initramfs has not loaded rdma_rxe"
	loaded_by_initramfs ib_compch ||
		fail "the initramfs has loaded the driver without the module"
	# The newest module is first.
	awk '$1 == "ib_compch" { found = 1 }
		$1 == "rdma_rxe" && found { exit 1 }' /run/initramfs-modules ||
		fail "the module came after the driver"
	by_module compch run --require
}

purge()
{
	it apt-get -q -y -o Dpkg::Use-Pty=0 purge compch-dkms compch-tools libcompch-dev libcompch0
	! dpkg -l '*compch*' 2>/dev/null | grep '^[a-z]i' ||
		fail "a package is left"
	initramfs_has rdma_rxe || fail "the initramfs has lost rdma_rxe"
	! initramfs_has ib_compch || fail "the module is left in the initramfs"
	inventory >$keep/after
	diff $keep/before $keep/after >/tmp/diff ||
		{ cat /tmp/diff; fail "not everything is as it was"; }
	echo "# $(wc -l <$keep/before) files and directories: all as before"
}

gone()
{
	loaded_by_initramfs rdma_rxe || fail "the initramfs has not loaded rdma_rxe"
	! grep ^ib_compch /proc/modules || fail "the module is loaded"
	! extended || fail "the device is extended"
	pingpong env
	! command -v compch || fail "there is a tool"
}

"$1"
