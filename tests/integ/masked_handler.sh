# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A signal handler that runs with SIGTRAP blocked, as libuv's do, may meet a breakpoint when uprobe has been
# killed: it lives. The program reads its masks as it has set them, and has them when uprobe is gone.
. "${0%/*}/lib.bash"
in_modes trap auto

F=$FIXTURES/masked_handler
# ask COMMAND ANSWER
ask() {
	local line=
	echo "$1" >&"$IN_fix"
	read -r -t "$TIMEOUT" line <&"$OUT_fix" || { wait "$PID"; fail "$1: it has ended with $?"; }
	[ "$line" = "$2" ] || fail "$1: it says '$line', not '$2'"
}
all() { # all RUNS-SO-FAR BEFORE: of SIGUSR1, set before us, and of SIGUSR2, set under us
	ask read 'read masked'
	ask raise "raise $(($1 + 1))"
	ask set "set $2"
	ask read2 'read masked'
	ask set 'set masked'
	ask raise2 "raise $(($1 + 2))"
	ask child 'child well'
}
start masked_handler
trace -p "$PID" -e "p:m/work $F:work" -e "r:m/ret $F:work" -e "p:m/handler $F:on_signal"
all 0 open
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
all 2 masked
# The next one takes over what was noted, and gives it back.
trace -p "$PID" -e "p:m/work $F:work"
all 4 masked
trace_stop
all 6 masked
ask drop 'drop masked'
ask read2 'read other'
ask set 'set open'
echo end >&"$IN_fix"
finish
