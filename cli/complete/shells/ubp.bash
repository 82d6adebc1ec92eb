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

# What the shell itself knows, behind $2 of the word $3.
_ubp_shell() {
	local name=${3#"$2"}
	case $1 in
	files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$name") ;;
	folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$name") ;;
	commands) mapfile -t COMPREPLY < <(compgen -c -- "$name") ;;
	esac
}

_ubp() {
	local words word quote= lead= line value
	local -a before=()
	_ubp_words
	word=${words[-1]}
	case $word in
	[\'\"]*) quote=${word:0:1} word=${word:1} ;;
	*[:=]*) lead=${word%"${word##*[:=]}"} ;; # of which readline knows nothing
	esac
	for line in "${words[@]:1:${#words[@]}-2}"; do
		line=${line#[\'\"]}
		before+=("${line%[\'\"]}")
	done
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == $'\t'* ]]; then
			line=${line#?}
			_ubp_shell "${line%%$'\t'*}" "${line#*$'\t'}" "$word"
			continue
		fi
		value=${line%%$'\t'*}
		value=${value#"$lead"}
		[ -n "$quote" ] || printf -v value %q "$value"
		COMPREPLY+=("$value")
	done < <("${words[0]/#\~/$HOME}" --complete "${before[@]}" "$word" 2> /dev/null)
	# More of the word is to come.
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=,] ]] && compopt -o nospace
}

complete -o nosort -F _ubp uprobe usdt ubp-report ubp-bench ubp-fs
