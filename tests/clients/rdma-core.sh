#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Print the folder with the tests of pyverbs from rdma-core's sources, of the
# version that is installed here. apt fetches them once, into the cache.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

# The entries for sources that belong to those for packages which apt uses here.
sources()
{
	# shellcheck disable=SC2016 # apt's variables
	apt-get indextargets --format \
		'$(ORIGIN)|$(LABEL)|deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' |
		sed -n 's/^Debian|Debian\(-Security\)\{0,1\}|//p' | sort -u
}

# fetch DIR VERSION - the folder DIR/tests from the sources.
fetch()
{
	local dir=$1 version=$2 list=$1/apt apt

	mkdir -p "$list/lists/partial" "$list/cache/archives/partial"
	sources >"$list/sources.list"
	if [ ! -s "$list/sources.list" ]; then
		apt-get -qq update
		sources >"$list/sources.list"
	fi
	apt=(apt-get -qq -o "Dir::Etc::SourceList=$list/sources.list"
		-o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$list/lists" -o "Dir::Cache=$list/cache"
		-o Acquire::Languages=none -o APT::Sandbox::User=root)
	say "fetching the sources of rdma-core $version"
	"${apt[@]}" update &&
		(cd "$list" && "${apt[@]}" source --download-only \
			"rdma-core=$version") &&
		# apt has checked it; the keyring of its maintainers may be missing.
		dpkg-source --no-check --extract "$list"/*.dsc \
			"$list/rdma-core" >/dev/null &&
		mv "$list/rdma-core/tests" "$dir/tests"
}

# The package has the same files, for people to read. Not all mirrors have all
# sources.
copy()
{
	say "taking the tests from python3-pyverbs' documentation instead"
	cp -r /usr/share/doc/rdma-core/tests "$1/tests" &&
		find "$1/tests" -name '*.gz' -exec gunzip {} +
}

make_tests()
{
	fetch "$@" || copy "$@"
	rm -rf "$1/apt"
	[ -f "$1/tests/base.py" ] && [ -f "$1/tests/test_cq_events.py" ]
}

if [ "${1:-}" = make ]; then
	shift
	make_tests "$@"
	exit
fi
# shellcheck disable=SC2016 # dpkg's variable
version=$(dpkg-query -W -f '${source:Version}' python3-pyverbs) ||
	die "python3-pyverbs is missing: run scripts/deps.sh clients"
path=$(cache_entry "rdma-core-tests/$version" "$version") ||
	die "cannot get the sources of rdma-core $version"
echo "$path/tests"
