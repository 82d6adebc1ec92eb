# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A process whose hits only a tracer can record (functions that jump to each other more often than detours keep count of) is traced
# again each time it has missed some, and stays traced in the end. What was missed is told.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/tail_chain
start tail_chain 0 1 20 plain
stays() {
	! grep -q "^TracerPid:[[:space:]]*0$" "/proc/$PID/status"
}
# Traced for some time: while it is tried out, it is let go of within milliseconds.
still() {
	for _ in {1..200}; do
		stays || return 1
		sleep 0.01
	done
}
until_true() {
	local end=$((SECONDS + TIMEOUT))

	until "$@"; do [ $SECONDS -lt $end ] || fail "never: $*"; done
}
# Other reasons may come first, before anything is missed: returns that are awaited, a thread that is always in the middle of something.
for n in {1..8}; do
	trace --stats -o out.txt -p "$PID" -e "p:t/f $F:chain_f" -e "p:t/deep $F:deep" -e "r:t/deep_ret $F:deep"
	[ "$n" != 1 ] || go
	until_true still
	trace_stop
	grep -Eq 'let_go=[0-4] traced="[^"]+"' err.txt || fail "not so: $(tail -n 1 err.txt)"
	! grep -Eq 'ring_lost=[1-9]|let_go=0' err.txt || break
done
grep -Eq 'ring_lost=[1-9]|let_go=0' err.txt || fail "nothing was missed: $(tail -n 1 err.txt)"
go
finish
