# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --stats tells of each probe how many of its places are jumps, and if one is not, why.
. "${0%/*}/lib.bash"

need_arch x86_64
F=$FIXTURES/args_int
stats_of() { # stats_of EVENT: from its jumps= on, without its stops=
	sed -nE "s/ stops=\"[^\"]*\"//; s/.* stats: .* [a-z]+\/$1 .* (jumps=.*) behind=[0-9]+ at_first=[0-9]+ beside_kernel=[0-9]+ hidden=[0-9]+/\1/p" err.txt
}
is() { # is EVENT REGEX
	stats_of "$1" | grep -qE -- "$2" || fail "$1: '$(stats_of "$1")' is not like '$2'"
}
run() {
	echo go | timeout "$TIMEOUT" "$UPROBE" --stats -o out.txt "$@" > got.txt 2> err.txt ||
		fail "uprobe $*: ended with $?"
}

run -e "p:n/area $F:area" -- "$F"
is area '^jumps=1 boosted=0 stepped=0 in_place=0$'
run --mode jump -e "p:n/area $F:area" -- "$F"
is area '^jumps=1 boosted=0 stepped=0 in_place=0$'
run --mode trap -e "p:n/area $F:area" -- "$F"
is area '^jumps=0 boosted=1 .* no_jump="--mode says so"$'
run --mode step -e "p:n/area $F:area" -- "$F"
is area '^jumps=0 boosted=0 stepped=1 .* no_jump="--mode says so"$'
explained() { "$UPROBE" --explain --mode step -e "$1" | sed -nE "s/.*: (boosted|stepped) \\(.*/\1/p"; }
[ "$(explained "p:n/area $F:area")" = stepped ] || fail "--explain does not say that it is stepped"
# Some are not: a step must not leave its slot.
ret=$(objdump -d --no-show-raw-insn --disassemble=area "$F" | awk '
	/^ +[0-9a-f]+:\t/ { sub(":", "", $1); first = first ? first : $1; if ($2 == "ret") { print first, $1; exit } }' |
	{ read -r first at && echo $((16#$at - 16#$first)); })
run --mode step -e "p:n/ret $F:area+$ret" -- "$F"
is ret '^jumps=0 boosted=1 stepped=0 .* no_jump="--mode says so"$'
[ "$(explained "p:n/ret $F:area+$ret")" = boosted ] || fail "--explain does not say that a ret is boosted"
run -s -e "p:n/area $F:area" -- "$F"
is area '^jumps=0 boosted=1 .* no_jump="user stacks are unwound at stops"$'
run --stack fp -e "p:n/area $F:area" -- "$F"
is area '^jumps=1 boosted=0 stepped=0 in_place=0$'
# Two that stand too close: the third and the fourth instruction.
read -r one two < <(objdump -d --no-show-raw-insn --disassemble=widths "$F" | awk '
	/^ +[0-9a-f]+:\t/ { sub(":", "", $1); print $1 }' | sed -n '1p;3p;4p' | {
	read -r start && read -r a && read -r b && echo $((16#$a - 16#$start)) $((16#$b - 16#$start))
})
run -e "p:n/first $F:widths+$one" -e "p:n/second $F:widths+$two" -e "p:n/other $F:area" -- "$F"
is first '^jumps=0 boosted=1 .* no_jump="another probe stands on the instructions'
is second '^jumps=1 boosted=0 stepped=0 in_place=0$'
is other '^jumps=1 boosted=0 stepped=0 in_place=0$'
[ "$(grep -c 'no_jump' err.txt)" = 1 ] || fail "it says so of others"
# What only the interpreter can record, and a return that is caught at ret instructions.
run -e "p:n/flags $F:area f=%flags" -e "p:n/other $F:widths" -- "$F"
is flags '^jumps=0 boosted=1 .* no_jump="%flags are not known to a jump"$'
is other '^jumps=1 '
"$UPROBE" --explain -e "p:n/flags $F:area f=%flags" > got.txt || fail "--explain: $?"
grep -q 'boosted .* not a jump: %flags are not known to a jump \[' got.txt || fail "$(cat got.txt)"
