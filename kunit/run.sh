#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Build the KUnit suites, run them in User Mode Linux, and print their results.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--kernel DIR] [SUITE]...

Run the KUnit suites of this folder, or only SUITE (such as "queue"), in User
Mode Linux and print what they say (KTAP). A test fails if it says so, if it
crashes or hangs, if the kernel's log has a complaint, or if memory leaks.
Exits with 0 if none failed. Last line: N passed, N failed, N skipped

  --kernel DIR   kernel to boot (default: from scripts/uml-kernel.sh)

KTAP and kernel logs are kept in build/log/kunit.
END
}

kernel=
suites=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) suites+=("${1#compch_}") ;;
	esac
	shift
done
if [ ${#suites[@]} = 0 ]; then
	for file in "$top"/kunit/compch_*_kunit.c; do
		file=${file##*/compch_}
		suites+=("${file%_kunit.c}")
	done
fi

cd "$top" || exit 1
log=build/log/kunit
mkdir -p build/log
[ -n "$kernel" ] || kernel=$(scripts/uml-kernel.sh) || exit 1
if ! scripts/build-module.sh "$kernel/build" build/uml ARCH=um \
		>build/log/kunit.build 2>&1; then
	cat build/log/kunit.build >&2
	die "cannot build the modules"
fi

{
	echo "ib_uverbs: modprobe ib_uverbs"
	echo "kmemleak clear: tests/cases/kmemleak.sh clear"
	for suite in "${suites[@]}"; do
		module=compch_${suite}_kunit
		echo "compch_$suite: insmod build/uml/kunit/$module.ko &&" \
			"rmmod $module"
	done
	echo "kmemleak: tests/cases/kmemleak.sh check"
	# A report of lockdep's is its last one.
	echo "lockdep is on: grep 'debug_locks: *1\$' /proc/lockdep_stats"
} >build/log/kunit.list
tests/vm/uml.sh --kernel "$kernel" --name kunit --timeout 300 \
	--append kunit.enable=1 \
	--list build/log/kunit.list >build/log/kunit.tap
status=$?
mv build/log/kunit.* "$log/"

# --- what the suites say --------------------------------------------------

# The kernel log of command $1, without times and without what surrounds the
# command. If it has not come to its end, the console has what there is.
ktap()
{
	{ cat "$log/$1.kmsg" 2>/dev/null ||
		sed -n "/compch-vm: start $1\$/,\$p" "$log/console"; } |
		tr -d '\000\r' | sed -E -e 's/^\[ *[0-9]+\.[0-9]+\] ?//' \
			-e '/^compch-vm: (start|end) /d' \
			-e '/: loading out-of-tree module taints kernel/d'
}

# Counts of the tests of a suite in a KTAP file: its plan, passed, failed and
# skipped, and whether the suite has come to its end.
count()
{
	awk '/^    1\.\.[0-9]+$/ { sub(/.*\.\./, ""); plan = $0 }
		/^    ok [0-9]+ .*# SKIP/ { skipped++; next }
		/^    ok [0-9]+ / { passed++ }
		/^    not ok [0-9]+ / { failed++ }
		/^(not )?ok [0-9]+ / { ended++ }
		END { print plan + 0, passed + 0, failed + 0, skipped + 0,
			ended + 0 }' "$1"
}

passed=0
failed=0
skipped=0
echo "KTAP version 1"
echo "1..${#suites[@]}"
id=2
for suite in "${suites[@]}"; do
	id=$((id + 1))
	file=$log/compch_$suite.ktap
	ktap $id >"$file"
	cat "$file"
	read -r plan p f s ended < <(count "$file")
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
	if [ "$plan" = 0 ] || [ "$ended" != 1 ] ||
	   [ "$((p + f + s))" != "$plan" ]; then
		failed=$((failed + 1))
		echo "# compch_$suite: $((p + f + s)) of $plan tests came to an end"
	fi
done

# Whatever else the runner has found: its own failures come with the reasons.
if [ $status != 0 ]; then
	sed -E -e '/^(TAP version|1\.\.|ok |[0-9]+ passed)/d' \
		-e 's/^not ok [0-9]+ - /# /' "$log/kunit.tap"
	bad=$(grep -c '^not ok ' "$log/kunit.tap")
	failed=$((failed + (bad > 0 ? bad : 1)))
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
