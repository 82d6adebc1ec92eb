# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Threads that were asleep when ubp came have no ring. Each claims one in the detour, and is not stopped for it: their hits are
# all there, with their ids and names.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/claims
THREADS=$(scaled 200) CALLS=3

for round in 1 2; do
	start claims "$THREADS" $CALLS
	# The second time an earlier uprobe was killed there.
	if [ $round = 2 ]; then
		trace --mode jump -p "$PID" -e "p:c/tick $F:tick tid=$ARG1:s32"
		kill -9 "$UBP_PID"
		trace_done 137 2> /dev/null
	fi
	trace --mode jump --stats --lossless -p "$PID" -e "p:c/tick $F:tick tid=$ARG1:s32 i=$ARG2:s32"
	go
	wait_for out.txt " i=$CALLS\$"
	go
	finish
	trace_done
	expect_count $((THREADS * CALLS + 1)) ' tick: '
	# COMM-TID, as the thread itself has it.
	grep ' tick: ' out.txt | sed 's/^ *\([^ ]*\)-\([0-9]*\) .*tid=\([0-9]*\) .*/\1 \2 \3/' |
		awk '$1 != "w" $3 || $2 != $3' > wrong.txt
	[ ! -s wrong.txt ] || fail "name, id, and id by the arg: $(head -n 3 wrong.txt)"
	stops=$(sed -n 's/.*stops="\([^"]*\)".*/\1/p' err.txt)
	n=$(sed -n 's/.*thread:\([0-9]*\).*/\1/p' <<< "$stops")
	[ "${n:-0}" -le 2 ] || fail "stops of threads that had no ring: $stops"
done
