#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The static checks, on what git knows of and on new files that it does not
# ignore.

set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top" || exit 1

# files [PATHSPEC]...
files()
{
	git ls-files --cached --others --exclude-standard --deduplicate -- "$@" |
		while IFS= read -r file; do
			[ ! -f "$file" ] || printf '%s\n' "$file"
		done
}

# silent COMMAND... - succeeds if COMMAND prints nothing.
silent()
{
	! "$@" 2>&1 | grep .
}

check()
{
	local title=$1 out
	shift

	if out=$("$@" 2>&1); then
		sum_passed=$((sum_passed + 1))
		echo "ok $((sum_passed + sum_failed)) - $title"
	else
		sum_failed=$((sum_failed + 1))
		echo "not ok $((sum_passed + sum_failed)) - $title"
		printf '%s\n' "$out" | sed 's/^/# /'
	fi
}

shell_scripts()
{
	files | while IFS= read -r file; do
		case $file in
		*.sh | *.bash) echo "$file" ;;
		*) ! head -n 1 "$file" | grep -aqE '^#!.*\<(ba|da)?sh\>' ||
			echo "$file" ;;
		esac
	done
}

no_spdx()
{
	# The formats of the kernel's ABI files and of these have no comments.
	files ':!LICENSES' ':!VERSION' ':!Documentation/ABI' \
		':!debian/changelog' ':!debian/copyright' \
		':!debian/source' | while IFS= read -r file; do
		head -n 5 "$file" | grep -q SPDX-License-Identifier ||
			echo "$file"
	done
}

# Kernel and userspace C alike. What is switched off, and why:
#   FILE_PATH_CHANGES     this tree has no MAINTAINERS
#   SPDX_LICENSE_TAG      asks for GPL alone on kernel code; ours is dual
#   LINUX_VERSION_CODE, CONSTANT_COMPARISON
#                         in compat/ only, which bounds the kernel's version
ignored=FILE_PATH_CHANGES,SPDX_LICENSE_TAG

checkpatch()
{
	# shellcheck disable=SC2046 # no spaces in our names
	scripts/checkpatch.sh --quiet --terse --no-summary --show-types \
		--ignore "$ignored$1" -f $(files "${@:2}")
}

checkpatch_all()
{
	checkpatch "" 'drivers/*.[ch]' 'include/*.h' 'kunit/*.[ch]' \
		':!*/compat/*' &&
	checkpatch ,LINUX_VERSION_CODE,CONSTANT_COMPARISON '*/compat/*.h'
}

# A build of its own, for all is checked only when all is built.
sparse()
{
	local release out

	release=$(scripts/kernel.sh --version) || return 1
	rm -rf build/check
	out=$(scripts/build-module.sh "/lib/modules/$release/build" \
		build/check C=2 W=1 2>&1) || {
		echo "$out"
		return 1
	}
	! grep -E '(warning|error): ' <<<"$out"
}

# Every header compiles alone, as C and as C++.
header()
{
	local compiler=$1 language=$2 standard=$3 file status=0

	for file in $(files 'include/*.h'); do
		echo "#include \"$file\"" |
			"$compiler" -x "$language" "-std=$standard" -Wall \
				-Wextra -Wpedantic -Werror -fsyntax-only \
				-Iinclude/uapi -Iinclude -I. - || status=1
	done
	return $status
}

version_tests()
{
	# shellcheck disable=SC2046 # no spaces in our names
	grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION\(|COMPAT_HAVE_' \
		$(files 'drivers/*.[ch]' 'kunit/*.[ch]' ':!*/compat/*')
}

# has_test FILE TEST - a suite has it itself, or is that of another file with rings.
has_test()
{
	# shellcheck disable=SC2046 # no spaces in our names
	grep -qsE "\\($2[,)]" "$1" \
		$(sed -n 's,^#include "\(compch_.*_kunit\.c\)",kunit/\1,p' "$1")
}

# Mutations that cannot be applied any more, or that no test is to catch
mutations()
{
	local patch by

	for patch in tests/mutate/*.patch; do
		patch --dry-run --strip 1 --fuzz 0 --force --silent <"$patch" ||
			echo "$patch does not apply"
		by=$(sed -n 's/^Caught-by: //p' "$patch")
		case $by in
		kunit\ *) has_test "kunit/compch_$(cut -d' ' -f2 <<<"$by")_kunit.c" \
			"${by##* }" ;;
		abi\ *) grep -qsx -e "${by#abi }" tests/abi/LIST ;;
		*) false ;;
		esac || echo "$patch: there is no test '$by'"
	done
}

# Those that explain their options refuse others, before they do anything.
options()
{
	local file out status

	# shellcheck disable=SC2013 # no spaces in our names
	for file in $(grep -l '^usage()' "${scripts[@]}"); do
		status=0
		out=$(timeout 10 "$file" --no-such-option 2>/dev/null </dev/null) ||
			status=$?
		[ "$status" = 2 ] && [ -z "$out" ] ||
			echo "$file takes an unknown option"
		out=$(timeout 10 "$file" --help 2>&1 >/dev/null </dev/null) &&
			[ -z "$out" ] || echo "$file --help fails"
	done
}

manual_pages()
{
	# shellcheck disable=SC2046 # no spaces in our names
	mandoc -Tlint -Wwarning $(files 'userspace/man/*')
}

documents()
{
	local file name

	files 'Documentation/*.rst' | while IFS= read -r file; do
		rst2html --strict "$file" /dev/null
		name=${file#Documentation/}
		[ "$name" = index.rst ] ||
			grep -q "<$name>" Documentation/index.rst ||
			echo "$file is not in Documentation/index.rst"
	done
	# And what that links to is there.
	sed -n 's/.*<\([^ >]*\)>`_.*/\1/p' Documentation/index.rst |
		while IFS= read -r name; do
			[ -f "Documentation/$name" ] ||
				echo "Documentation/index.rst: there is no $name"
		done
}

mapfile -t scripts < <(shell_scripts)
mapfile -t all < <(files ':!LICENSES')
check "every file names its licence" silent no_spdx
check "shellcheck" shellcheck "${scripts[@]}"
# "bu" is the bullet of man pages, "te" ends a table.
check "scripts refuse unknown options" silent options
check "codespell" codespell --ignore-words-list bu,te "${all[@]}"
check "checkpatch" checkpatch_all
check "sparse and W=1" sparse
check "headers compile alone as C" header gcc c gnu11
check "headers compile alone as C++" header g++ c++ gnu++17
check "kernel versions matter in compat/ alone" silent version_tests
check "documents are well formed" silent documents
check "manual pages are well formed" silent manual_pages
check "what can be observed is documented" scripts/check-observed.sh
check "README.md has the clients' results" scripts/clients-table.sh --check
check "mutations apply, and their tests are there" silent mutations
check "the library and the tool build" scripts/check-api.sh build
check "the library's symbols are those of its map" scripts/check-api.sh exported
check "they stand before what there is" scripts/check-api.sh interposed
check "they are declared in public headers" scripts/check-api.sh declared
check "they have manual pages" scripts/check-api.sh documented
check "the examples there compile" scripts/check-api.sh examples
check "tests call them" scripts/check-api.sh tested
check "make install, and make uninstall" scripts/check-install.sh files
check "modprobe loads the module before drivers" scripts/check-install.sh order
check "the module can be built for another RDMA stack" scripts/check-install.sh ofa
check "the sources have one version" scripts/versions.sh sources
check "what is built of them has it" scripts/versions.sh built
sum
