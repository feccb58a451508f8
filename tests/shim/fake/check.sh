#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# check.sh BUILD - run the tests that need neither device nor module: each with
# the library preloaded, linked ahead of libibverbs, and linked statically.

set -u
build=${1:?}
tests=$build/tests/shim/fake
passed=0
failed=0

check()
{
	title=$1
	shift

	if out=$("$@" 2>&1) && [ -z "$out" ]; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $title"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $title"
		echo "$out" | sed 's/^/# /'
	fi
}

export LD_LIBRARY_PATH="$tests:$build"
for test in atfork contexts errors fallback inert race versions; do
	compch=auto
	[ "$test" != inert ] || compch=off
	check "$test, preloaded" env COMPCH=$compch \
		LD_PRELOAD=libcompch.so.0 "$tests/$test"
	check "$test, linked ahead" env COMPCH=$compch "$tests/$test-linked"
	# A program has no old references if it is linked today.
	[ "$test" = versions ] ||
		check "$test, static" env COMPCH=$compch "$tests/$test-static"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
