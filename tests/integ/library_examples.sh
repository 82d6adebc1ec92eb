# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# docs/example.py and docs/example.cc trace by the shared library alone; probes are added while they run, and removed in a callback. docs/example.c has all of a
# burst that ends with its process.
. "${0%/*}/lib.bash"
have g++
have python3
grep -q -- '-fsanitize' "$UBP_BUILD/flags" && skip "this build is sanitized: programs of others need its run time library first"

mkdir include && cp "$UBP_SRC"/engine/*.h include
g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I include -o example "$UBP_SRC/docs/example.cc" "$UBP_BUILD/libubp.so.1" ||
	fail "docs/example.cc does not build"
gcc -std=gnu11 -Wall -Wextra -Werror -I include -o example_c "$UBP_SRC/docs/example.c" "$UBP_BUILD/libubp.so.1" || fail "docs/example.c does not build"
export LD_LIBRARY_PATH=$UBP_BUILD
mkfifo err

# run_on "FIXTURE ARG..." COMMAND...: traces it until it ends.
run_on() {
	# shellcheck disable=SC2086 # words
	start $1
	shift
	# shellcheck disable=SC2094 # the reader is the next line
	"${@//PID/$PID}" > out.txt 2> err &
	UBP_PID=$!
	read -r line < err && [ "$line" = ready ] || fail "not ready: $line"
	go; finish
	wait "$UBP_PID" || fail "$1: exit status $?"
}
run() { run_on 'hello you and me' "$@"; }
run python3 "$UBP_SRC/docs/example.py" PID "p:$FIXTURES/hello:greet name=+0($ARG1):string" "r:back $FIXTURES/hello:greet"
for name in you and me; do
	[ "$(grep -c ": greet: (0x[0-9a-f]*) name=\"$name\"\$" out.txt)" = 1 ] || fail "example.py: other events of $name"
done
[ "$(grep -c ': back: (0x' out.txt)" = 3 ] || fail "example.py: other returns"

run ./example PID 2 "p:$FIXTURES/hello:greet" "r:back $FIXTURES/hello:greet"
printf 'greet 2\nback 2\n' | diff - out.txt || fail "example.cc: other counts"
run ./example PID 9 "p:$FIXTURES/hello:greet"
[ "$(cat out.txt)" = "greet 3" ] || fail "example.cc: other counts"

# All of a burst that ends with its process, with threads that trace and with an engine.
for engine in '' "$UBP_BUILD/ubp-engine" '' "$UBP_BUILD/ubp-engine"; do
	run_on 'threads 2 3000' env UBP_ENGINE="$engine" ./example_c PID "p:$FIXTURES/threads:tick thread=$ARG1:s64 i=$ARG2:s64"
	for t in 0 1; do
		sed -nE "s/.* tick: \(0x[0-9a-f]+\) thread=$t i=([0-9]+)\$/\1/p" out.txt | cmp - <(seq 0 2999) || fail "example.c: other events of thread $t"
	done
	[ "$(wc -l < out.txt)" = 6000 ] || fail "example.c: $(wc -l < out.txt) lines"
done

# What is wrong is told in a line.
for command in "python3 $UBP_SRC/docs/example.py $$ p:nowhere:x" "./example $$ 1 p:nowhere:x"; do
	! $command > out.txt 2> why.txt || fail "$command is well"
	[ "$(wc -l < why.txt)" = 1 ] && grep -q nowhere why.txt || fail "$command: $(cat why.txt)"
	# An engine in a process of its own is not gone as soon as its host is.
	eventually is_let_go $$
done
exit 0
