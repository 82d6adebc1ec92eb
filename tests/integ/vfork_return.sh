# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# vfork() takes its return address off the stack, and both return by it: the mother, when the child has gone,
# perhaps long after uprobe. Nobody could put back what had replaced it.
. "${0%/*}/lib.bash"
in_modes auto trap

start fork_exec vfork_waits
libc=$(awk '$6 ~ /libc\.so/ { print $6; exit }' "/proc/$PID/maps")
trace -p "$PID" -e "r:k/vfork $libc:vfork v=\$retval:s32"
go
read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = child ] || fail "no child: $line"
kill -INT "$UBP_PID"
trace_done 1 # which says that a thread cannot be asked to take the handler out
grep -q 'the handler of SIGTRAP could not be taken out' err.txt || fail "nothing is said"
go
finish

# In all other cases each of the two is an event.
start fork_exec vfork
trace --follow -p "$PID" -e "r:k/vfork $libc:vfork v=\$retval:s32"
go
finish
trace_done
expect_count 5 ' vfork: .* v=0$'
expect_count 10 ' vfork: '
