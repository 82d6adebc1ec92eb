# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""ubp and the kernel's uprobes on one program at the same time: the program, which does what lines tell it,
and the two that trace it."""

import os
import select
import signal
import subprocess
import time

import alone
import oracle

bad = []


def fail(text):
    bad.append(text)
    print("  " + text)


class Target:
    """A program that answers each line that it is told by another one."""

    def __init__(self, *argv):
        self.path = argv[0]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next = 1
        self.answer()

    def answer(self, want=None):
        """WANT: exactly this one."""
        if not select.select([self.process.stdout], [], [], oracle.TIMEOUT)[0]:
            raise TimeoutError("the program does not answer")
        line = self.process.stdout.readline().decode().rstrip("\n")
        if not line:
            raise RuntimeError(f"the program has ended with {self.process.wait(oracle.TIMEOUT)}")
        if want and line != want:
            raise RuntimeError(f"the program says '{line}', not '{want}'")

    def tell(self, text, want=None):
        self.say(text)
        self.answer(want)

    def say(self, text):
        """Without waiting for its answer."""
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def numbers(self, n):
        """N that were not passed to it before."""
        first, self.next = self.next, self.next + n
        return range(first, self.next)

    def end(self):
        self.say("end")
        status = self.process.wait(oracle.TIMEOUT)
        if status:
            fail(f"the program ended with {status}")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Ubp:
    """uprobe, or another PROGRAM, on the target, from when it is ready."""

    count = 0
    lets_go = False  # from when nobody traces the target any more

    def __init__(self, target, args, program=oracle.UPROBE):
        Ubp.count += 1
        self.out = os.path.abspath(f"ubp{Ubp.count}.out")
        read_end, write_end = os.pipe()
        with open(f"{self.out}.err", "wb") as err:
            self.process = subprocess.Popen(
                [program, *(oracle.ALONE if Ubp.lets_go else ["--lossless"]), "--stats", "-p", str(target.process.pid), "-o", self.out,
                 "--ready-fd", str(write_end), *args], pass_fds=[write_end], stderr=err)
        os.close(write_end)
        with os.fdopen(read_end) as f:
            started = select.select([f], [], [], oracle.TIMEOUT)[0] and f.readline() == "ready\n"
        if not started:
            self.process.wait(oracle.TIMEOUT)
            fail(f"uprobe does not start: {self.text()}")
        end = time.monotonic() + oracle.TIMEOUT
        while started and Ubp.lets_go and not alone.is_let_go(target.process.pid):
            if time.monotonic() > end:
                raise TimeoutError(f"it is not let go of: {self.text()}")
            time.sleep(0.005)

    def text(self):
        """Its messages."""
        with open(f"{self.out}.err", encoding="utf-8", errors="replace") as f:
            return f.read()

    def end(self, sig=signal.SIGINT):
        """What it has recorded, and its statistics."""
        self.process.send_signal(sig)
        self.process.wait(oracle.TIMEOUT)
        if sig == signal.SIGINT and self.process.returncode:
            fail(f"uprobe ended with {self.process.returncode}: {self.text()}")
        with open(self.out, "rb") as f:
            events = oracle.parse(f.read())[0]
        return events, [oracle.Stats(m) for m in oracle.STATS.finditer(self.text().encode())]


class Kernel(oracle.Kernel):
    """The kernel's uprobes on the same places, in all processes; not switched on yet. FILTERS: by name."""

    def __init__(self, definitions, filters=None):
        super().__init__()
        self.define(definitions)
        for name, text in (filters or {}).items():
            self.filter(name, text)

    def end(self):
        """All that they recorded."""
        with self:
            self.switch(False)
            return oracle.parse(self.trace())[0]


def attempt(title, target, order):
    """ORDER() has the target do something, which then ends well. Prints whether all was as it should be."""
    before = len(bad)
    try:
        order()
        target.end()
    except (RuntimeError, TimeoutError, BrokenPipeError) as e:
        fail(f"{e}")
        target.kill()
        oracle.remove(oracle.GROUP)
    print(f"{'differs' if len(bad) > before else 'equal'}: {title}", flush=True)


def fixture32(name):
    """The same program for 32 bits; None: it was not built, or this kernel runs none."""
    folder = os.path.join(os.path.dirname(oracle.FIXTURES.rstrip("/")), "fixtures32")
    return os.path.join(folder, name) if oracle.is_run(os.path.join(folder, "exit_code"), "exit") else None
