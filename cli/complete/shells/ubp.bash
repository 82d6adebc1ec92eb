# SPDX-License-Identifier: LGPL-2.1-or-later
# Completions of ubp's commands for bash. The commands know what a word may become (cli/complete/complete.h).

# Readline ends words at ':' and '=', too: the pieces of COMP_WORDS between which the line has no space are one word.
_ubp_words() {
	local rest=$COMP_LINE i piece
	words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		piece=${COMP_WORDS[i]}
		if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
			rest=${rest#"${rest%%[![:space:]]*}"}
			words+=("$piece")
		else
			words[-1]+=$piece
		fi
		rest=${rest#"$piece"}
	done
}

# What of the word $1 stands in front of the piece that readline is about to replace.
_ubp_lead() {
	local breaks=${COMP_WORDBREAKS//[!:=]/} last
	[[ -n $breaks ]] || return
	last=${1##*[$breaks]}
	lead=${1%"$last"}
}

# What the shell itself knows, behind $2 of the word $3.
_ubp_shell() {
	local name=${3#"$2"} found=() one
	case $1 in
	files) compopt -o filenames; mapfile -t found < <(compgen -f -- "$name") ;;
	folders) compopt -o filenames; mapfile -t found < <(compgen -d -- "$name") ;;
	commands) mapfile -t found < <(compgen -c -- "$name") ;;
	esac
	for one in "${found[@]}"; do
		one=$2$one
		COMPREPLY+=("${one#"$lead"}")
	done
}

# A value for the line, which the shell will read again.
_ubp_quoted() {
	case $quote in
	\') value=${value//\'/\'\\\'\'} ;;
	\")
		value=${value//\\/\\\\} value=${value//\"/\\\"}
		value=${value//\$/\\\$} value=${value//\`/\\\`}
		;;
	*) printf -v value %q "$value" ;;
	esac
}

_ubp() {
	local words word quote= lead= line value command
	local -a before=()
	_ubp_words
	word=${words[-1]}
	case $word in
	[\'\"]*) quote=${word:0:1} word=${word:1} ;;
	*) _ubp_lead "$word" ;;
	esac
	for line in "${words[@]:1:${#words[@]}-2}"; do
		line=${line#[\'\"]}
		before+=("${line%[\'\"]}")
	done
	command=${words[0]}
	case $command in '~/'*) command=$HOME/${command#'~/'} ;; esac
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == $'\t'* ]]; then
			line=${line#?}
			_ubp_shell "${line%%$'\t'*}" "${line#*$'\t'}" "$word"
			continue
		fi
		value=${line%%$'\t'*}
		value=${value#"$lead"}
		_ubp_quoted
		COMPREPLY+=("$value")
	done < <("$command" --complete "${before[@]}" "$word" 2> /dev/null)
	# More of the word is to come.
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=,] ]] && compopt -o nospace
}

complete -o nosort -F _ubp uprobe usdt ubp-report ubp-bench ubp-fs
