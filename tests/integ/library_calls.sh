# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The library's functions in random order with random arguments, many of them wrong, on a program whose threads check what they
# compute, between dispatches, in callbacks and in handlers: a call that fails tells why in one line, nothing crashes, and the program is unharmed. No function
# of the library is forgotten. For longer: UBP_CALLS_SECONDS=600; again: UBP_CALLS_SEED=N.
. "${0%/*}/lib.bash"

# What is exported is called, or stands among what is left out, with a reason.
"$TOOLS/api_calls" --list > listed.txt || fail "--list: $?"
sed 's/: .*//' listed.txt | sort > called.txt
grep -oE '\bubp_[a-z_]+;' "$UBP_SRC/engine/libubp.map" | tr -d ';' | sort > exported.txt
[ "$(wc -l < exported.txt)" -ge 150 ] || fail "only $(wc -l < exported.txt) functions are exported"
diff exported.txt called.txt || fail "what is exported is not what tests/tool/calls/table.def has"
[ "$(grep -c ': ' listed.txt)" -le 5 ] || fail "much is left out: $(grep ': ' listed.txt)"

seconds=${UBP_CALLS_SECONDS:-6} seed=${UBP_CALLS_SEED:-$RANDOM}
start busy 2
timeout -s ABRT $((seconds + 120 * ${UBP_SLOWER:-1})) "$TOOLS/api_calls" "$PID" "$FIXTURES/busy" "$seconds" "$seed" > out.txt 2> err.txt ||
	fail "seed $seed: $? $(tail -n 3 out.txt) $(tail -n 20 err.txt)"
# shellcheck disable=SC2034 # those that are not looked at
read -r sessions _ calls _ failed _ events _ hits _ < out.txt
[ "$sessions" -gt 1 ] && [ "$failed" -gt 0 ] && [ "$calls" -gt "$failed" ] && [ "$events" -gt 0 ] || fail "seed $seed: not much was done: $(cat out.txt)"
untraced "$PID"
go
finish
