# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Of three processes that are named the last one ends while much is planted in the second: the others are traced on, and when they end, too, so
# does uprobe.
. "${0%/*}/lib.bash"

F=$FIXTURES/many_functions
for name in first second third; do
	NAME=$name start many_functions 0 0
done
n_maps() { wc -l < "/proc/$PID_second/maps"; }
was=$(n_maps)
grown() { [ "$(n_maps)" -gt "$was" ]; }
trace_start -p "$PID_first,$PID_second,$PID_third" -e "p:$F:f*"
# Something is mapped in it: the first one is done with.
eventually grown
kill -KILL "$PID_third"
read -r -t "$TIMEOUT" line <&"$ready_fd" && [ "$line" = ready ] || fail "it does not trace the others: $(cat err.txt)"
for name in first second; do
	go_once=IN_$name
	echo once >&"${!go_once}"
done
wait_for out.txt "-$PID_first .* f29999: "
wait_for out.txt "-$PID_second .* f29999: "
kill -KILL "$PID_first"
kill -0 "$UBP_PID" || fail "it has ended"
kill -KILL "$PID_second"
trace_done
wait "$PID_first" "$PID_second" "$PID_third" 2> /dev/null
expect_count 40000 ' f[0-9]+: '
