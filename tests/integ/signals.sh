# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Thousands of queued signals against threads that hit probes all the time: each
# arrives once, on its alternate stack; masks and dispositions stay.
. "${0%/*}/lib.bash"
in_modes auto trap

F=$FIXTURES/signals few=$(scaled 2000)
for defs in "p:s/work $F:work i=$ARG1 s=+0($ARG2):string" "r:s/ret $F:work \$retval" \
	"p:s/handler $F:on_signal sig=$ARG1:s32"; do
	start signals "$few"
	trace -p "$PID" -e "$defs"
	go
	finish
	trace_done
	[ "$LAST" = "arrived $few" ] || fail "$defs: it says '$LAST'"
done
expect_count "$few" ' handler: .* sig=[0-9]+$'

# Let go in the middle of the storm.
start signals "$few" on
trace -p "$PID" -e "p:s/work $F:work" -e "r:s/ret $F:work"
go
wait_for out.txt ' ret: '
trace_stop
go
finish
[[ $LAST =~ ^arrived\ ([0-9]+)$ ]] && [ "${BASH_REMATCH[1]}" -ge "$few" ] || fail "let go in the middle: it says '$LAST'"
