# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# ubp-bench where tracefs is not mounted: perf_event_open() instead, and a message where
# there is neither.
. "${0%/*}/lib.bash"
[ -x "$UBP_BENCH" ] || skip "ubp-bench is not built for this machine"
need_root
have unshare
[ -r /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel's perf_event_open() has no uprobes"
grep -q ' tracefs ' /proc/self/mounts || skip "tracefs is not mounted anyway"

# hidden COMMAND...: in a mount namespace without tracefs (and what is in $HIDE).
HIDE=
# shellcheck disable=SC2016 # for the inner shell
hidden() {
	unshare -m bash -c 'for m in $(grep " tracefs " /proc/self/mounts | cut -d " " -f 2); do umount -l "$m" || exit 78; done
	for d in $HIDE; do mount -t tmpfs none "$d" || exit 78; done
	exec "$@"' - "$@"
}
hidden true || skip "tracefs cannot be unmounted in a mount namespace here"

hidden "$UBP_BENCH" --json bench.json --rounds 1 --hits 500 --case int,string,return --mode trap --threads 1,2 > out.txt 2> err.txt ||
	fail "exit status $?"
grep -q '^beside *kernel uprobes by perf: tracefs is not mounted' out.txt || fail "no word of perf"
python3 - <<'PY' || fail "the JSON is not right"
import json
d = json.load(open("bench.json", encoding="utf-8"))
assert d["settings"]["kernel"] == "perf" and "tracefs" in d["settings"]["kernel_why"], d["settings"]
assert len(d["results"]) == 6
for r in d["results"]:
    if r["case"] == "string":
        assert r["kernel"] is None and "perf" in r["kernel_why"], r
    else:
        k = r["kernel"]
        assert (k["hits"], k["events"], k["lost"]) == (1000, 1000, 0), k
PY

# A command, by perf; what perf cannot record is left out on both sides.
hidden "$UBP_BENCH" --json bench.json --rounds 1 --mode trap -e "p:$FIXTURES/hello:greet" \
	-e "p:s $FIXTURES/hello:greet s=+0($ARG1):string" -- sh -c "echo go | $FIXTURES/hello a b c" > out.txt 2> err.txt ||
	fail "exit status $?"
[ "$(grep -c '^ubp-bench: warning: left out: .*hello:0x.* no such arguments' err.txt)" = 1 ] || fail "no word of what is left out"
python3 -c '
import json
c, = json.load(open("bench.json", encoding="utf-8"))["commands"]
assert (c["kernel"]["events"], c["ubp"][0]["events"]) == (6, 3), c' || fail "the JSON is not right"

hidden "$UBP_BENCH" --kernel tracefs > out.txt 2> err.txt; status=$?
[ $status = 1 ] || fail "--kernel tracefs: exit status $status, not 1"
grep -qx 'ubp-bench: error: tracefs is not mounted (mount .*)' err.txt || fail "no message"

export HIDE=/sys/bus/event_source/devices
hidden "$UBP_BENCH" > out.txt 2> err.txt; status=$?
[ $status = 1 ] || fail "neither: exit status $status, not 1"
[ "$(wc -l < err.txt)" = 1 ] && grep -q 'no kernel uprobes here (tracefs is not mounted.*perf' err.txt || fail "no message"
# An ordinary user has ubp alone, and is told so.
another_user
cp "$UBP_BENCH" "$FIX/ubp-bench"
as_user "$FIX/ubp-bench" > out.txt 2> err.txt; status=$?
[ $status = 1 ] || fail "ordinary user: exit status $status, not 1"
grep -qx 'ubp-bench: error: no kernel uprobes here (.*denied.*perf_event_open: .*): --kernel none measures ubp alone' err.txt ||
	fail "no message"
[ "$(yama_scope)" = 0 ] || exit 0
as_user "$FIX/ubp-bench" --kernel none --rounds 1 --hits 100 --case string > out.txt 2> err.txt || fail "ordinary user: no figures"
exit 0
