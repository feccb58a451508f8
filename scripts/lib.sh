# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Shared by the scripts of this tree; to be sourced, not run.
#
# The cache holds everything that is fetched or built from what was fetched.
# An entry is a directory whose name says what it was made from. It is made in
# a temporary directory and renamed, so an entry that exists is complete; a
# lock beside it lets only one process make it.

CACHE=${COMPCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/compch}
# Messages carry the name of the script that the person started.
ME=${0##*/}

export LC_ALL=C

say()
{
	printf '%s: %s\n' "$ME" "$*" >&2
}

die()
{
	say "$@"
	exit 1
}

# have COMMAND... - are all of these in the path?
have()
{
	local c

	for c; do
		command -v "$c" >/dev/null 2>&1 || return 1
	done
}

# cache_entry NAME [ARG...]
#
# Print the path of cache entry NAME; when there is none, have this script make
# it: it is run as "SCRIPT make DIR [ARG...]", on an empty directory and under
# "set -e" (which a function would not be, when called in a condition). A
# failure leaves no entry behind.
cache_entry()
{
	local name=$1 path=$CACHE/$1 tmp lock
	shift

	if [ -d "$path" ]; then
		printf '%s\n' "$path"
		return 0
	fi
	mkdir -p "$CACHE/lock" "${path%/*}"
	exec {lock}>"$CACHE/lock/${name//\//_}"
	if ! flock -n "$lock"; then
		say "waiting for another process that makes $name"
		flock "$lock"
	fi
	if [ ! -d "$path" ]; then
		tmp=$(mktemp -d "$CACHE/tmp.XXXXXXXX")
		chmod 755 "$tmp"
		if ! bash -e "$0" make "$tmp" "$@" {lock}>&- >&2; then
			rm -rf --one-file-system "$tmp"
			exec {lock}>&-
			return 1
		fi
		mv -T "$tmp" "$path"
	fi
	exec {lock}>&-
	printf '%s\n' "$path"
}

# Left by a process that was killed; nothing can be using what is a day old.
cache_sweep()
{
	[ -d "$CACHE" ] || return 0
	find "$CACHE" -maxdepth 1 -name 'tmp.*' -mmin +1440 \
		-exec rm -rf --one-file-system {} +
}

# --- this system's apt ----------------------------------------------------

# mirror LABEL - where this system's apt gets its Debian or Debian-Security.
mirror()
{
	# shellcheck disable=SC2016 # apt's variables
	apt-get indextargets --format \
		'$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^Debian|$1|//p" | sort -u | grep -m 1 -E '^https?:'
}

# --- sums of test results -------------------------------------------------

sum_passed=0
sum_failed=0
sum_skipped=0
sum_failures=

# failures - from the output of a part: each test that failed, with what was
# said about it, but for those of its own tests that passed; each one once, though
# a part that is made of parts has said it twice.
failures()
{
	tr -d '\000\r' | awk '
		/^# === / { again = $0 == "# === what failed"; next }
		/^[0-9]+ passed, / { again = 0 }
		again { next }
		/^not ok / { left = 20; print; next }
		!/^# / { left = 0 }
		/^# +(ok|skip) / || /^# logs are in / { next }
		/^# \.\.\. [0-9]+ s$/ { next }
		/^# .*: exit status [0-9]+$/ { print; next }
		left && left-- { print }'
}

# step TITLE COMMAND [ARG...]
#
# Run a part of the tests, which prints "N passed, N failed, N skipped" as its
# last line, and add these. One that fails without having counted a failure, or
# that counts nothing, is a failure itself.
step()
{
	local title=$1 out status p f s
	shift

	printf '# === %s\n' "$title"
	out=$(mktemp) || exit 1
	"$@" 2>&1 </dev/null | tee "$out"
	status=${PIPESTATUS[0]}
	read -r p f s < <(tr -d '\000' <"$out" | sed -nE \
		's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' |
		tail -n 1)
	sum_failures+=$(failures <"$out" && echo .)
	sum_failures=${sum_failures%.}
	rm -f "$out"
	if [ -z "${s:-}" ] || [ "$((p + f + s))" = 0 ] ||
	   { [ "$status" != 0 ] && [ "$f" = 0 ]; }; then
		printf '# %s: exit status %s\n' "$title" "$status"
		sum_failures+="# $title: exit status $status"$'\n'
		sum_failed=$((sum_failed + 1))
	fi
	sum_passed=$((sum_passed + ${p:-0}))
	sum_failed=$((sum_failed + ${f:-0}))
	sum_skipped=$((sum_skipped + ${s:-0}))
}

# prepare TITLE COMMAND [ARG...] - a part that counts, and shows its output,
# only when it fails.
prepare()
{
	local title=$1 out status=0
	shift

	printf '# === %s\n' "$title"
	out=$(mktemp) || exit 1
	"$@" >"$out" 2>&1 </dev/null || status=$?
	if [ "$status" != 0 ]; then
		cat "$out"
		printf '# %s: exit status %s\n' "$title" "$status"
		sum_failures+="# $title: exit status $status"$'\n'
		sum_failed=$((sum_failed + 1))
	fi
	rm -f "$out"
	return "$status"
}

# The last line, and the exit status. What failed is said again before it: in
# the output of an hour it is far from the end.
sum()
{
	if [ "$sum_failed" != 0 ] && [ -n "$sum_failures" ]; then
		printf '# === what failed\n'
		printf '%s' "$sum_failures"
	fi
	printf '%d passed, %d failed, %d skipped\n' \
		"$sum_passed" "$sum_failed" "$sum_skipped"
	[ "$sum_failed" = 0 ]
}
