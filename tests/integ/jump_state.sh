# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Jumps over every kind of code: all registers, flags, vector and x87 state, what is below and
# above the stack pointer and memory are afterwards what they are without probes, whatever
# the detour does: record, drop, give up, wait; or when nobody is there any more.
. "${0%/*}/lib.bash"

need_arch x86_64 aarch64
# Registers: some number, two more; pointers to nowhere and to a string.
case ${KIND:-$(uname -m)} in
i386) NAME_OF=jump_state_i386 N1=%di N2=%bp N3=%si BAD=%dx TEXT=%bx ;;
aarch64) NAME_OF=jump_state_arm64 N1=%x0 N2=%x11 N3=%x10 BAD=%x8 TEXT=%x9 ;;
*) NAME_OF=jump_state N1=%di N2=%r11 N3=%r10 BAD=%r8 TEXT=%r9 ;;
esac
F=$FIXTURES/$NAME_OF
start $NAME_OF
# few N: so many rounds, or fewer where all is slow.
few() { echo $((($1 + ${UBP_SLOWER:-1} - 1) / ${UBP_SLOWER:-1})); }
N=$(few 20) MANY=$(few 400)
line=
same_state() { # same_state WHAT COMMAND...
	local what=$1
	shift
	echo "$*" >&"$IN_fix"
	read -r -t "$TIMEOUT" line <&"$OUT_fix" || fail "$what: no answer, $(cat fix.err)"
	[ "$line" = same ] || fail "$what: $line"
	echo "$what: $SECONDS s"
}
same_state alone run $(few 2)

# What may be probed; each with the same args.
nm "$F" | sed -nE 's/.* [tT] j_(\w+)$/\1/p' | grep -v '^helper$' | sort > points
defs() { # defs KIND ARGS: for all of them, or those in $ONLY
	sed -E "s,(.*),$1:j/\1 $F:j_\1 $2," "${ONLY:-points}"
}
refused=0
while defs p '' > all && ! "$UPROBE" --check -f all > /dev/null 2> err.txt; do
	bad=$(sed -nE 's/^  p:j\/([^ ]+) .*/\1/p' err.txt)
	[ -n "$bad" ] || fail "which one is refused? $(cat err.txt)"
	grep -vx "$bad" points > left
	mv left points
	echo "refused: $(head -n 1 err.txt)"
	refused=$((refused + 1))
done
[ $refused -le 2 ] || fail "$refused are refused"
total=$(wc -l < points)

sum() { # sum FIELD: over all probes
	sed -nE "s/.* stats: .* j\/.* $1=([0-9]+).*/\1/p" err.txt | awk '{ n += $1 } END { print n + 0 }'
}
begin() { # begin KIND ARGS OPTION...
	defs "$1" "$2" > defs.txt
	shift 2
	trace -p "$PID" --stats -f defs.txt "$@"
}

# 1. They are recorded. Most of them must be jumps, or this shows nothing.
begin p "a=$N1:x64 b=$N2 s=+0($TEXT):string t=+0(%sp):x64 u=$N3:u8" --lossless
same_state recording run $N
same_state "recording in another thread" thread $N
trace_stop
same_state "after that" run $(few 2)
sed -nE 's/.* stats: .* j\/(\w+) .* jumps=1 .*/\1/p' err.txt | sort > jumps
sed -nE 's/.* stats: .* j\/(\w+) .* no_jump=(.*)/no jump: \1: \2/p' err.txt
[ "$(wc -l < jumps)" -ge $((total - 14)) ] || fail "only $(wc -l < jumps) of $total are jumps"
[ "$(sum hits)" = "$(count ' s="what it points to"')" ] || fail "$(sum hits) hits, $(count .) events"
[ "$(sum stopped)" -lt $(($(sum hits) / 4)) ] || fail "$(sum stopped) of $(sum hits) hits were stops"

# 2. Dropped by a filter: by a register, by memory, behind what was written.
for filter in 'a == 4711' 'u == 200 && a == 1' 's == "no"' 's ~ "*no*"' 'b == 9 || s == "x"'; do
	begin p "a=$N1:x64 b=$N2 s=+0($TEXT):string u=+1($TEXT):u8" --filter "$filter"
	same_state "filter $filter" run $N
	trace_stop
	expect_count 0 .
	[ "$(sum jumps)" -gt 30 ] || fail "$(sum jumps) jumps"
done

# 3. What is not there: the tracer sees to it, at each hit.
begin p "x=+0($BAD):x64 s=+0($BAD):string" --lossless
same_state "bad pointers" run $(few 2)
trace_stop
[ "$(sum hits)" = "$(count 's=\(fault\)')" ] || fail "bad pointers: $(sum hits) hits, $(count .) events"
[ "$(sum hits)" = "$(sum stopped)" ] || fail "bad pointers without a stop"

# 4. A thread with a pointer that nobody knows yet.
begin p "a=$N1:x64 s=+0($TEXT):string" --lossless
same_state "other thread pointers" tls $(few 3)
same_state "the own one again" run $(few 2)
trace_stop
[ "$(sum hits)" = "$(count 's="what it points to"')" ] || fail "thread pointers: $(count .) of $(sum hits)"

# 5. Nobody empties the rings: they get full. What is no jump would wait for a tracer.
ONLY=jumps
# Traced all the time: who is in the middle of letting go of a process has it wait in its stops.
begin p "a=$N1:x64 s=+0($TEXT):string" --stay --buffer-size 256
same_state "once" run 1
kill -STOP "$UBP_PID"
same_state "full rings" run $MANY
kill -CONT "$UBP_PID"
same_state "emptied again" run $(few 2)
trace_stop
grep -q '\[LOST [0-9]* EVENTS\]' out.txt || fail "nothing was lost: the rings were not full"
begin p "a=$N1:x64 s=+0($TEXT):string" --lossless --buffer-size 256
same_state "once, lossless" run 1
kill -STOP "$UBP_PID"
echo run $MANY >&"$IN_fix"
waits() { grep -q '^State:.*tracing stop' "/proc/$PID/status"; }
eventually waits
kill -CONT "$UBP_PID"
read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = same ] || fail "full rings, lossless: $line"
trace_stop
[ "$(sum hits)" = "$(count 's="what it points to"')" ] || fail "lossless: $(count .) of $(sum hits)"
ONLY=

# 6. Returns, alone and with entries; of functions that do not look at where they return to.
grep -vE '_in$|^pop_stack$' points > functions
ONLY=functions
begin r "\$retval s=+0($TEXT):string" --lossless
same_state returns run $(few 5)
same_state "returns in another thread" thread $(few 5)
trace_stop
[ "$(sum hits)" = "$(count ' arg1=')" ] || fail "returns: $(count .) of $(sum hits)"
# This one comes to its start again and again, with one return to come: that takes a stop.
sed -i '/ j\/loop_in_front /d' err.txt
[ "$(sum jumps)" -gt 30 ] && [ "$(sum stopped)" -lt $(($(sum hits) / 2)) ] ||
	fail "returns: $(sum jumps) jumps, $(sum stopped) of $(sum hits) hits were stops"
sed 's,p:j/,&entry_,' all > entries
begin r '$retval' --lossless -f entries
same_state "returns and entries" run $(few 5)
same_state "returns and entries in another thread" thread $(few 5)
same_state "returns with other thread pointers" tls $(few 2)
trace_stop
begin r "x=+0($BAD):x64 s=+0($BAD):string" --lossless
same_state "returns, bad pointers" run $(few 2)
trace_stop
[ "$(sum hits)" = "$(count 's=\(fault\)')" ] || fail "returns, bad pointers: $(count .) of $(sum hits)"
begin r 'a=$retval' --filter 'a == 4711'
same_state "returns, filter" run $(few 5)
trace_stop
expect_count 0 .
ONLY=

# 7. Several at one place.
defs p "a=$N1" > several
defs p "s=+0($TEXT):string" | sed 's,p:j/,&second_,' >> several
defs p "s=+0($BAD):string" | sed 's,p:j/,&third_,' >> several
trace -p "$PID" --stats --lossless -f several
same_state "three at each place" run $(few 3)
trace_stop
[ "$(sum jumps)" -gt 90 ] || fail "$(sum jumps) jumps of three at each place"

# 8. Killed: nobody records, nothing else changes. Then the next one comes, and goes.
for kind in p r p; do
	[ $kind = p ] || ONLY=functions
	begin $kind "a=$N1:x64 s=+0($TEXT):string"
	ONLY=
	same_state "before the kill" run $(few 3)
	kill -KILL "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	same_state "killed" run $(few 10)
	same_state "killed, another thread" thread $(few 10)
done
same_state "killed, other thread pointers" tls $(few 2)
begin p "a=$N1:x64 s=+0($TEXT):string" --lossless
same_state "the next one" run $(few 5)
trace_stop
[ "$(sum hits)" = "$(count 's="what it points to"')" ] || fail "the next one: $(count .) of $(sum hits)"
[ "$(sum jumps)" -gt 30 ] || fail "the next one has $(sum jumps) jumps"
same_state "at the end" run $(few 10)
# 9. By breakpoints each is hit as often.
hits() { sort err.txt | sed -nE 's/.* stats: .* j\/(\w+) hits=([0-9]+) .*/\1 \2/p'; }
for mode in jump trap step; do
	begin p "a=$N1:x64" --lossless --mode $mode
	same_state "recording, --mode $mode" run $(few 10)
	same_state "recording in another thread, --mode $mode" thread $(few 10)
	trace_stop
	hits > hits.$mode
	cmp hits.jump hits.$mode || fail "other counts in --mode $mode"
done
text_of "$PID" "$F" text.now
echo end >&"$IN_fix"
finish
NAME=fresh
start $NAME_OF
text_of "$PID" "$F" text.fresh
echo end >&"$IN_fresh"
finish fresh
cmp text.fresh text.now || fail "its code is not what it was"
echo "$(wc -l < jumps) of $total places are jumps"
