# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Many sessions in one host, one behind the other: nothing of them stays in the host, and nothing in the target. `make check-sessions` has
# five hundred of them, sanitized, which finds memory that is lost, too, and under valgrind. UBP_SESSIONS=N: as many. UBP_UNDER="COMMAND...": the
# host is run by that.
. "${0%/*}/lib.bash"

sessions=${UBP_SESSIONS:-80}
start busy 1
timeout -s ABRT $((300 + sessions * ${UBP_SLOWER:-1})) ${UBP_UNDER:-} "$TOOLS/api_sessions" "$PID" "$FIXTURES/busy" step "$sessions" > out.txt 2> err.txt ||
	fail "$? $(tail -n 3 out.txt) $(tail -n 30 err.txt)"
[ ! -s err.txt ] || fail "$(head -n 30 err.txt)"
cat out.txt
untraced "$PID"
go
finish
