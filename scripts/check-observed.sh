#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Is everything documented that the module and the tool show of themselves?
# Prints what is not, and fails then.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top" || exit 1

module=drivers/infiniband/compch
abi=Documentation/ABI/testing
status=0

# missing WHAT NAME WHERE
missing()
{
	echo "$3 does not tell of the $1 '$2'"
	status=1
}

# some NAME... - a pattern that finds nothing any more must not go unnoticed.
some()
{
	[ $# -gt 0 ] || die "nothing is found any more: bring this script up to date"
}

# section FILE WHAT - the entry of an ABI document for one file
section()
{
	awk -v "what=$2" '/^What:/ { on = $2 == what } on' "$1"
}

# words_in WHAT FILE SHOWN NAME... - in the entry for the file SHOWN, each name
# begins a line of the description.
words_in()
{
	local what=$1 file=$2 shown=$3 name text
	shift 3

	some "$@"
	text=$(section "$file" "$shown")
	for name; do
		grep -Eq "^[[:space:]]+$name([[:space:]]|\$)" <<<"$text" ||
			missing "$what" "$name" "$file"
	done
}

# keys FUNCTION FILE - those of "key=%" in its formats, and of what it calls
keys()
{
	sed -n "/^static void $1(/,/^}/p" "$2" | grep -o '[a-z_]*=[%"]' |
		tr -d '=%"'
	sed -n '/^void compch_owner_show(/,/^}/p' $module/listing.c |
		grep -o '[a-z_]*=[%"]' | tr -d '=%"'
}

debugfs=/sys/kernel/debug/compch
mapfile -t names < <(sed -n -e 's/^\t\[COMPCH_[A-Z_]*\] = "\(.*\)",$/\1/p' \
	-e 's/.*seq_printf(m, "\([a-z_]*\) %.*/\1/p' $module/stats.c)
words_in counter $abi/debugfs-compch $debugfs/counters "${names[@]}"
mapfile -t names < <(keys compch_channel_show $module/channel.c)
words_in key $abi/debugfs-compch $debugfs/channels "${names[@]}"
mapfile -t names < <(keys compch_assoc_show $module/assoc.c)
words_in key $abi/debugfs-compch $debugfs/cqs "${names[@]}"
mapfile -t names < <(grep -oh '"compch-[a-z-]*:' $module/*.c | tr -d '":')
words_in line $abi/procfs-fdinfo-compch "/proc/<pid>/fdinfo/<fd>," "${names[@]}"

# What the folders have
mapfile -t names < <(cat $module/*.c | tr -d '\n' |
	grep -oE '(debugfs_create_file|compch_listing_create)\("[a-z]+"' |
	sed 's/.*("//; s/"//')
some "${names[@]}"
for name in "${names[@]}"; do
	[ -n "$(section $abi/debugfs-compch "$debugfs/$name")" ] ||
		missing file "$name" $abi/debugfs-compch
done
mapfile -t names < <(sed -n 's/^static DEVICE_ATTR_RO(\(.*\));/\1/p' \
	$module/*.c)
some "${names[@]}"
for name in "${names[@]}"; do
	grep -q "^What:.*/compch/$name\$" $abi/sysfs-class-infiniband-compch ||
		missing file "$name" $abi/sysfs-class-infiniband-compch
done

# Tracepoints are tested, too.
mapfile -t names < <(sed -n -e 's/^TRACE_EVENT(\(.*\),$/\1/p' \
	-e 's/^DEFINE_EVENT(.*, \(.*\),$/\1/p' $module/trace.h)
some "${names[@]}"
for name in "${names[@]}"; do
	grep -q "^\`\`$name\`\` " Documentation/tracing.rst ||
		missing tracepoint "$name" Documentation/tracing.rst
	grep -q "traced(\"${name#compch_}: " tests/abi/tracepoints.c ||
		missing tracepoint "$name" tests/abi/tracepoints.c
done

# The columns of the tool; tests/tool looks for the keys of its JSON.
for file in dev list top; do
	mapfile -t names < <(sed -n 's/^\t{ "[a-z_]*", "\([^"]*\)".*/\1/p' \
		userspace/compch/$file.c)
	some "${names[@]}"
	for name in "${names[@]}"; do
		sed 's/\\-/-/g' userspace/man/compch.8 |
			grep -Eq "^\.(B|BR) ($name\$|.*\b$name\b)" ||
			missing column "$name" userspace/man/compch.8
	done
done
exit $status
