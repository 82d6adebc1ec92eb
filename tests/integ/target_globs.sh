# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Targets with wildcards: each such file that has the function; of a process, those that it maps.
. "${0%/*}/lib.bash"

mkdir a b
cp "$FIXTURES/hello" a/hello.so.1
cp "$FIXTURES/hello" b/hello.so.1
ln -s hello.so.1 a/hello.so
cp "$FIXTURES/busy" b/other.so
echo 'no program' > b/hello.so.txt
mkfifo b/hello.so.fifo

# Each file once, and only files that have the function.
check() { timeout "$TIMEOUT" "$UPROBE" --check "$@" > out.txt 2> err.txt; }
check "p:./*/*.so*:greet" || fail "--check: $?"
[ ! -s err.txt ] || fail "a message"
[ "$(sed -E 's/:0x.*//' out.txt)" = "p:uprobes/greet ./a/hello.so
p:uprobes/greet ./b/hello.so.1" ] || fail "not those files"
check -e "p:g/e ./*/hello.so.?:greet" -e "r:h/e ./b/*:s*p" || fail "-e: $?"
[ "$(sed -E 's/:0x.*//' out.txt)" = "p:g/e ./a/hello.so.1
p:g/e ./b/hello.so.1
r:h/e_step ./b/other.so" ] || fail "-e: not those files"
# A file may be called so.
cp "$FIXTURES/hello" 'h*'
check "p:./h*:greet" || fail "a file's own name: $?"
[ "$(wc -l < out.txt)" = 1 ] || fail "a file's own name is a pattern"

refused "no program or library is called './x\*'" --check "p:./x*:greet"
refused 'needs -p' --check "p:*:greet"
refused "in none of the 2 files './\*/hello\*': no function 'gret'" --check "p:./*/hello*:gret"
refused 'Invalid register name' --check "p:./*/hello*:greet %foo"
refused 'Failed to find the given file' --strict --check -e "p:g/e ./*/hello*:0x10"

# Of a process: what it maps.
libc=$(ldd "$FIXTURES/hello" | awk '$1 == "libc.so.6" { print $3 }')
start hello you
timeout "$TIMEOUT" "$UPROBE" -l -p "$PID" 'fput[sc]' > out.txt 2> err.txt || fail "-l -p: $?"
grep -qE '^/.*libc\.so\.6:fputs$' out.txt && grep -qE '^/.*libc\.so\.6:fputc$' out.txt || fail "-l -p: not those of libc"
timeout "$TIMEOUT" "$UPROBE" -p "$PID" -l > out.txt 2> err.txt || fail "-p -l: $?"
grep -qE '/hello:greet$' out.txt && grep -qE '/libc\.so\.6:fopen$' out.txt || fail "-p -l: not all files"
timeout "$TIMEOUT" "$UPROBE" -l -p "$PID" 'hel*' 'gr*' > out.txt 2> err.txt || fail "-l -p TARGET PATTERN: $?"
grep -qxE '.*/hello:greet' out.txt && [ "$(wc -l < out.txt)" = 1 ] || fail "-l -p TARGET PATTERN: not greet alone"
refused "maps no program or library 'x\*'" -p "$PID" "p:x*:greet"
trace -p "$PID" "p:*:greet name=+0($ARG1):string"
go
finish
trace_done
expect_count 1 ' greet: .* name="you"'
