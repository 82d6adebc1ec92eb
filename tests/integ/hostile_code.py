#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Code that takes minutes to look through, mapped by one process: it is refused, or gets no more probes, which one line
tells; others are traced meanwhile, and uprobe ends when it is told to."""

import os
import platform
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from hostile import FIXTURES, fail, has, sparse, tell_missing, ticks, uprobe  # noqa: E402

TARGET, BUSY = f"{FIXTURES}/much_code", f"{FIXTURES}/busy"
TOUCH, STEP = f"p:m/touch {TARGET}:touch", f"p:b/step {BUSY}:step"
TOO_LONG = "looking through the files that process {} executes takes longer than 1000 ms"
LIMIT = 600

# A function of 8 MB. In each of its instructions stands what looks like a call that is looked for: whether it is one, only
# decoding from the function's start tells.
BAIT = """
	.globl bait
	.type bait,@function
bait:
	.rept 800000
	.byte 0x48,0xb8,0xb8,0x0d,0,0,0,0x0f,0x05,0x90
	.endr
	ret
	.size bait,.-bait
	.section .note.GNU-stack,"",@progbits
"""


class Target:
    """A fixture that waits for lines."""

    def __init__(self, *args):
        self.run = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.run.pid
        if not self.run.stdout.readline().startswith(b"ready"):
            fail(f"{args}: does not get ready")

    def call(self):
        """Once: it has come back."""
        self.run.stdin.write(b"\n")
        self.run.stdin.flush()
        if self.run.stdout.readline() != b"called\n":
            fail(f"{self.run.args}: has not come back from its call")

    def end(self):
        """Well."""
        self.run.stdin.close()
        if self.run.wait(LIMIT):
            fail(f"{self.run.args}: ends with {self.run.returncode}")


class Busy(Target):
    """The one beside it."""

    def __init__(self):
        super().__init__(BUSY, "1")

    def end(self):
        self.run.stdin.write(b"\n")
        super().end()


def started(*args):
    """uprobe, when it is ready."""
    p, is_ready = tracer.start("--mode=trap", "--stats", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not is_ready:
        fail(f"{args}: {p.communicate()[1]}")
    return p


def ended(p):
    """Its events and what it says, when it has been told to end."""
    p.terminate()
    out, err = p.communicate(timeout=LIMIT)
    if p.returncode:
        fail(f"{p.args}: status {p.returncode}: {err}")
    return out, err


def named(*files):
    """By -p: the session fails, and the process is as it was."""
    target = Target(TARGET, *files)
    text = uprobe("-p", str(target.pid), TOUCH, limit=LIMIT)
    if text != f"uprobe: error: {TOO_LONG.format(target.pid)}\n":
        fail(f"{files}: {text}")
    target.call()
    target.end()


def found(*files):
    """With all others: two such processes are left out, and the other is traced."""
    targets = [Target(TARGET, *files) for _ in range(2)]
    busy = Busy()
    p = started("-e", STEP, "-e", TOUCH)
    while " step: " not in p.stdout.readline():
        if p.poll() is not None:
            fail(f"nothing is traced: {p.stderr.read()}")
    for target in targets:
        target.call()
    out, err = ended(p)
    busy.end()
    for target in targets:
        target.end()
        if err.count(f"warning: process {target.pid} is not traced: {TOO_LONG.format(target.pid)}\n") != 1:
            fail(f"{files}: {target.pid} is not told once: {err}")
    if " touch: " in out or " skipped=2 " not in err:
        fail(f"{files}: {err}")


def others_go_on(files, n_calls):
    """Behind all calls so far, which are told of, somebody else's hit is told of, too."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        with open("out.txt", encoding="ascii") as file:
            before, _, behind = file.read().rpartition(" touch: ")
        if before.count(" touch: ") == n_calls - 1 and " step: " in behind:
            return
        time.sleep(0.01)
    fail(f"{files}: nobody else goes on")


def later(*files):
    """Mapped by one that is traced already, which then loads libraries: it keeps its probes."""
    target, busy = Target(TARGET, "later", *files), Busy()
    p = started("-p", f"{target.pid},{busy.pid}", "-e", STEP, "-e", TOUCH)
    # All events are read, so that nobody waits for that.
    with open("out.txt", "w", encoding="ascii") as file, subprocess.Popen("cat", stdin=p.stdout, stdout=file) as cat:
        for n in range(5):
            target.call()
            others_go_on(files, n + 1)
        p.stdout.close()
        p.stdout = None
        _, err = ended(p)
        cat.wait(LIMIT)
    busy.end()
    target.end()
    if err.count(f"warning: process {target.pid}: {TOO_LONG.format(target.pid)}\n") != 1 or " m/touch hits=5 " not in err:
        fail(f"{files}: {err}")
    with open("out.txt", encoding="ascii") as file:
        names = [line.split()[4] for line in file if ": " in line]
    # Others go on between the calls of the one that costs so much, and behind them.
    if names.count("touch:") != 5 or "step:" not in names[names.index("touch:"):]:
        fail(f"{files}: {len(names)} events")


def interrupted(*files):
    """INT and TERM end it in the middle of that."""
    target = Target(TARGET, *files)
    for number in signal.SIGINT, signal.SIGTERM:
        p = subprocess.Popen((tracer.UPROBE, "-p", str(target.pid), TOUCH), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while ticks(p.pid) < 20 and p.poll() is None:
            pass
        p.send_signal(number)
        err = p.communicate(timeout=LIMIT)[1].decode()
        if p.returncode != 1 or not err.startswith("uprobe: error: ended while "):
            # It may have come to the limit before.
            if TOO_LONG.format(target.pid) not in err:
                fail(f"{number}: {p.returncode} {err}")
    target.call()
    target.end()


def main():
    """All of it."""
    if not os.path.exists("/proc/self/map_files") or os.getuid():
        print("needs root")
        sys.exit(77)
    files = [f"sparse{i}" for i in range(64)]
    for path in files:
        sparse(path, 1 << 30)
    named(*files)
    later(*files)
    if platform.machine() == "x86_64" and has("gcc"):
        subprocess.run(("gcc", "-shared", "-nostdlib", "-x", "assembler", "-", "-o", "bait"), input=BAIT, text=True, check=True)
        named("bait")
        found("bait")
        later("bait")
        interrupted("bait")
    tell_missing()


main()
