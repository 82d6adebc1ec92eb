# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Letting go of programs that go against it: they execute others in the very moment, or their first thread has ended."""

import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, UPROBE, WAIT, Target, Trace, fail  # noqa: E402

PROBE = f"p:{FIXTURES}/let_go_odd:called a=%di:s64"


class Odd(Target):
    def __init__(self):
        super().__init__("let_go_odd")

    def is_alone(self):
        """None of its threads that live is traced, and what was planted stands."""
        tasks = f"/proc/{self.p.pid}/task"
        tids = sorted(os.listdir(tasks), key=int)
        for tid in tids:
            with open(f"{tasks}/{tid}/status", encoding="ascii") as f:
                status = f.read()
                if "State:\tZ" not in status and "TracerPid:\t0\n" not in status:
                    return False
        with open(f"{tasks}/{tids[-1]}/maps", encoding="ascii") as f:
            return "memfd:ubp" in f.read()


class OddTrace(Trace):
    def __init__(self, target):
        super().__init__(target, "-e", PROBE, lets_go=False)

    def wait_let_go(self, target):
        """With hits, of which places become jumps."""
        end = time.monotonic() + WAIT
        while True:
            target.ask("call 5")
            if target.is_alone():
                return
            if time.monotonic() > end or self.p.poll() is not None:
                self.end()
                fail(f"it is not let go of: {self.err}")
            time.sleep(0.005)


def records(target, trace, lasts=False):
    """What it calls from now on is recorded, and the target lives on behind that."""
    target.ask("call 777")
    got = trace.end()[-777:]
    if got != list(range(777)):
        fail(f"{len(got)} were recorded, from {got[:5]}: {trace.err}")
    target.ask("call 3")
    if not lasts:
        target.end()


def executes():
    target = Odd()
    trace = OddTrace(target)
    target.ask("storm 60", "ready")
    trace.wait_let_go(target)
    records(target, trace)


def first_thread_ends(when):
    target = Odd()
    if when == "before":
        target.ask("leave")
    trace = OddTrace(target)
    if when == "traced":
        target.ask("leave")
    trace.wait_let_go(target)
    if when == "alone":
        target.ask("leave")
    records(target, trace)


def two_at_once():
    """The second one is told of the first, as where that traces. Killed, the first one is in nobody's way."""
    target = Odd()
    trace = OddTrace(target)
    trace.wait_let_go(target)
    other = subprocess.run([UPROBE, "-p", str(target.p.pid), PROBE], capture_output=True, text=True, timeout=WAIT, check=False)
    if other.returncode != 1 or "another ubp records in process" not in other.stderr:
        fail(f"the second one ended with {other.returncode}: {other.stderr}")
    records(target, trace, lasts=True)
    trace = OddTrace(target)
    trace.wait_let_go(target)
    trace.p.kill()
    trace.p.wait()
    trace = OddTrace(target)
    records(target, trace)


two_at_once()
for moment in ("before", "traced", "alone"):
    first_thread_ends(moment)
for _ in range(3):
    executes()
print("ok")
