# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# entry(FETCHARG): what a function was given, in the event of its return. Each frame has its own, in recursion, tail calls, threads,
# coroutines, and where longjmp() leaves others; in each mode, and in a recording.
. "${0%/*}/lib.bash"

F=$FIXTURES/recursion
defs=(-e "r:r/down $F:down n=entry($ARG1):s64 again=entry(arg1):u8 sum=\$retval:s64")
for f in even odd jump_down in_handler coro tail_a tail_b tail_c; do
	defs+=(-e "r:r/$f $F:$f n=entry($ARG1):s64 r=\$retval:s64")
done
check() { # check WHAT DEPTH: the events in out.txt, as JSON
	python3 - "$2" <<'PY' || fail "$1: not right"
import collections, json, sys
depth, by = int(sys.argv[1]), collections.defaultdict(list)
for line in open("out.txt", encoding="utf-8"):
    e = json.loads(line)
    by[e["event"]].append(e["args"])
assert [a["n"] for a in by["down"]] == list(range(depth + 1)) * 3, by["down"]
assert all(a["sum"] == a["n"] * (a["n"] + 1) // 2 and a["again"] == a["n"] % 256 for a in by["down"])
assert all(a["r"] == (a["n"] % 2 == 0) for a in by["even"]) and all(a["r"] == a["n"] % 2 for a in by["odd"])
assert len(by["even"]) + len(by["odd"]) == 3 * (depth + 1)
assert not by["jump_down"]
assert [a["r"] - a["n"] for a in by["in_handler"]] == [1] * 3
assert [a["n"] for a in by["coro"]] == [a["r"] for a in by["coro"]] and {a["n"] for a in by["coro"]} == {0, 1, 2}, by["coro"]
for k, name in enumerate(("tail_a", "tail_b", "tail_c")):
    assert [a["n"] for a in by[name]] == [i + (0, 1, 11)[k] for i in range(3)], by[name]
    assert [a["r"] for a in by[name]] == [111, 112, 113]
PY
}
for mode in auto trap step jump stay; do
	how=(--mode=$mode)
	[ $mode != stay ] || how=(--stay)
	start recursion 60
	trace --lossless --json "${how[@]}" -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	[ "$LAST" = "all right" ] || fail "$mode: it says '$LAST'"
	check $mode 60
done
echo go | "$UPROBE" --lossless --record rec "${defs[@]}" -- "$F" 60 > stdout.txt 2> err.txt || fail "--record: $?"
"$UBP_REPORT" --json rec > out.txt || fail "ubp-report: $?"
check "a recording" 60

# Other probes at the place; threads; a filter.
T=$FIXTURES/threads
echo go | "$UPROBE" --lossless --json -o out.txt -e "p:t/in $T:tick thread=$ARG1:u64 i=$ARG2:u64" -e "r:t/plain $T:tick v=\$retval:u64" \
	-e "r:t/out $T:tick thread=entry($ARG1):u64 i=entry($ARG2):u64 v=\$retval:u64" -- "$T" 4 200 > stdout.txt || fail "threads: $?"
python3 - <<'PY' || fail "threads: not right"
import json
events = [json.loads(line) for line in open("out.txt", encoding="utf-8")]
out = [e["args"] for e in events if e["event"] == "out"]
assert len(out) == 800 and all(a["v"] == a["thread"] * 1000003 + a["i"] for a in out), out[:5]
assert {e["event"]: 0 for e in events}.keys() == {"in", "plain", "out"} and len(events) == 2400
assert sorted((a["thread"], a["i"]) for a in out) == [(t, i) for t in range(4) for i in range(200)]
PY
echo go | "$UPROBE" --lossless -o out.txt -e "r:t/out $T:tick i=entry($ARG2):u64" --filter 'i >= 190' -- "$T" 4 200 > stdout.txt || fail "filter: $?"
expect_count 40 ' out: '

# A call that was entered before anybody looked has no event; what can't be read is a fault, and not 0.
echo go | "$UPROBE" --lossless -o out.txt -e "r:t/out $T:tick a=entry(+0($ARG2)) b=+0(entry($ARG2)):u32 s=+0(entry($ARG2)):string" \
	-e "r:t/stack $T:tick v=entry(\$stack99999999):u8 n=entry(+0($ARG2)):u8 t=+0(entry(\$stack)):string[n]" \
	-- "$T" 1 3 > stdout.txt || fail "faults: $?"
expect_count 3 ' a=\(fault\) b=\(fault\) s=\(fault\)$'
expect_count 3 ' v=\(fault\) n=\(fault\) t=\(fault\)$'

# A real program: names and what they are.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
UBP_WORD=right "$UPROBE" -o out.txt 'r:libc:getenv name=+0(entry(arg1)):string value=+0($retval):string' -- \
	"$PYTHON" -c 'import ctypes; ctypes.CDLL(None).getenv(b"UBP_WORD")' || fail "getenv: $?"
expect_count 1 'name="UBP_WORD" value="right"$'

# It is not the kernel's, and says why it stops.
"$UPROBE" --explain -e "r:t/out $T:tick i=entry($ARG2)" > out.txt || fail "--explain"
grep -q 'not a jump: values of the entry are kept where the thread stops' out.txt || fail "$(cat out.txt)"
refused 'BTF is not available or not supported' --strict -e "r:t/out $T:0x1300 i=entry($ARG2)"
if [ -w /sys/kernel/tracing/uprobe_events ]; then
	! echo "r:ubp_test_entry/out $T:0x1300 i=entry($ARG2)" >> /sys/kernel/tracing/uprobe_events 2> /dev/null || fail "the kernel takes it"
fi

# Who reads the register is told what it is, once.
note="$ARG2 is what the register has when the function returns; entry($ARG2) is what it had at the entry"
echo go | "$UPROBE" -o out.txt -e "r:t/out $T:tick i=$ARG2 j=$ARG2" -e "r:t/more $T:tick i=$ARG2" -- "$T" 1 1 > stdout.txt 2> err.txt || fail "note: $?"
[ "$(grep -cF "$note" err.txt)" = 1 ] || fail "not one note"
for other in "r:t/out $T:tick i=entry($ARG2) v=\$retval" "p:t/out $T:tick i=$ARG2"; do
	echo go | "$UPROBE" -o out.txt -e "$other" -- "$T" 1 1 > stdout.txt 2> err.txt || fail "no note: $?"
	! grep -q 'at the entry' err.txt || fail "a note for $other"
done
