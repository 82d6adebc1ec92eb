# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A traced child is stopped and continued: its parent sees what it would see anyway.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/job_control
start job_control 20
trace -p "$WORD" -e "p:j/work $F:work i=$ARG1" -e "r:j/ret $F:work"
wait_for out.txt ' ret: '
go
finish
trace_done
[ "$LAST" = "as a shell expects" ] || fail "it says '$LAST'"

# uprobe attaches to a stopped process, which stays stopped, and lets it go again.
start job_control 1
kill -STOP "$WORD"
trace -p "$WORD" -e "p:j/work $F:work"
trace_stop
grep -q '^State:.*T' "/proc/$WORD/status" || fail "a stopped process runs after detach"
untraced "$WORD"
kill -CONT "$WORD"
go
finish

# And as a command with children.
echo go | "$UPROBE" -o out.txt -e "p:j/work $F:work" -- "$F" 10 > stdout.txt 2> err.txt ||
	fail "as a command: $?"
grep -q "as a shell expects" stdout.txt || fail "as a command it says '$(tail -n 1 stdout.txt)'"
