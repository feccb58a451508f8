#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The table of clients in README.md.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME            write it, from build/clients.csv ("make clients")
       $ME --check    does it have the clients of tests/clients/LIST, each with
                      results, and is none of them worse on our channels?
END
}

list=tests/clients/LIST
csv=build/clients.csv
first='<!-- clients: from build/clients.csv by scripts/clients-table.sh -->'
last='<!-- clients: end -->'

# client NAME - its package and whether it uses channels.
client()
{
	sed -n "s/^$1 \([^ ]*\) \([^ ]*\) .*/\1 \2/p" "$list"
}

table()
{
	local name version stock ours events package channels

	echo '| client | package | stock channels | ours | events through ours |'
	echo '|---|---|---|---|---|'
	tail -n +2 "$csv" | while IFS=, read -r name version stock ours events; do
		read -r package channels < <(client "$name")
		[ "$channels" != none ] || events="uses none"
		echo "| $name | $package $version | $stock | $ours | $events |"
	done
}

block()
{
	sed -n "\|^$first\$|,\|^$last\$|p" README.md
}

update()
{
	[ -f "$csv" ] || die "there is no $csv: run make clients"
	[ -n "$(block)" ] || die "README.md has no place for the table"
	table >build/clients.md
	sed -i -e "\|^$first\$|,\|^$last\$|{
		\|^$first\$|r build/clients.md
		\|^$first\$|b
		\|^$last\$|b
		d
	}" README.md
}

check()
{
	local rows bad=0 name channels word='pass\|fail\|hang\|skip'

	rows=$(block | grep '^| ' | tail -n +2)
	diff <(sed -n 's/^\([^# ][^ ]*\) .*/\1/p' "$list") \
		<(cut -d' ' -f2 <<<"$rows") >&2 || {
		say "README.md has other clients than $list"
		bad=1
	}
	while read -r name; do
		read -r _ channels < <(client "$name")
		case $channels in
		none) channels='uses none' ;;
		*) channels='[0-9]*' ;;
		esac
		grep -q "^| $name | [^ ]* [^ ]* | \($word\) | \($word\) | $channels |\$" \
			<<<"$rows" || {
			say "README.md: not a row of the table: $name"
			bad=1
		}
		! grep -q "^| $name .*| pass | \(fail\|hang\|skip\) |" <<<"$rows" || {
			say "README.md: worse on our channels: $name"
			bad=1
		}
	done < <(cut -d' ' -f2 <<<"$rows")
	return $bad
}

cd "$top" || exit 1
case ${1:-} in
'') update ;;
--check) check ;;
-h | --help) usage ;;
*) usage >&2; exit 2 ;;
esac
