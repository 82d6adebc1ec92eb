# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# With -p only that process: its children get none of our breakpoints, and end well.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/fork_exec
for mode in fork vfork clone_vm spawn system grandchild exec; do
	start fork_exec $mode
	trace -p "$PID" -e "p:f/work $F:work who=$ARG1:s32" -e "r:f/ret $F:work"
	go
	finish
	trace_done
	[ "$(events | awk '{ print $1 }' | grep -vc -- "-$PID\$")" = 0 ] ||
		fail "$mode: events of another process"
done

# Nor where the mother is in a function that returns to us, whoever has replaced its return address: the
# child has it on its stack, too. An uprobe that was killed before has left something that is in no list.
for before in none killed; do
	start fork_exec inside
	split=(--stats -p "$PID" -e "r:f/split $F:split v=\$retval:s32" -e "r:f/ret $F:work")
	if [ $before = killed ]; then
		trace "${split[@]}"
		kill -9 "$UBP_PID"
		trace_done 137 2> /dev/null
	fi
	trace "${split[@]}"
	go
	finish
	trace_done
	expect_count 100 ' split: '
	[ "$MODE" != auto ] || grep -q 'f/split .* jumps=1' err.txt || fail "split() is no jump"
done
