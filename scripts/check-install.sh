#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Does "make install" put everything where it is told to, does a program find it
# there, and does "make uninstall" take it all away? Is an RDMA stack in OFA_DIR
# the one that the module is built for? Prints what is not so, and fails then.
#
#   check-install.sh files    the first three
#   check-install.sh ofa      the last one
#   check-install.sh order    does modprobe load the module, which make check has
#                             built, before each driver of RDMA devices that this
#                             kernel has?

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top" || exit 1

out=$top/build/check-install
stage=$out/stage
release=$(scripts/kernel.sh --version) || exit 1
kdir=/lib/modules/$release/build
PATH=$PATH:/sbin:/usr/sbin

# run COMMAND... - its output only matters if it fails.
run()
{
	"$@" >"$out/log" 2>&1 || {
		cat "$out/log"
		return 1
	}
}

installed()
{
	# Kernels differ in the folder for modules that are not their own.
	(cd "$stage" && find . ! -type d ! -name 'modules.*') |
		sed 's/^\.//; s,/updates/drivers/,/extra/drivers/,' | sort
}

# What is to be there, with the libraries in /usr/lib64
expected()
{
	local page section name

	for page in userspace/man/*; do
		section=${page##*.}
		echo "/usr/share/man/man$section/${page##*/}"
		[ "$section" != 3 ] ||
			sed -n '/^\.SH NAME/{n;s/ \\-.*//;s/, /\n/g;p}' "$page" |
			while read -r name; do
				echo "/usr/share/man/man3/$name.3"
			done
	done
	[ ! -e userspace/compch/compch.bash ] ||
		echo /usr/share/bash-completion/completions/compch
	cat <<-END
	/etc/modprobe.d/compch.conf
	/etc/modules-load.d/compch.conf
	/lib/modules/$release/extra/drivers/infiniband/compch/ib_compch.ko
	/usr/bin/compch
	/usr/include/infiniband/compch.h
	/usr/include/rdma/compch-abi.h
	/usr/lib64/libcompch.a
	/usr/lib64/libcompch.so
	/usr/lib64/libcompch.so.0
	/usr/lib64/libcompch.so.0.$(cat VERSION)
	/usr/lib64/pkgconfig/compch.pc
	END
}

files()
{
	local args=(PREFIX=/usr LIBDIR=/usr/lib64 "DESTDIR=$stage" "BUILD=$out"
		"KDIR=$kdir" --no-print-directory)
	local flags first

	run make "${args[@]}" install || return
	diff <(expected | sort -u) <(installed) |
		sed -n 's/^< /missing: /p; s/^> /unknown: /p'

	flags=$(PKG_CONFIG_PATH=$stage/usr/lib64/pkgconfig \
		PKG_CONFIG_SYSROOT_DIR=$stage pkg-config --cflags --libs compch) ||
		return
	# shellcheck disable=SC2086 # words
	run gcc -Wall -Werror -o "$out/program" userspace/examples/minimal.c \
		userspace/examples/loopback.c -pthread $flags
	first=$(objdump -p "$out/program" | awk '$1 == "NEEDED" { print $2 }' |
		head -n 1)
	[ "$first" = libcompch.so.0 ] ||
		echo "a program that is linked by compch.pc needs '$first' first"
	strings "$stage/usr/bin/compch" | grep -qx /usr/lib64/libcompch.so.0 ||
		echo "compch run looks elsewhere for the library"

	run make "${args[@]}" uninstall || return
	installed | sed 's/^/left: /'

	# Without the module, or any kernel that it could be for
	rm -r "$stage"
	run make "${args[@]}" install-userspace &&
		run make "${args[@]}" uninstall || return
	installed | sed 's/^/left: /'
	run make "${args[@]}" install-userspace || return
	! make "${args[@]}" KDIR=/nonexistent uninstall >"$out/log" 2>&1 ||
		echo "it is no error if nobody knows which kernel the module is for"
	installed | sed 's/^/left without a kernel: /'
}

order()
{
	local kernel modules=$out/lib/modules/$release file name count=0

	kernel=$(scripts/kernel.sh)/lib/modules/$release || return
	mkdir -p "$modules" "$out/conf" || return
	ln -s "$kernel/kernel" "$modules/kernel"
	cp "$kernel"/modules.{order,builtin*} "$modules"
	cp build/check/ib_compch.ko "$modules"
	cp boot/modprobe.conf "$out/conf/compch.conf"
	run depmod -b "$out" "$release" || return
	for file in "$kernel"/kernel/drivers/infiniband/{hw,sw}/*/*.ko*; do
		name=${file##*/}
		name=${name%%.ko*}
		modprobe -C "$out/conf" -d "$out" -S "$release" --show-depends \
			"$name" | awk -v "name=$name" '
			/\/ib_compch\.ko/ { found = 1 }
			index($0, "/" name ".ko") && !found {
				print name ": the module is not loaded before it"
			}'
		count=$((count + 1))
	done
	[ "$count" -gt 10 ] || echo "only $count drivers were looked at"
}

# A stack that differs from the kernel's in what can be told from the module:
# the checksum of a symbol, and a header.
ofa()
{
	local ofa=$out/ofa symvers=$kdir/Module.symvers common

	mkdir -p "$ofa/include"
	common=$(realpath "$kdir/../build")
	[ -e "$common/include/rdma/ib_verbs.h" ] ||
		common=$(sed -n 's,^include \(/.*\)/Makefile$,\1,p' "$kdir/Makefile")
	cp -r "$common/include/rdma" "$ofa/include/" || return
	sed -n 's/^0x[0-9a-f]*\(\t_\?uverbs_\)/0x0badcafe\1/p' "$symvers" \
		>"$ofa/Module.symvers"
	[ -s "$ofa/Module.symvers" ] || echo "$symvers has no uverbs_..."
	sed -i '/^#define _UVERBS_IOCTL_/a\
static const char compch_ofa[] __attribute__((used)) = "from OFA_DIR";' \
		"$ofa/include/rdma/uverbs_ioctl.h"
	run make --no-print-directory module "BUILD=$out/with-ofa" "KDIR=$kdir" \
		"OFA_DIR=$ofa" || return
	modprobe --dump-modversions "$out/with-ofa/$release/ib_compch.ko" |
		grep -q '^0x0badcafe.*uverbs_' ||
		echo "the symbols are not those of OFA_DIR/Module.symvers"
	strings "$out/with-ofa/$release/ib_compch.ko" | grep -q 'from OFA_DIR' ||
		echo "the headers are not those of OFA_DIR/include"

	rm "$ofa/Module.symvers"
	! make --no-print-directory module "BUILD=$out/with-ofa" "KDIR=$kdir" \
		"OFA_DIR=$ofa" >"$out/log" 2>&1 ||
		echo "an OFA_DIR without Module.symvers is no error"
	grep -q "OFA_DIR: there is no $ofa/Module.symvers" "$out/log" ||
		cat "$out/log"
}

case ${1:-} in
files | ofa | order) ;;
*) die "usage: $ME files|ofa|order" ;;
esac
rm -rf "$out"
mkdir -p "$out" || exit 1
! "$1" | grep .
