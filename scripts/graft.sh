#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Link the module and its KUnit suites into a kernel tree.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--undo] LINUX

Make the module a part of the kernel tree LINUX: its files become symbolic
links in drivers/infiniband/compch, with the KUnit suites in kunit below, and
drivers/infiniband/{Kconfig,Makefile} get a line for each. Running it again
brings the links up to date; --undo removes everything.

Then, in LINUX:
  tools/testing/kunit/kunit.py run --kunitconfig=drivers/infiniband/compch/kunit
or the same with --arch=x86_64, or any kernel with CONFIG_INFINIBAND_COMPCH.
END
}

undo=
[ "${1:-}" != --undo ] || { undo=1; shift; }
case ${1:-} in
-h | --help) usage; exit 0 ;;
-* | '') usage >&2; exit 2 ;;
esac
linux=$(cd "$1" 2>/dev/null && pwd) || die "no directory '$1'"
infiniband=$linux/drivers/infiniband
[ -f "$infiniband/Kconfig" ] || die "$linux is no kernel tree"

# link SOURCE-DIR TARGET-DIR - every source file, and nothing that was built.
link()
{
	local file

	mkdir -p "$2"
	for file in "$1"/* "$1"/.kunitconfig; do
		case $file in
		*.mod.c) ;;
		*.[ch] | */Kbuild* | */Kconfig | */Makefile | */.kunitconfig)
			[ ! -f "$file" ] || ln -sf "$file" "$2/"
			;;
		esac
	done
}

# line FILE TEXT BEFORE - put TEXT into FILE, before the last line that matches
# BEFORE or at the end, unless it is there.
line()
{
	grep -qxF "$2" "$1" && return
	awk -v "text=$2" -v "before=$3" '
		{ lines[NR] = $0 }
		before != "" && $0 ~ before { at = NR }
		END {
			for (i = 1; i <= NR; i++) {
				if (i == at)
					print text
				print lines[i]
			}
			if (!at)
				print text
		}' "$1" >"$1.graft" && cat "$1.graft" >"$1" && rm "$1.graft"
}

rm -rf "$infiniband/compch" "$linux/include/uapi/rdma/compch-abi.h"
if [ -n "$undo" ]; then
	sed -i '/infiniband\/compch\/\|INFINIBAND_COMPCH\|compch\/kunit/d' \
		"$infiniband/Kconfig" "$infiniband/Makefile"
	exit
fi

link "$top/drivers/infiniband/compch" "$infiniband/compch"
link "$top/drivers/infiniband/compch/compat" "$infiniband/compch/compat"
link "$top/kunit" "$infiniband/compch/kunit"
ln -sf "$top/include/uapi/rdma/compch-abi.h" "$linux/include/uapi/rdma/"
for dir in compch compch/kunit; do
	line "$infiniband/Kconfig" "source \"drivers/infiniband/$dir/Kconfig\"" \
		'^endif'
done
# shellcheck disable=SC2016 # for make
line "$infiniband/Makefile" 'obj-$(CONFIG_INFINIBAND_COMPCH) += compch/' ''
# shellcheck disable=SC2016
line "$infiniband/Makefile" 'obj-$(CONFIG_INFINIBAND) += compch/kunit/' ''
