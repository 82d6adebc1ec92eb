# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A process that another tracer holds: refused with that tracer's pid; without -p
# it is passed over, with a word about it.
. "${0%/*}/lib.bash"

cat > hold.py <<'PY'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(0x4206, int(sys.argv[1]), None, None) != 0:  # PTRACE_SEIZE
    sys.exit(f"seize: errno {ctypes.get_errno()}")
print("ready", flush=True)
sys.stdin.readline()
PY
# start wants one program.
printf '#!/bin/sh\nexec python3 %s/hold.py "$@"\n' "$PWD" > hold
chmod +x hold
F=$FIXTURES/threads
NAME=held start threads 1 10
NAME=free start threads 1 20
NAME=holder start "$PWD/hold" "$PID_held"
refused "(^|[^0-9])$PID_holder([^0-9]|\$)" -p "$PID_held" -e "p:t/tick $F:tick"
refused "(^|[^0-9])$PID_holder([^0-9]|\$)" -p "$PID_free,$PID_held" -e "p:t/tick $F:tick"
untraced "$PID_free"
trace --stats -e "p:t/tick $F:tick"
go held
go free
finish free
# A zombie is its parent's only when its tracer has let go.
zombie() { [ "$(ps -o state= -p "$1")" = Z ]; }
eventually zombie "$PID_held"
go holder
finish holder
finish held
trace_stop
expect_count 20 ' tick: '
grep -qE 'skipped=1 ' err.txt || fail "--stats does not count the one passed over"
grep -qE '^uprobe: ' err.txt || fail "says nothing about the process passed over"
