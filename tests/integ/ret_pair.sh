# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where a branch leads to right behind a ret at which returns are caught, what it leads to is moved, and the jumps there and at the ret share bytes: while several threads run
# through both, ubp comes and goes, is killed, and finds what it has left; probes come to what is moved.
. "${0%/*}/lib.bash"
need_arch x86_64
have objdump
F=$FIXTURES/ret_fill
NAMES=(behind behind_one behind_table behind_end)
DEFS=()
for name in "${NAMES[@]}"; do DEFS+=(-e "r:t/$name $F:$name r=\$retval:s64"); done
places() { # places: of the first ret of each, as linked
	local name
	for name in "${NAMES[@]}"; do
		objdump -d --no-show-raw-insn --disassemble="$name" "$F" | sed -nE 's/^ *([0-9a-f]+):\tret *$/\1/p' | head -n 1
	done
}
mapfile -t RETS < <(places)
[ "${#RETS[@]}" = 4 ] || fail "the functions are not as they were: ${RETS[*]}"
base() { sed -nE "s|^([0-9a-f]+)-[^ ]+ [^ ]+ 0+ .*/ret_fill\$|\1|p" "/proc/$PID/maps" | head -n 1; }
# memory AT LEN: bytes of the target, by their address as linked.
memory() { dd if="/proc/$PID/mem" iflag=skip_bytes,count_bytes skip=$((16#$(base) + 16#$1)) count="$2" 2> /dev/null | od -An -tx1 -v; }
# Two opcodes of jumps, one behind the other, at each.
are_pairs() {
	local ret
	for ret in "${RETS[@]}"; do [ "$(memory "$ret" 2)" = " e9 e9" ] || return 1; done
}
# No byte of the file's code is another one in memory.
is_as_in_file() {
	local at off len
	read -r len at off <<< "$(objdump -h "$F" | sed -nE 's/^ *[0-9]+ \.text +([0-9a-f]+) +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) .*/\1 \2 \3/p')"
	cmp <(memory "$at" $((16#$len))) <(od -An -tx1 -v -j $((16#$off)) -N $((16#$len)) "$F")
}

# --- while threads run
for ((i = 0; i < 4; i++)); do
	NAME=f$i start "$F" 0 1 3
	go f$i
	trace --stats -o /dev/null "${DEFS[@]}" -p "$PID"
	eventually are_pairs || fail "round $i: no pairs of jumps"
	if [ $((i % 2)) = 0 ]; then
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
		are_pairs || fail "round $i: they are gone with ubp"
	else
		trace_stop
		is_as_in_file || fail "round $i: something stays"
	fi
	trace --stats -o /dev/null "${DEFS[@]}" -p "$PID"
	eventually are_pairs || fail "round $i: no pairs of jumps again"
	trace_stop
	is_as_in_file || fail "round $i: something stays of the next one"
	go f$i
	finish f$i
	[ "$LAST" = "bad 0" ] || fail "round $i: it says '$LAST'"
done

# --- of what is recorded nothing is missing, and nothing stops any more
for name in "${NAMES[@]}"; do
	stat=$(grep " t/$name hits=" err.txt)
	[[ $stat =~ hits=([0-9]+) ]] && hits=${BASH_REMATCH[1]}
	[[ $stat =~ at_ret:([0-9]+) ]] && stops=${BASH_REMATCH[1]}
	[[ $stat =~ by_punned=1 ]] || fail "$name: $stat"
	[ "$stops" -lt $((hits / 4)) ] || fail "$name stops $stops times of $hits"
done

# --- probes come to what is moved, and to its second instruction, and go, while the pair stands
START=$(objdump -d --disassemble=behind "$F" | sed -nE 's/^([0-9a-f]+) <behind>:$/\1/p')
NAME=live start "$F" 0 1 2
go live
for behind in 0 1 5; do
	"$TOOLS/live_probes" "$PID" 1 "r:t/behind $F:behind" "p:t/there $F:behind+$((16#${RETS[0]} - 16#$START + behind))" > out.txt 2> err.txt ||
		fail "live_probes +$behind: ended with $?: $(cat err.txt)"
	alive
	is_as_in_file || fail "+$behind: something stays"
done
# One is there first: then there is no pair, and what it tells is right.
trace --stats -o /dev/null -e "p:t/there $F:behind+$((16#${RETS[0]} - 16#$START + 1))" "${DEFS[@]}" -p "$PID"
RETS=("${RETS[@]:1}")
eventually are_pairs || fail "no pairs beside another probe"
trace_stop
grep -q ' t/there hits=[0-9][0-9][0-9]' err.txt || fail "a probe behind a ret tells nothing: $(cat err.txt)"
grep -q ' t/behind .* jumps=1 ' err.txt || fail "a jump beside another probe: $(grep ' t/behind ' err.txt)"
go live
finish live
[ "$LAST" = "bad 0" ] || fail "it says '$LAST'"
