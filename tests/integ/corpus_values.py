# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The values corpus: each row's definition on its target must print what the kernel printed,
in every mode.

Many rows share a run, and so many probes share an address; rows whose kernel
answer is accidental ("undefined") must not crash, and are shown when they differ.
"""

import json
import os
import re
import subprocess
import sys

SRC = os.environ["UBP_SRC"]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SRC, "tests/oracle/lib"))
import oracle  # noqa: E402

BATCH = 64
MODES = tuple(m for m in oracle.MODES if m != "alone")  # let_go_corpus.py has that
AT_ONE_PLACE = 8 # that a jump has room for
# docs/differences.md: what is read at the probe's own place is a jump, not a breakpoint.
READS_ITSELF = ("v0288",)


def build():
    target = os.path.abspath("valtgt")
    subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "-static", "-w", "-o", target,
                    os.path.join(SRC, "tests/corpus/valtgt.c")], check=True)
    return target


def rows():
    with open(os.path.join(SRC, "tests/corpus/values.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def expand(row, target, elf):
    """The row's definition for our build of the target, with the row's id as event name."""
    text = row["def"].replace("@BIN@", target)
    text = re.sub(r"@OFF\((\w+)\)@", lambda m: f"0x{elf.symbols[m.group(1)][0]:x}", text)
    return re.sub(r"^([pr]):spec_v/v ", rf"\1:spec_v/{row['id']} ", text)


def by_uprobe(definitions, target, mode):
    with open("definitions", "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write("\n".join(definitions) + "\n")
    p = subprocess.run([oracle.UPROBE, "--strict", "--lossless", "--stats", "--mode", mode,
                        "-o", "out", "-f", "definitions", "--", target],
                       capture_output=True, timeout=oracle.TIMEOUT, check=False)
    if p.returncode != 0:
        sys.exit(f"uprobe ended with {p.returncode}: {p.stderr.decode(errors='replace')}")
    with open("out", "rb") as f:
        events, lost = oracle.parse(f.read())
    if lost:
        sys.exit(f"{lost} events lost")
    stats = [oracle.Stats(m) for m in oracle.STATS.finditer(p.stderr)]
    there = sum(s.hits - s.stopped for s in stats)
    if mode != "jump":
        wrong = [f"{there} hits without a stop"] if there else []
    else:
        wrong = oracle.why_no_jumps(definitions, stats)
    if wrong:
        sys.exit("\n".join([f"in mode {mode}:", *wrong]))
    return events, there


def wanted(row, shift):
    """Expected texts of the row's hits. Code lies elsewhere in our build: shift it."""
    def move(m):
        return f"0x{int(m.group(1), 16) + shift:x}"

    for hit in row["hits"]:
        text = f"{hit['ip']}{hit['args']}"
        text = re.sub(r"\b0x(40[0-9a-f]{4})\b", move, text)
        yield text.encode(errors="surrogateescape")


def check(row, got, shift, mode):
    """What differs, as text; empty if nothing does."""
    want = list(wanted(row, shift))
    if mode == "jump" and row["id"] in READS_ITSELF and got != want and got[0][:9] == want[0][:9]:
        return ""
    if got == want:
        return ""
    head = f"{mode}: {row['id']} ({row['cat']}) {row['def']}\n"
    if len(got) != len(want):
        head += f"    {len(got)} hits, not {len(want)}\n"
    for i, (w, g) in enumerate(zip(want, got)):
        if w != g:
            return head + f"    hit {i}\n    want {w[:300]!r}\n    got  {g[:300]!r}"
    return head


def batches(all_rows, at_one_place):
    """Accidental rows apart: an overlong line of theirs may swallow the next one. And
    those that keep others at their place from being jumps."""
    def kind(row):
        return ("undefined" in row, "%flags" in row["def"], "comm" in row["def"].lower())

    for part in ([r for r in all_rows if kind(r) == k] for k in sorted(set(map(kind, all_rows)))):
        left = part
        while left:
            batch, places = [], {}
            for r in left:
                places[r["point"]] = places.get(r["point"], 0) + 1
                if len(batch) < BATCH and places[r["point"]] <= at_one_place:
                    batch.append(r)
            left = [r for r in left if r not in batch]
            yield batch


def main():
    if os.uname().machine != "x86_64":
        oracle.skip("the corpus is of x86_64")
    target = build()
    elf = oracle.Elf(target)
    all_rows = rows()
    base = next(r for r in all_rows if r["point"] == "pt_regs" and r["type"] == "p")
    shift = 0x400000 + elf.symbols["pt_regs"][0] - int(base["hits"][0]["ip"].strip("()"), 16)
    bad, accidental, there = [], 0, 0
    for mode in MODES:
        for batch in batches(all_rows, AT_ONE_PLACE if mode == "jump" else BATCH):
            got = {r["id"]: [] for r in batch}
            events, n = by_uprobe([expand(r, target, elf) for r in batch], target, mode)
            there += n
            for e in events:
                got[e.name].append(e.text)
            for r in batch:
                differs = check(r, got[r["id"]], shift, mode)
                if differs and "undefined" in r:
                    accidental += 1
                    print(f"undefined: {differs}")
                elif differs:
                    bad.append(differs)
    for b in bad:
        print(f"differs: {b}")
    n = len(all_rows) * len(MODES)
    print(f"{n - len(bad)} of {n} rows right ({accidental} of them only because the kernel's "
          f"answer is accidental), {there} hits without a stop")
    sys.exit(bool(bad) or there < 500)


if __name__ == "__main__":
    main()
