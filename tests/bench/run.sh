#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Measure; see usage() and Documentation/performance.rst.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [--only REGEX] [--clock icount|wall] [--kernel TARGET] [--csv FILE]

Measure stock channels and ours, in virtual machines: first on one processor
whose clock counts instructions, all of it twice in the same boot, then by the
wall clock on two. Prints a table; the file (default: build/bench.csv) has the
same figures. tests/bench/goals says what we aim at, and tests/bench/limits what
makes this fail.

  --only REGEX     measurements whose name in tests/bench/LIST matches
  --clock CLOCK    only this one
  --kernel TARGET  see scripts/kernel.sh (default: host)
  --csv FILE       write the figures there

Last line: N passed, N failed, N skipped
END
}

only=.
clocks=(icount wall)
target=host
csv=build/bench.csv
while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	esac
	[ $# -gt 1 ] || { usage >&2; exit 2; }
	case $1 in
	--only) only=$2 ;;
	--clock) clocks=("$2") ;;
	--kernel) target=$2 ;;
	--csv) csv=$2 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift 2
done

cd "$top" || exit 1
mkdir -p build
rows=build/bench.rows

# list CLOCK PASSES - for tests/vm/run.sh
list()
{
	awk -v "only=$only" -v "clock=$1" -v "passes=$2" '
		/^(#|$)/ || $1 !~ only || ("," $2 ",") !~ "," clock "," { next }
		{ program[++n] = $1; modes[n] = $3 }
		END {
			# By its own clock, a machine that counts instructions
			# may wait for very long.
			limit = clock == "icount" ? 1000000 : 600
			for (pass = 1; pass <= passes; pass++)
				for (i = 1; i <= n; i++) {
					m = split(modes[i], mode, ",")
					for (j = 1; j <= m; j++)
						printf "%s %d %s %s timeout=%d: tests/bench/guest.sh %s %s\n",
							clock, pass, program[i], mode[j],
							limit, program[i], mode[j]
				}
			if (n)
				printf "%s end timeout=%d: tests/bench/guest.sh end\n",
					clock, limit
		}' tests/bench/LIST
}

# collect CLOCK - "CLOCK,PASS,PROGRAM,MODE,ROW,PARAMETER,VALUE,UNIT", in order
collect()
{
	local id clock pass program mode

	while read -r id clock pass program mode; do
		[ "$pass" = end ] ||
			sed -n "s/^BENCH,/$clock,$pass,$program,$mode,/p" \
				"build/log/bench-$1/$id.out"
	done <"build/log/bench-$1/names"
}

# on CLOCK RUN-ARGUMENT... - boot and measure.
on()
{
	local clock=$1 passes=1 dir
	shift

	[ "$clock" = wall ] || passes=2
	list "$clock" "$passes" >"build/list.bench-$clock"
	[ -s "build/list.bench-$clock" ] || return 0
	dir=/run/compch/build/$release
	step "by the $clock clock, on $release" \
		timeout -k 10 2400 tests/vm/run.sh \
		--name "bench-$clock" --list "build/list.bench-$clock" \
		--kernel "$kernel" --env "BENCH_CLOCK=$clock" \
		--env "COMPCH_KO=$dir/ib_compch.ko" \
		--env "COMPCH_TESTDEV_KO=$dir/compch_testdev.ko" \
		--env "COMPCH_BUILD=/run/compch/build/user-$codename" "$@"
	collect "$clock" >>"$rows"
}

prepare "the kernel of $target" scripts/kernel.sh "$target" || { sum; exit; }
kernel=$(scripts/kernel.sh "$target")
release=$(scripts/kernel.sh --version "$target")
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-$ID}")
prepare "building for $release" make --no-print-directory all tests \
	"KDIR=/lib/modules/$release/build" || { sum; exit; }

: >"$rows"
for clock in "${clocks[@]}"; do
	case $clock in
	icount) on icount --icount ;;
	wall) on wall --smp 2 ;;
	*) die "there is no clock '$clock'" ;;
	esac
done

step "the figures" tests/bench/report.sh "$rows" "$csv" "$release"
echo "the figures are in $csv"
# Of all of them, or not at all.
if [ "$only ${clocks[0]}" = ". icount" ]; then
	prepare "plots" tests/bench/plot.sh "$csv" "${csv%.csv}.svg"
fi
sum
