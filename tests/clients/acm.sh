#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# acm.sh ADDRESS - ibacm runs, and resolves ADDRESS for ib_acme.

set -u
address=${1:?}
dir=$(mktemp -d) || exit 1
daemon=

# shellcheck disable=SC2317 # called by the trap
cleanup()
{
	status=$?

	trap - EXIT
	[ -z "$daemon" ] || kill "$daemon"
	wait
	cat "$dir/log"
	rm -rf "$dir"
	exit "$status"
}
trap cleanup EXIT

cd "$dir" || exit 1
ib_acme -A -O -D "$dir" || exit 1
sed -i -e "s,^log_file .*,log_file $dir/log," -e 's,^log_level .*,log_level 2,' \
	"$dir/ibacm_opts.cfg"
: >"$dir/log"
ibacm -P -A "$dir/ibacm_addr.cfg" -O "$dir/ibacm_opts.cfg" &
daemon=$!
until [ -S /run/ibacm.sock ] || [ -S /run/ibacm-unix.sock ] ||
      ! kill -0 "$daemon" 2>/dev/null; do
	sleep 0.1
done
kill -0 "$daemon" || exit 1
ib_acme -f i -s "$address" -d "$address" >"$dir/answer" 2>&1
status=$?
cat "$dir/answer"
# It says in words alone that it got none.
! grep -qiE 'failed|error|unable' "$dir/answer" || exit 1
exit "$status"
