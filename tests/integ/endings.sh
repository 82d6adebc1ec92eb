# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# However uprobe is asked to end, it ends well, says so and takes its probes out.
. "${0%/*}/lib.bash"

F=$FIXTURES/busy
NAME=busy start busy 2
text_of "$PID_busy" "$F" before
clean() {
	text_of "$PID_busy" "$F" after
	cmp before after || fail "$1: its code is not what it was"
	untraced "$PID_busy"
	alive "$PID_busy"
}
for signal in INT TERM HUP QUIT; do
	trace -p "$PID_busy" -e "p:busy/step $F:step"
	wait_for out.txt ' step: '
	trace_stop $signal
	[ "$(grep -c 'Ending tracing\.\.\.' out.txt)" = 1 ] || fail "$signal: does not say that it ends"
	clean $signal
done

# | head -3: the reader goes, so do we.
set -o pipefail
timeout "$TIMEOUT" "$UPROBE" -p "$PID_busy" -e "p:busy/step $F:step i=$ARG1" 2> err.txt | head -n 3 > out.txt
rc=$?
[ $rc = 0 ] || [ $rc = 141 ] || fail "| head: ended with $rc"
[ ! -s err.txt ] || fail "| head: complains"
[ "$(wc -l < out.txt)" = 3 ] || fail "| head: not three lines"
clean "| head"

# A reader that goes while nothing happens at all.
NAME=idle start threads 1 1
mkfifo pipe
"$UPROBE" -p "$PID_idle" -e "p:t/tick $FIXTURES/threads:tick" > pipe 2> err.txt &
UBP_PID=$!
head -n 1 < pipe > out.txt # the banner
trace_done
untraced "$PID_idle"
go idle
finish idle

# -n and -d
trace -p "$PID_busy" -n 7 -e "p:busy/step $F:step"
trace_done
expect_count 7 ' step: '
clean "-n"
trace -p "$PID_busy" -d 0.5 -e "p:busy/step $F:step"
trace_done
[ "$(count ' step: ')" -gt 100 ] || fail "-d: only $(count ' step: ') events"
grep -q '^Tracing uprobe step for 0.5 seconds (buffered)\.\.\.$' out.txt || fail "-d: no banner"
clean "-d"
go busy
finish busy
