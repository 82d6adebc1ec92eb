#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What return probes cost a C++ program that throws: exceptions per second, in one run.

throws.py [UPROBE [FIXTURES]]: prints the rows of docs/overhead.md. Each row has a run without ubp
in front of it: machines change their speed."""

import os
import signal
import statistics
import subprocess
import sys

UPROBE = sys.argv[1] if len(sys.argv) > 1 else "build/uprobe"
FIXTURE = os.path.join(sys.argv[2] if len(sys.argv) > 2 else "build/fixtures", "throws")
ROUNDS = 5


class Target:
    def __init__(self):
        self.p = subprocess.Popen([FIXTURE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.p.stdout.readline() == "ready\n"

    def ask(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        word, ns = self.p.stdout.readline().split()
        assert word == "done"
        return int(ns)

    def rate(self, verb):
        """Median of some rounds, a tenth of a second each."""
        n = 200
        while self.ask(f"{verb} {n}") < 20_000_000:
            n *= 4
        n = max(1, n * 100_000_000 // self.ask(f"{verb} {n}"))
        return statistics.median(n * 1e9 / self.ask(f"{verb} {n}") for _ in range(ROUNDS))

    def end(self):
        self.p.stdin.close()
        assert self.p.wait() == 0


def trace(target, mode, functions):
    args = [UPROBE, "--mode", mode, "-o", "/dev/null", "-p", str(target.p.pid), "--ready-fd", "1"]
    for f in functions:
        args += ["-e", f"r:t/{f} {FIXTURE}:{f}"]
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert p.stdout.readline() == b"ready\n"
    return p


# Name, probed functions, what is done before, the verb, what is done behind.
CASES = [
    ("never hit", ["never"], [], "throw", []),
    ("hit elsewhere", ["never", "apart"], ["call 5000"] * 3, "throw", []),
    ("a frame on another stack", ["never", "waits"], ["open"], "throw", ["close"]),
    ("a frame further up on this one", ["never", "around"], ["around 10"] * 50, "around", []),
]


def row(name, mode, functions, before, verb, behind):
    t = Target()
    bare = t.rate(verb)
    p = trace(t, mode, functions)
    for line in before:
        t.ask(line)
    t.rate(verb)  # jumps are there by now
    traced = t.rate(verb)
    p.send_signal(signal.SIGKILL)
    p.wait()
    killed = t.rate(verb)
    for line in behind:
        t.ask(line)
    t.end()
    print(f"| {name} | {mode} | {bare:.0f} | {traced:.0f} ({100 * traced / bare:.0f} %) "
          f"| {killed:.0f} ({100 * killed / bare:.0f} %) |", flush=True)


print("| return probe | mode | bare | traced | after a kill |")
print("|---|---|---|---|---|")
for case in CASES:
    for mode in "auto", "trap":
        row(case[0], mode, *case[1:])
