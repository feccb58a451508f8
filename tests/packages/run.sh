#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The Debian packages on a host: built, looked at by lintian, installed, used
# after a reboot and from the initramfs, and purged, in a virtual machine with a
# disk. build/log/packages.transcript has what was typed and printed.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top" || exit 1

prepare "building the packages" scripts/deb.sh || { sum; exit 1; }
image=$("$here/image.sh") || die "there is no disk to boot"
work=build/packages
transcript=build/log/packages.transcript
rm -rf "$work"
mkdir -p "$work" build/log || exit 1
cp --sparse=always "$image/disk" "$image/release" "$work/" || exit 1
: >"$transcript"

for what in install boot initramfs gone; do
	commands=$work/list.$what
	printf '%s timeout=2400: tests/packages/host.sh %s\n' \
		"packages $what" "$what" >"$commands"
	[ "$what" != initramfs ] ||
		printf '%s timeout=2400: tests/packages/host.sh purge\n' \
			"packages purge" >>"$commands"
	step "a boot of the host: $what" tests/vm/run.sh --disk "$work" \
		--name "packages-$what" --list "$commands"
	printf '=== %s\n' "$what" >>"$transcript"
	tr -d '\r' 2>/dev/null >>"$transcript" \
		< <(cat "build/log/packages-$what/"[0-9]*.out)
	# The next one would only say that this one has failed.
	[ "$sum_failed" = 0 ] || break
done
[ "$sum_failed" != 0 ] || rm -rf "$work"
echo "# $transcript"
sum
