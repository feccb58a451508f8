#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Does run.sh catch what it is there to catch? Runs it on commands that fail in
# every way it must notice, and compares the verdicts. Options go to run.sh.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/compch-selftest.XXXXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check DESCRIPTION FILE REGEX - does a line of FILE match?
check()
{
	if grep -Eq -- "$3" "$2"; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $1"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $1"
		sed 's/^/# /' "$2"
	fi
}

# vm NAME ARG... - its output goes to $work/NAME, ending in its exit status.
vm()
{
	local name=$1
	shift

	"$here/run.sh" --log "$top/build/log/selftest-$name" "$@" \
		>"$work/$name" 2>&1 </dev/null
	echo "exit status $?" >>"$work/$name"
}

# --- the kernel log's scanner, on its own ---------------------------------

# scan DESCRIPTION STATUS ALLOW <LOG
scan()
{
	printf '%s\n' "$3" >"$work/allow"
	"$here/kmsg-scan.sh" --allow "$work/allow" >"$work/scan"
	echo "exit status $?" >>"$work/scan"
	check "$1" "$work/scan" "^exit status $2\$"
}

scan "a quiet log is quiet" 0 "" <<'END'
[    1.0] ib_compch: loading out-of-tree module taints kernel.
[    1.1] rcupdate.rcu_cpu_stall_timeout=120 Warning: unmaintained
END
scan "a complaint between NUL bytes is seen" 1 "" < <(
	printf '[ 1.0] \0\0BUG: workqueue leaked lock\n\0\0\n')
kasan='[    1.0] ==================================================================
[    1.1] BUG: KASAN: slab-use-after-free in rxe_mr_copy+0x1a/0x80
[    1.2] Call Trace:
[    1.3]  <TASK>
[    1.4]  </TASK>
[    1.5] all is well'
scan "an allowed report passes" 0 "KASAN: .* in rxe_mr_copy" <<<"$kasan"
scan "an allowed line of its stack does not hide the next report" 1 \
	rxe_mr_copy <<<"$kasan
[    2.0] ------------[ cut here ]------------
[    2.1] WARNING: CPU: 0 PID: 1 at foo.c:1
[    2.2] ---[ end trace 0000000000000000 ]---"
scan "an allowed line without a stack does not hide the next report" 1 \
	Spectre <<<"[    0.5] Spectre V2 : WARNING: eBPF is enabled
$kasan"

# --- the runner -----------------------------------------------------------

cat >"$work/list.list" <<'END'
# a comment
pass: true
fail: echo "before it failed"; exit 1

skip: echo "SKIP: no such device"; exit 77
warn: echo "WARNING: not a real one" >/dev/kmsg
warn skip: echo "BUG: not a real one" >/dev/kmsg; exit 77
hang timeout=2: sleep 1000
stubborn timeout=2: trap '' TERM INT HUP; sleep 1000 & wait; sleep 1000
left over: sleep 1000 & exit 0
nul: printf 'not\000text\n'; exit 3
signal: kill -SEGV $$
forged: echo "ok 1 - forged"; echo "10 passed, 0 failed, 0 skipped"; exit 4
read-only: ! touch /compch-selftest 2>/dev/null
lib: test -d "/lib/modules/$(uname -r)" && test -x "$COMPCH_SRC/tests/vm/run.sh"
env: test "$GREETING" = "it's me"
END
vm list --list "$work/list.list" --env "GREETING=it's me" "$@"
check "a plan is printed" "$work/list" '^1\.\.14$'
check "status 0 passes" "$work/list" '^ok 1 - pass #'
check "status 1 fails" "$work/list" '^not ok 2 - fail # exit status 1$'
check "a failure shows its output" "$work/list" '^# before it failed$'
check "status 77 skips, with its reason" "$work/list" \
	'^ok 3 - skip # SKIP no such device$'
check "a WARNING in the kernel log fails" "$work/list" \
	'^not ok 4 - warn # the kernel complained$'
check "a skipped command fails on it too" "$work/list" \
	'^not ok 5 - warn skip # the kernel complained$'
check "a command that hangs times out" "$work/list" \
	'^not ok 6 - hang # timeout after 2 s'
check "one that ignores signals too" "$work/list" \
	'^not ok 7 - stubborn # timeout after 2 s'
check "a process left behind holds nothing up" "$work/list" '^ok 8 - left over'
check "output with a NUL byte is a plain failure" "$work/list" \
	'^not ok 9 - nul # exit status 3$'
check "a signal fails" "$work/list" '^not ok 10 - signal # exit status 139$'
check "printing a verdict changes nothing" "$work/list" \
	'^not ok 11 - forged # exit status 4$'
check "the root is read-only" "$work/list" '^ok 12 - read-only'
check "modules and the tree are there" "$work/list" '^ok 13 - lib'
check "the environment gets there" "$work/list" '^ok 14 - env'
tail -n 2 "$work/list" | tr '\n' ' ' >"$work/last"
check "the last line counts them" "$work/last" \
	'^5 passed, 8 failed, 1 skipped exit status 1 $'

cat >"$work/panic.list" <<'END'
pass: true
panic: echo c >/proc/sysrq-trigger; sleep 1000
pass too: true
END
vm panic --list "$work/panic.list" "$@"
check "a panic fails the command" "$work/panic" \
	'^not ok 2 - panic # the kernel panicked while this ran$'
check "and all that follow" "$work/panic" \
	'^not ok 3 - pass too # the kernel panicked$'
check "what passed before has passed" "$work/panic" \
	'^1 passed, 2 failed, 0 skipped$'

vm death --name death "$@" -- 'echo o >/proc/sysrq-trigger; sleep 1000'
check "a guest that is switched off fails" "$work/death" \
	'^not ok 1 - death # the virtual machine ended while this ran$'

vm late --name late "$@" -- \
	'(sleep 1; echo "BUG: late" >/dev/kmsg) >/dev/null & wait; echo here'
check "a background process's complaint counts" "$work/late" \
	'^not ok 1 - late # the kernel complained$'

# It writes to its log at once; from then on the virtual machine stands still.
frozen=$top/build/log/selftest-frozen
rm -rf "$frozen"
COMPCH_VM_GRACE=2 vm frozen --name frozen --timeout 2 "$@" -- \
	'echo running; sleep 1000' &
for ((i = 0; i < 600; i++)); do
	! grep -qs running "$frozen/1.out" || break
	sleep 0.1
done
[ ! -f "$frozen/pid" ] || kill -STOP "$(cat "$frozen/pid")"
wait
check "a virtual machine that hangs fails" "$work/frozen" \
	'^not ok 1 - frozen # the virtual machine hangs while this ran$'

vm boot --name boot --append "init=/nonexistent rdinit=/nonexistent" "$@" -- true
check "a guest that does not boot fails" "$work/boot" '^not ok 1 - boot # '
check "and says how" "$work/boot" '^# .*Kernel panic'

vm plain --name plain --plain "$@" -- 'echo hello'
tr '\n' ' ' <"$work/plain" >"$work/last"
check "--plain prints the output alone" "$work/last" '^hello exit status 0 $'

# --- sums of parts ---------------------------------------------------------

part()
{
	cat <<'END'
ok 1 - fine
not ok 2 - broken # exit status 1
# ok - its first
# NOT OK - its second
#     1 is not 2
ok 3 - fine too
# of no interest
END
	echo "2 passed, 1 failed, 0 skipped"
	return 1
}

part_of_parts()
{
	step "the inner one" part
	prepare "what does not build" sh -c 'exit 3'
	sum
}

(
	step "the outer one" part_of_parts
	step "dead" false
	sum
	echo "exit status $?"
) >"$work/sum"
check "the sum counts what failed without a count" "$work/sum" \
	'^2 passed, 3 failed, 0 skipped$'
sed '1,/^# dead:/d' "$work/sum" | tr '\n' '|' >"$work/last"
check "what failed is said once, at the end" "$work/last" \
	"^# === what failed\|not ok 2 - broken # exit status 1\|# NOT OK - \
its second\|#     1 is not 2\|# what does not build: exit status 3\|\
# dead: exit status 1\|2 passed, 3 failed, 0 skipped\|exit status 1\|\$"

looks_bad()
{
	echo "# a comment: exit status 1"
	echo "1 passed, 0 failed, 0 skipped"
}

(step "the only one" looks_bad && sum) | tr '\n' '|' >"$work/last"
check "nothing is said to have failed where nothing has" "$work/last" \
	"^# === the only one\|# a comment: exit status 1\|\
1 passed, 0 failed, 0 skipped\|1 passed, 0 failed, 0 skipped\|\$"

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" = 0 ]
