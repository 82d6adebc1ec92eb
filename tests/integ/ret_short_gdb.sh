# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Short jumps on ret instructions, with one to three bytes of fill in front of functions that are probed, too. uprobe is killed; then a debugger's breakpoints come to
# these ret instructions and to the functions behind them, and the debugger steps from there. The program goes on as if nothing were, and the next session leaves its
# code as it was.
. "${0%/*}/lib.bash"
need_arch x86_64
have gdb objdump
F=$FIXTURES/ret_fill
NAMES=(two_bytes next_one next_two next_three)
DEFS=()
for name in "${NAMES[@]}"; do DEFS+=(-e "r:s/$name $F:$name"); done
for name in next_two next_three next_long; do DEFS+=(-e "p:s/${name}_p $F:$name"); done

# It calls all of its functions until it is told something else.
start "$F" 0 9
# tell LINE ANSWER
tell() {
	local answer=
	echo "$1" >&"$fd_in"
	read -r -t "$TIMEOUT" answer <&"$fd_out" && [ "$answer" = "$2" ] || fail "$1: it says '$answer', not '$2'"
}
is_short_jump() {
	python3 -c 'import os, sys
code = os.pread(os.open(f"/proc/{sys.argv[1]}/mem", os.O_RDONLY), 1, int(sys.argv[2], 16))
sys.exit(code != b"\xeb")' "$PID" "$1"
}

base=$(awk -v f="$(readlink -f "$F")" '$6 == f { print "0x" substr($1, 1, index($1, "-") - 1); exit }' "/proc/$PID/maps")
RETS=()
for name in "${NAMES[@]}"; do
	at=$(objdump -d --no-show-raw-insn --disassemble="$name" "$F" | sed -nE 's/^ *([0-9a-f]+):\tret *$/\1/p' | head -n 1)
	[ -n "$at" ] || fail "$name has no ret"
	RETS+=("$(printf '0x%x' $((base + 16#$at)))")
done

rounds=$(often 2)
for ((round = 0; round < rounds; round++)); do
	trace -o events.txt "${DEFS[@]}" -p "$PID"
	echo go >&"$fd_in"
	short=()
	eventually is_short_jump "${RETS[0]}"
	for at in "${RETS[@]}"; do ! is_short_jump "$at" || short+=("$at"); done
	# Fill near by may be another one's.
	[ ${#short[@]} -ge 3 ] || fail "${#short[@]} short jumps"
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=

	BREAKS=(-ex 'break next_two' -ex 'break next_three')
	for at in "${short[@]}"; do BREAKS+=(-ex "break *$at"); done
	STEPS=()
	for ((i = 0; i < 8; i++)); do STEPS+=(-ex continue -ex "stepi $((i * 5))"); done
	timeout "$TIMEOUT" gdb -nx -batch -p "$PID" "${BREAKS[@]}" "${STEPS[@]}" -ex delete -ex detach > gdb.txt 2>&1 || fail "gdb: $(tail -n 5 gdb.txt)"
	[ "$(grep -c '^Breakpoint [1-6], ' gdb.txt)" -ge 8 ] || fail "gdb stopped elsewhere: $(cat gdb.txt)"
	! grep -q 'Program received signal\|exited' gdb.txt || fail "$(grep 'Program received signal\|exited' gdb.txt)"
	tell bytes others
	tell 'once 20' called
done

# --- the next one takes out all of it
trace -o events.txt "${DEFS[@]}" -p "$PID"
tell 'once 100' called
trace_stop
tell bytes same
echo end >&"$fd_in"
finish
[ "$LAST" = 'bad 0' ] || fail "it says '$LAST'"
