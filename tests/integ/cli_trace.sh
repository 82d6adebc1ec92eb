# SPDX-License-Identifier: LGPL-2.1-or-later
# A trace as perf-tools users know it: banners, -H, -d, -n, several definitions, what
# goes to which stream.
. "${0%/*}/lib.bash"
hello=$FIXTURES/hello

# One definition: banner, events, last words. The end of -p's process ends the trace.
start hello you world
trace -p "$PID" "p:$hello:greet name=+0($ARG1):string times=$ARG2:s32" 'times > 1'
go; finish; trace_done
offset=$("$UPROBE" --check "p:$hello:greet" | sed 's/.*:0x0*//')
head -n 1 out.txt > banner.txt
echo "Tracing uprobe greet (p:greet $hello:0x$offset name=+0($ARG1):string times=$ARG2:s32). Ctrl-C to end." |
	diff -u - banner.txt || fail "another banner"
cat > want.txt << 'END'
           hello-PID [CPU] ..... TIME: greet: (ADDR) name="world" times=2

Ending tracing...
END
sed 1d out.txt | sed -E -e 's/-[0-9]+ +\[[0-9]+\]/-PID [CPU]/' -e 's/ +[0-9]+\.[0-9]{6}:/ TIME:/' \
	-e 's/0x[0-9a-f]+/ADDR/g' | diff -u want.txt - || fail "unexpected events"
[ ! -s err.txt ] || fail "something on standard error"

# Several definitions, header, a filter for each, a count.
start hello a b c d
trace -p "$PID" -H -n 3 -e "p:in $hello:greet n=$ARG2:s32" --filter 'n >= 2' \
	-e "r:out $hello:greet len=\$retval:s32" --filter 'len == 7'
go; finish; trace_done
[ "$(head -n 1 out.txt)" = 'Tracing 2 uprobes. Ctrl-C to end.' ] || fail "another banner"
[ "$(sed -n 2p out.txt)" = '# tracer: nop' ] || fail "no header"
[ "$(grep -c '^#' out.txt)" = 12 ] || fail "another header"
[ "$(grep -Eo 'in: .* n=[0-9]$|out:.*' out.txt | sed 's/.* //' | tr '\n' ' ')" = 'n=2 n=3 n=4 ' ] ||
	fail "unexpected events"

# -n: more events than asked for.
start hello a b c d
trace -p "$PID" -n 2 "p:$hello:greet n=$ARG2:s32"
go; finish; trace_done
expect_count 2 ' n=[12]$'
[ "$(tail -n 2 out.txt)" = $'\nEnding tracing...' ] || fail "no last words"

# -d: nothing is printed before the end, all of it then.
start hello you
trace -p "$PID" -d 300 "p:$hello:greet n=$ARG2:s32"
[ "$(cat out.txt)" = 'Tracing uprobe greet for 300 seconds (buffered)...' ] ||
	fail "another banner"
go; finish; trace_done
grep -q ' n=1$' out.txt || fail "the event is missing"
start hello you
SECONDS=0
"$UPROBE" -p "$PID" -d 0.2 "p:$hello:greet" > out.txt || fail "-d: exit status $?"
[ $SECONDS -lt 20 ] || fail "-d 0.2 took $SECONDS s"
[ "$(cat out.txt)" = $'Tracing uprobe greet for 0.2 seconds (buffered)...\n\nEnding tracing...' ] ||
	fail "-d without events"
go; finish

# Data streams hold data alone.
start hello you
trace -p "$PID" --json --stats "p:$hello:greet n=$ARG2:s32"
go; finish; trace_done
python3 -c '
import json, sys
lines = [json.loads(line) for line in open("out.txt")]
assert len(lines) == 1 and lines[0]["args"] == {"n": 1}, lines' || fail "not one JSON object"
grep -q '^Tracing uprobe greet ' err.txt && grep -qx 'Ending tracing...' err.txt ||
	fail "the banners are not on standard error"
grep -q "^uprobe: stats: $hello uprobes/greet hits=1 passed=1 lost=0 " err.txt &&
	grep -q '^uprobe: stats: processes=1 skipped=0 ' err.txt || fail "other counts"
start hello you
trace -p "$PID" -o file.txt "p:$hello:greet n=$ARG2:s32"
go; finish; trace_done
[ ! -s out.txt ] || fail "-o: something on standard output"
[ "$(wc -l < file.txt)" = 1 ] && grep -q ' n=1$' file.txt || fail "-o: not one event"
exit 0
