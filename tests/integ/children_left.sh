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
