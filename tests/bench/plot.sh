#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# plot.sh CSV SVG
#
# Draw what tests/bench/run.sh has measured by counting instructions.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

csv=${1:?}
svg=${2:?}
have gnuplot || die "gnuplot is missing: run scripts/deps.sh bench"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# rows ROW UNIT [REGEX] - "LABEL STOCK OURS" of those whose parameter matches
rows()
{
	awk -F, -v "row=$1" -v "unit=$2" -v "regex=${3:-.}" '
		$1 == row && $5 == unit && $2 ~ regex {
			label = $2
			sub(/ blocked readers?$/, "", label)
			sub(/ events?$/, "", label)
			sub(/ events? of .*/, "", label)
			sub(/ CQs?$/, "", label)
			if (label == "1000000")
				label = "10^6"
			printf "\"%s\" %s %s\n", label, $3, $4
		}' "$csv"
}

rows enqueue instructions '^[0-9]+ CQ' >"$work/enqueue"
rows read instructions '(1 event|8 events of 8|64 events of 64)' >"$work/read"
rows "wake-ups take" instructions 'blocked' >"$work/wake"
rows "burst memory" kB '10000' >"$work/burst"
for part in enqueue read wake burst; do
	[ -s "$work/$part" ] || die "$csv has no rows for '$part'"
done

gnuplot >"$work/svg" <<END || exit 1
set terminal svg size 900,600 font "sans-serif,12" background "white"
set multiplot layout 2,2
set style data histograms
set style histogram clustered gap 1
set style fill solid noborder
set boxwidth 0.9
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror out
set xtics scale 0
set yrange [0:*]
set key top left
set linetype 1 lc rgb "#999999"
set linetype 2 lc rgb "#1f77b4"

set title "Instructions to queue an event, by CQs on the channel"
plot "$work/enqueue" using 2:xtic(1) title "stock", "" using 3 title "ours"
set key top right
set title "Instructions to read an event, by events a call"
plot "$work/read" using 2:xtic(1) title "stock", "" using 3 title "ours"
set key top left
set title "Instructions from an event to rest, by blocked readers"
plot "$work/wake" using 2:xtic(1) title "stock", "" using 3 title "ours"
set title "Memory of unread events, MB"
plot "$work/burst" using (\$2/1024):xtic(1) title "stock", \
	"" using (\$3/1024) title "ours"
END

# The licence belongs to the first lines; what is empty can go.
awk '
	NR == 2 {
		print "<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause -->"
	}
	/^[ \t]*$/ { next }
	held != "" && $0 == "</g>" { held = ""; next }
	held != "" { print held; held = "" }
	/^<g [^>]*>$/ { held = $0; next }
	{ sub(/[ \t]+$/, ""); print }' "$work/svg" >"$svg"
