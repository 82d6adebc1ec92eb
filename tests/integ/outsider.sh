# SPDX-License-Identifier: LGPL-2.1-or-later
# What an outsider has, the public headers in a folder of their own and libubp.a, is enough for a program that uses each
# of these headers, in C99 and in C++; and all that they declare is in the library.
. "${0%/*}/lib.bash"
have gcc

mkdir include && cp "$UBP_SRC"/engine/*.h include
libs="$(pkg-config --libs capstone libdw libelf jansson liblzma libzstd libprotobuf-c zlib libunwind-ptrace) -liberty -pthread"
# Built with sanitizers, it needs their libraries.
nm "$UBP_BUILD/libubp.a" > symbols.txt 2> /dev/null
! grep -q __asan_ symbols.txt || libs+=" -fsanitize=address,undefined"

for header in include/*.h; do
	gcc -E -P -std=c99 "$header" | grep -oE '\bubp_[a-z_]+ ?\(' | tr -d ' ('
done | sort -u > declared.txt
# NAME_fn is a type.
grep -v "_fn$" declared.txt > functions.txt
[ "$(wc -l < functions.txt)" -ge 50 ] || fail "only $(wc -l < functions.txt) functions are declared"
awk '$2 == "T" { print $3 }' symbols.txt | sort -u | comm -23 functions.txt - > missing.txt
[ ! -s missing.txt ] || fail "declared and not there: $(tr '\n' ' ' < missing.txt)"

source=${0%/*}/lib/outsider.c
flags="-Wall -Wextra -Wpedantic -Werror -I include"
# shellcheck disable=SC2086 # flags are words
gcc -std=c99 $flags -o in_c "$source" "$UBP_BUILD/libubp.a" $libs || fail "it does not build as C99"
programs=in_c
if type -P g++ > /dev/null; then
	# shellcheck disable=SC2086
	g++ -std=c++11 $flags -o in_cxx -x c++ "$source" -x none "$UBP_BUILD/libubp.a" $libs || fail "it does not build as C++"
	programs+=" in_cxx"
fi

cat > want.txt <<'END'
function greet
event greet of hello, its pid: name="you"
{"time":N,"task":"hello","pid":N,"tid":N,"cpu":N,"group":"t","event":"greet","type":"p","ip":N,"args":{"name":"you"}}
event greet of hello, its pid: name="and"
{"time":N,"task":"hello","pid":N,"tid":N,"cpu":N,"group":"t","event":"greet","type":"p","ip":N,"args":{"name":"and"}}
event greet of hello, its pid: name="me"
{"time":N,"task":"hello","pid":N,"tid":N,"cpu":N,"group":"t","event":"greet","type":"p","ip":N,"args":{"name":"me"}}
hits 3, lost 0
END
for program in $programs; do
	start hello you and me
	mkfifo ready
	"./$program" "$FIXTURES/hello" "$PID" "p:t/greet $FIXTURES/hello:greet name=+0($ARG1):string" > out.txt 2> ready &
	UBP_PID=$!
	read -r line < ready && [ "$line" = ready ] || fail "$program: not ready: $line"
	go; finish
	wait "$UBP_PID" || fail "$program: exit status $?"
	rm ready
	sed -E "s/\"(time|ip|cpu|tid|pid)\":[^,}]*/\"\1\":N/g" out.txt > "$program.txt"
	diff -u want.txt "$program.txt" || fail "$program: other output"
done
