# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# ubp-bench on its own workload and on a real program: counts are what was called, the JSON
# has what the manual says, nothing of the kernel's is left behind. Times are not judged.
. "${0%/*}/lib.bash"
[ -x "$UBP_BENCH" ] || skip "ubp-bench is not built for this machine"
TRACEFS=/sys/kernel/tracing
has_tracefs() { [ -w $TRACEFS/uprobe_events ] && [ -d $TRACEFS/instances ]; }
# In a pid namespace other than the first one, what is made there is named after that, too.
place=$(readlink /proc/self/ns/pid) && place=${place//[!0-9]/}
in_first_pid_namespace && place= || place=n$place
left() { ! has_tracefs || { ls $TRACEFS/instances; cat $TRACEFS/uprobe_events; } | grep "ubp_bench_$1$place"; }

# bench ARG...: run it; table in out.txt, JSON in bench.json. Sets BENCH_PID.
bench() {
	"$UBP_BENCH" --json bench.json "$@" > out.txt 2> err.txt &
	BENCH_PID=$!
	wait $BENCH_PID || fail "ubp-bench $*: exit status $?"
	[ ! -s err.txt ] || fail "ubp-bench $*: a message"
	has_tracefs && [ -n "$(left $BENCH_PID)" ] && fail "events of the kernel's are left behind"
	:
}
# check KERNEL: the JSON against the manual. What else it must be is Python on standard input.
check() {
	cat > more.py
	python3 - "$1" > out2.txt 2>&1 <<'PY' || { cat out2.txt; fail "the JSON is not right"; }
import json, sys
d = json.load(open("bench.json", encoding="utf-8"))
kernel = None if sys.argv[1] == "none" else sys.argv[1]
def has(o, **types):
    for name, t in types.items():
        assert isinstance(o[name], t), (name, o.get(name))
def series(s, n):
    assert len(s["rounds"]) == n and s["min"] <= s["median"] <= s["max"], s
    assert s["min"] == min(s["rounds"]) and s["max"] == max(s["rounds"]), s
has(d, schema=str, version=str, time=str, machine=dict, settings=dict, results=list, commands=list)
assert d["schema"] == "ubp-bench/1"
has(d["machine"], cpu=str, cpus=int, arch=str, kernel=str, hypervisor=(str, type(None)),
    clock_source=str, mitigations=dict)
has(d["settings"], rounds=int, hits=int, pinned=bool, idle=int)
assert d["settings"]["kernel"] == kernel, d["settings"]
rounds = d["settings"]["rounds"]
for r in d["results"] + d["commands"]:
    series(r["bare_ns"], rounds)
    for u in r["ubp"]:
        series(u["total_ns"], rounds)
        series(u["over_ns"], rounds)
        if r["kernel"]:
            series(u["ratio"], rounds)
        assert u["lost"] == 0 and sum(u["sites"].values()) > 0, u
    if r["kernel"]:
        series(r["kernel"]["total_ns"], rounds * len(r["ubp"]) + 1)
        assert r["kernel"]["lost"] == 0
    else:
        assert r["kernel_why"], r
exec(open("more.py", encoding="utf-8").read())
PY
}

# Every case, on the kernel's way that there is here.
way=none
if has_tracefs; then way=tracefs; fi
bench --rounds 1 --hits 1000 --case all --first push,$LANDING --mode all --kernel $way
check $way <<'PY'
assert len(d["results"]) == 26 and not d["commands"]
for r in d["results"]:
    probes = 2 if r["case"] == "both" else 1
    passes = 0 if r["case"] in ("miss", "sample") else probes
    assert [u["name"] for u in r["ubp"]] == ["auto", "trap", "step"]
    for f in r["ubp"] + ([r["kernel"]] if r["kernel"] else []):
        runs = len(f["total_ns"]["rounds"])
        assert (f["hits"], f["events"]) == (1000 * probes * runs, 1000 * passes * runs), f
    # It has no histograms, or none that are compared, and leaves no hits out.
    counts = r["case"].startswith(("count_", "hist_", "trigger_", "sample"))
    assert (r["kernel"] is not None) == (kernel is not None and not counts)
    stepped = "boosted" if d["machine"]["arch"] == "aarch64" else "stepped" # uprobe(1)
    assert r["ubp"][1]["sites"]["boosted"] == probes and r["ubp"][2]["sites"][stepped] == probes, r
PY
[ "$(grep -c '^trap ' out.txt)" = 26 ] || fail "not every case is in the table"
# So can the scripts of docs/overhead.md.
"$UBP_SRC/docs/overhead.py" data bench.json > data.txt || fail "no data for the chart"
[ "$(grep -cE '^"[a-z_]+.n(push|'$LANDING')" [0-9?.]+ [0-9.]+ [0-9.]+ [0-9.]+$' data.txt)" = 26 ] || fail "not all data for the chart"
cp "$UBP_SRC/docs/overhead.md" page.md
"$UBP_SRC/docs/overhead.py" fill bench.json page.md || fail "no tables"
[ "$(grep -cE '^\| (count|int|string|return|both|hit|miss|sample|count_event|count_key|count_string|hist_duration|trigger_key) \| (push|'$LANDING') \| ' page.md)" = 26 ] || fail "not all rows in the tables"

# Threads, and a reader beside; the other first instructions.
bench --rounds 1 --hits 1000 --threads 2,3 --idle 5 --mode trap --reader --no-pin --kernel $way
check $way <<'PY'
assert [(r["threads"], r["reader"]) for r in d["results"]] == [(2, False), (3, False), (2, True), (3, True)]
assert not d["settings"]["pinned"] and d["settings"]["idle"] == 5
assert [r["ubp"][0]["hits"] for r in d["results"]] == [1000, 999, 1000, 999]
PY
bench --rounds 1 --hits 1000 --first all --mode trap --kernel none
check none <<< "assert [r['first'] for r in d['results']] == '${FIRSTS[*]}'.split()"

# To standard output: JSON and nothing else.
"$UBP_BENCH" --json - --rounds 1 --hits 10 --kernel none --case int > bench.json 2> err.txt || fail "--json -"
check none <<< 'assert len(d["results"]) == 1'

# A command: its own output is nowhere, its events are its own, its exit status is seen.
libc=$(ldd "$(command -v bash)" | awk '$1 == "libc.so.6" { print $3 }')
[ -n "$libc" ] || fail "no libc"
bench --rounds 2 --mode trap --kernel $way -e "p:$libc:getpid" -e "p:o $libc:fopen f=+0($ARG1):string" --filter 'f ~ "/etc/x*"' \
	-e "r:$FIXTURES/hello:greet" -- sh -c "echo go | $FIXTURES/hello a b c; exit 5"
check $way <<'PY'
c, = d["commands"]
assert not d["results"] and c["status"] == 5 and c["command"][:2] == ["sh", "-c"], c
for f in c["ubp"] + ([c["kernel"]] if c["kernel"] else []):
    runs = len(f["total_ns"]["rounds"])
    assert f["events"] % runs == 0 and f["events"] // runs >= 3, f
if c["kernel"]:
    assert c["kernel"]["events"] // 3 == c["ubp"][0]["events"] // 2, c
PY
grep -q '^sh, exit status 5$' out.txt || fail "no word of the command"
grep -q '^ready' out.txt && fail "what the command prints is in the table"

# Its name may drive a terminal: not in the table.
ln -s "$(type -P true)" $'t\e[2J\nrue'
bench --rounds 1 --mode trap --kernel none -e "p:$libc:_exit" -- $'./t\e[2J\nrue'
grep -qxF './t\033[2J\012rue, exit status 0' out.txt || fail "the command's name is raw"

# A signal ends it, and takes all away.
mkfifo table
"$UBP_BENCH" --hits 1000000 --rounds 1000 --case int --mode trap --kernel $way > table 2> err.txt &
PID=$!
PIDS+=($PID)
exec {fd}< table
read -r -t "$TIMEOUT" line <&$fd && [ -n "$line" ] || fail "no table"
child() { pgrep -P $PID > child.txt; }
eventually child
kill -TERM $PID
wait $PID; status=$?
[ $status = 1 ] || fail "TERM: exit status $status, not 1"
grep -q 'ended by signal 15' err.txt || fail "no word of the signal"
has_tracefs && [ -n "$(left $PID)" ] && fail "events of the kernel's are left behind"
kill -0 "$(cat child.txt)" 2> /dev/null && fail "the child is left behind"

# Killed, it leaves events behind; the next one takes them away.
if has_tracefs; then
	"$UBP_BENCH" --hits 1000000 --rounds 1000 --case int --mode trap --kernel $way > out.txt 2> err.txt &
	PID=$!
	is_on() { [ "$(cat $TRACEFS/instances/ubp_bench_$PID$place/events/ubp_bench_$PID$place/enable 2> /dev/null)" = 1 ]; }
	eventually is_on
	kill -KILL $PID
	wait $PID
	[ -n "$(left $PID)" ] || fail "nothing is left behind: nothing is shown"
	bench --rounds 1 --hits 10 --case int --mode trap
	[ -z "$(left $PID)" ] || fail "what was left behind is still there"
fi
exit 0
