# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Code that a program made itself is called as /tmp/perf-PID.map says, or by where it is. By frame pointers,
# which the made code has: stacks through such code by the other ways are in stack_load.sh.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/stack_jit
for mode in trap jump; do
	NAME=$mode start stack_jit 5
	trace --stack fp --mode $mode -p "$PID" -e "p:s/callee $F:callee+4"
	go $mode
	eventually eval '[ "$(count " callee: ")" = 10 ]'
	go $mode
	finish $mode
	trace_done
	[ "$(grep -cx ' => LazyCompile:~run /app/main.js:12+0xc (//anon)' out.txt)" = 5 ] || fail "$mode: by name"
	[ "$(grep -cE '^ => 0x[0-9a-f]+ \(//anon\)$' out.txt)" = 5 ] || fail "$mode: without a name"
	[ "$(grep -c '^ => main+0x' out.txt)" = 10 ] || fail "$mode: what called it"
done
