# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A stack that is copied away while a probed function has not returned (greenlets) comes back when uprobe has
# ended, or was killed, and perhaps another one has come and gone, or is there. The function may pop an argument
# (32 bits: one that returns a structure).
. "${0%/*}/lib.bash"
in_modes auto trap

trace_it() { trace -p "$PID" -e "r:k/r $FIXTURES/stack_moved:probed" -e "r:k/s $FIXTURES/stack_moved:probed_struct"; }

for what in '' struct; do
	for ends in INT KILL 'INT INT' 'KILL INT' 'INT KILL' 'KILL KILL' 'INT finish' 'KILL finish'; do
		echo "$what: $ends"
		# shellcheck disable=SC2086 # one word, or none
		start stack_moved $what
		trace_it
		go
		read -r -t "$TIMEOUT" line <&"$OUT_fix" && [ "$line" = left ] || fail "not left: $line"
		for end in $ends; do
			[ -n "$UBP_PID" ] || trace_it
			case $end in
			INT) trace_stop ;;
			KILL)
				kill -9 "$UBP_PID"
				trace_done 137 2> /dev/null
				;;
			finish) ;;
			esac
		done
		go
		finish
		[ -z "$UBP_PID" ] || trace_done
	done
done
