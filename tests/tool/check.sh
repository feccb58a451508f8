#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# check.sh BUILD - what the command-line tool does without a device: exit
# statuses, one line on standard error, and the environment of what it runs.

set -u
build=${1:?}
compch=$build/compch
library=$build/libcompch.so.0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
unset LD_PRELOAD COMPCH COMPCH_AUTO_ACK

# expect TITLE STATUS STDOUT STDERR COMMAND... - the outputs are patterns for the
# whole of them.
expect()
{
	local title=$1 status=$2 out=$3 err=$4 got=0
	shift 4

	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
	# shellcheck disable=SC2053 # patterns
	if [ "$got" = "$status" ] && [[ $(<"$tmp/out") == $out ]] &&
	   [[ $(<"$tmp/err") == $err ]] && [ "$(wc -l <"$tmp/err")" -le "${lines:-1}" ]
	then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $title"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $title"
		echo "# exit status $got"
		sed 's/^/# /' "$tmp/out" "$tmp/err"
	fi
}

# shellcheck disable=SC2016 # expanded in there
show='echo "$LD_PRELOAD|$COMPCH|$COMPCH_AUTO_ACK|$*"'

lines=99 expect "usage without a command" 2 "" "usage: compch *" "$compch"
expect "help" 0 "usage: compch *" "" "$compch" --help
expect "version" 0 "compch $(<VERSION)" "" "$compch" --version
expect "unknown command" 2 "" "compch: there is no command 'frob'*" \
	"$compch" frob
expect "output that cannot be written" 125 "" "compch: standard output: *" \
	sh -c "'$compch' --help >/dev/full"

expect "run preloads the library" 0 "$library||[|]" "" \
	"$compch" run sh -c "$show"
expect "run keeps what is preloaded" 0 "$library:libc.so.6||[|]" "" \
	env LD_PRELOAD=libc.so.6 "$compch" run sh -c "$show"
expect "run --require" 0 "$library|require|[|]" "" \
	"$compch" run --require sh -c "$show"
expect "run -r --auto-ack" 0 "$library|require|1[|]" "" \
	"$compch" run -r --auto-ack -- sh -c "$show"
expect "the program's options are its own" 0 "$library||[|]--require -x" "" \
	"$compch" run sh -c "$show" sh --require -x
expect "the program's exit status" 42 "" "" "$compch" run sh -c 'exit 42'
expect "run --help" 0 "usage: compch run *" "" "$compch" run --help
lines=99 expect "run without a program" 125 "" "usage: compch run *" \
	"$compch" run --
expect "unknown option" 125 "" "compch: run: there is no option '--frob'*" \
	"$compch" run --frob sh
expect "not found" 127 "" "compch: cannot run 'nonesuch': *" \
	"$compch" run nonesuch
expect "not found, by its path" 127 "" "compch: cannot run './nonesuch': *" \
	"$compch" run ./nonesuch
echo 'exit 0' >"$tmp/plain"
expect "not executable" 126 "" "compch: cannot run '$tmp/plain': *" \
	"$compch" run "$tmp/plain"
expect "a directory" 126 "" "compch: cannot run '$tmp': *" \
	"$compch" run "$tmp"
printf '#!/bin/sh\nexit 7\n' >"$tmp/script"
chmod +x "$tmp/script"
expect "a script" 7 "" "" env PATH="$tmp:$PATH" "$compch" run script

echo 'int main(void) { return 0; }' >"$tmp/prog.c"
cc -static -o "$tmp/static" "$tmp/prog.c"
expect "statically linked" 125 "" "*'$tmp/static'*: it is statically linked" \
	"$compch" run "$tmp/static"
cc -o "$tmp/setuid" "$tmp/prog.c"
if chown 1 "$tmp/setuid" 2>/dev/null && chmod 4755 "$tmp/setuid"; then
	expect "with privileges of its own" 125 "" \
		"*'$tmp/setuid'*: it runs with privileges of its own" \
		"$compch" run "$tmp/setuid"
fi

mkdir "$tmp/a:b"
cp "$compch" "$library" "$tmp/a:b/"
expect "a path that cannot be preloaded" 125 "" \
	"compch: the dynamic linker cannot preload *" "$tmp/a:b/compch" run true

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
