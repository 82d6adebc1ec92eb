# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The library's functions in random order with random arguments, many of them wrong, on a program whose threads check what they
# compute: a call that fails tells why in one line, nothing crashes, and the program is unharmed. For longer: UBP_CALLS_SECONDS=600; again: UBP_CALLS_SEED=N.
. "${0%/*}/lib.bash"

seconds=${UBP_CALLS_SECONDS:-6} seed=${UBP_CALLS_SEED:-$RANDOM}
start busy 2
timeout -s ABRT $((seconds + 120 * ${UBP_SLOWER:-1})) "$TOOLS/api_calls" "$PID" "$FIXTURES/busy" "$seconds" "$seed" > out.txt 2> err.txt ||
	fail "seed $seed: $? $(tail -n 3 out.txt) $(tail -n 20 err.txt)"
# shellcheck disable=SC2034 # those that are not looked at
read -r sessions _ calls _ failed _ events _ < out.txt
[ "$sessions" -gt 1 ] && [ "$failed" -gt 0 ] && [ "$calls" -gt "$failed" ] && [ "$events" -gt 0 ] || fail "seed $seed: not much was done: $(cat out.txt)"
untraced "$PID"
go
finish
