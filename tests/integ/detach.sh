# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Attach and let go again and again: every byte is back, nobody is traced, and the
# program's result is right.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/busy
start busy "${BUSY:-3}"
text_of "$PID" "$F" before
signals=(INT TERM HUP QUIT INT INT)
long || signals=(INT TERM HUP QUIT)
! slow || signals=(INT QUIT)
for signal in "${signals[@]}"; do
	trace -p "$PID" -e "p:busy/step $F:step $ARG1 s=+0($ARG2):string" -e "r:busy/step_ret $F:step"
	text_of "$PID" "$F" during
	cmp -s before during && fail "nothing was planted: this test shows nothing"
	wait_for out.txt 'step: .* s="busy"$'
	wait_for out.txt 'step_ret: '
	trace_stop $signal
	text_of "$PID" "$F" after
	cmp before after || fail "after $signal its code is not what it was"
	untraced "$PID"
	alive
done
go
finish
case $LAST in "checksum right"*) ;; *) fail "busy says '$LAST'" ;; esac

# In the middle of steps.
start busy "${BUSY:-3}"
for ((i = $(often 15); i > 0; i--)); do
	trace --mode step -p "$PID" -n 50 -e "p:busy/step $F:step"
	trace_done
	untraced "$PID"
	alive
done
go
finish
case $LAST in "checksum right"*) ;; *) fail "after steps busy says '$LAST'" ;; esac
