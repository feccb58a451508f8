#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Check the models of the event queue and of its ring, as they are and broken.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

models=$top/tests/model
out=$top/build/log/model

usage()
{
	cat <<END
usage: $ME [--only REGEX]

Have spin go through every interleaving in each scenario of queue.pml and
ring.pml, and find nothing; then the same with the models broken in one way after
the other, and find that. What spin says is kept in build/log/model. The largest
scenarios need 2 GB of memory.

  --only REGEX  only lines below that match, as in --only 'ring DETACH'

Last line: N passed, N failed, N skipped
END
}

# MODEL SCENARIO [DEFINITION]...: these must hold.
good=(
	"queue SLEEP"
	"queue SLEEP COALESCE_0=true"
	"queue BURST"
	"queue SIGNAL"
	"queue MOVE"
	"queue MOVE COALESCE_0=true"
	"queue MOVE COALESCE_1=true"
	"queue MOVE_WAKES"
	"queue DETACH"
	"queue DETACH COALESCE_0=true"
	"queue MOVE_DETACH"
	"ring TAKE"
	"ring CROWD"
	"ring LAPS"
	"ring READ"
	"ring READ_TWO"
	"ring POLL"
	"ring EDGE"
	"ring ASK"
	"ring ASK_READ"
	"ring ASK_BOTH"
	"ring EXCLUSIVE"
	"ring DETACH"
	"ring DETACH_READ"
	"ring DETACH_TWICE"
	"ring MOVE"
	"ring MOVE_READ"
	"ring MOVE_IN"
	"ring KILL"
	"ring KILL_DETACH"
	"ring LATE"
	"ring QUERY"
	"ring MERGE"
)

# ... and in these, spin must find an error.
bad=(
	"queue SLEEP BROKEN_NO_LOOK"
	"queue SLEEP BROKEN_LOOK_EARLY"
	"queue SLEEP BROKEN_WATCHED_EARLY"
	"queue SLEEP BROKEN_CLEARED_BLINDLY"
	"queue SLEEP BROKEN_NO_REQUEUE"
	"queue BURST BROKEN_NO_PASS_ON"
	"queue MOVE_WAKES BROKEN_PENDING_EARLY"
	"queue MOVE_WAKES BROKEN_QUEUE_EARLY"
	"queue MOVE BROKEN_NO_SETTLE"
	"queue MOVE BROKEN_SETTLES_OLD"
	"queue DETACH BROKEN_NO_SETTLE"
	"queue DETACH BROKEN_NO_XCHG"
	"ring READ_TWO BROKEN_WATCHED_EARLY"
	"ring READ_TWO BROKEN_WATCHED_LATE"
	"ring POLL BROKEN_LOOK_EARLY"
	"ring POLL BROKEN_NO_LOOK"
	"ring POLL BROKEN_NO_HUNGRY"
	"ring POLL BROKEN_HUNGRY_EARLY"
	"ring EDGE BROKEN_QUIET_EAGAIN"
	"ring ASK BROKEN_NO_HUNGRY"
	"ring ASK BROKEN_ASKS_NOBODY"
	"ring ASK BROKEN_ASKS_LATE"
	"ring ASK_READ BROKEN_NO_FEED"
	"ring ASK_BOTH BROKEN_OVERWRITES"
	"ring ASK BROKEN_CLEARED_LATE"
	"ring ASK_READ BROKEN_CLEARED_LATE"
	"ring EXCLUSIVE BROKEN_ONE_FOR_ALL"
	"ring TAKE BROKEN_CLAIM_FIRST"
	"ring LAPS BROKEN_NO_LAP"
	"ring KILL BROKEN_NO_HELP"
	"ring KILL BROKEN_QUIET_REPAIR"
	"ring DETACH BROKEN_NO_POSTED"
	"ring DETACH BROKEN_NO_STALE"
	"ring DETACH BROKEN_DECREMENT"
	"ring DETACH_TWICE BROKEN_COOKIE_EARLY"
	"ring MOVE BROKEN_FORGETS"
	"ring MOVE_IN BROKEN_POSTS_BY_QUEUE"
	"ring LATE BROKEN_LATE_EARLY"
	"ring QUERY BROKEN_QUERY_ONCE"
	"ring QUERY BROKEN_QUERY_EARLY"
	"ring QUERY BROKEN_QUIET_QUERY"
	"ring MERGE BROKEN_STALE_MERGES"
)

only=
case ${1:-} in
'') ;;
-h | --help)
	usage
	exit
	;;
--only)
	[ $# = 2 ] || { usage >&2; exit 2; }
	only=$2
	;;
*)
	usage >&2
	exit 2
	;;
esac
have spin gcc || die "something is missing: run scripts/deps.sh model"
rm -rf "$out"
mkdir -p "$out"

# verify WANT MODEL SCENARIO [DEFINITION]... - WANT is the number of errors to be
# found
verify()
{
	local want=$1 dir found
	shift
	[[ "$*" =~ $only ]] || return 0
	local definitions=("SCENARIO_$2" "${@:3}")
	dir=$out/$(tr -c '[:alnum:]_\n' . <<<"$*")

	mkdir "$dir" && cd "$dir" || exit 1
	spin -a "${definitions[@]/#/-D}" "$models/$1.pml" >spin.out 2>&1 &&
		gcc -w -O2 -DSAFETY -DCOLLAPSE -o pan pan.c >gcc.out 2>&1 &&
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
[ "$((sum_passed + sum_failed))" != 0 ] || die "nothing matches: $only"
sum
