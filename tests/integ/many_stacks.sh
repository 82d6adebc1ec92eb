# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Returns of functions that many threads are in at the same depth of stacks that lie a power of two apart: they are recorded without stops.
. "${0%/*}/lib.bash"

F=$FIXTURES/many_stacks
for threads in 16 $(scaled 100); do
	start many_stacks $threads 20 60
	trace --stats --lossless --mode jump -p "$PID" -e "r:t/deep $F:deep \$retval:s64"
	go
	finish
	trace_done
	expect_count "$LAST" ' deep: '
	# A thread may stop once, at its first hit.
	stopped=$(sed -nE 's/^uprobe: stats: .*t\/deep .*\bstopped=([0-9]+).*/\1/p' err.txt | head -n 1)
	[ "$stopped" -le $((2 * threads)) ] || fail "$threads threads: $(grep 't/deep' err.txt)"
done
