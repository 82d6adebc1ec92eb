# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Threads that live for less time than a look at /proc takes, each of which starts the next one: all are traced, though
# those that are seen have ended before they are seized. Also where an earlier uprobe was killed.
. "${0%/*}/lib.bash"

for ((round = 0; round < $(often 8); round++)); do
	start brief_threads
	for last in '' x; do
		trace --mode trap -p "$PID" -e "p:k/p $FIXTURES/brief_threads:probed"
		wait_for out.txt ' p: '
		[ -z "$last" ] || break
		kill -9 "$UBP_PID"
		trace_done 137 2> /dev/null
	done
	go
	finish
	trace_done
done
