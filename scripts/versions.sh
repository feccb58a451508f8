#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# VERSION is the version. What must repeat it:
#
#   versions.sh sources   print where the sources do not, and fail then
#   versions.sh built     the same of the module, the library and the tool that
#                         make check has built
#   versions.sh set NEW   change VERSION and the sources; the two lists of
#                         changes get an entry to be written

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top" || exit 1

version=$(cat VERSION)
contact='The compch developers <maintainers@compch.example>'

# same PLACE FOUND
same()
{
	[ "$2" = "$version" ] || echo "$1: '$2', not '$version'"
}

sources()
{
	local page

	[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
		echo "VERSION: '$version' is not three numbers"
	same dkms.conf "$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' dkms.conf)"
	same debian/changelog \
		"$(sed -n '1s/^compch (\(.*\)) .*/\1/p' debian/changelog)"
	same CHANGELOG.md "$(sed -n '/^## /{s/^## \([^ ]*\).*/\1/p;q}' CHANGELOG.md)"
	for page in userspace/man/*; do
		same "$page" "$(sed -n 's/^\.TH .* "compch \([^"]*\)" .*/\1/p' "$page")"
	done
}

built()
{
	local file

	same "modinfo ib_compch" \
		"$(PATH=$PATH:/sbin:/usr/sbin modinfo -F version build/check/ib_compch.ko)"
	same compch.pc "$(sed -n 's/^Version: //p' build/check-api/compch.pc)"
	same "compch --version" \
		"$(build/check-api/compch --version | sed 's/^compch //')"
	for file in build/check-api/libcompch.so.0.*; do
		same "${file##*/}" "${file##*/libcompch.so.0.}"
	done
}

set_version()
{
	local new=$1

	[[ $new =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
		die "a version is three numbers: '$new'"
	[ "$new" != "$version" ] || die "that is the version"
	echo "$new" >VERSION
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$new\"/" dkms.conf
	sed -i "/^\.TH /s/\"compch [^\"]*\"/\"compch $new\"/" userspace/man/*
	sed -i "0,/^## /s//## $new (not released)\n\n- ...\n\n&/" CHANGELOG.md
	{
		printf 'compch (%s) UNRELEASED; urgency=medium\n\n' "$new"
		printf '  * See CHANGELOG.md.\n\n'
		printf ' -- %s  %s\n\n' "$contact" "$(date -R)"
		cat debian/changelog
	} >debian/changelog.new && mv debian/changelog.new debian/changelog
}

case ${1:-}${2:+ NEW} in
sources | built) ! "$1" | grep . ;;
'set NEW') set_version "$2" ;;
*) die "usage: $ME sources|built|set NEW" ;;
esac
