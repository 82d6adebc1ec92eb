# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# $duration: from a function's entry to its return. Functions that return what they have
# certainly taken; nothing takes longer than all of the run.
. "${0%/*}/lib.bash"

F=$FIXTURES/duration
THREADS=3
defs=(-e "p:d/in $F:spends ns=$ARG1:u64")
for f in spends quick nested tail_outer tail_inner unwinds splits; do
	defs+=(-e "r:d/$f $F:$f \$duration least=\$retval:u64")
done
check() { # check MODE RUN SPLITS: what came as JSON
	python3 - "$2" $THREADS "$3" <<'PY' || fail "$1: the durations are not right"
import collections, json, sys
run, threads, splits = map(int, sys.argv[1:])
ms = 1000000
by = collections.defaultdict(list)
for line in open("out.txt", encoding="utf-8"):
    e = json.loads(line)
    by[e["event"]].append((e["args"].get("duration"), e["args"].get("least"), e["pid"], e["tid"], e))
for name in ("spends", "quick", "nested", "tail_outer", "tail_inner", "unwinds", "splits"):
    for d, least, _, _, e in by[name]:
        # What is left of the clocks' differences.
        assert least - least // 1000 <= d <= run + run // 1000, (run, e)
n = 3 + 2 * threads
assert len(by["in"]) == len(by["spends"]) == n, (len(by["in"]), len(by["spends"]))
assert len({tid for _, _, _, tid, _ in by["spends"]}) == 1 + threads
assert all(d >= 2.99 * ms for d, *_ in by["spends"])
assert len(by["quick"]) == 50
# Each of these has the ones before it inside of itself, and its own time.
nested = [d for d, *_ in by["nested"]]
assert len(nested) == 5 and all(a + 2.99 * ms <= b for a, b in zip(nested, nested[1:])), nested
# One return for both, each from its own entry.
(inner, *_), = by["tail_inner"]
(outer, *_), = by["tail_outer"]
assert inner + 2.99 * ms <= outer, (inner, outer)
assert len(by["unwinds"]) == 2 and all(d >= 2.99 * ms for d, *_ in by["unwinds"])
assert len(by["splits"]) == len({pid for _, _, pid, _, _ in by["splits"]}) == splits
PY
}
for mode in trap step auto jump; do
	start duration 3 $THREADS
	trace --lossless --json --mode=$mode -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	check $mode "${LAST#run }" 1
	# A child returns from what its parent entered.
	echo go | "$UPROBE" --lossless --json --mode=$mode -o out.txt "${defs[@]}" -- "$F" 3 $THREADS > stdout.txt 2> err.txt ||
		fail "$mode as a command: status $?"
	check $mode "$(sed -n 's/^run //p' stdout.txt)" 2
done

# In detours, where they can be: most hits need no stop. What a detour can't read is
# recorded at one, with the same duration.
jumps() { # jumps BAD
	start duration 3 2
	trace --stats --lossless --json -p "$PID" -e "r:d/spends $F:spends \$duration least=\$retval:u64 $1" \
		-e "r:d/quick $F:quick \$duration least=\$retval:u64 $1" \
		-e "r:d/nested $F:nested \$duration least=\$retval:u64 $1"
	go
	finish
	trace_done
	python3 - "${LAST#run }" "$1" <<'PY' || fail "with '$1': not right"
import json, re, sys
run, bad, times = int(sys.argv[1]), sys.argv[2], {}
for line in open("out.txt", encoding="utf-8"):
    e = json.loads(line)
    d, least = e["args"]["duration"], e["args"]["least"]
    assert least - least // 1000 <= d <= run + run // 1000, (run, e)
    times.setdefault(e["event"], []).append(d)
assert {k: len(v) for k, v in times.items()} == {"spends": 7, "quick": 50, "nested": 5}, times
stats = dict(re.findall(r"d/(quick|nested|spends) (.*)", open("err.txt").read()))
stopped = {k: int(re.search(r"stopped=(\d+)", v)[1]) for k, v in stats.items()}
assert all(" jumps=1 " in v for v in stats.values()), stats
if bad:
    assert stopped["quick"] == 50 and stopped["nested"] == 5, stopped
else:
    assert stopped["quick"] < 50 and stopped["nested"] < 5, stopped
PY
}
explained=$("$UPROBE" --check --explain "r:$F:quick \$duration")
if [[ $explained = *' jump ('* ]]; then
	jumps ''
	jumps 'bad=+0(\8):u64'
else
	echo "no jumps here: $explained"
fi

# In a clock that may be set, too.
start duration 3 $THREADS
trace --lossless --json --clock=real -p "$PID" "${defs[@]}"
go
finish
trace_done
check real "${LAST#run }" 1

# Text, a filter by its name, types.
for mode in trap auto jump; do
	start duration 3 1
	trace --mode=$mode -p "$PID" "r:$F:nested ns=\$duration us=\$duration:b54@10/64 x=\$duration:x64 low=\$duration:u8" \
		'ns > 6000000'
	go
	finish
	trace_done
	events | sed -n 's/.* ns=\([0-9]*\) us=\([0-9]*\) x=0x\([0-9a-f]*\) low=\([0-9]*\)$/\1 \2 \3 \4/p' > got
	[ "$(wc -l < got)" = "$(events | wc -l)" ] || fail "$mode: not as asked for"
	while read -r ns us x low; do
		[ $ns -gt 6000000 ] && [ $((ns >> 10)) = $us ] && [ $((16#$x)) = $ns ] && [ $((ns & 255)) = $low ] ||
			fail "$mode: ns=$ns us=$us x=$x low=$low"
	done < got
	# The innermost ones are shorter, how many depends on the machine; three are not.
	n=$(wc -l < got)
	[ $n -ge 3 ] && [ $n -le 5 ] || fail "$mode: $n of 5 pass the filter"
done

# The form with %return, names, what --check and -v print.
"$UPROBE" --check "$F:spends%return \$duration x=\$duration:x32 \$duration" > out.txt 2> err.txt || fail "--check"
grep -q " duration=\$duration x=\$duration:x32 arg3=\$duration$" out.txt || fail "$(cat out.txt)"
"$UPROBE" -v "r:$F:spends \$duration" | grep -q 'u64 duration;.*size:8;.*signed:0' || fail "-v"

# Refusals.
refused 'only where a function returns' "p:$F:spends \$duration"
grep -qx '  p:.*:spends \$duration' err.txt && [ "$(tail -n 1 err.txt | tr -d ' ')" = '^' ] || fail "$(cat err.txt)"
refused 'can not be dereferenced' "r:$F:spends +0(\$duration)"
refused 'String accepts only memory' "r:$F:spends \$duration:string"
refused 'Invalid \$-variable' --strict -e "r:d/x $F:0x$(printf %x $((0x$(nm "$F" | awk '$3 == "spends" { print $1 }')))) \$duration"
