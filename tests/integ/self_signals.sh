# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Threads that make remote calls send themselves a signal that stops them for their tracer: the program never sees it, whether
# it handles, ignores or blocks it, whatever other signals come meanwhile, and whenever uprobe is killed.
. "${0%/*}/lib.bash"

F=$FIXTURES/self_signals
for way in default caught ignored blocked opened masked; do
	start self_signals $way
	for ((i = $(often 12); i > 0; i--)); do
		trace -p "$PID" -e "p:s/work $F:work i=$ARG1"
		wait_for out.txt ' work: '
		trace_stop
	done
	for ((i = $(often 12); i > 0; i--)); do
		timeout -s KILL "0.0$((1 + RANDOM % 6))$((RANDOM % 10))" "$UPROBE" -o /dev/null -p "$PID" -e "p:s/work $F:work i=$ARG1" 2> /dev/null
		alive
	done
	go
	finish
	[ "$LAST" = "got 0 pending 0" ] || fail "$way: it says '$LAST'"
done
