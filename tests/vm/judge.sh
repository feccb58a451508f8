# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What the runners of virtual machines have in common: the commands to run, what
# the guest says about them (guest.sh), and the results; to be sourced after
# scripts/lib.sh.
#
# A runner sets these:
#   limit     the longest that a command may take, in seconds
#   name      of a single command
#   log       where output and kernel logs are, and the file "console"
#   plain     not empty for no TAP
#   allow     arguments for kmsg-scan.sh
# and may redefine judge_kmsg_filter, which kernel logs pass through on their way
# to the scan.
#
# shellcheck disable=SC2154 # see above

vm=${BASH_SOURCE[0]%/*}
names=()
limits=()
commands=()
total=0
passed=0
failed=0
skipped=0

# --- what to run ----------------------------------------------------------

# judge_list FILE - the commands are those in FILE, "NAME: COMMAND" or
# "NAME timeout=SECONDS: COMMAND" each.
judge_list()
{
	local line head

	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'' | '#'*) continue ;;
		*': '*) ;;
		*) die "$1: not 'NAME: COMMAND': $line" ;;
		esac
		head=${line%%: *}
		commands+=("${line#*: }")
		names+=("${head%% timeout=*}")
		case $head in
		*' timeout='*) limits+=("${head##* timeout=}") ;;
		*) limits+=("$limit") ;;
		esac
	done <"$1" || exit 1
	total=${#names[@]}
	[ "$total" -gt 0 ] || die "$1: no command"
}

# judge_single COMMAND [ARG...] - there is one.
judge_single()
{
	names=("$name")
	limits=("$limit")
	if [ $# -eq 1 ]; then
		commands=("$1")
	else
		commands=("${*@Q}")
	fi
	total=1
}

# judge_guest DIR [NAME=VALUE...] - put what guest.sh needs into DIR: itself,
# the commands and their environment. Their names go to $log.
judge_guest()
{
	local dir=$1 i
	shift

	mkdir -p "$dir"
	cp "$vm/guest.sh" "$dir/"
	for ((i = 1; i <= total; i++)); do
		printf '%s %s\n' "$i" "${limits[i - 1]}" >>"$dir/list"
		printf '%s\n' "${commands[i - 1]}" >"$dir/command.$i"
		printf '%s\t%s\n' "$i" "${names[i - 1]}" >>"$log/names"
	done
	for i; do
		printf 'export %s=%q\n' "${i%%=*}" "${i#*=}" >>"$dir/env"
	done
}

# --- the result -----------------------------------------------------------

tap()
{
	[ -n "$plain" ] || printf '%s\n' "$*"
}

# Lines from standard input, as TAP comments.
comment()
{
	tr -d '\000\r' | sed 's/^/# /'
}

# result ID ok|skip|fail REASON
result()
{
	local id=$1 what=$2 reason=$3 title=${names[$1 - 1]}

	case $what in
	ok)
		passed=$((passed + 1))
		tap "ok $id - $title # $reason"
		;;
	skip)
		skipped=$((skipped + 1))
		tap "ok $id - $title # SKIP $reason"
		;;
	fail)
		failed=$((failed + 1))
		if [ -n "$plain" ]; then
			say "$title: $reason"
		else
			tap "not ok $id - $title # $reason"
		fi
		;;
	esac
}

judge_kmsg_filter()
{
	cat
}

scan()
{
	judge_kmsg_filter | "$vm/kmsg-scan.sh" "${allow[@]}"
}

# judge_one ID STATUS SECONDS - the result of a command that ended.
judge_one()
{
	local id=$1 status=$2 took=$3 out=$log/$1.out kmsg=$log/$1.kmsg
	local bad="" reason

	[ -z "$plain" ] || tr -d '\000' <"$out"
	if ! grep -aq "compch-vm: end $id\$" "$kmsg"; then
		bad="no kernel log"
	elif ! scan <"$kmsg" >"$log/$id.bad"; then
		bad="the kernel complained"
	else
		rm "$log/$id.bad"
	fi
	case $status in
	0 | 77) reason=$bad ;;
	timeout) reason="timeout after ${limits[id - 1]} s${bad:+, and $bad}" ;;
	*) reason="exit status $status${bad:+, and $bad}" ;;
	esac
	if [ -n "$reason" ]; then
		result "$id" fail "$reason"
		[ -n "$plain" ] || tail -n 40 "$out" | comment
		[ ! -f "$log/$id.bad" ] || head -n 60 "$log/$id.bad" | comment
	elif [ "$status" = 77 ]; then
		reason=$(tr -d '\000\r' <"$out" | grep . | tail -n 1)
		reason=${reason#SKIP: }
		result "$id" skip "${reason:-no reason given}"
	else
		result "$id" ok "$took s"
	fi
}

# --- what the guest says --------------------------------------------------

# judge_verdict DEADLINE - the next complete line of descriptor 3 in $verdict.
# Fails with the reason in $lost when there is none by the time that $SECONDS
# says DEADLINE, or when there can be none any more.
judge_verdict()
{
	local deadline=$1 gone="" next=$((SECONDS + 60)) since=$SECONDS

	while :; do
		if IFS= read -r verdict <&3; then
			verdict=$partial${verdict%$'\r'}
			partial=
			return 0
		fi
		partial=$partial$verdict
		if [ -n "$gone" ]; then
			lost="the virtual machine ended"
			! grep -aq 'Kernel panic' "$log/console" ||
				lost="the kernel panicked"
			return 1
		fi
		if ! kill -0 "$machine" 2>/dev/null; then
			gone=1 # and read what it has written till then
			continue
		fi
		if [ "$SECONDS" -ge "$deadline" ]; then
			lost="the virtual machine hangs"
			return 1
		fi
		if [ "$SECONDS" -ge "$next" ]; then
			next=$((SECONDS + 60))
			tap "# ... $((SECONDS - since)) s"
		fi
		sleep 0.1
	done 2>/dev/null
}

# judge PID FILE - follow the virtual machine with this process id, whose
# verdicts go to FILE, and print the results. When this returns, $finished is
# empty if the guest did not get to its end, and $lost says why.
judge()
{
	# Beyond its commands' limits, how long may the guest take to answer?
	local machine=$1 grace=${COMPCH_VM_GRACE:-60} deadline running="" next=1
	local word id status since verdict partial=

	lost=
	finished=
	exec 3<"$2"
	deadline=$((SECONDS + 300))
	while judge_verdict "$deadline"; do
		read -r word id status <<<"$verdict"
		case $word in
		ready)
			tap "# Linux $id, up in $SECONDS s"
			deadline=$((SECONDS + grace))
			;;
		start)
			[ "$id" = "$next" ] || { lost="the guest lost count"; break; }
			running=$id
			since=$SECONDS
			deadline=$((SECONDS + limits[id - 1] + grace))
			;;
		end)
			[ "$id" = "$running" ] || { lost="the guest lost count"; break; }
			judge_one "$id" "$status" $((SECONDS - since))
			running=
			next=$((id + 1))
			deadline=$((SECONDS + grace))
			;;
		done)
			finished=1
			break
			;;
		fatal)
			lost="the guest gave up: $id $status"
			break
			;;
		*)
			lost="the guest talks nonsense"
			break
			;;
		esac
	done
	exec 3<&-

	for ((; next <= total; next++)); do
		[ -z "$finished" ] || lost="no verdict"
		if [ "$next" = "$running" ]; then
			result "$next" fail "$lost while this ran"
			tail -n 40 "$log/$next.out" 2>/dev/null | comment
		else
			result "$next" fail "${lost:-no verdict}"
		fi
	done
}

# What the kernel said while no command ran: at boot, and after the last one.
judge_outside()
{
	sed -e '/compch-vm: start [0-9]*$/,/compch-vm: end [0-9]*$/d' \
		"$log/all.kmsg"
}

# The rest of the results, and the exit status. To be called when the virtual
# machine is gone.
judge_end()
{
	if [ -z "$finished" ]; then
		tail -n 40 "$log"/qemu "$log/console" 2>/dev/null | comment
	elif ! judge_outside | scan >"$log/outside.bad"; then
		total=$((total + 1))
		names+=("kernel log outside of the commands")
		result "$total" fail "the kernel complained"
		head -n 60 "$log/outside.bad" | comment
	else
		rm -f "$log/outside.bad"
	fi

	[ -n "$plain" ] || [ "$failed" = 0 ] || tap "# logs are in $log"
	[ -n "$plain" ] || printf '%d passed, %d failed, %d skipped\n' \
		"$passed" "$failed" "$skipped"
	[ "$failed" = 0 ]
}
