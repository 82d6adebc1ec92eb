# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--let-go of programs that go against it: they execute others in the very moment, or their first thread has ended."""

import os
import platform
import re
import subprocess
import sys
import time

UPROBE, TARGET = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "let_go_odd")
WAIT = int(os.environ.get("TIMEOUT", "60"))
PROBE = f"p:{TARGET}:called a=%di:s64"

if platform.machine() != "x86_64":
    print("skipped: only x86-64 lets go of processes so far")
    sys.exit(77)


def fail(why):
    sys.exit(f"let_go_odd: {why}")


class Target:
    def __init__(self):
        self.p = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")

    def expect(self, answer):
        got = self.p.stdout.readline().strip()
        if got != answer:
            fail(f"the target said '{got}' in place of '{answer}' (status {self.p.poll()})")

    def ask(self, line, answer="done"):
        self.p.stdin.write(line + "\n")
        self.expect(answer)

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

    def end(self):
        self.p.stdin.write("end\n")
        if self.p.wait(timeout=WAIT) != 0:
            fail(f"the target ended with {self.p.returncode}")


class Trace:
    """uprobe on TARGET, that has begun to trace."""

    def __init__(self, target):
        read_end, write_end = os.pipe()
        argv = [UPROBE, "--let-go", "--stats", "--ready-fd", str(write_end), "-p", str(target.p.pid), PROBE]
        self.p = subprocess.Popen(argv, pass_fds=[write_end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(write_end)
        if not os.read(read_end, 6):
            fail(f"uprobe did not begin: {self.p.communicate()[1]}")
        os.close(read_end)

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

    def end(self):
        self.p.send_signal(2)
        out, self.err = self.p.communicate(timeout=WAIT)
        if self.p.returncode != 0:
            fail(f"uprobe ended with {self.p.returncode}: {self.err}")
        return [int(a) for a in re.findall(r"called: .* a=(-?\d+)", out)]


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
    target = Target()
    trace = Trace(target)
    target.ask("storm 60", "ready")
    trace.wait_let_go(target)
    records(target, trace)


def first_thread_ends(when):
    target = Target()
    if when == "before":
        target.ask("leave")
    trace = Trace(target)
    if when == "traced":
        target.ask("leave")
    trace.wait_let_go(target)
    if when == "alone":
        target.ask("leave")
    records(target, trace)


def two_at_once():
    """The second one is told of the first, as where that traces. Killed, the first one is in nobody's way."""
    target = Target()
    trace = Trace(target)
    trace.wait_let_go(target)
    other = subprocess.run([UPROBE, "-p", str(target.p.pid), PROBE], capture_output=True, text=True, timeout=WAIT, check=False)
    if other.returncode != 1 or "another ubp records in process" not in other.stderr:
        fail(f"the second one ended with {other.returncode}: {other.stderr}")
    records(target, trace, lasts=True)
    trace = Trace(target)
    trace.wait_let_go(target)
    trace.p.kill()
    trace.p.wait()
    trace = Trace(target)
    records(target, trace)


two_at_once()
for moment in ("before", "traced", "alone"):
    first_thread_ends(moment)
for _ in range(3):
    executes()
print("ok")
