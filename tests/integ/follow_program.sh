# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --follow -p PID, where PID runs another program than the one that is probed: its children may run that. Without
# --follow it is the wrong process. --no-follow is what happens anyway with -p, and leaves a command's children alone.
. "${0%/*}/lib.bash"
in_modes auto trap

# A shell that runs, for each line that it reads, a program, and says when that is done.
cat > runs <<'END'
#!/bin/bash
echo ready
while read -r line; do
	[ "$line" != end ] || exit 0
	echo | $line > /dev/null || exit 1
	echo done
done
exit 1
END
chmod 755 runs
run() {
	echo "$*" >&"$IN_fix"
	read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = done ] || fail "$*: '$line'"
}
start "$PWD/runs"

for how in '' --no-follow; do
	# shellcheck disable=SC2086 # none, or one
	refused "^uprobe: error: process $PID does not map $FIXTURES/hello: it runs another program" $how -p "$PID" "p:$FIXTURES/hello:greet"
	grep -qx '  hint: --follow traces its children, too, whatever they run' err.txt || fail "no hint"
done

trace --lossless --follow -p "$PID" "p:$FIXTURES/hello:greet"
# By the thread that traces, at the time when it is ready.
wait_for err.txt "^uprobe: warning: process $PID does not map $FIXTURES/hello: it runs another program, its children may run that one\$"
run "$FIXTURES/hello" one
run "$FIXTURES/hello" one two
run env bash -c "$FIXTURES/hello three; exit 0" # children of children, too
trace_stop
expect_count 4 ' hello-[0-9]+ .* greet: '
run "$FIXTURES/hello" late

# Both say that its children are not.
F=$(readlink -f "/proc/$PID/exe")
trace --lossless --no-follow -p "$PID" --stats "p:libc:exit"
run "$FIXTURES/hello" alone
echo end >&"$IN_fix"
trace_done
expect_count 0 ' hello-'
expect_count 1 "runs-$PID .* exit: "
wait "$PID" || fail "the shell ended with $?"

# Of a command they are, but for --no-follow.
for how in '' --follow --no-follow; do
	# shellcheck disable=SC2086 # none, or one
	"$UPROBE" $how -o out.txt "p:$FIXTURES/hello:greet" -- bash -c "echo | $FIXTURES/hello > say.txt; exit 3" 2> err.txt
	[ $? = 3 ] || fail "$how: not the command's status"
	[ "$how" = --no-follow ] && n=0 || n=1
	expect_count $n ' greet: '
done
