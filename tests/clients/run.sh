#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Run the clients in LIST on stock channels and on ours, in a virtual machine
# with this system's programs, and write build/clients.csv. See
# Documentation/testing.rst.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--only REGEX | --selftest]

--only runs the clients whose name matches, and leaves build/clients.csv alone;
--selftest only tests that clients which go wrong are noticed.
END
}

only=
selftest_only=
while [ $# -gt 0 ]; do
	case $1 in
	--only) only=${2?}; shift ;;
	--selftest) selftest_only=1 ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

# names LIST
names()
{
	awk -v "only=${only:-.}" '!/^(#|$)/ && $1 ~ only { print $1 }' "$1"
}

# line LIST CLIENT - what the list says after the client's name.
line()
{
	sed -n "s/^$2 //p" "$1"
}

# cases LIST - for tests/vm/run.sh. A client may have to wait for its server for
# as long as each of them may run.
cases()
{
	local mode client limit tries

	for mode in stock ours; do
		echo "device for $mode: tests/clients/client.sh $mode"
		for client in $(names "$1"); do
			limit=$(line "$1" "$client" |
				sed -n 's/.* timeout=\([0-9]*\) .*/\1/p')
			tries=$(line "$1" "$client" |
				sed -n 's/.* tries=\([0-9]*\) .*/\1/p')
			limit=$((${tries:-1} * (2 * ${limit:-180} + 60) + 60))
			printf '%s timeout=%s: tests/clients/client.sh %s\n' \
				"$client on $mode" $limit \
				"$mode $1 $client"
		done
	done
	echo "removal: tests/clients/client.sh end"
}

# vm NAME LIST - boot, and run the clients of LIST; their results and what they
# print are in build/log/NAME.
vm()
{
	cases "$2" >"build/list.$1"
	tests/vm/run.sh --name "$1" --kernel "$kernel" --list "build/list.$1" \
		--env "COMPCH_KO=/run/compch/build/$release/ib_compch.ko" \
		--env "COMPCH_BUILD=/run/compch/build/user-$codename"
}

# csv LIST DIR - the results that the virtual machine left in DIR.
csv()
{
	local client package _ stock ours events

	echo client,version,stock,ours,events_ours
	for client in $(names "$1"); do
		read -r package _ < <(line "$1" "$client")
		stock='' ours='' events=''
		read -r stock _ < <(cat "$2/$client.stock" 2>/dev/null)
		read -r _ ours events < <(cat "$2/$client.row" 2>/dev/null)
		printf '%s,%s,%s,%s,%s\n' "$client" \
			"$(dpkg-query -W -f '${Version}' "$package")" \
			"${stock:-hang}" "${ours:-hang}" "${events:-0}"
	done
}

# selftest LIST - the clients' results must be those that their names promise.
selftest()
{
	local client got want good=0 bad=0

	vm clients-selftest "$1" >build/clients-selftest.out
	for client in $(names "$1"); do
		case $client in
		bad-*) want=fail ;;
		skip-*) want=skip ;;
		*) want=pass ;;
		esac
		case $(grep -E "^(not )?ok [0-9]+ - $client on (stock|ours) #" \
			build/clients-selftest.out) in
		*'not ok'*) got=fail ;;
		*SKIP*) got=skip ;;
		ok*) got=pass ;;
		*) got=nothing ;;
		esac
		# For the right reason: nothing of the machine itself went wrong.
		[ -f "build/log/clients-selftest/$client.row" ] || got=nothing
		if [ "$got" = "$want" ]; then
			good=$((good + 1))
			echo "ok $((good + bad)) - $client: $got"
		else
			bad=$((bad + 1))
			echo "not ok $((good + bad)) - $client: $got, not $want"
		fi
	done
	[ "$bad" = 0 ] || sed 's/^/# /' build/clients-selftest.out
	echo "$good passed, $bad failed, 0 skipped"
	[ "$bad" = 0 ]
}

cd "$top" || exit 1
mkdir -p build
prepare "the kernel" scripts/kernel.sh host || { sum; exit; }
kernel=$(scripts/kernel.sh)
release=$(scripts/kernel.sh --version)
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-$ID}")
prepare "building for $release" make --no-print-directory all \
	"KDIR=/lib/modules/$release/build" || { sum; exit; }

prepare "the tests of rdma-core" tests/clients/rdma-core.sh || { sum; exit; }
# Where the virtual machine sees them.
rm -rf build/clients
mkdir -p build/clients
cp -r "$(tests/clients/rdma-core.sh)" build/clients/tests
prepare "building the client of libfabric" cc -O2 -Wall -Wextra -Werror \
	-o build/clients/fabric tests/clients/fabric.c -lfabric ||
	{ sum; exit; }

if [ -z "$only" ]; then
	step "the suite itself" selftest tests/clients/SELFTEST
	[ -z "$selftest_only" ] || { sum; exit; }
fi

step "clients on $release" vm clients tests/clients/LIST
result=build/clients${only:+.only}.csv
csv tests/clients/LIST build/log/clients >"$result"
column -t -s , "$result"
sum
