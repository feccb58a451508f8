#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Does all that tells of the library's symbols tell of the same ones? Prints what
# does not, and fails then.
#
#   check-api.sh build        and install what the others look at
#   check-api.sh exported     what libcompch.map names is exported, and no more
#   check-api.sh interposed   each of a library that it stands before has the
#                             version that it has there, as installed here
#   check-api.sh declared     each is declared in a public header, and each
#                             function of <infiniband/compch.h> is exported
#   check-api.sh documented   each has a manual page, or is in libcompch(3), and
#                             all pages are installed
#   check-api.sh examples     those of the manual pages compile
#   check-api.sh tested       each is called by a test

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top" || exit 1

built=$top/build/check-api
man=$built/stage/usr/share/man
cc=(gcc -x c -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -Iinclude
	-Iinclude/uapi -)

build()
{
	local part

	rm -rf "$built"
	mkdir -p "$built" || return
	for part in libcompch compch; do
		make -s -C "userspace/$part" BUILD="$built" CFLAGS=-O1 \
			PREFIX=/usr DESTDIR="$built/stage" install \
			>"$built/log" 2>&1 || cat "$built/log"
	done
}

# symbols_of LIBRARY - with their versions, one a line.
symbols_of()
{
	nm -D --defined-only "$1" | sed -n 's/.* [^A] //; s/@@*/ /p'
}

symbols()
{
	symbols_of "$built/libcompch.so" | sort
}

names()
{
	symbols | sed 's/ .*//'
}

# differences EXPECTED FOUND - of two lists, in words.
differences()
{
	comm -23 <(echo "$1") <(echo "$2") | sed '/^$/d; s/^/missing: /'
	comm -13 <(echo "$1") <(echo "$2") | sed '/^$/d; s/^/unknown: /'
}

exported()
{
	local map

	map=$(awk '
		$2 == "{" { version = $1 }
		/^\t(global|local):/ { global = /global/ }
		/^\t\t/ && global { sub(";", ""); print $1, version }
	' userspace/libcompch/libcompch.map | sort)
	differences "$map" "$(symbols)"
}

interposed()
{
	local library

	for library in libibverbs libmlx5 libefa; do
		symbols_of "$(gcc -print-file-name=$library.so)"
	done | sort | comm -13 - <(symbols | grep -v '^compch_')
}

# declares HEADER NAME
declares()
{
	"${cc[@]}" 2>/dev/null <<END
#include <$1>
void *address(void);
void *address(void) { return (void *)$2; }
END
}

declared()
{
	local name header

	for name in $(names); do
		case $name in
		compch_*) header=infiniband/compch.h ;;
		ibv_*) header=infiniband/verbs.h ;;
		mlx5dv_*) header=infiniband/mlx5dv.h ;;
		efadv_*) header=infiniband/efadv.h ;;
		*) echo "$name: which header?"; continue ;;
		esac
		declares "$header" "$name" || echo "$name: not in <$header>"
	done
	echo '#include <infiniband/compch.h>' |
		"${cc[@]}" -aux-info "$built/declarations"
	differences "$(sed -n 's,.*include/infiniband/compch\.h:.*[ *]\([a-z_]*\) (.*,\1,p' \
		"$built/declarations" | sort)" "$(names | grep '^compch_')"
}

# section PAGE NAME - its text, without markup
section()
{
	awk -v name="$2" '/^\.SH / { on = $2 == name } on' "$1" |
		sed 's/^\.[A-Z]* //; s/\\-/-/g; s/"//g'
}

documented()
{
	local name page

	for name in $(names); do
		case $name in
		compch_*) page=$man/man3/$name.3 ;;
		*) page=$man/man3/libcompch.3 ;;
		esac
		if [ ! -f "$page" ]; then
			echo "$name: no manual page"
			continue
		fi
		section "$page" SYNOPSIS | grep -qE "\<$name\(" ||
			echo "$name: not in the synopsis of ${page##*/}"
		[ "${name#compch_}" = "$name" ] ||
			section "$page" NAME | grep -qE "\<$name\>" ||
			echo "$name: not named by ${page##*/}"
	done
	differences "$(names | grep '^compch_')" \
		"$(cd "$man/man3" && printf '%s\n' compch_* | sed 's/\.3$//' | sort)"
	for page in userspace/man/*; do
		[ -f "$man/man${page##*.}/${page##*/}" ] ||
			echo "$page: not installed"
	done
}

examples()
{
	local page text count=0

	for page in userspace/man/*.3; do
		text=$(awk '
			/^\.SH / { on = $2 == "EXAMPLES" }
			/^\.EE/ { code = 0 }
			on && code
			/^\.EX/ { code = 1 }
		' "$page" | sed 's/\\-/-/g; s/\\e/\\/g; s/\\&//g')
		[ -n "$text" ] || continue
		count=$((count + 1))
		"${cc[@]}" <<<"$text" 2>&1 | sed "s,^,${page##*/}: ,"
	done
	[ "$count" -gt 0 ] || echo "there are none"
}

# Calls are indented, and not in comments. The model of libibverbs is no test.
tested()
{
	local name calls

	calls=$(git ls-files --cached --others --exclude-standard -- \
			'tests/*.c' ':!tests/shim/fake/fake_*.c' |
		while IFS= read -r file; do
			[ ! -f "$file" ] ||
				gcc -fpreprocessed -dD -E -P "$file" 2>/dev/null |
				grep '^[[:space:]]'
		done)
	for name in $(names); do
		grep -qE "\<$name *\(" <<<"$calls" ||
			echo "$name: no test calls it"
	done
}

case ${1:-} in
build) ;;
exported | interposed | declared | documented | examples | tested)
	[ -e "$built/libcompch.so" ] || die "there is no library to look at"
	;;
*) die "usage: $ME build|exported|interposed|declared|..." ;;
esac
! "$1" | grep .
