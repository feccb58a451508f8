#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Run the library's tests on the model (tests/shim/fake/) under sanitizers and
# valgrind, and sum up.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

usage()
{
	cat <<END
usage: $ME [TOOL]...

  asan       AddressSanitizer and UndefinedBehaviorSanitizer
  tsan       ThreadSanitizer
  valgrind   memcheck

Default: all.
END
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) usage >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- asan tsan valgrind
cd "$top" || exit 1
for tool; do
	step "the library, under $tool" make --no-print-directory -s \
		-C tests/shim "BUILD=$top/build/sanitize" "$tool"
done
sum
