# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Functions that others enter behind their first instruction, as mempcpy() does memcpy(): a short jump leads to another
# one in unused bytes near by. Planted and taken out under load, by sessions that end or are killed; children; a signal
# handler that goes on at the second jump.
. "${0%/*}/lib.bash"
need_arch x86_64
have python3

# Punned jumps the same (pun_jump.sh), with KIND=punned. In 32-bit programs the same, with BITS=32 in the environment.
F=$FIXTURES/short_jump A=%di
if [ "${BITS:-64}" = 32 ]; then
	F=${UBP_BUILD:?}/fixtures32/short_jump A=%ax
	[ -x "$F" ] || skip "gcc cannot build for 32 bits (gcc-12-multilib)"
	"$UBP_BUILD/fixtures32/exit_code" exit || skip "this kernel runs no 32-bit programs"
fi

KIND=${KIND:-short} BY=by_$KIND STAYS=changed
SAYS='short, over [23] bytes, to another in unused bytes near by, and from there to a detour'
if [ "$KIND" = punned ]; then
	BY=by_punned STAYS=same F=$FIXTURES/pun_jump
	SAYS='over 3 bytes, of which the next 2 are a part, to another in memory that is mapped for it, and from there to a detour'
fi

line=
ask() { # ask LINE: sets line
	echo "$1" >&"$IN_fix"
	read -r -t "$TIMEOUT" line <&"$OUT_fix" || fail "no answer to '$1': $(cat fix.err)"
}
tell() { # tell LINE ANSWER
	ask "$1"
	[ "$line" = "$2" ] || fail "line ${BASH_LINENO[0]}: $1: it says '$line', not '$2'"
}
is_jump() { ask jump && [ "$line" = "$KIND" ]; }
# A thread may have come to a signal handler just there: the next session takes out what stays then.
clean() {
	for _ in 1 2 3; do
		ask bytes
		[ "$line" != same ] || return 0
		trace -p "$PID" -e "p:s/one $F:one"
		trace_stop
	done
	fail "line ${BASH_LINENO[0]}: something stays"
}
stat() { sed -nE "s/.* stats: .* s\/$1 .*\b$2=([0-9]+).*/\1/p" err.txt; }
planted() { # planted ARG...: its jump stands
	trace --stats -p "$PID" -e "p:s/copied $F:copied a=$A" "$@"
	eventually is_jump
}

# 1. What it is, and where it must not be.
"$UPROBE" --explain -e "p:s/copied $F:copied" > explain.txt || fail "--explain"
grep -q ": jump ($SAYS: no stop; not safe beside" explain.txt ||
	fail "it says $(cat explain.txt)"
"$UPROBE" --explain --beside-kernel -e "p:s/copied $F:copied" > explain.txt || fail "--explain"
grep -q 'could begin at the first instruction only' explain.txt || fail "--beside-kernel: $(cat explain.txt)"

# 2. Each call once, without stops.
start "$F" 0
planted --lossless
tell 'once 1000' called
trace_stop
tell bytes same
[ "$(count ' copied: .* a=')" = 1000 ] || fail "$(count copied) events"
[ "$(stat copied jumps)" = 1 ] && [ "$(stat copied $BY)" = 1 ] && [ "$(stat copied stopped)" -lt 20 ] || fail "statistics"
# A return address is replaced, too.
trace --stats --lossless -p "$PID" -e "r:s/copied $F:copied v=\$retval"
eventually is_jump
tell 'once 500' called
trace_stop
tell bytes same
[ "$(count ' copied: .* v=')" = 500 ] && [ "$(stat copied stopped)" -lt 20 ] || fail "returns: $(count) events"
if [ "$KIND" = punned ]; then
	. "${0%/*}/pun_jump_near.bash"
else
# Two that have one place for that: one of them stays a breakpoint.
trace --stats --lossless -p "$PID" -e "p:s/one $F:one" -e "p:s/two $F:two" -e "p:s/copied $F:copied"
eventually is_jump
tell 'once 100' called
trace_stop
tell bytes same
[ $(($(stat one jumps) + $(stat two jumps))) = 1 ] || fail "both or none of two are jumps"
grep -q 'no_jump="others have the unused bytes near by' err.txt || fail "no reason"
[ "$(count)" = 300 ] || fail "$(count) events of 300"
# Nothing of it is left for those that fit.
for f in one two; do
	trace --stats --lossless -p "$PID" -e "p:s/$f $F:$f" -e "p:s/copied $F:copied"
	eventually is_jump
	tell 'once 10' called
	trace_stop
	tell bytes same
	[ "$(stat $f by_short)" = 1 ] || fail "$f alone is no jump"
done
fi
tell 'once 1' called
echo end >&"$IN_fix"
finish

# 3. Under load, by threads and timers: many times, by sessions that end and such that are killed.
start "$F" 3
for i in $(seq "$(often 12)"); do
	planted
	trace_stop
	clean
	tell jump none
	if [ $((i % 3)) = 0 ]; then
		planted
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
		tell jump "$KIND"
		alive
	fi
done

# 4. Children: a copy that nobody follows has its own code, while its mother is traced.
planted --stay
tell fork 'forked 20'
trace_stop
clean
planted --follow
ask fork
trace_stop
clean
echo end >&"$IN_fix"
finish

# 5. A signal handler goes on at the second jump: that stays, for as long as it may, and is another session's to take out.
start "$F" 2
planted
tell park parked
trace_stop
tell jump none
# The second jump of a punned one is not in the program's code.
tell bytes "$STAYS"
# Nor is it in the way.
planted
trace_stop
tell unpark unparked
planted
trace_stop
tell bytes same
# The same when ubp is killed meanwhile.
planted
tell park parked
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
planted
tell unpark unparked
trace_stop
tell jump none
trace -p "$PID" -e "p:s/one $F:one"
trace_stop
tell bytes same
# And when it waits, and is through, while it is traced.
planted
tell park parked
tell unpark unparked
trace_stop
tell bytes same
echo end >&"$IN_fix"
finish
[ "${BITS:-64}" = 64 ] && [ "$KIND" = short ] || exit 0

# 6. memcpy() itself, as this machine has it.
PY=$(python3 -c 'import sys; print(sys.executable)')
"$UPROBE" --explain -e 'p:s/memcpy libc:memcpy' > explain.txt || fail "--explain"
grep -q ': jump' explain.txt || skip "no jump at memcpy here: $(cat explain.txt)"
"$UPROBE" --stats -o out.txt -e 'p:s/memcpy libc:memcpy' -- "$PY" -c '
b = bytearray(100000)
for i in range(200000):
    bytes(b[i % 100:i % 100 + 40])' > stdout.txt 2> err.txt || fail "python ended with $?"
hits=$(stat memcpy hits) stopped=$(stat memcpy stopped)
echo "$hits hits of memcpy, $stopped stopped"
[ "$hits" -gt 100000 ] && [ "$stopped" -lt $((hits / 50)) ] || fail "$stopped of $hits hits were stops"
exit 0
