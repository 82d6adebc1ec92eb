# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# ubp-bench --coverage: every place is counted once, with a reason where no jump can stand;
# the text and the JSON agree.
. "${0%/*}/lib.bash"
[ -x "$UBP_BENCH" ] || skip "ubp-bench is not built for this machine"
hello=$FIXTURES/hello

"$UBP_BENCH" --coverage "$hello" --coverage libc --json one.json > out.txt 2> err.txt || fail "exit status $?"
[ ! -s err.txt ] || fail "a message"
"$UBP_BENCH" --all --coverage "$hello" --json - > all.json 2> err.txt || fail "--all: exit status $?"
"$UPROBE" -l "$hello" > functions.txt || fail "no functions"
python3 - "$hello" <<'PY' || fail "the counts are not right"
import json, re, sys
def load(name):
    with open(name, encoding="utf-8") as f:
        return json.load(f)
def check(c):
    assert c["places"] == c["jump_one"] + c["jump_several"] + c["breakpoint"] + c["refused"], c
    assert sum(c["no_jump_because"].values()) == c["breakpoint"] + c["refused"], c
    assert all(c["no_jump_because"].values()), c
hello, libc = load("one.json")["coverage"]
assert (hello["file"], libc["file"]) == (sys.argv[1], "libc")
for f in hello, libc:
    check(f["entries"]), check(f["usdt"])
    assert f["instructions"] is None
functions = open("functions.txt", encoding="utf-8").read().split()
assert hello["entries"]["places"] >= len(functions) > 1, (hello, functions)
assert hello["entries"]["jump_several"] + hello["entries"]["jump_one"] > 0
assert libc["entries"]["places"] > 2000
for f in hello, libc:
    e = f["entries"]
    assert e["beside_kernel_any"] <= e["beside_kernel"] <= e["jump_one"] + e["jump_several"], e
import platform
if platform.machine() == "x86_64":
    assert libc["entries"]["beside_kernel"] >= 0.9 * (libc["entries"]["jump_one"] + libc["entries"]["jump_several"])
with_all, = load("all.json")["coverage"]
check(with_all["instructions"])
assert with_all["entries"] == hello["entries"]
assert with_all["instructions"]["places"] > hello["entries"]["places"]
text = open("out.txt", encoding="utf-8").read()
jumps = [int(x) for x in re.findall(r"^jump +(\d+)", text, re.M)]
assert jumps == [f["entries"]["jump_one"] + f["entries"]["jump_several"] for f in (hello, libc)], jumps
PY

"$UBP_BENCH" --coverage ./nothing > out.txt 2> err.txt; status=$?
[ $status = 1 ] || fail "no file: exit status $status, not 1"
[ "$(grep -c '^ubp-bench: error: ' err.txt)" = 1 ] || fail "no file: no message"
echo text > text
"$UBP_BENCH" --coverage ./text > out.txt 2> err.txt; status=$?
[ $status = 1 ] || fail "no ELF file: exit status $status, not 1"
exit 0
