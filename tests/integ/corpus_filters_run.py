# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The filters that the kernel accepts, on the program that it was asked about, in every mode:
the same hits pass. (corpus_filters.py asks our parser alone.)"""

import json
import os
import re
import subprocess
import sys

SRC = os.environ["UBP_SRC"]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SRC, "tests/oracle/lib"))
sys.path.insert(0, os.path.join(SRC, "tests/integ"))
import oracle  # noqa: E402
from corpus_values import AT_ONE_PLACE, MODES, build  # noqa: E402

# What our events have no value for, docs/differences.md, and the place they were asked on.
OTHERS = re.compile(r"\bcommon_(?!pid)|\.function\b|\b(CPU|cpu)\b")
CORPUS = os.path.join(SRC, "tests", "corpus")


def rows():
    with open(os.path.join(CORPUS, "filters.jsonl"), encoding="utf-8") as f:
        all_rows = [json.loads(line) for line in f]
    return [r for r in all_rows if r["accepted"] and not OTHERS.search(r["filter"])]


def numbers():
    """The value of n in each of the program's hits."""
    with open(os.path.join(CORPUS, "filters_hits.json"), encoding="utf-8") as f:
        return [h["n"] for h in json.load(f)]


def asks_for_name(row):
    return bool(re.search(r"\b(comm|cm)\b", row["filter"], re.I))


def batches(all_rows, size):
    """Those apart that ask for the thread's name: with one of them at a place no other is a jump."""
    for asks in False, True:
        part = [r for r in all_rows if asks_for_name(r) == asks]
        for at in range(0, len(part), size):
            yield part[at : at + size]


def passed(batch, target, offset, mode):
    """Row's id -> the values of n that pass, and how many hits did not stop the program."""
    cmd = [oracle.UPROBE, "--strict", "--lossless", "--stats", "--mode", mode, "-o", "out"]
    definitions = []
    for r in batch:
        d = r["definition"].replace("@BIN@:@OFF(pt_flt)@", f"{target}:0x{offset:x}")
        if not asks_for_name(r):
            d = d.replace(" cm=$comm", "")
        definitions.append(re.sub(r"^p:spec_f/f ", f"p:spec_f/{r['id']} ", d))
        cmd += ["-e", definitions[-1], "--filter", r["filter"]]
    p = subprocess.run([*cmd, "--", target], capture_output=True, timeout=oracle.TIMEOUT,
                       check=False, encoding=None)
    if p.returncode != 0:
        sys.exit(f"{mode}: uprobe ended with {p.returncode}: {p.stderr.decode(errors='replace')}")
    stats = [oracle.Stats(m) for m in oracle.STATS.finditer(p.stderr)]
    if mode == "jump":
        bad = oracle.why_no_jumps(definitions, stats)
        if bad:
            sys.exit("\n".join(bad))
    with open("out", "rb") as f:
        events, lost = oracle.parse(f.read())
    if lost:
        sys.exit(f"{lost} events lost")
    got = {r["id"]: [] for r in batch}
    for e in events:
        got[e.name].append(int(re.search(rb" n=(0x[0-9a-f]+)", e.text).group(1), 16))
    return got, sum(s.hits - s.stopped for s in stats)


def main():
    if os.uname().machine != "x86_64":
        oracle.skip("the corpus is of x86_64")
    target = build()
    offset = oracle.Elf(target).symbols["pt_flt"][0]
    of_hit = numbers()
    all_rows, bad, there = rows(), 0, 0
    for mode in MODES:
        for batch in batches(all_rows, AT_ONE_PLACE if mode == "jump" else 64):
            got, n = passed(batch, target, offset, mode)
            there += n
            for r in batch:
                want = [of_hit[i] for i in r["passed"]]
                if got[r["id"]] != want:
                    print(f"{mode}: {r['id']}: {r['filter']!r} passes {got[r['id']]}, "
                          f"the kernel's {want}")
                    bad += 1
    print(f"{len(all_rows)} filters in {len(MODES)} modes, {bad} differ, "
          f"{there} hits without a stop")
    return bool(bad) or len(all_rows) < 120 or there < 500


if __name__ == "__main__":
    sys.exit(main())
