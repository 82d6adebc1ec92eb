# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Stacks while things change: many threads, libraries that come and go, code that is made, processes
# by fork and exec; and of a tracer that is killed nothing more is left than without stacks. By libdw, and by libunwind.
. "${0%/*}/lib.bash"
. "${0%/*}/stacks.bash"

for KIND in cfi unwind; do
# A thousand threads: all stacks of a function that one thread calls from one place are alike.
F=$FIXTURES/many_threads
start many_threads 200 2000
trace --lossless --stack=$KIND --stack-raw -p "$PID" -e "p:m/tick $F:tick"
go
finish
trace_done
[ "$LAST" = "woken 200" ] || fail "it says '$LAST'"
expect_count 2000 ' tick: '
[ "$(stacks_of | wc -l)" = 2000 ] || fail "$(stacks_of | wc -l) stacks"
[ "$(stacks_of | sort -u | wc -l)" = 1 ] || fail "stacks differ: $(stacks_of | sort -u | head -n 3)"

# Threads that are born and die; uprobe comes and goes.
F=$FIXTURES/thread_churn
start thread_churn 0 20
go
for _ in 1 2 3; do
	trace --stack=$KIND --stack-raw -p "$PID" -n 50 -e "p:c/tick $F:tick" -e "r:c/ret $F:tick"
	trace_done
	expect_count 50 ' (tick|ret): '
	[ "$(stacks_of | awk 'NF < 3' | wc -l)" = 0 ] || fail "$(stacks_of | awk 'NF < 3')"
	alive
done
go
finish

# A library that is unmapped and mapped again, with another in between.
start dlopen_user
trace --stack=$KIND -p "$PID" -e "p:d/work $FIXTURES/dlopen_plugin:plugin_work"
go
finish
trace_done
expect_count 6 ' work: '
[ "$(grep -c '=> plugin_work+0x0 (.*/dlopen_plugin)' out.txt)" = 6 ] || fail "not in the library"
[ "$(grep -c '=> main+0x.* (.*/dlopen_user)' out.txt)" = 6 ] || fail "not up to main"

# Code that is there for a moment.
F=$FIXTURES/stack_made
"$UPROBE" --stack=$KIND --lossless -o out.txt -e "p:g/leaf $F:leaf" -- "$F" 50 2> err.txt || fail "ended with $?"
expect_count 50 ' leaf: '
[ "$(grep -c '=> main+0x' out.txt)" = 50 ] || fail "$(grep -c '=> main+0x' out.txt) stacks up to main"
[ "$(grep -cE '=> (0x|\[)' out.txt)" -ge 50 ] || fail "the code that was made is not in stacks"

# Children: each has its own mappings after an exec, its parent's before.
cat > tree.sh <<'SH'
for i in 1 2 3; do (:; /bin/true; "$1" 3 > /dev/null); done
SH
F=$FIXTURES/stack_deep
"$UPROBE" --stack=$KIND --lossless -o out.txt -e "p:g/leaf $F:leaf" -- bash tree.sh "$F" 2> err.txt || fail "ended with $?"
n=$(count ' leaf: ')
[ "$n" -ge 3 ] || fail "$n events"
[ "$(grep -c '=> main+0x' out.txt)" = "$n" ] || fail "not up to main"

# Killed in the middle.
F=$FIXTURES/busy
start busy 4
text_of "$PID" "$F" clean
for _ in 1 2 3; do
	trace --stack=$KIND -p "$PID" -e "p:b/step $F:step" -e "r:b/ret $F:step"
	wait_for out.txt ' ret: '
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	alive
done
trace --stack=$KIND -p "$PID" -e "p:b/step $F:step"
wait_for out.txt ' step: '
trace_stop
text_of "$PID" "$F" now
cmp clean now || fail "the code is not what it was"
alive
go
finish
done
exit 0
