#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# check.sh BUILD - run the tests that need neither device nor module: each with
# the library preloaded, linked ahead of libibverbs, and linked statically; and
# those for a device that can do with the model, on our channels and on stock
# ones. CHECK_RUN in the environment is a command to run each with.

set -u
build=${1:?}
run=${CHECK_RUN:-}
tests=$build/tests/shim/fake
passed=0
failed=0
skipped=0

report()
{
	echo "$1 $((passed + failed + skipped)) - $2"
	echo "$out" | sed -n 's/^./# &/p'
}

# check TITLE COMMAND... - it may say something only when it fails.
check()
{
	title=$1
	shift

	if out=$("$@" 2>&1) && [ -z "$out" ]; then
		passed=$((passed + 1))
		report ok "$title"
	else
		failed=$((failed + 1))
		report "not ok" "$title"
	fi
}

# on_model TITLE COMMAND... - one for a device; it may skip itself.
on_model()
{
	title=$1
	shift

	status=0
	out=$("$@" 2>&1) || status=$?
	case $status in
	0)
		passed=$((passed + 1))
		report ok "$title"
		;;
	77)
		skipped=$((skipped + 1))
		report ok "$title # SKIP"
		;;
	*)
		failed=$((failed + 1))
		report "not ok" "$title: status $status"
		;;
	esac
}

export LD_LIBRARY_PATH="$tests:$build"
# shellcheck disable=SC2086 # words of $run and $arguments
{
for test in "$tests"/*-linked; do
	test=${test##*/}
	test=${test%-linked}
	compch=auto
	[ "$test" != inert ] || compch=off
	check "$test, preloaded" env COMPCH=$compch \
		LD_PRELOAD=libcompch.so.0 $run "$tests/$test"
	check "$test, linked ahead" env COMPCH=$compch $run "$tests/$test-linked"
	# A program has no old references if it is linked today.
	[ "$test" != versions ] || continue
	check "$test, static" env COMPCH=$compch $run "$tests/$test-static"
	check "$test, static and preloaded" env COMPCH=$compch \
		LD_PRELOAD=libcompch.so.0 $run "$tests/$test-static"
done
while read -r program arguments; do
	[ -x "$tests/on-$program" ] || continue
	arguments=$(echo "$arguments" | sed 's/rxe/fake/g')
	on_model "$program $arguments, ours" env COMPCH=require \
		$run "$tests/on-$program" $arguments
	on_model "$program $arguments, stock" env COMPCH=off \
		$run "$tests/on-$program" $arguments
done <"$build/tests/shim/LIST"
}
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
