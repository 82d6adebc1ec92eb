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
# It maps the file, and starts a thread, which stays, when it is told to.
cat > maps.py <<'PY'
import mmap, sys, threading
f = open(sys.argv[1], "rb")
code = mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=threading.Event().wait, daemon=True).start()
print("thread", flush=True)
sys.stdin.readline()
PY
# start wants one program.
for i in hold maps; do
	printf '#!/bin/sh\nexec python3 %s/%s.py "$@"\n' "$PWD" $i > $i
	chmod +x $i
done
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
grep -qE "why_skipped=\"[^\"]*$PID_held[^\"]*$PID_holder" err.txt || fail "it is not told who was passed over, and why: $(cat err.txt)"

# A new thread of a process that was passed over is no other process. A process that comes later is found
# later.
NAME=maps start "$PWD/maps" "$F"
NAME=holder start "$PWD/hold" "$PID_maps"
trace --stats -e "p:t/tick $F:tick"
go maps
# shellcheck disable=SC2154 # set by start
read -r line <&"$OUT_maps" && [ "$line" = thread ] || fail "no thread: $line"
NAME=free start threads 1 20
eventually traced "$PID_free"
go free
finish free
trace_stop
grep -qE 'skipped=1 ' err.txt || fail "--stats counts a thread: $(cat err.txt)"
for i in holder maps; do
	go $i
	finish $i
done
