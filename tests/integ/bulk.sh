# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Twenty thousand definitions in a running python3: all are planted, hits are counted
# right, what python does is the same, and its code is as it was afterwards.
. "${0%/*}/lib.bash"

P=/usr/bin/python3
[ -x $P ] || skip "needs $P"
have readelf
libc=$(ldd $P | awk '$1 == "libc.so.6" { print $3 }')
[ -f "$libc" ] || skip "$P has no libc.so.6"
getppid=$("$UPROBE" --check "p:$libc:getppid" | sed -E 's/.*:0x0*([0-9a-f]+)$/\1/')
[ -n "$getppid" ] || fail "where is getppid()?"

# Every function that has unwind data, in rounds of events until there are enough.
python3 - "$(readlink -f $P)" "$libc" "$getppid" > defs <<'PY' || fail "no definitions"
import re, subprocess, sys
def functions(path):
    loads = []
    for line in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout.splitlines():
        f = line.split()
        if f and f[0] == "LOAD" and "E" in f[6:-1]:
            loads.append((int(f[1], 16), int(f[2], 16), int(f[4], 16)))
    text = subprocess.run(["readelf", "--debug-dump=frames", path], capture_output=True, text=True).stdout
    starts = {int(m, 16) for m in re.findall(r"FDE .*pc=([0-9a-f]+)\.\.", text)}
    return [(path, v - va + off) for v in sorted(starts) for off, va, n in loads if va <= v < va + n]
where = functions(sys.argv[1]) + functions(sys.argv[2])
assert len(where) > 3000 and (sys.argv[2], int(sys.argv[3], 16)) in where, len(where)
for i in range(20000):
    path, offset = where[i % len(where)]
    print(f"p:b{i // len(where)}/f{i % len(where)} {path}:{offset:#x}")
PY
[ "$(wc -l < defs)" = 20000 ] || fail "$(wc -l < defs) definitions"
# A few places can't be probed; a definition that is refused has its line named.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	"$UPROBE" --check -f defs > list 2> err.txt && break
	bad=$(sed -nE 's/^uprobe: error: defs:[0-9]+: .*/&/p' err.txt | sed -E 's/.*defs:([0-9]+):.*/\1/')
	[ -n "$bad" ] || fail "--check: $(cat err.txt)"
	sed -i "${bad}d" defs
done
n=$(wc -l < defs)
[ "$(wc -l < list)" = "$n" ] && [ "$n" -gt 19900 ] || fail "--check lists $(wc -l < list) of $n"

cat > busy.py <<'PY'
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for i in range(700):
    os.getppid()
print(sum(i * i for i in range(1000)), sorted(str(i) for i in range(30))[-1], flush=True)
if sys.argv[1:] == ["twice"]:
    sys.stdin.readline()
    print(sum(i * i for i in range(1000)), sorted(str(i) for i in range(30))[-1], flush=True)
PY
mv defs all # what holds getppid() alone, for its count
start "$P" -I -S "$PWD/busy.py"
trace -p "$PID" --stats -o /dev/null -f all
go
trace_done
finish
[ "$LAST" = "332833500 9" ] || fail "python says '$LAST'"
grep -c ' sites=1 ' err.txt > planted
[ "$(cat planted)" = "$n" ] || fail "$(cat planted) places probed, not $n"
grep -E "f[0-9]+ hits=" err.txt > stats
# All events at one place count the same; getppid() is called 700 times.
line=$(grep -n ":0x0*$getppid\$" list | cut -d: -f1)
[ -n "$line" ] || fail "getppid() is not among them"
for at in $line; do
	sed -n "${at}p" stats | grep -q ' hits=700 passed=700 ' || fail "getppid(): $(sed -n "${at}p" stats)"
done
grep -qE 'stats: processes=1 .* stopped_us=[1-9][0-9]* longest_stop_us=[1-9]' err.txt || fail "$(tail -n 1 err.txt)"

# All go again, without a trace of them in the code.
NAME=two start "$P" -I -S "$PWD/busy.py" twice
text_of "$PID" "$libc" libc.before
text_of "$PID" "$P" python.before
for round in 1 2; do
	trace -p "$PID" -o out.txt -f all
	# By then breakpoints have been made jumps, as far as they can be.
	[ $round = 2 ] || go two
	[ $round = 2 ] || read -r -t "$TIMEOUT" line <&"$OUT_two"
	trace_stop
	text_of "$PID" "$libc" libc.after
	text_of "$PID" "$P" python.after
	cmp libc.before libc.after || fail "the code of libc is not as it was"
	cmp python.before python.after || fail "the code of python is not as it was"
done
[ "$line" = "332833500 9" ] || fail "python says '$line' the second time"
# What is left of these is used by the next.
trace -p "$PID" --stats -o /dev/null -f all
go two
trace_done
finish two
[ "$LAST" = "332833500 9" ] || fail "python says '$LAST' the third time"
grep -c ' sites=1 ' err.txt | grep -qx "$n" || fail "not all are planted the third time"
