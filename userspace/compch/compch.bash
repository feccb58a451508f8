# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completion of compch(8)'s arguments in bash.

_compch_devices()
{
	compch dev 2>/dev/null | sed -n '2,$s/ .*//p'
}

# Those that have channels, where we may know
_compch_numbers()
{
	compch -p "$1" 2>/dev/null |
		sed -n "s/^ *\"$2\": \\([0-9]*\\),\\{0,1\\}\$/\\1/p" | sort -un
}

_compch()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local command='' i words=

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-R | --root) i=$((i + 1)) ;;
		-*) ;;
		*)
			command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	COMPREPLY=()
	case $command in
	'')
		case $before in
		-R | --root)
			mapfile -t COMPREPLY < <(compgen -d -- "$word")
			return
			;;
		esac
		words="dev channel cq top adopt doctor run help -j --json -p
			--pretty -R --root -V --version -h --help"
		;;
	d | de | dev)
		case $before in
		s*) words=$(_compch_devices) ;;
		*) words="show --help" ;;
		esac
		;;
	ch* | cq)
		case $before in
		p*) words=$(_compch_numbers channel pid) ;;
		dev*) words=$(_compch_devices) ;;
		channel)
			if [ "$((i + 1))" = "$COMP_CWORD" ]; then
				words="show pid device channel --help"
			else
				words=$(_compch_numbers channel channel)
			fi
			;;
		cqn) words=$(_compch_numbers cq cqn) ;;
		*)
			words="show pid device channel --help"
			[ "$command" != cq ] || words+=" cqn"
			;;
		esac
		;;
	t | to | top)
		case $before in
		-d | --delay | -n | --iterations) ;;
		*) words="-d --delay -n --iterations -b --batch -h --help" ;;
		esac
		;;
	a*)
		words="-f --force -h --help $(_compch_devices)"
		;;
	do*)
		words="-h --help"
		;;
	r*)
		# A program, and then whatever it takes
		if [[ $word == -* ]] && [ "$((i + 1))" = "$COMP_CWORD" ]; then
			words="-r --require --auto-ack -h --help --"
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
			return
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _compch compch
