# SPDX-License-Identifier: LGPL-2.1-or-later
# docs/example.c builds on the public headers and libubp alone, is about as short as it says, and
# traces.
. "${0%/*}/lib.bash"
have gcc

[ "$(wc -l < "$UBP_SRC/docs/example.c")" -le 42 ] || fail "the example has grown long"
mkdir include && cp "$UBP_SRC"/engine/*.h include
# shellcheck disable=SC2046 # flags are words
gcc -std=gnu11 -Wall -Wextra -Werror -I include -o example "$UBP_SRC/docs/example.c" \
	"$UBP_BUILD/libubp.a" $(pkg-config --libs capstone libdw libelf jansson liblzma libzstd libprotobuf-c zlib libunwind-ptrace) -liberty -pthread || fail "it does not build"

start hello you
mkfifo err
./example "$PID" "p:$FIXTURES/hello:greet name=+0($ARG1):string" > out.txt 2> err &
UBP_PID=$!
read -r line < err && [ "$line" = ready ] || fail "not ready: $line"
go; finish
wait "$UBP_PID" || fail "exit status $?"
[ "$(grep -c ': greet: (0x[0-9a-f]*) name="you"$' out.txt)" = 1 ] || fail "other events"
exit 0
