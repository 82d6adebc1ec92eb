#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--allocates and --frees: without sampling what lives and what was allocated is what the program noted, by stack; with sampling it is an estimate whose
error is less than one sample for each thread and function; and of a python3 it is what its C library says."""

import json
import os
import subprocess
import sys

FIXTURES, UPROBE = os.environ["FIXTURES"], os.environ["UPROBE"]
TARGET = f"{FIXTURES}/heap"
BLOCKS, THREADS, SAMPLE = 1500, 4, 32768
MEMORY = [word for name in ("malloc", "calloc", "realloc")
          for word in ("-e", f"r:{name} libc:{name} p=$retval:u64 size=-8($retval):u64", "--allocates=p:size")]
MEMORY += ["-e", "p:free libc:free p=%di:u64", "--frees=p", "-e", "p:again libc:realloc p=%di:u64", "--frees=p"]


def fail(text):
    print(text)
    sys.exit(1)


def run(args, command, status=0, **more):
    result = subprocess.run([UPROBE, "-o", "out", *args, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            timeout=200, **more)
    if result.returncode != status:
        fail(f"{args}: ends with {result.returncode}: {result.stderr.decode()}")
    if status:
        return result.stderr.decode(), ""
    return result.stdout.decode(), open("out", encoding="utf-8").read()


def sums(text, function):
    """live, allocated, hits of all stacks with this function."""
    rows = [json.loads(line) for line in text.splitlines()]
    rows = [row for row in rows if function in row["key"]["ustack"]]
    return [sum(row[name] for row in rows) for name in ("live", "allocated", "hits")]


def noted(text):
    return {name: (int(live), int(allocated)) for name, live, allocated in map(str.split, text.splitlines())}


def check_exact(*ways):
    said, text = run(["--json", *ways, *MEMORY], [TARGET, str(BLOCKS)])
    for name, (live, allocated) in noted(said).items():
        told = sums(text, name)
        # The last bits of the word in front of a block are flags.
        if not 0 <= told[0] - live <= 7 * told[2] or not 0 <= told[1] - allocated <= 7 * told[2]:
            fail(f"{ways}: {name}: {told} is not {live}, {allocated}")
        if told[2] != BLOCKS * THREADS * (1 if name == "keep" else 2):
            fail(f"{ways}: {name}: {told[2]} hits")


def check_sampled(*ways):
    said, text = run(["--json", f"--sample=size:{SAMPLE}", *ways, *MEMORY], [TARGET, str(BLOCKS)])
    want = [sum(column) for column in zip(*noted(said).values())]
    rows = [json.loads(line) for line in text.splitlines()]
    hits, told = sum(row["hits"] for row in rows), sum(row["allocated"] for row in rows)
    # Beside its own blocks there are those of the C library: threads, output, and the tables of kept blocks.
    if abs(told - want[1]) > SAMPLE * 3 * (THREADS + 1) + 200000:
        fail(f"{ways}: {told} allocated is not {want[1]}")
    if hits > 2 * want[1] // SAMPLE or hits < want[1] // SAMPLE // 2:
        fail(f"{ways}: {hits} samples of {want[1]} bytes")
    # Half of keep()'s blocks live, and none of churn()'s.
    if sums(text, "churn")[0] or not 0.6 < sums(text, "keep")[0] / want[0] < 1.4:
        fail(f"{ways}: {sums(text, 'churn')}, {sums(text, 'keep')} live, of {want[0]}")


def check_forms():
    _, text = run(["--folded", *MEMORY], [TARGET, "100"])
    stacks = dict(line.rsplit(" ", 1) for line in text.splitlines())
    if not any(stack.startswith("heap;") and stack.endswith(";work;keep") for stack in stacks) or any("churn" in stack for stack in stacks):
        fail(f"--folded: {stacks}")
    _, text = run(MEMORY, [TARGET, "100"])
    lines = text.splitlines()
    if lines[0].split() != ["LIVE", "ALLOCATED", "HITS", "USTACK"] or not any(line.split()[-1] == "churn" and line.split()[0] == "0" for line in lines):
        fail(f"a table: {text}")
    for args, says in ((["--frees=p", "-e", "p:libc:free"], "comes after the definition"),
                       (["-e", "p:f libc:free p=%di", "--frees=p"], "is for blocks of --allocates"),
                       (["--count", *MEMORY], "--allocates excludes"),
                       (["-e", "p:f libc:free p=%di", "--frees=p", "--allocates=p"], "more than one of")):
        if says not in run(args, [TARGET], status=2)[0]:
            fail(f"{args} are taken")
    if "has no argument 'q'" not in run(["-e", "r:m libc:malloc p=$retval", "--allocates=q"], [TARGET], status=1)[0]:
        fail("an argument that is not there is taken")


def check_python():
    script = """
import ctypes
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Info
kept = [b"x" * (i % 5000 + 100) for i in range(4000)]
for i in range(40000):
    [i] * (i % 300)
info = libc.mallinfo2()
print(info.uordblks + info.hblkhd, flush=True)
libc._exit(0)
"""
    said, text = run(["--json", "--stack=fp", "--sample=size:64KiB", *MEMORY], [sys.executable, "-c", script],
                     env={**os.environ, "PYTHONMALLOC": "malloc"})
    told = sum(json.loads(line)["live"] for line in text.splitlines())
    if not 0.7 < told / int(said) < 1.3:
        fail(f"python3: {told} live is not {said}")


check_exact("--stack=fp")
check_exact("--stack=cfi")
check_sampled("--stack=fp")
check_sampled("--stack=cfi")
check_forms()
check_python()
