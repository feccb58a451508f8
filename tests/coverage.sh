#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# How much of the module do its tests reach? See usage() below.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

# Goals, in percent of the lines
all_goal=90
queue_goal=100

source=drivers/infiniband/compch
build=build/uml-gcov
html=build/coverage
unreached=tests/coverage.labels

usage()
{
	cat <<END
usage: $ME [--kernel DIR] [--only REGEX] [--report]

Build the module and the KUnit suites for User Mode Linux with gcov, run the
suites and the tests of tests/uml.sh, and report what they reached of
$source: lines and branches of each file, and labels that no goto
reached. What the suites include of the module's sources counts as those.

  --kernel DIR   kernel to boot (default: from scripts/uml-kernel.sh)
  --only REGEX   of the tests of tests/uml.sh, only those whose name matches
  --report       of the last run, again

The checks: every test passes, $all_goal % of all lines and $queue_goal % of queue.c are
reached, and $unreached lists just those labels that are not.
$html/index.html shows everything line by line.
Last line: N passed, N failed, N skipped
END
}

kernel=
only=.
report=
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2:?}; shift ;;
	--only) only=${2?}; shift ;;
	--report) report=1 ;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

# --- the run --------------------------------------------------------------

list()
{
	local file module

	echo "ib_uverbs: modprobe ib_uverbs"
	for file in kunit/compch_*_kunit.c; do
		module=$(basename "$file" .c)
		echo "${module%_kunit}: insmod $build/kunit/$module.ko &&" \
			"rmmod $module"
	done
	tests/uml.sh --list --only "$only"
	# The kernel keeps the counts of modules that are unloaded.
	echo "counts: cd /sys/kernel/debug/gcov$PWD/$build &&" \
		"find . -name '*.gcda' -exec cp --parents {} /run/log \;"
}

# The module's counts, beside the notes that the compiler has left.
collect()
{
	local log=build/log/coverage

	find "$build" -name '*.gcda' -delete
	cp -R "$log/drivers" "$log/kunit" "$build/"
}

run()
{
	local codename

	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	[ -n "$kernel" ] || kernel=$(scripts/uml-kernel.sh) || return
	# The undefined-behaviour sanitizer makes branches of its own.
	prepare "building for User Mode Linux" \
		scripts/build-module.sh "$kernel/build" $build ARCH=um \
			GCOV_PROFILE=y UBSAN_SANITIZE=n &&
		prepare "building the tests" make --no-print-directory tests ||
		return
	list >build/list.coverage
	step "tests in User Mode Linux" tests/vm/uml.sh --name coverage \
		--kernel "$kernel" --append kunit.enable=1 \
		--list build/list.coverage \
		--env "COMPCH_KO=/run/compch/$build/ib_compch.ko" \
		--env "COMPCH_TESTDEV_KO=/run/compch/$build/compch_testdev.ko" \
		--env "COMPCH_BUILD=/run/compch/build/user-$codename"
	prepare "collecting the counts" collect
}

# --- the report -----------------------------------------------------------

lcov_()
{
	command lcov --quiet --rc lcov_branch_coverage=1 "$@"
}

# Branches of an assertion are not there to be taken.  The code of taking a lock
# stands in a header, and on one processor nothing is left of it but that; nor is
# anything left of the end of a function that has become part of another one.
capture()
{
	mkdir -p $html &&
		lcov_ --capture --directory $build --output-file $html/raw.info \
			--rc lcov_excl_line='^[[:space:]]*spin_(un)?lock(_irq)?\(|^}' \
			--rc lcov_excl_br_line='lockdep_assert|WARN_ON|LOCKDEP_WARN' &&
		lcov_ --extract $html/raw.info "*/$source/*.c" "*/$source/*.h" \
			--output-file $html/all.info &&
		lcov_ --remove $html/all.info '*/compat/*' \
			--output-file $html/compch.info
}

pages()
{
	genhtml --quiet --branch-coverage --title "compch" \
		--prefix "$PWD/$build" --output-directory $html $html/compch.info
}

# A line for each file: name, lines, lines reached, branches, branches taken
counts()
{
	awk -F: '
		/^SF:/ { n = split($2, path, "/"); file = path[n] }
		/^LF:/ { lf[file] = $2 } /^LH:/ { lh[file] = $2 }
		/^BRF:/ { bf[file] = $2 } /^BRH:/ { bh[file] = $2 }
		END { for (file in lf)
			print file, lf[file], lh[file], bf[file] + 0, bh[file] + 0
		}' $html/compch.info | sort
}

table()
{
	counts | awk '
		function share(a, b)
		{
			return b ? sprintf("%5.1f %%", 100 * a / b) : "-"
		}
		function row(name, lf, lh, bf, bh)
		{
			printf "%-12s %5d %5d %8s %8d %5d %8s\n", name, lf, lh,
				share(lh, lf), bf, bh, share(bh, bf)
		}
		BEGIN {
			printf "%-12s %5s %5s %8s %8s %5s\n", "", "lines",
				"hit", "", "branches", "taken"
		}
		{
			row($1, $2, $3, $4, $5)
			for (i = 2; i <= 5; i++)
				sum[i] += $i
		}
		END { row("all", sum[2], sum[3], sum[4], sum[5]) }'
}

# reaches GOAL [FILE] - prints what it found.
reaches()
{
	counts | awk -v "goal=$1" -v "file=${2:-}" '
		file == "" || $1 == file { lf += $2; lh += $3 }
		END {
			printf "%d of %d lines\n", lh, lf
			exit !(lf && 100 * lh >= goal * lf)
		}'
}

# "FILE LABEL" of every label that none of its gotos reached. Where gcov knows
# nothing of their lines, those after the label tell.
labels()
{
	local file

	for file in "$build/$source"/*.c; do
		awk -v "file=${file##*/}" '
			FNR == NR {
				if (/^SF:/)
					here = $0 ~ "/" file "$"
				if (here && sub(/^DA:/, "")) {
					split($0, da, ",")
					count[da[1]] = da[2]
				}
				next
			}
			/^[a-z_0-9]+:$/ { label = $1; sub(":", "", label); next }
			/^\t+goto [a-z_0-9]+;$/ {
				to = $2
				sub(";", "", to)
				gotos[to] = 1
				if (FNR in count)
					known[to] = 1
				taken[to] += count[FNR]
			}
			label != "" && FNR in count {
				reached[label] += count[FNR]
				label = ""
			}
			END {
				for (label in gotos) {
					n = reached[label]
					if (label in known)
						n = taken[label]
					if (!n)
						print file, label
				}
			}' $html/compch.info "$file"
	done | sort
}

labels_as_listed()
{
	diff <(sed -e '/^#/d' -e '/^$/d' $unreached | sort) <(labels)
}

check()
{
	local title=$1 out
	shift

	if out=$("$@" 2>&1); then
		sum_passed=$((sum_passed + 1))
		echo "ok - $title${out:+ # $out}"
	else
		sum_failed=$((sum_failed + 1))
		echo "not ok - $title"
		printf '%s\n' "$out" | sed 's/^/# /'
	fi
}

cd "$top" || exit 1
have gcov lcov genhtml || die "something is missing: run scripts/deps.sh coverage"
mkdir -p build
if [ -z "$report" ] && ! run; then
	sum
	exit
fi
if ! prepare "reading the counts" capture ||
   ! prepare "writing the pages" pages; then
	sum
	exit
fi
table
check "$all_goal % of the lines" reaches $all_goal
check "$queue_goal % of the queue" reaches $queue_goal queue.c
check "labels that nothing reaches are those in $unreached" labels_as_listed
echo "# $html/index.html"
sum
