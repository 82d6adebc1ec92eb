# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The values corpus: each row's definition on its target must print what the kernel printed.

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


def by_uprobe(definitions, target):
    with open("definitions", "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write("\n".join(definitions) + "\n")
    p = subprocess.run([oracle.UPROBE, "--strict", "--lossless", "-o", "out", "-f", "definitions",
                        "--", target], capture_output=True, timeout=oracle.TIMEOUT)
    if p.returncode != 0:
        sys.exit(f"uprobe ended with {p.returncode}: {p.stderr.decode(errors='replace')}")
    with open("out", "rb") as f:
        events, lost = oracle.parse(f.read())
    if lost:
        sys.exit(f"{lost} events lost")
    return events


def wanted(row, shift):
    """Expected texts of the row's hits. Code lies elsewhere in our build: shift it."""
    def move(m):
        return f"0x{int(m.group(1), 16) + shift:x}"

    for hit in row["hits"]:
        text = f"{hit['ip']}{hit['args']}"
        text = re.sub(r"\b0x(40[0-9a-f]{4})\b", move, text)
        yield text.encode(errors="surrogateescape")


def check(row, got, shift):
    """What differs, as text; empty if nothing does."""
    want = list(wanted(row, shift))
    if got == want:
        return ""
    head = f"{row['id']} ({row['cat']}) {row['def']}\n"
    if len(got) != len(want):
        head += f"    {len(got)} hits, not {len(want)}\n"
    for i, (w, g) in enumerate(zip(want, got)):
        if w != g:
            return head + f"    hit {i}\n    want {w[:300]!r}\n    got  {g[:300]!r}"
    return head


def batches(all_rows):
    """Accidental rows apart: an overlong line of theirs may swallow the next one."""
    for part in ([r for r in all_rows if "undefined" not in r],
                 [r for r in all_rows if "undefined" in r]):
        for start in range(0, len(part), BATCH):
            yield part[start : start + BATCH]


def main():
    if os.uname().machine != "x86_64":
        oracle.skip("the corpus is of x86_64")
    target = build()
    elf = oracle.Elf(target)
    all_rows = rows()
    base = next(r for r in all_rows if r["point"] == "pt_regs" and r["type"] == "p")
    shift = 0x400000 + elf.symbols["pt_regs"][0] - int(base["hits"][0]["ip"].strip("()"), 16)
    bad, accidental = [], 0
    for batch in batches(all_rows):
        got = {r["id"]: [] for r in batch}
        for e in by_uprobe([expand(r, target, elf) for r in batch], target):
            got[e.name].append(e.text)
        for r in batch:
            differs = check(r, got[r["id"]], shift)
            if differs and "undefined" in r:
                accidental += 1
                print(f"undefined: {differs}")
            elif differs:
                bad.append(differs)
    for b in bad:
        print(f"differs: {b}")
    print(f"{len(all_rows) - len(bad)} of {len(all_rows)} rows right "
          f"({accidental} of them only because the kernel's answer is accidental)")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
