# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The kernel's tracer counts in a semaphore, too: whoever comes and goes, or is killed,
# lowers it by what is his alone.
. "${0%/*}/lib.bash"
use_usdt
need_root
T=/sys/kernel/tracing
[ -e $T/uprobe_events ] || mount -t tracefs nodev $T 2> /dev/null
[ -e $T/uprobe_events ] || skip "needs the kernel's uprobe_events"

F=$PWD/usdt_copy
cp "$FIXTURES/usdt" "$F"
event=ubp_usdt_$$/guarded
kernel_done() {
	[ -e "$T/events/$event" ] || return 0
	echo 0 > "$T/events/$event/enable"
	echo "-:$event" >> $T/uprobe_events
}
trap 'kernel_done; cleanup' EXIT
# At another address than ours: the function's first instruction, not the probe's nop.
ref=$("$UPROBE" --check "$F:sema:guarded" | sed -nE 's/.*\((0x[0-9a-f]+)\).*/\1/p')
echo "p:$event $F:$(foffset_of "$F" main)($ref)" >> $T/uprobe_events || skip "no uprobe_events"

start "$F"
says() {
	local line=
	go
	read -r -t "$TIMEOUT" line <&"$OUT_fix"
	[ "$line" = "guarded=$1 far=0" ] || fail "$2: '$line', not $1"
}
trace -p "$PID" sema:guarded
says 1 "we alone"
echo 1 > "$T/events/$event/enable"
says 2 "both"
trace_stop
says 1 "the kernel alone"
# What we noted there is over: the next one of us must not take it for its own.
trace -p "$PID" sema:guarded
says 2 "both again"
trace_stop
says 1 "the kernel alone again"
trace -p "$PID" sema:guarded
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
says 2 "killed"
trace -p "$PID" sema:guarded
says 2 "repaired, and raised"
echo 0 > "$T/events/$event/enable"
says 1 "we alone"
trace_stop
says 0 "nobody"
exec {IN_fix}>&-
finish
