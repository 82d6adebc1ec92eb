# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# No room for the output: one message, status 1, the target goes on without us.
. "${0%/*}/lib.bash"

F=$FIXTURES/busy
start busy 1
text_of "$PID" "$F" before
timeout "$TIMEOUT" "$UPROBE" -p "$PID" -o /dev/full -e "p:b/step $F:step" > out.txt 2> err.txt
[ $? = 1 ] || fail "-o /dev/full: status is not 1"
[ "$(grep -c '^uprobe: .*No space left on device' err.txt)" = 1 ] || fail "-o /dev/full: message"
timeout "$TIMEOUT" "$UPROBE" -p "$PID" -e "p:b/step $F:step" > /dev/full 2> err.txt
[ $? = 1 ] || fail "> /dev/full: status is not 1"
# The file may be no longer than this: SIGXFSZ comes with the error, and would leave the probes.
timeout "$TIMEOUT" bash -c 'ulimit -f 4; exec "$@"' _ "$UPROBE" -p "$PID" -o long -e "p:b/step $F:step" > out.txt 2> err.txt
[ $? = 1 ] || fail "ulimit -f: status is not 1"
[ "$(grep -c '^uprobe: error: long: File too large$' err.txt)" = 1 ] || fail "ulimit -f: $(cat err.txt)"
timeout "$TIMEOUT" bash -c 'ulimit -f 1; exec "$@"' _ "$UPROBE" -o list -l libc > out.txt 2> err.txt
[ $? = 1 ] || fail "ulimit -f, a list: status is not 1"
# A command has the signal as ever.
timeout "$TIMEOUT" "$UPROBE" -o none "p:$F:step" -- bash -c 'ulimit -f 1; head -c 5000 /dev/zero > zeros; exit $?' 2> err.txt
[ $? = 153 ] || fail "a command past its limit: $?, $(cat err.txt)"
refused 'no/such' -p "$PID" -o no/such/file -e "p:b/step $F:step"
text_of "$PID" "$F" after
cmp before after || fail "its code is not what it was"
untraced "$PID"
go
finish
