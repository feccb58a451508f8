#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Check the model of the event queue, as it is and broken.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

model=$top/tests/model/queue.pml
out=$top/build/log/model

usage()
{
	cat <<END
usage: $ME

Have spin go through every interleaving in each scenario of queue.pml, and find
nothing; then the same with the model broken in one way after the other, and
find that. What spin says is kept in build/log/model.
Last line: N passed, N failed, N skipped
END
}

# SCENARIO [DEFINITION]...: these must hold.
good=(
	SLEEP
	"SLEEP COALESCE_0=true"
	BURST
	SIGNAL
	MOVE
	"MOVE COALESCE_0=true"
	"MOVE COALESCE_1=true"
	MOVE_WAKES
	DETACH
	"DETACH COALESCE_0=true"
	MOVE_DETACH
)

# ... and in these, spin must find an error.
bad=(
	"SLEEP BROKEN_NO_LOOK"
	"SLEEP BROKEN_LOOK_EARLY"
	"SLEEP BROKEN_WATCHED_EARLY"
	"SLEEP BROKEN_CLEARED_BLINDLY"
	"SLEEP BROKEN_NO_REQUEUE"
	"BURST BROKEN_NO_PASS_ON"
	"MOVE_WAKES BROKEN_PENDING_EARLY"
	"MOVE_WAKES BROKEN_QUEUE_EARLY"
	"MOVE BROKEN_NO_SETTLE"
	"MOVE BROKEN_SETTLES_OLD"
	"DETACH BROKEN_NO_SETTLE"
	"DETACH BROKEN_NO_XCHG"
)

[ $# = 0 ] || { usage; [ "$1" = --help ] || [ "$1" = -h ]; exit; }
have spin gcc || die "something is missing: run scripts/deps.sh model"
rm -rf "$out"
mkdir -p "$out"

# verify WANT SCENARIO [DEFINITION]... - WANT is the number of errors to be found
verify()
{
	local want=$1 dir found
	shift
	dir=$out/$(tr -c '[:alnum:]_\n' . <<<"$*")

	mkdir "$dir" && cd "$dir" || exit 1
	spin -a "-DSCENARIO_$1" "${@/#/-D}" "$model" >spin.out 2>&1 &&
		gcc -w -O2 -DSAFETY -o pan pan.c >gcc.out 2>&1 &&
		./pan -m100000 >pan.out 2>&1
	# An incomplete search says that it is; then there is no such line.
	if grep -qE 'max search depth|out of memory' pan.out 2>/dev/null; then
		found="too deep"
	else
		found=$(sed -nE 's/.*depth reached.*errors: ([0-9]+).*/\1/p' \
			pan.out 2>/dev/null)
	fi
	if [ "$found" = "$want" ]; then
		sum_passed=$((sum_passed + 1))
		printf 'ok     - %s\n' "$*"
	else
		sum_failed=$((sum_failed + 1))
		printf 'not ok - %s: errors: %s\n' "$*" "${found:-no result}"
	fi
	rm -f pan pan.[bchmpt]
}

for case in "${good[@]}"; do
	read -r -a words <<<"$case"
	verify 0 "${words[@]}"
done
for case in "${bad[@]}"; do
	read -r -a words <<<"$case"
	verify 1 "${words[@]}"
done
sum
