# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Processes that start after uprobe, again and again; --stats says how they are found.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/threads
NAME=before start threads 2 10
text_of "$PID" "$F" clean
go before
finish before
planted() { text_of "$1" "$F" now && ! cmp -s clean now; }

trace --stats -e "p:t/tick $F:tick thread=$ARG1 i=$ARG2:s32"
for n in 1 2 3; do
	NAME=late start threads 2 10
	# Found as it starts, or a little later: wait until its breakpoint stands.
	eventually planted "$PID"
	go late
	finish late
done
wait_for out.txt 'i=9$'
trace_stop
expect_count 60 ' tick: '
grep -qE 'finder="[^"]+"' err.txt || fail "--stats does not say how processes are found"
grep -qE ' t/tick hits=60 passed=60 lost=0 ' err.txt || fail "--stats counts wrongly"
