# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Recursion, tail calls, longjmp, signal handlers and coroutines under return
# probes: at least 64 pending returns per thread, and no harm at any depth.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/recursion
defs=()
for f in down even odd jump_down many_returns in_handler coro tail_a tail_b tail_c; do
	defs+=(-e "p:r/$f $F:$f n=$ARG1:s64" -e "r:r/${f}_ret $F:$f \$retval:s64")
done
for depth in 60 $(scaled 3000); do
	start recursion $depth
	trace --lossless -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	[ "$LAST" = "all right" ] || fail "depth $depth: it says '$LAST'"
	expect_count $((3 * (depth + 1))) ' down: '
	expect_count $((3 * (depth + 1))) ' jump_down: '
	expect_count 0 ' jump_down_ret: '
	[ $depth -gt 60 ] || expect_count 3 ' in_handler_ret: ' # under all the others
	expect_count 12 ' many_returns_ret: '
	expect_count 3 ' coro_ret: '
	for f in a b c; do expect_count 3 " tail_${f}_ret: .* arg1=11[123]\$"; done
	[ "$(count ' down_ret: ')" -ge $((3 * (depth < 64 ? depth + 1 : 64))) ] ||
		fail "depth $depth: only $(count ' down_ret: ') returns of down"
done
# Deep frames of one call return in order, innermost first.
start recursion 60
trace -p "$PID" -e "r:r/down_ret $F:down \$retval:s64"
go
finish
trace_done
events | head -n 61 | sed 's/.*arg1=//' > got
awk 'BEGIN { s = 0; for (i = 0; i <= 60; i++) { s += i; print s } }' > want
diff want got || fail "returns are out of order"
