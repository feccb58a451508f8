#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Run the kernel's checkpatch.pl with these arguments. No package installs it;
# it is taken out of the kernel source package of this release, into the cache.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

# make_checkpatch DIR PACKAGE VERSION
make_checkpatch()
{
	local dir=$1 package=$2 version=$3

	say "fetching checkpatch.pl from $package $version"
	cd "$dir" || exit
	apt-get -qq -o APT::Sandbox::User=root download "$package=$version"
	dpkg-deb --fsys-tarfile ./*.deb | tar -xO --wildcards "*/$package.tar.xz" |
		tar -xJ --strip-components=1 --wildcards \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
			'*/scripts/const_structs.checkpatch'
	rm ./*.deb
}

if [ "${1:-}" = make ]; then
	shift
	make_checkpatch "$@"
	exit
fi

# "linux-source-6.1 (= 6.1.192-3)"
read -r package _ version < <(apt-cache show --no-all-versions linux-source |
	sed -n 's/^Depends: //p' | tr ',' '\n' | grep '^ *linux-source-[0-9]')
[ -n "${version:-}" ] ||
	die "apt knows no package linux-source: run apt-get update"
version=${version%)}
dir=$(cache_entry "checkpatch/$version" "$package" "$version") || exit 1
exec perl "$dir/scripts/checkpatch.pl" --no-tree "$@"
