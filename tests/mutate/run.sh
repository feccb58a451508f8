#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Would the tests notice? See usage() below.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

copy=build/mutate
log=build/log/mutate

usage()
{
	cat <<END
usage: $ME [--kernel DIR] [MUTATION]...

Break the module in a copy of this tree ($copy), in one way after the other,
and see whether the test that is to notice does, in User Mode Linux. Each
MUTATION (all by default) is a patch in tests/mutate that says what it is and,
after "Caught-by:", what must catch it: "kunit SUITE TEST" or "abi TEST".

First, all these must pass on the module as it is. Then a mutation fails the
check if its patch does not apply or build, or if that test passes.
Last line: N passed, N failed, N skipped. Everything else is in $log.
END
}

kernel=
mutations=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift ;;
	-h | --help) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) mutations+=("$(basename "$1" .patch)") ;;
	esac
	shift
done

# What is to catch mutation $1: "kunit SUITE TEST" or "abi TEST [MODE]"
caught_by()
{
	sed -n 's/^Caught-by: //p' "tests/mutate/$1.patch"
}

# --- the copy -------------------------------------------------------------

# The userspace stays built; what there is of the module may be a mutation.
make_copy()
{
	mkdir -p "$copy" && rm -rf "$copy/build/uml" &&
		find "$copy" -mindepth 1 -maxdepth 1 ! -name build \
			-exec rm -rf {} + &&
		find . -mindepth 1 -maxdepth 1 ! -name build ! -name .git \
			-exec cp -Rp {} "$copy/" \;
}

# The sources that patch $1 changes
patched()
{
	sed -n 's,^+++ b/,,p' "$1"
}

# A new time, for make: the change must not be taken for the older one.
restore()
{
	local file

	patched "$1" | while read -r file; do
		cp "$file" "$copy/$file"
	done
}

# --- the tests ------------------------------------------------------------

# catch KIND WHAT... - run tests of the copy; succeeds if they pass.
catch()
{
	local kind=$1
	shift

	if [ "$kind" = kunit ]; then
		"$copy/kunit/run.sh" --kernel "$kernel" "$@"
	else
		"$copy/tests/uml.sh" --kernel "$kernel" --only "$*"
	fi </dev/null
}

build()
{
	"$copy/scripts/build-module.sh" "$kernel/build" "$copy/build/uml" \
		ARCH=um
}

# All that is to catch something
intact()
{
	local by suites=() tests=() status=0

	mapfile -t by < <(for m in "${mutations[@]}"; do
		caught_by "$m" | sed -E 's/^(kunit [^ ]+) .*/\1/'
	done | sort -u)
	for m in "${by[@]}"; do
		case $m in
		kunit\ *) suites+=("${m#* }") ;;
		abi\ *) tests+=("$m") ;;
		esac
	done
	if [ ${#suites[@]} -gt 0 ]; then
		step "suites, nothing broken" catch kunit "${suites[@]}"
	fi
	if [ ${#tests[@]} -gt 0 ]; then
		step "tests, nothing broken" \
			catch abi "^($(IFS='|'; echo "${tests[*]}"))\$"
	fi
}

# failed_in FILE TEST - does FILE, TAP or a console with TAP, say that it failed?
failed_in()
{
	tr -d '\000\r' <"$1" |
		grep -aqE "^(\[ *[0-9.]+\])? *not ok [0-9]+ (- )?$2( #.*)?\$"
}

# died_in FILE SUITE TEST - did the kernel panic in TEST? It is the one after the
# last that has a verdict; its number is that of the run with nothing broken.
died_in()
{
	local number

	number=$(awk -v "suite=compch_$2" -v "test=$3" '
		/^    # Subtest: / { found = $3 == suite }
		found && /^    ok / && $3 == test { print $2 }' "$log/intact")
	[ -n "$number" ] && grep -aq "the kernel panicked while this ran" "$1" &&
		[ "$(grep -acE '^    (not )?ok [0-9]+ ' "$1")" = $((number - 1)) ]
}

# catch_first OUT KIND WHAT TEST - run tests of the copy; succeeds if they pass.
# A suite is stopped when TEST has failed: whatever else waits for what does not
# come would take minutes.
catch_first()
{
	local dir=$copy/build/log/kunit job status

	[ "$2" = kunit ] || { catch "$2" "$3" >"$1" 2>&1; return; }
	rm -rf "$dir"
	catch "$2" "$3" >"$1" 2>&1 &
	job=$!
	while kill -0 $job 2>/dev/null; do
		sleep 1
		if [ -s "$dir/pid" ] && failed_in "$dir/console" "$4"; then
			kill -KILL -- "-$(cat "$dir/pid")" 2>/dev/null
			break
		fi
	done
	wait $job
	status=$?
	# Killed just when it had ended, a suite is not in what run.sh prints.
	if [ -s "$dir/console" ] && failed_in "$dir/console" "$4"; then
		echo "not ok 0 $4" >>"$1"
	fi
	return $status
}

# mutation NAME - prints what became of it; succeeds if it was caught.
mutation()
{
	local name=$1 patch=tests/mutate/$1.patch out=$log/$1 by kind what test

	[ -f "$patch" ] || { echo "there is no such mutation"; return 1; }
	by=$(caught_by "$name")
	read -r kind what test <<<"$by"
	case $by in
	kunit\ *\ *) ;;
	abi\ *) what="^$by\$" test=$by ;;
	*) echo "it does not say what is to catch it"; return 1 ;;
	esac
	if ! patch --directory "$copy" --strip 1 --fuzz 0 --forward \
			--no-backup-if-mismatch <"$patch" >"$out"; then
		restore "$patch"
		echo "the patch does not apply"
		return 1
	fi
	if ! build >"$out" 2>&1; then
		echo "it does not build"
	elif catch_first "$out" "$kind" "$what" "$test"; then
		echo "survived $by"
	elif ! failed_in "$out" "$test" && ! died_in "$out" "$what" "$test"; then
		echo "noticed, but not by $by"
	else
		echo "$by"
		restore "$patch"
		return 0
	fi
	restore "$patch"
	return 1
}

# --- the result -----------------------------------------------------------

cd "$top" || exit 1
have patch || die "something is missing: run scripts/deps.sh uml"
if [ ${#mutations[@]} = 0 ]; then
	for file in tests/mutate/*.patch; do
		mutations+=("$(basename "$file" .patch)")
	done
fi
[ -n "$kernel" ] || kernel=$(scripts/uml-kernel.sh) || exit 1
rm -rf "$log"
mkdir -p "$log"
if ! prepare "making the copy" make_copy || ! prepare "building it" build; then
	sum
	exit
fi
intact >"$log/intact"
if [ "$sum_failed" != 0 ]; then
	cat "$log/intact"
	sum
	exit
fi
echo "# nothing broken: $sum_passed tests pass"
sum_passed=0
sum_skipped=0

for name in "${mutations[@]}"; do
	SECONDS=0
	if result=$(mutation "$name"); then
		sum_passed=$((sum_passed + 1))
		verdict="ok    "
	else
		sum_failed=$((sum_failed + 1))
		verdict="not ok"
	fi
	printf '%s - %-22s %4d s  %s\n' "$verdict" "$name" "$SECONDS" "$result"
done
sum
