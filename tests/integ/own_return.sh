# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Functions that do more with their return address than to return find there what their caller has put. dlsym()
# asks it whose RTLD_NEXT is meant: its return is caught at its end. swapcontext() keeps it for setcontext(), perhaps
# for longer than uprobe is there: its return is not probed.
. "${0%/*}/lib.bash"
in_modes auto trap

for sig in INT KILL; do
	start own_return
	libc=$(awk '$6 ~ /libc\.so/ { print $6; exit }' "/proc/$PID/maps")
	[ -n "$libc" ] || skip "needs glibc as a library"
	refused 'keeps its return address' -p "$PID" "r:$libc:swapcontext"
	trace -p "$PID" -e "r:k/dlsym $libc:dlsym v=\$retval:x64" \
		-e "p:k/swap $libc:swapcontext"
	go
	read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = inside ] || fail "not inside: $line"
	if [ $sig = INT ]; then
		trace_stop
		expect_count 2 ' dlsym: .* v=0x[1-9a-f]'
		expect_count 0 ' dlsym: .* v=0x0$'
		expect_count 3 ' swap: '
	else
		kill -KILL "$UBP_PID"
		trace_done 137 2> /dev/null
	fi
	go
	finish
	[ "$LAST" = well ] || fail "$sig: it said '$LAST'"
done
