#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What it costs to attach to processes of another user, beside load: by several uprobes in turns.

strangers.py [-n PROCESSES] [-l BUSY_LOOPS] [-r ROUNDS] [-f FIXTURES] UPROBE...

A row for each uprobe: medians of the times, and of what does not depend on load: system calls of the uprobe and its
children (perf, as root), of these ptrace(), waits, and what switches between the tracer and its stand-in, and the times that the
targets were woken. Each round has new targets, and the uprobes take turns in being first.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

STRANGER = 65534
EVENTS = {
    "calls": "raw_syscalls:sys_enter",
    "ptrace": "syscalls:sys_enter_ptrace",
    "waits": "syscalls:sys_enter_waitid,syscalls:sys_enter_wait4",
    "futex, poll": "syscalls:sys_enter_futex,syscalls:sys_enter_poll,syscalls:sys_enter_ppoll",
    "switches": "context-switches",
}


class Targets:
    """So many processes of a stranger that wait."""

    def __init__(self, crowd, n):
        self.run = subprocess.Popen((crowd, str(n), "1", "0", "0"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True, user=STRANGER, group=STRANGER, extra_groups=[])
        assert self.run.stdout.readline() == "ready\n"
        children = subprocess.run(("pgrep", "-P", str(self.run.pid)), stdout=subprocess.PIPE, text=True, check=False)
        self.pids = [str(self.run.pid), *children.stdout.split()]

    def switches(self):
        """How often all of them have been off the processor."""
        n = 0
        for pid in self.pids:
            with open(f"/proc/{pid}/status", encoding="ascii") as file:
                n += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
        return n

    def end(self):
        self.run.stdin.write("\n")
        self.run.stdin.close()
        assert self.run.stdout.read() == "all woken\n" and self.run.wait() == 0


def counts(path):
    """What perf has counted."""
    found = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split(",")
            if len(words) > 2:
                found[words[2]] = int(words[0]) if words[0].isdigit() else None
    sums = {}
    for name, events in EVENTS.items():
        all_of = [found.get(event) for event in events.split(",")]
        sums[name] = None if None in all_of else sum(all_of)
    return sums


def one(uprobe, crowd, n, load, folder):
    """A round: attach, all jumps made, let go."""
    targets = Targets(crowd, n)
    busy = [subprocess.Popen((sys.executable, "-c", "while True: pass")) for _ in range(load)]
    out = os.path.join(folder, "counts")
    before, begun = targets.switches(), time.monotonic()
    events = ",".join(EVENTS.values())
    with subprocess.Popen(("perf", "stat", "-x,", "-o", out, "-e", events, "--", uprobe, "--ready-fd", "1", "-o", "/dev/null",
                           "-p", ",".join(targets.pids), "-e", f"p:t/tick {crowd}:tick"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        if p.stdout.readline() != "ready\n":
            sys.exit(p.stderr.read())
        ready = time.monotonic()
        own = subprocess.run(("pgrep", "-P", str(p.pid)), stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]
        ending = time.monotonic()
        os.kill(int(own), signal.SIGINT)
        p.communicate()
    ended, woken = time.monotonic(), targets.switches() - before
    for each in busy:
        each.kill()
        each.wait()
    targets.end()
    return {"attach, ms": 1000 * (ready - begun), "detach, ms": 1000 * (ended - ending), **counts(out), "targets woken": woken}


def main():
    """All rounds, and a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=50)
    parser.add_argument("-l", type=int, default=4)
    parser.add_argument("-r", type=int, default=5)
    parser.add_argument("-f", default="build/fixtures")
    parser.add_argument("uprobe", nargs="+")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        crowd = shutil.copy(os.path.join(o.f, "crowd"), folder)
        rounds = {each: [] for each in o.uprobe}
        for i in range(o.r):
            for k in range(len(o.uprobe)):
                each = o.uprobe[(i + k) % len(o.uprobe)]
                rounds[each].append(one(each, crowd, o.n, o.l, folder))
    names = list(rounds[o.uprobe[0]][0])
    print("| uprobe |", " | ".join(names), "|")
    print("|---" * (len(names) + 1) + "|")
    for each, all_of in rounds.items():
        cells = []
        for name in names:
            values = [one[name] for one in all_of if one[name] is not None]
            cells.append(f"{statistics.median(values):.0f}" if values else "-")
        print(f"| {each} |", " | ".join(cells), "|")


main()
