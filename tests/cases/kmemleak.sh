#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# kmemleak.sh clear|check
#
# "clear" before the tests: what has leaked until now is not theirs. "check"
# after them: fails if anything has leaked since.

set -u
report=/sys/kernel/debug/kmemleak

if [ ! -w $report ]; then
	echo "SKIP: this kernel has no kmemleak"
	exit 77
fi
case ${1:?} in
clear)
	echo scan >$report
	echo clear >$report
	;;
check)
	# What is younger than five seconds is not reported yet, nor what has
	# changed since the scan before.
	sleep 6
	echo scan >$report
	echo scan >$report
	cat $report >/tmp/kmemleak
	[ -s /tmp/kmemleak ] || exit 0
	cat /tmp/kmemleak
	exit 1
	;;
esac
