# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A process that executes a probed program while uprobe runs is held until the probes stand, so not even the
# first call of the shortest one is missed, however many come. One that had to go on before is told of. And
# whatever becomes of uprobe or of the helper that holds the processes, no exec waits for it.
. "${0%/*}/lib.bash"

need_hold

cp "$FIXTURES/brief" prog # the starter is another file, and so is not traced itself
PROG=$PWD/prog
N=$(scaled 200)
probes=(-e "p:t/early $PROG:early i=$ARG1:s32" -e "p:t/late $PROG:late i=$ARG1:s32")
holder() { # the child of uprobe that has the fanotify descriptor
	local pid
	for pid in $(pgrep -P "$UBP_PID"); do
		! ls -l "/proc/$pid/fd" 2> /dev/null | grep -q 'anon_inode:\[fanotify\]' || echo "$pid"
	done
}
runs() { timeout "$TIMEOUT" "$PROG" live "$1" 0 || fail "$2: it ended with $?"; }

start brief "$N" 1000 0 "$PROG"
trace --stats "${probes[@]}"
go
finish
# An exec that fails has run nothing.
python3 - "$PROG" << 'END' || fail "an exec that fails ended with $?"
import errno, os, sys
try:
	os.execv(sys.argv[1], ["prog", "x" * (1 << 20)])
except OSError as e:
	sys.exit(e.errno != errno.E2BIG)
END
trace_stop
grep -q 'finder=".*, fanotify"' err.txt || fail "nobody is held"
missed=0
for ((i = 0; i < N; i++)); do
	grep -q " early: .* i=$i\$" out.txt && grep -q " late: .* i=$i\$" out.txt || missed=$((missed + 1))
done
early=$(last_stat early) held=$(last_stat held)
[ "$missed" -le "$early" ] || fail "$missed of $N runs were not traced, of $early it is told: $(grep stats: err.txt)"
[ "$(last_stat too_late)" -le "$early" ] || fail "it is told that some ended before they were traced: $(grep stats: err.txt)"
[ $((held + early)) -ge "$N" ] || fail "$held were held and $early not, of $N"
[ "$early" -le $((N / 10)) ] || fail "$early of $N went on before they were traced: $(grep stats: err.txt)"

trace --stats "${probes[@]}"
# An interpreter: the kernel asks in the middle of the exec.
printf '#!%s live\n' "$PROG" > script
chmod 755 script
./script || fail "the script ended with $?"
# A thread that is not the first of its process.
python3 - "$PROG" << 'END' || fail "an exec from a thread ended with $?"
import os, signal, sys, threading
threading.Thread(target=lambda: os.execv(sys.argv[1], ["prog", "live", "100000", "0"])).start()
signal.pause()
END
trace_stop
grep -q ' early: .* i=100000$' out.txt || fail "an exec from a thread was missed"

# The holder is stopped: it is woken.
trace --stats "${probes[@]}"
HOLDER=$(holder)
[ -n "$HOLDER" ] || fail "there is no holder"
kill -STOP "$HOLDER"
runs 1 "beside a stopped holder"
# uprobe is: the first one waits as long as it may, the others do not.
kill -STOP "$UBP_PID"
for i in 2 3 4; do runs $i "beside a stopped uprobe"; done
kill -CONT "$UBP_PID"
# The holder is killed: found in the other ways.
kill -KILL "$HOLDER"
runs 5 "beside a dead holder"
NAME=other start brief 1 1000 2500 "$PROG"
go other
wait_for out.txt ' late: .* i=0$'
finish other
trace_stop

# uprobe is killed, also in the middle.
for i in 1 2 3 4 5; do
	NAME=k$i start brief 50 1000 0 "$PROG"
	trace "${probes[@]}"
	HOLDER=$(holder)
	[ -n "$HOLDER" ] || fail "there is no holder"
	go k$i
	wait_for out.txt ' early: '
	kill -KILL "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	finish k$i
	eventually test ! -e "/proc/$HOLDER"
done
