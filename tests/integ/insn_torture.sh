# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Hundreds of instruction forms, each instruction probed: the program computes what it
# computes without probes, and each probe is hit as often as its instruction runs.
#
# Once with all probes, and in parts: only the first, only the second, ... instruction
# of each function, or each k-th one, so that the neighbours of a probe are as they were and jumps
# have room. One by one: a sample. UBP_ALL=1: all of them, and more parts (UBP_SEED picks another sample).
. "${0%/*}/lib.bash"

F=$FIXTURES/insn_torture
need_arch x86_64
"$F" < /dev/null > want.txt || fail "insn_torture alone ends with $?"
"$F" 1 < /dev/null > want1.txt || fail "insn_torture 1 alone ends with $?"
# How often each function is called; some are not where the CPU lacks something.
"$F" 3 -v < /dev/null | awk '/^t_/ { n[$1]++; all++ }
	END { for (t in n) print t, n[t]; print "t_load", all; print "t_store", all }' > calls
[ "$(wc -l < calls)" -gt 500 ] || fail "only $(wc -l < calls) functions are called"

# insns: NUMBER FUNCTION OFFSET INSTRUCTION, of all functions t_*.
objdump -d --no-show-raw-insn "$F" | awk '
	/^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3); n = -1; next }
	name ~ /^t_/ && /^ +[0-9a-f]+:\t/ {
		at = $1; sub(":", "", at); text = $0; sub(/^[^\t]*\t/, "", text); sub(/ +(<.*)?$/, "", text)
		if (n++ < 0) { base = at }
		print n, name, base, at, text
	}' | while read -r n name base at text; do
	echo "$n $name $((16#$at - 16#$base)) $text"
done > insns
[ "$(wc -l < insns)" -gt 1800 ] || fail "only $(wc -l < insns) instructions to probe"

# What may not be probed is refused; the rest goes on. "p:t/NAME_N FILE:NAME+OFFSET"
while read -r n name offset text; do
	echo "p:t/${name}__$n $F:$name+$offset"
done < insns > all
refused=0
while ! "$UPROBE" --check -f all > /dev/null 2> err.txt; do
	bad=$(sed -nE 's/^  (p:t\/[^ ]+) .*/\1/p' err.txt)
	[ -n "$bad" ] && grep -v "^$bad " all > left && ! cmp -s all left ||
		fail "which one is refused? $(head -n 1 err.txt)"
	echo "refused: $bad: $(head -n 1 err.txt)"
	mv left all
	refused=$((refused + 1))
done
[ $refused -lt 20 ] || fail "$refused are refused"

run() { # run WHAT DEFS OPTION...: sets hits.txt to "EVENT HITS"
	local what=$1 defs=$2
	shift 2
	timeout "$TIMEOUT" "$UPROBE" --stats --lossless -o out.txt "$@" -f "$defs" -- "$F" ${ROUNDS-} \
		< /dev/null > got.txt 2> err.txt || fail "$what: ended with $?"
	cmp -s "want${ROUNDS-}.txt" got.txt || {
		diff "want${ROUNDS-}.txt" got.txt
		fail "$what: other results"
	}
	sed -nE 's/.* stats: .* [a-z]+\/(\w+) hits=([0-9]+) .*/\1 \2/p' err.txt > hits.txt
	[ "$(wc -l < hits.txt)" = "$(wc -l < "$defs")" ] || fail "$what: counts of $(wc -l < hits.txt) probes"
	[ "$(awk '{ n += $2 } END { print n }' hits.txt)" = "$(count . out.txt)" ] ||
		fail "$what: $(count . out.txt) events are not what it counts"
}
# Breakpoints are no jumps; with jumps N places at least must be some, without a stop at most hits.
jumps_right() { # jumps_right WHAT MODE N
	local jumps hits stopped
	read -r jumps hits stopped < <(sed -nE \
		's/.* stats: .* hits=([0-9]+) .* stopped=([0-9]+) .* jumps=([0-9]+) .*/\3 \1 \2/p' err.txt |
		awk '{ j += $1; h += $2; s += $3 } END { print j, h, s }')
	if [ "$2" = auto ]; then
		[ "$jumps" -ge "$3" ] || fail "$1: $jumps jumps, not $3"
		[ "$3" = 0 ] || [ "$stopped" -lt "$hits" ] || fail "$1: all $hits hits stopped it"
	else
		[ "$jumps" = 0 ] && [ "$stopped" = "$hits" ] || fail "$1: $jumps jumps, $stopped of $hits stops"
	fi
}
# The first instruction runs once per call, and so does the second where the first is
# no jump; what comes later depends on the form.
calls_right() { # calls_right WHAT
	awk 'FNR == NR { want[$1] = $2; next }
		match($1, /__[01]$/) {
			name = substr($1, 1, RSTART - 1)
			if ($2 != want[name] + 0) print $1 ": " $2 " hits, not " want[name] + 0
		}' calls hits.txt > wrong
	[ ! -s wrong ] || fail "$1: $(wc -l < wrong) probes have other counts: $(head -n 3 wrong)"
}
both_same() { # both_same WHAT: as often as all at once
	sort hits.txt | join -j 1 all_hits.txt - | awk '$2 != $3' > wrong
	[ ! -s wrong ] || fail "$1: hits differ from all at once: $(head -n 3 wrong)"
}

for mode in auto trap step; do
	run "all at once, $mode" all --mode $mode
	jumps_right "all at once, $mode" $mode 500
	calls_right "all at once, $mode"
	[ $mode = auto ] && sort hits.txt > all_hits.txt
	both_same "all at once, $mode"
	# A breakpoint, and a step, is the same whatever is beside it.
	firsts="0 1 2 3 4 5"
	[ $mode = auto ] || long || firsts="0 1"
	for n in $firsts; do
		grep -E "^p:t/\w+__$n " all > part
		run "instructions $n, $mode" part --mode $mode
		jumps_right "instructions $n, $mode" $mode $(($(wc -l < part) / 4))
		both_same "instructions $n, $mode"
	done
	grep -E '^p:t/\w+__([6-9]|..+) ' all > part
	run "the others, $mode" part --mode $mode
	both_same "the others, $mode"
done
for k in 3 ${UBP_ALL:+2 5}; do
	for ((i = 0; i < k; i++)); do
		awk -v k=$k -v i=$i 'NR % k == i' all > part
		run "each ${k}th from $i on" part
		jumps_right "each ${k}th from $i on" auto $(($(wc -l < part) / 4))
		both_same "each ${k}th from $i on"
	done
done

# Returns. t_load takes its return address away, t_store is jumped to on another stack.
grep -E '^p:t/t_[0-9]+_\w+__0 ' all | sed -E 's|^p:t/(\w+)__0 ([^ +]+)\+0|r:r/\1 \2|' > returns
for mode in auto step; do
	run "returns, $mode" returns --mode $mode
	sort calls > want_calls
	awk '$2 > 0' hits.txt | sort > got_calls
	grep -E '^t_[0-9]' want_calls | diff - got_calls > wrong || fail "returns, $mode: $(head -n 4 wrong)"
	cat all returns > both
	run "all and returns, $mode" both --mode $mode
	calls_right "all and returns, $mode"
done

# One by one.
total=$(wc -l < all)
every=$((total / 10 + 1))
[ -z "${UBP_ALL:-}" ] || every=1
awk -v e=$every -v s="${UBP_SEED:-1}" 'NR % e == s % e' all > one_by_one
ROUNDS=1
while read -r def; do
	echo "$def" > one
	for mode in auto step; do
		run "$def, $mode" one --mode $mode
	done
done < one_by_one
echo "$total instructions probed, $(wc -l < one_by_one) of them one by one, $refused refused"
