# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Targets that uprobe lets go of, and such a uprobe."""

import os
import platform
import re
import subprocess
import sys
import time

UPROBE, FIXTURES = os.environ["UPROBE"], os.environ["FIXTURES"]
WAIT = int(os.environ.get("TIMEOUT", "60"))

if platform.machine() != "x86_64":
    print("skipped: only programs for x86 are let go of so far")
    sys.exit(77)


def fail(why):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")


def until(what, holds):
    """What is waited for comes by itself; that it never does is the failure."""
    end = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > end:
            fail(f"{what}: not in {WAIT} s")
        time.sleep(0.005)


class Target:
    """A fixture that obeys lines, and answers each."""

    def __init__(self, name, *by, args=()):
        """@by: a command that executes it."""
        self.p = subprocess.Popen([*by, os.path.join(FIXTURES, name), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")

    def expect(self, answer):
        got = self.p.stdout.readline().strip()
        if not re.fullmatch(answer, got):
            fail(f"the target said '{got}' in place of '{answer}' (status {self.p.poll()})")

    def ask(self, line, answer="done"):
        self.p.stdin.write(line + "\n")
        self.expect(answer)

    @property
    def pid(self):
        return self.p.pid

    def tracer(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            return int(re.search(r"TracerPid:\s*(\d+)", f.read()).group(1))

    def end(self):
        self.p.stdin.close()
        if self.p.wait(timeout=WAIT) != 0:
            fail(f"the target ended with {self.p.returncode}")


class Trace:
    """uprobe on a target, that has begun to trace."""

    def __init__(self, target, *args, lets_go=True):
        read_end, write_end = os.pipe()
        argv = [UPROBE, "--stats", "--ready-fd", str(write_end), "-p", str(target.pid), *args]
        self.out = self.err = ""
        self.p = subprocess.Popen(argv, pass_fds=[write_end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(write_end)
        if not os.read(read_end, 6):
            fail(f"uprobe did not begin: {self.p.communicate()[1]}")
        os.close(read_end)
        self.target = target
        if lets_go:
            self.until_alone()

    def until_alone(self):
        end = time.monotonic() + WAIT
        while self.target.tracer():
            if time.monotonic() > end:
                self.end()
                fail(f"not let go in {WAIT} s\n{self.err}")
            time.sleep(0.005)

    def end(self, status=0, signal=2):
        """The values of called()'s arg or result, in order; .out and .err: all that was written."""
        if signal:
            self.p.send_signal(signal)
        self.out, self.err = self.p.communicate(timeout=WAIT)
        if self.p.returncode != status:
            fail(f"uprobe ended with {self.p.returncode}: {self.err}")
        return [int(a) for a in re.findall(r"called: .* (?:a|arg1)=(-?\d+)", self.out)]

    def stat(self, name):
        found = re.search(rf"\b{name}=\"?([^\" ]*)", self.err)
        return found.group(1) if found else None
