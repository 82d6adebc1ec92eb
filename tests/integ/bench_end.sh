# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# ubp-bench --end-to-end: each way has kept the events that it says.
. "${0%/*}/lib.bash"
[ -x "$UBP_BENCH" ] || skip "ubp-bench is not built for this machine"
need_arch x86_64

timeout "$TIMEOUT" env PATH="$PWD/nothing" "$UBP_BENCH" --end-to-end --rounds 1 --hits 20000 --threads 1,2 --json end.json > out.txt 2> err.txt || fail "exit status $?: $(cat err.txt)"
python3 - <<'PY' || fail "$(cat out.txt end.json)"
import json
with open("end.json", encoding="utf-8") as f:
    rows = json.load(f)["end_to_end"]
ways = {}
for row in rows:
    ways.setdefault(row["way"], []).append(row)
assert {"record", "record, may lose", "text", "json"} <= set(ways), ways
for way, both in ways.items():
    assert [row["threads"] for row in both] == [1, 2], ways
    for row in both:
        assert row["hits"] == 20000 and row["target_ns"] > 0, row
        assert 0 < row["kept"] <= 20000, row
        assert row["kept"] == 20000 or way not in ("record", "text", "json"), row
PY
[ "$(wc -l < out.txt)" = "$(($(grep -c '"way"' end.json) + 1))" ] || fail "$(cat out.txt)"

# Others are left out where they are not, with a word for each. What they keep is measured by hand: daemons and perf take long to start.
[ "$(grep -c ' is left out: it is not installed, or may not trace here$' err.txt)" = 4 ] || fail "$(cat err.txt)"
