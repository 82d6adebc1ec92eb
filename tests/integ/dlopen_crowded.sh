# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# test-seconds: 1800
# A program with very many mappings loads libraries all the time, each of which is looked for in all of them: it waits
# for that itself after a while, and not another program that runs into its probe.
. "${0%/*}/lib.bash"

L=$FIXTURES/dlopen_plugin
ROUNDS=10
MANY=$(($(cat /proc/sys/vm/max_map_count) - 1000))
[ "$MANY" -le 64000 ] || MANY=64000
defs=(-e "p:$FIXTURES/busy:step" -e "p:w/work $L:plugin_work x=$ARG1:s32")

# batch: the crowded one does its rounds, BUSY is how many events the busy one had meanwhile.
batch() {
	local before line
	before=$(count ' step: ')
	go crowd
	read -r -t $((TIMEOUT * 5)) line <&"$OUT_crowd" && [ "$line" = done ] || fail "it says '$line'"
	BUSY=$(($(count ' step: ') - before))
}

NAME=busy start busy
NAME=crowd start dlopen_crowded "$MANY" "$ROUNDS" 6
trace --mode trap -p "$PID_busy,$PID_crowd" "${defs[@]}"
batch
first=$BUSY
# The first second of processor time costs it nothing; this is more.
for _ in 1 2 3; do batch; done
[ "$BUSY" -gt $((first * 5)) ] || fail "$first events of the other at first, $BUSY in the end"
# No library came late.
expect_count $((ROUNDS * 4)) ' work: '
[ "$(grep -c "process $PID_crowd: so much is mapped there" err.txt)" = 1 ] || fail "that it waits is not told once"

# The session ends while it waits: it goes on at once.
go crowd
trace_stop TERM
read -r -t "$TIMEOUT" line <&"$OUT_crowd" && [ "$line" = done ] || fail "it says '$line'"
go crowd
finish crowd
go busy
finish busy

# One that waits can be killed.
NAME=crowd start dlopen_crowded "$MANY" 100000
trace --mode trap -p "$PID_crowd" "${defs[@]:2}"
go crowd
told() { grep -q "process $PID_crowd: so much is mapped there" err.txt; }
eventually told
kill -KILL "$PID_crowd"
trace_done
wait "$PID_crowd"
[ $? = 137 ] || fail "it was not killed"
