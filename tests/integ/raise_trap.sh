# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A program that uses SIGTRAP itself keeps every trap it makes, whether its handler
# was there before us or comes later, and has it still when we are gone.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES
for when in early late; do
	start raise_trap $when
	trace -p "$PID" -e "p:t/work $F/raise_trap:work i=$ARG1" -e "r:t/ret $F/raise_trap:work"
	go
	finish
	trace_done
	[ "$LAST" = "traps 50 raised 100" ] || fail "$when: it says '$LAST'"
	expect_count 100 ' work: '
	expect_count 100 ' ret: '

	start raise_trap $when
	trace -p "$PID" -e "p:t/work $F/raise_trap:work"
	trace_stop
	go
	finish
	[ "$LAST" = "traps 50 raised 100" ] || fail "$when, after us: it says '$LAST'"
done

# Breakpoints that are hit inside of a SIGTRAP handler, where SIGTRAP is blocked: the
# kernel sets the handler back to the default then.
for when in early late; do
	start raise_trap $when
	trace -p "$PID" -e "p:t/inside $F/raise_trap:inside i=$ARG1" -e "r:t/ret $F/raise_trap:inside" \
		-e "p:t/handler $F/raise_trap:on_trap sig=$ARG1:s32"
	go
	finish
	trace_done
	[ "$LAST" = "traps 50 raised 100" ] || fail "$when, inside: it says '$LAST'"
	expect_count 150 ' handler: .* sig=5$'
	expect_count 150 ' inside: '
	expect_count 150 ' ret: '
done

# A breakpoint that is met while one waits, blocked: that one comes when the guard is there again.
for when in early late; do
	start raise_trap $when blocked
	trace -p "$PID" -e "p:t/work $F/raise_trap:work i=$ARG1"
	go
	finish
	trace_done
	[ "$LAST" = "traps 50 raised 200" ] || fail "$when, blocked: it says '$LAST'"
	expect_count 200 ' work: '
done

# Those that others send find a thread in a slot, at the trampoline, behind a breakpoint; and
# one that is pending when a breakpoint is met has the kernel forget the breakpoint's.
n=$(scaled 5000)
[ "$MODE" = trap ] || n=$(scaled 500) # jumps make millions of events in that time
start sent_traps "$n"
trace --lossless -p "$PID" -e "p:t/work $F/sent_traps:work" -e "r:t/ret $F/sent_traps:work" \
	-e "p:t/push $F/sent_traps:pushes" -e "p:t/nop $F/sent_traps:naked" \
	-e "p:t/land $F/sent_traps:lands"
go
finish
trace_done
[[ $LAST =~ ^"traps $n calls "([0-9]+)$ ]] || fail "sent: it says '$LAST'"
for event in work ret push nop land; do expect_count "${BASH_REMATCH[1]}" " $event: "; done

# Who does not expect one dies of it, and is not kept alive for it; nor by others that hit
# breakpoints meanwhile.
for threads in 1 2 2 2 2; do
	start busy $threads
	trace -p "$PID" "p:$F/busy:step"
	kill -TRAP "$PID"
	trace_done
	wait "$PID"
	rc=$?
	[ $rc = 133 ] || fail "SIGTRAP by default: ended with $rc, not 133"
done
