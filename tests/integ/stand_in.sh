# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The process that reads strangers' memory in uprobe's place: it holds nothing of uprobe's open, is in nobody's session and
# traces nobody; killed, it is missed by nobody; and it ends with uprobe, however that ends.
. "${0%/*}/lib.bash"
need_root
have setpriv
in_modes auto trap

T=$FIXTURES/silent_memory
# stand_in: its id. One that has just been killed is not meant.
stand_in() {
	local pid
	for pid in $(cat "/proc/$UBP_PID"/task/*/children); do
		[ "$(cat "/proc/$pid/comm" 2> /dev/null)" = ubp-stand-in ] || continue
		[ "$(awk '$1 == "State:" { print $2 }' "/proc/$pid/status")" = Z ] || echo "$pid"
	done
}
called() { read -r -t "$TIMEOUT" _ <&"$OUT_fix" || fail "no call is over"; }
has_ended() { [ ! -e "/proc/$1" ] || [ "$(awk '$1 == "State:" { print $2 }' "/proc/$1/status" 2> /dev/null)" != S ]; }

mkfifo held
exec {held}<> held # what uprobe inherits its children do not keep open
start "$(type -P setpriv)" --reuid 65534 --regid 65534 --clear-groups -- "$T" alone
trace -p "$PID" -e "p:t/touch $T:touch text=+0($ARG1):string"
go
called
one=$(stand_in)
[ -n "$one" ] && [ "$(wc -w <<< "$one")" = 1 ] || fail "not one stand-in: $one"
for fd in "/proc/$one/fd"/*; do
	to=$(readlink "$fd")
	[[ $to == socket:* || $to == /proc/*/mem || $to == /proc/*/pagemap ]] || fail "it has open: $to"
done
[ "$(awk '{ print $6 }' "/proc/$one/stat")" = "$one" ] || fail "it is in a session of others"
[ "$(awk '$1 == "TracerPid:" { print $2 }' "/proc/$one/status")" = 0 ] || fail "somebody traces it"
[ "$(awk '$1 == "TracerPid:" { print $2 }' "/proc/$PID/status")" != "$one" ] || fail "it traces"
# A signal for all of uprobe's group does not reach it; one that cannot be blocked costs no value.
kill -TERM "$one"
go
called
[ "$(stand_in)" = "$one" ] || fail "it has ended by a signal that it blocks"
kill -KILL "$one"
go
called
trace_stop
expect_count 3 ' touch: .*text="plain"'
expect_count 0 '\(fault\)'
alive
# uprobe is killed: it goes, too.
trace -p "$PID" -e "p:t/touch $T:touch text=+0($ARG1):string"
go
called
one=$(stand_in)
kill -KILL "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
[ -n "$one" ] || fail "no stand-in"
eventually has_ended "$one"
alive

# Each request costs two switches of process: planting and taking out, with a jump, makes some 130 for a process.
NAME=many start "$(type -P setpriv)" --reuid 65534 --regid 65534 --clear-groups -- "$FIXTURES/crowd" 10 1 0 0
pids=$PID_many$(printf ',%s' $(cat "/proc/$PID_many/task"/*/children))
trace --stay --stats -p "$pids" -e "p:t/tick $FIXTURES/crowd:tick"
trace_stop
requests=$(grep -o ' requests=[0-9]*' err.txt)
[ "${requests#*=}" -lt 1600 ] || fail "$requests for 10 processes"
