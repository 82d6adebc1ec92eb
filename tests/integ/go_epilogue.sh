# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Returns of functions that end as those of newer Go compilers: four bytes, one byte, ret. The jump in front of the ret is a punned one; it
# tells what breakpoints tell. ubp comes while they run, ends, and is killed.
. "${0%/*}/lib.bash"
need_arch x86_64
F=$FIXTURES/go_epilogue
DEFS=()
for name in new_small new_two; do DEFS+=(-e "r:t/$name $F:$name r=\$retval:s64 bp=%bp ip=%ip a=%di:s64"); done

for mode in auto trap; do
	echo go | "$UPROBE" --stats --lossless --mode $mode -o out.txt "${DEFS[@]}" -- "$F" > stdout.txt 2> err.txt || fail "$mode: ended with $?"
	[ "$(tail -n 1 stdout.txt)" = "bad 0" ] || fail "$mode: it says '$(cat stdout.txt)'"
	events | sed -E 's/^.*[0-9]: //' > $mode.told
	cp err.txt $mode.err
done
[ "$(wc -l < trap.told)" = 2000 ] || fail "$(wc -l < trap.told) events"
cmp trap.told auto.told || fail "not the same"
grep -q ' t/new_small .* sites=1 jumps=1 .* by_punned=1' auto.err || fail "new_small has no punned jump: $(cat auto.err)"
grep -q ' t/new_two .* sites=2 jumps=2 .* by_punned=1' auto.err || fail "not all of new_two's are jumps: $(cat auto.err)"

rounds=$(scaled 6)
for ((i = 0; i < rounds; i++)); do
	NAME=f$i start "$F" 200000 2
	trace -o events.txt "${DEFS[@]}" -p "$PID"
	go f$i
	wait_for events.txt ' new_two: '
	if [ $((i % 2)) = 0 ]; then
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
	else
		trace_stop
	fi
	# The next one finds what that has left.
	trace -o again.txt "${DEFS[@]}" -p "$PID"
	go f$i
	finish f$i
	trace_done
	[ "$(count ' new_two: ' again.txt)" -gt 0 ] || fail "round $i: the next one tells nothing"
	[ "$LAST" = "bad 0" ] || fail "round $i: it says '$LAST'"
done
