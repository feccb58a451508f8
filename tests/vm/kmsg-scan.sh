#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kmsg-scan.sh [--allow FILE]... < KERNEL-LOG
#
# Print the complaints in a kernel log, and fail if there is one. A complaint
# is a line that matches one of the patterns below, with the rest of its report
# (its stack). It does not count if any of its lines matches an extended regular
# expression in FILE; in there, empty lines and those that start with # are
# ignored.

set -u
allow=
while [ $# -gt 0 ]; do
	case $1 in
	--allow) allow="$allow $2"; shift 2 ;;
	*) echo "usage: ${0##*/} [--allow FILE]..." >&2; exit 2 ;;
	esac
done

# shellcheck disable=SC2086 # file names, one word each
patterns=$([ -z "$allow" ] || grep -hv -e '^#' -e '^ *$' $allow)

tr -d '\000\r' | allow=$patterns awk '
BEGIN {
	n = split(ENVIRON["allow"], allowed, "\n")
	bad = "WARNING: |BUG: |kernel BUG at|Oops|Kernel panic|Call Trace:" \
	      "|INFO: (possible|task|rcu|suspicious|trying to register)" \
	      "|rcu: INFO: |self-detected stall|detected stalls|suspicious RCU" \
	      "|possible (recursive|circular|irq) |inconsistent lock state" \
	      "|(bad|invalid) unlock balance|held lock freed|still held!" \
	      "|lock held when returning|DEBUG_LOCKS_WARN|Invalid wait context" \
	      "|KASAN: |KCSAN: |KFENCE: |UBSAN: |KMSAN: |ODEBUG: " \
	      "|kmemleak: [0-9]+ new|use-after-free|double free" \
	      "|general protection fault|[Uu]nable to handle|refcount_t: " \
	      "|soft lockup|hard LOCKUP|blocked for more than" \
	      "|list_(add|del).* corruption|slab-out-of-bounds" \
	      "|sleeping function called from invalid|scheduling while atomic" \
	      "|Bad page |page allocation failure|nobody cared|cut here" \
	      "|has overflowed|stack guard page|corrupted stack end"
}

# The last line of the report that starts at line i. What starts at a
# "cut here" goes on to the end of the trace, anything else to the end of its
# stack; without a stack of its own, it is that one line.
function last(i,	j, stack)
{
	for (j = i + 1; j <= NR && j < i + 300; j++) {
		if (text[j] ~ /compch-vm: (start|end|done)/)
			break
		if (text[j] ~ /-\[ end trace/)
			return j
		if (text[i] ~ /cut here/)
			continue
		if (text[j] ~ /Call Trace:/)
			stack = 1
		if (stack && text[j] ~ /<\/TASK>/)
			return j
		if (!stack && text[j] ~ /cut here|=======/)
			return i
	}
	return stack || text[i] ~ /cut here/ ? j - 1 : i
}

function is_allowed(from, to,	i, j)
{
	for (i = from; i <= to; i++)
		for (j = 1; j <= n; j++)
			if (text[i] ~ allowed[j])
				return 1
	return 0
}

{
	text[NR] = $0
}

END {
	for (i = 1; i <= NR; i++) {
		if (text[i] !~ bad)
			continue
		to = last(i)
		if (!is_allowed(i, to)) {
			found = 1
			for (j = i; j <= to; j++)
				print text[j]
		}
		i = to
	}
	exit found
}'
