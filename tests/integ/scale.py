#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The work for each process and each thread does not grow with their number: calls that uprobe makes, for growing rows,
while it attaches, until all jumps are made, and while it lets go. Nor does the time that one thread stands still grow
with the number of others: calls that are made meanwhile. Beside other load they are the same. And processes that sleep are asked
to do something, and stopped, a few times each."""

import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests/torture/lib"))
from failat import FailAt  # noqa: E402

UPROBE, FIXTURE = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "crowd")
SIZES = {"processes": (25, 50, 100, 200), "threads": (125, 250, 500, 1000)}
# Threads, one of which runs.
STOPS = (100, 1500)
# All but waits, which tell how long something took.
KINDS = ("memory", "read", "peek", "poke", "ptrace", "other")
WAIT = int(os.environ.get("TIMEOUT", "60"))


def fail(text):
    sys.exit(f"FAIL: {text}")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return f.read().split()


def has_rings(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        return "/memfd:ubp" in f.read()


def wait_for_rings(pids):
    """Each has been prepared for jumps: with so many that goes on behind the start."""
    end = time.monotonic() + WAIT
    while pids and time.monotonic() < end:
        pids = [pid for pid in pids if not has_rings(pid)]
        time.sleep(0.01)
    if pids:
        fail(f"{len(pids)} processes have no jumps")


def run(what, n, n_busy=0, mode="jump", stay=("--stay",)):
    """Attach to @n of them, and leave them: what was counted. Without @stay they are let go of between, at some time."""
    args = (str(n), "1", str(n_busy)) if what == "processes" else ("1", str(n), str(n_busy))
    target = subprocess.Popen([FIXTURE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if target.stdout.readline() != "ready\n":
        fail(f"crowd {args} does not start")
    failat = FailAt()
    pids = ",".join([str(target.pid), *children(target.pid)])
    p = subprocess.Popen([UPROBE, "--mode", mode, *stay, "--ready-fd", "1", "--stats", "-o", "/dev/null", "-p", pids,
                          "-e", f"p:s/tick {FIXTURE}:tick"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, **failat.env})
    if p.stdout.readline() != "ready\n":
        fail(f"{n} {what}: {p.communicate()[1]}")
    if mode == "jump":
        wait_for_rings(pids.split(","))
    failat.phase(FailAt.DETACH)
    p.send_signal(signal.SIGINT)
    err = p.communicate()[1]
    if p.returncode != 0:
        fail(f"{n} {what}: {err}")
    said = target.communicate("\n")[0]
    if said != "all woken\n" or target.returncode != 0:
        fail(f"{n} {what}: the target says {said!r}, status {target.returncode}")
    return failat


def calls(what, n):
    """Of attaching to @n of them, and of letting go."""
    failat = run(what, n)
    return [sum(failat.count(phase, kind) for kind in KINDS) for phase in (FailAt.ATTACH, FailAt.DETACH)]


def grows(what, name, sizes, counts):
    """For each one more: so many calls. Why they grow, or None."""
    steps = [(b - a) / (m - n) for n, m, a, b in zip(sizes, sizes[1:], counts, counts[1:])]
    print(f"{what}, {name}: for each " + ", ".join(f"{x:.1f}" for x in steps))
    if steps[-1] <= 1.25 * steps[0] + 1:
        return None
    return f"{name}: from {steps[0]:.1f} calls for each of {sizes[0]} {what} to {steps[-1]:.1f} for each of {sizes[-1]}"


def check(what, sizes):
    """A busy machine costs some calls more, for threads that were not where they were looked for: what is so by
    construction is so in each of three rows."""
    for _ in range(3):
        rows = [calls(what, n) for n in sizes]
        whys = [grows(what, name, sizes, [row[i] for row in rows]) for i, name in enumerate(("attach", "detach"))]
        if not any(whys):
            return
    fail("; ".join(filter(None, whys)))


def check_stops(mode):
    """How many calls are made while one thread stands still: as many among a hundred as among fifteen hundred. A busy
    machine has more of them made again."""
    for _ in range(3):
        few, many = ([failat.stood(phase) for phase in (FailAt.ATTACH, FailAt.DETACH)]
                     for failat in (run("threads", n, 1, mode) for n in STOPS))
        rows = list(zip(few, many))
        print(f"{mode}: calls while one thread stands, of {STOPS[0]} and of {STOPS[1]}: attach, detach: {rows}")
        if all(0 < a and b <= 2 * a + 200 for a, b in rows):
            return
    fail(f"{mode}: calls while one thread stands still, of {STOPS[0]} and of {STOPS[1]}: {rows}")


def check_ptrace():
    """How many ptrace() calls each process is attached to with, jumps included, and left: some four for a stop. They
    were 97 and 34 when each remote call had two stops."""
    if os.uname().machine != "x86_64":
        return
    failat = run("processes", 50)
    each = [failat.count(phase, "ptrace") / 50 for phase in (FailAt.ATTACH, FailAt.DETACH)]
    print(f"ptrace() calls for each process: attach {each[0]:.1f}, detach {each[1]:.1f}")
    if each[0] > 60 or each[1] > 24:
        fail(f"ptrace() calls for each process: attach {each[0]:.1f}, detach {each[1]:.1f}")
    failat = run("processes", 50, stay=())
    both = sum(failat.count(phase, "ptrace") for phase in (FailAt.ATTACH, FailAt.DETACH)) / 50
    print(f"let go of between: {both:.1f}")
    if both > 120:
        fail(f"ptrace() calls for each process that is let go of: {both:.1f}")


check_ptrace()
for its, numbers in SIZES.items():
    check(its, numbers)
for m in ("jump", "trap"):
    check_stops(m)
