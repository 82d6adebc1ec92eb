# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Programs whose loader opens a probed library while uprobe runs are held until they are traced: not even the
# library's first call is missed, at the program's start or by dlopen(), however many come. A reader of the file
# does not wait, and whatever becomes of uprobe, no program waits for it.
. "${0%/*}/lib.bash"

need_hold
libc=$(ldd "$FIXTURES/brief" | grep -oE '/[^ ]*libc\.so\.6' | head -n 1)
[ -n "$libc" ] || skip "needs glibc as a library"

# A libc that nobody else maps, and a program that finds it by way of a script, so that its starter does not.
mkdir lib
cp "$libc" lib/libc.so.6
cp "$FIXTURES/brief" "$FIXTURES/dlopen_user" "$FIXTURES/dlopen_plugin" .
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$PWD/lib" "$PWD/brief" > script
chmod 755 script
LIB=$PWD/lib/libc.so.6
N=$(scaled 100)
probes=(-e "p:t/start $LIB:__libc_start_main" -e "p:t/sleep $LIB:clock_nanosleep")
runs() { timeout "$TIMEOUT" ./script live "$1" 0 || fail "$2: it ended with $?"; }
pids_of() { events | grep " $1: " | grep -oE '^ *[^ ]+-[0-9]+' | sort -u | wc -l; }

start "$FIXTURES/brief" "$N" 1000 0 "$PWD/script"
trace --stats "${probes[@]}"
go
finish
runs 1000 "alone"
# Both open the library; none is its loader.
cat lib/libc.so.6 > copy
"$UPROBE" -l "$LIB" > list.txt || fail "a second uprobe ended with $?"
trace_stop
grep -q 'finder=".*, fanotify"' err.txt || fail "nobody is held"
for event in start sleep; do
	[ "$(pids_of $event)" = $((N + 1)) ] || fail "$(pids_of $event) of $((N + 1)) programs were traced at '$event'"
done
[ "$(last_stat held)" = $((N + 1)) ] || fail "held: $(last_stat held)"

# By dlopen() in a program that runs already.
NAME=plugin start "$PWD/dlopen_user"
trace --stats "p:$PWD/dlopen_plugin:plugin_work"
go plugin
finish plugin
trace_stop
expect_count 6 ' plugin_work: '

# uprobe is stopped: a reader of the file does not wait, a loader no longer than it may.
trace "${probes[@]}"
kill -STOP "$UBP_PID"
timeout "$TIMEOUT" cat lib/libc.so.6 > copy || fail "cat waits for a stopped uprobe"
for i in 1 2; do runs $i "beside a stopped uprobe"; done
kill -CONT "$UBP_PID"
trace_stop

# It is killed in the middle.
NAME=killed start "$FIXTURES/brief" 50 1000 0 "$PWD/script"
trace "${probes[@]}"
go killed
wait_for out.txt ' start: '
kill -KILL "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
finish killed
