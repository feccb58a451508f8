#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# report.sh ROWS CSV RELEASE
#
# ROWS, from run.sh, has a line "CLOCK,PASS,PROGRAM,MODE,ROW,PARAMETER,VALUE,UNIT"
# for each figure. Writes CSV, and prints it as a table, with the goals; then how
# well figures repeat, and what is beyond its limit. Limits and goals are those
# of one kernel, and are left out on others.
#
# Last line: N passed, N failed, N skipped. A row is a failure if a channel's
# figure is missing, and so is a limit that is not kept.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
rows=${1:?}
csv=${2:?}
case ${3:-} in
6.1.*) goals=$here/goals limits=$here/limits ;;
*) goals=/dev/null limits=/dev/null ;;
esac

exec awk -F, -v "csv=$csv" -v "goals=$goals" -v "limits=$limits" '
function load(file, what,	line, f)
{
	while ((getline line <file) > 0) {
		if (line ~ /^(#|$)/)
			continue
		split(line, f, ",")
		key = f[1] "," f[2] "," f[3]
		figure[what, key] = f[4]
		most[what, key] = f[5] == "most"
		bound[what, key] = f[6]
		if (what == "limit")
			limit_keys[++n_limits] = key
	}
	close(file)
}

# The figure that a goal or limit is about, or nothing.
function value_of(what, key,	stock, ours)
{
	stock = last[key, "stock"]
	ours = last[key, "compch"]
	if (figure[what, key] == "ours")
		return ours
	return ours == "" || stock == "" || stock == 0 ? "" : ours / stock
}

function is_kept(what, key,	value)
{
	value = value_of(what, key)
	if (value == "")
		return 0
	if (most[what, key])
		return value <= bound[what, key]
	return value >= bound[what, key]
}

function text_of(what, key)
{
	return (most[what, key] ? "<= " : ">= ") bound[what, key] \
	       (figure[what, key] == "ratio" ? "x" : "")
}

function number(value)
{
	if (value == "")
		return "-"
	if (value == int(value) || value >= 10000)
		return sprintf("%.0f", value)
	return sprintf(value < 10 ? "%.2f" : "%.1f", value)
}

BEGIN {
	load(goals, "goal")
	load(limits, "limit")
}

{
	# As a file of its own kind, for one clock may follow the other.
	key = $5 "," $6 "," $8
	if (!(key in seen)) {
		seen[key] = 1
		program[key] = $1 " " $3
		# Rows of one name stand together.
		if (!(($1, $5) in group))
			group[$1, $5] = ++n_groups
		g = group[$1, $5]
		member[g, ++members[g]] = key
	}
	has[$1 " " $3, $4] = 1
	if ($2 == 1)
		first[key, $4] = $7
	else if ($2 == 2)
		again[key, $4] = 1
	last[key, $4] = $7
}

END {
	for (g = 1; g <= n_groups; g++)
		for (i = 1; i <= members[g]; i++)
			keys[++n] = member[g, i]
	if (!n) {
		print "there are no figures"
		exit 1
	}
	print "row,parameter,stock,ours,unit" >csv
	printf "%-20s %-38s %10s %10s %7s %-13s %-8s %s\n", "row",
		"parameter", "stock", "ours", "ratio", "unit", "goal", "reach"
	for (i = 1; i <= n; i++) {
		key = keys[i]
		split(key, part, ",")
		stock = last[key, "stock"]
		ours = last[key, "compch"]
		printf "%s,%s,%s,%s,%s\n", part[1], part[2], stock, ours,
			part[3] >csv
		ratio = "-"
		if (stock != "" && ours != "" && stock != 0)
			ratio = sprintf("%.2f", ours / stock)
		goal = reach = ""
		if (("goal", key) in bound) {
			goal = text_of("goal", key)
			if (is_kept("goal", key))
				reach = "yes"
			else
				reach = "no"
		}
		line = sprintf("%-20s %-38s %10s %10s %7s %-13s %-8s %s",
			       part[1], part[2], number(stock), number(ours),
			       ratio, part[3], goal, reach)
		sub(/ +$/, "", line)
		print line

		missing = ""
		for (m = 1; m <= 2; m++) {
			mode = m == 1 ? "stock" : "compch"
			if (last[key, mode] == "" && has[program[key], mode])
				missing = mode
		}
		if (missing != "") {
			problems = problems "no figure of " missing ": " key "\n"
			failed++
		} else {
			passed++
		}
	}
	close(csv)

	# --- do they repeat? ---
	for (i = 1; i <= n; i++)
		for (m = 1; m <= 2; m++) {
			key = keys[i]
			mode = m == 1 ? "stock" : "compch"
			if (key !~ /,instructions$/ || !again[key, mode] ||
			    first[key, mode] == "")
				continue
			pairs[mode]++
			a = first[key, mode]
			b = last[key, mode]
			off = a == b ? 0 : a > b ? a / b - 1 : b / a - 1
			if (a == b)
				same[mode]++
			if (off <= 0.01)
				close_to[mode]++
			if (off > furthest[mode]) {
				furthest[mode] = off
				what[mode] = key ": " a ", then " b
			}
		}
	for (m = 1; m <= 2; m++) {
		mode = m == 1 ? "stock" : "compch"
		if (!pairs[mode])
			continue
		printf "\nmeasured twice, %s: of %d rows %d are the same, %d within 1%%",
			mode == "stock" ? "stock" : "ours", pairs[mode],
			same[mode], close_to[mode]
		if (furthest[mode] > 0)
			printf "; the furthest is %s", what[mode]
	}
	printf "\n\n"

	# --- limits ---
	for (i = 1; i <= n_limits; i++) {
		key = limit_keys[i]
		# It may not have been asked for.
		if (!(key in seen))
			continue
		if (is_kept("limit", key)) {
			passed++
			continue
		}
		failed++
		problems = problems sprintf("beyond its limit: %s: %s, %s is %s\n",
			key, text_of("limit", key), figure["limit", key],
			number(value_of("limit", key)))
	}
	printf "%s", problems
	printf "%d passed, %d failed, 0 skipped\n", passed, failed
	exit failed > 0
}' "$rows"
