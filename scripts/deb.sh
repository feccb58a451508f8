#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Build the Debian packages from a copy of this tree, into build/deb/, and have
# lintian look at them.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top" || exit 1

have dpkg-buildpackage dh_dkms lintian ||
	die "something is missing: run scripts/deps.sh build deb"
out=$top/build/deb
source=$out/compch-$(cat VERSION)
rm -rf "$out"
mkdir -p "$source" || exit 1
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$source" || exit 1

say "building the packages"
( cd "$source" && dpkg-buildpackage -us -uc -b ) >"$out/log" 2>&1 || {
	tail -n 40 "$out/log" >&2
	die "the packages cannot be built: $out/log"
}
say "having lintian look at them"
lintian --fail-on error,warning --allow-root \
	"$out"/*.changes || die "lintian is not content"
rm -rf "$source"
printf '%s\n' "$out"/*.deb
