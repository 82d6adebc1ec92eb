# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The kernel's answers of the values and filters corpora (corpus_values.py, corpus_filters_run.py, whose runs are --lossless, so traced) once
more while nobody traces the program: what it points to is mapped after it was let go of."""

import os
import re
import subprocess
import sys

SRC = os.environ["UBP_SRC"]
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SRC, "tests/integ/lib"), os.path.join(SRC, "tests/oracle/lib")]
from let_go import WAIT, Target, Trace, fail  # noqa: E402  # before others put this folder in front
import corpus_filters_run as filters  # noqa: E402
import corpus_values as values  # noqa: E402
import oracle  # noqa: E402

# It waits for a line before main().
GATE = """
#include <unistd.h>
__attribute__((constructor)) static void gate(void)
{
	char byte;
	if (write(1, "ready\\n", 6) != 6 || read(0, &byte, 1) != 1)
		_exit(1);
}
"""


WRITE_ONLY = 6  # hit of pt_fault
OF_THE_FILE = ("v0241",)  # what kind of file it is


class Gated(Target):
    def __init__(self, path):
        self.p = subprocess.Popen(["setarch", "-R", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")

    def run(self):
        if self.p.communicate("\n", timeout=WAIT)[0] or self.p.returncode:
            fail(f"the target ended with {self.p.returncode}")


def build():
    """Position-independent, so that a debugger's breakpoints break none of its jumps."""
    with open("gate.c", "w", encoding="ascii") as f:
        f.write(GATE)
    done = subprocess.run(["gcc", "-O1", "-fpie", "-pie", "-w", "-o", "valtgt", f"{SRC}/tests/corpus/valtgt.c", "gate.c"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        oracle.skip(f"cannot be built: {done.stderr}")
    return os.path.abspath("valtgt")


def recorded(target, definitions):
    """@definitions: (definition, filter or None). All events, and how many were lost."""
    gated = Gated(target)
    args = ["--strict", "--mode", "jump", "--buffer-size", "4096", "-o", "out"]
    for definition, text in definitions:
        args += ["-e", definition, *(["--filter", text] if text else [])]
    trace = Trace(gated, *args)
    gated.run()
    trace.end(signal=None)
    # One that missed a hit is traced again, perhaps while it still runs.
    if trace.stat("let_go") != "1" and trace.stat("ring_lost") == "0":
        fail(f"let_go={trace.stat('let_go')} in place of 1:\n{trace.err[-3000:]}")
    with open("out", "rb") as f:
        events, lost = oracle.parse(f.read())
    if lost != int(trace.stat("ring_lost")):
        fail(f"{lost} were told of as lost:\n{trace.err}")
    return events, lost


def is_among(got, want):
    left = iter(want)
    return all(any(g == w for w in left) for g in got)


def all_values(target):
    elf = oracle.Elf(target)
    rows = [r for r in values.rows() if r["id"] not in OF_THE_FILE and not re.search(r"%flags|comm", r["def"], re.I) and "undefined" not in r]
    base = next(r for r in rows if r["point"] == "pt_regs" and r["type"] == "p")
    shift = 0x555555554000 + elf.symbols["pt_regs"][0] - int(base["hits"][0]["ip"].strip("()"), 16)
    n_lost = 0
    for batch in values.batches(rows, values.AT_ONE_PLACE):
        got = {r["id"]: [] for r in batch}
        events, lost = recorded(target, [(values.expand(r, target, elf), None) for r in batch])
        for e in events:
            got[e.name].append(e.text)
        missing = 0
        # uprobe(1): of several strings one that has no end where there is room for it. Then nobody at that place is told of the hit.
        lossy = {r["point"] for r in batch if r["def"].count(":string") > 1}
        for r in batch:
            want = list(values.wanted(r, shift))
            if r["point"] == "pt_fault" and len(got[r["id"]]) == len(want):
                # What may be written and not read: the kernel copies nothing from there (docs/differences.md).
                del want[WRITE_ONLY], got[r["id"]][WRITE_ONLY]
            # As breakpoints are not to be seen in what is read in mode jump.
            if got[r["id"]] == want or r["id"] in values.READS_ITSELF:
                continue
            if r["point"] not in lossy or not is_among(got[r["id"]], want):
                fail(f"{r['id']} {r['def']}\n{got[r['id']]}\n{want}")
            missing += len(want) - len(got[r["id"]])
        if missing > lost:
            fail(f"{missing} events are missing, {lost} were lost: {[r['def'] for r in batch]}")
        n_lost += missing
    print(f"{len(rows)} rows of values, {n_lost} hits of them lost and counted")


def all_filters(target):
    at = f"{target}:0x{oracle.Elf(target).symbols['pt_flt'][0]:x}"
    rows = [r for r in filters.rows() if not filters.asks_for_name(r)]
    numbers = filters.numbers()
    for batch in filters.batches(rows, values.AT_ONE_PLACE):
        got = {r["id"]: [] for r in batch}
        definitions = [(re.sub(r"^p:spec_f/f ", f"p:spec_f/{r['id']} ", r["definition"].replace("@BIN@:@OFF(pt_flt)@", at)
                               .replace(" cm=$comm", "")), r["filter"]) for r in batch]
        events, lost = recorded(target, definitions)
        if lost:
            fail(f"{lost} events were lost")
        for e in events:
            got[e.name].append(int(re.search(rb" n=(0x[0-9a-f]+)", e.text).group(1), 16))
        for r in batch:
            if got[r["id"]] != [numbers[i] for i in r["passed"]]:
                fail(f"{r['id']}: {r['filter']!r} passes {got[r['id']]}")
    print(f"{len(rows)} filters")


program = build()
all_values(program)
all_filters(program)
