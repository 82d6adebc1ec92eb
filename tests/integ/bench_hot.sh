# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# ubp-bench --hot, and stops= of --stats: each stop has its reason, at the place that made it.
. "${0%/*}/lib.bash"
[ -x "$UBP_BENCH" ] || skip "ubp-bench is not built for this machine"
need_arch x86_64

F=$FIXTURES/room
cat > driver <<'SH'
#!/bin/bash
printf 'call 20000\n' | "$1" > said.txt
grep -q done said.txt
SH
chmod +x driver
# at NAME FIELD: a field of the event NAME in hot.json
hot() { timeout "$TIMEOUT" "$UBP_BENCH" --hot --json hot.json "$@" -- ./driver "$F" > out.txt 2> err.txt || fail "$*: exit status $?: $(cat err.txt)"; }

hot -e "p:h/step $F:step" -e "r:h/ret $F:step"
python3 - <<'PY' || fail "$(cat out.txt hot.json)"
import json
with open("hot.json", encoding="utf-8") as f:
    hot = json.load(f)["hot"]
places = {p["event"]: p for p in hot["places"]}
assert hot["probes"] == 2 and hot["hits"] == 40000, hot
# Breakpoints until there are jumps.
stops = places["step"]["stops"]
assert 0 < stops["before_jump"] <= sum(stops.values()) < 20000, places
assert all("breakpoint" not in p["stops"] and p["no_jump"] is None for p in places.values()), places
assert hot["stops"]["before_jump"] == stops["before_jump"], hot
assert sum(hot["stops"].values()) == sum(sum(p["stops"].values()) for p in places.values()), hot
assert hot["bare_s"] > 0 and hot["probed_s"] > 0, hot
PY
# How fast it was.
python3 - <<'PY' || fail "$(cat out.txt hot.json)"
import json
with open("hot.json", encoding="utf-8") as f:
    hot = json.load(f)["hot"]
for clock in hot["wall"], hot["user"]:
    assert all(len(clock[side]["rounds"]) == 1 for side in ("bare_s", "probed_s", "speed")), hot
    assert clock["probed_s"]["median"] > 0, hot
    assert abs(clock["speed"]["median"] - clock["bare_s"]["median"] / clock["probed_s"]["median"]) < 1e-9, hot
assert (hot["bare_s"], hot["probed_s"]) == (hot["wall"]["bare_s"]["median"], hot["wall"]["probed_s"]["median"]), hot
PY
grep -Eq '^wall time .* s bare, .* s probed: [0-9.]+ % of its speed$' out.txt &&
	grep -Eq '^user time .* s bare, .* s probed: [0-9.]+ % of its speed$' out.txt || fail "$(cat out.txt)"
grep -Eq '^2 probes, 40000 hits, [1-9]' out.txt && grep -Eq '^  p step +[1-9][0-9]* +[1-9][0-9]*  before_jump:[1-9]' out.txt || fail "$(cat out.txt)"

# In turns: hits are those of all rounds, and a place of each is one.
hot --rounds 3 -e "p:h/step $F:step"
python3 - <<'PY' || fail "$(cat out.txt hot.json)"
import json
with open("hot.json", encoding="utf-8") as f:
    hot = json.load(f)["hot"]
assert hot["probes"] == 1 and hot["hits"] == 60000, hot
(place,) = hot["places"]
assert place["event"] == "step" and place["stops"] == hot["stops"] and place["stops"]["before_jump"] >= 3, hot
assert all(len(clock["speed"]["rounds"]) == 3 for clock in (hot["wall"], hot["user"])), hot
PY
grep -Eq '^user time .* of its speed \([0-9.]+-[0-9.]+, 3 rounds\)$' out.txt || fail "$(cat out.txt)"

# No jump: each hit is a stop, and --stats says the same.
start room
trace --stats --mode trap -p "$PID" -e "p:h/step $F:step" -e "r:h/back $F:step"
echo 'call 300' >&"$IN_fix"
read -r -t "$TIMEOUT" line <&"$OUT_fix" || fail "it does not answer"
trace_stop
grep -q ' h/step hits=300 .* stopped=300 .* stops="breakpoint:300"' err.txt &&
	grep -q ' h/back hits=300 .* stops="return:300"' err.txt || fail "$(cat err.txt)"
