# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A process that nobody traces dies, in each way, while its threads call what is probed. All calls that it has finished, as it has noted in a
file, are recorded: the last ones are read from the rings when it is gone. So it is when uprobe could not look at it from
before its threads were born until after its death, and when it executes another program."""

import collections
import os
import re
import signal
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, WAIT, Target, Trace, fail, until  # noqa: E402

NAME, THREADS, EACH = "let_go_dies", 3, 64
FUNCTION = f"{FIXTURES}/{NAME}:called"
PROBES = ("-e", f"p:{FUNCTION} t=%di:s64 i=%si:s64 mark=%dx:s64", "--filter", "mark == 1")
ENDS = {"segv": -signal.SIGSEGV, "abort": -signal.SIGABRT, "exit": 0, "exec": 0, "killed": -signal.SIGKILL}


class Dying(Target):
    def __init__(self):
        if os.path.exists("counts"):
            os.unlink("counts")
        super().__init__(NAME, args=("counts",))

    def die(self, how):
        self.p.stdin.write(how + "\n")
        if self.p.wait(timeout=WAIT) != ENDS[how]:
            fail(f"{how}: it ended with {self.p.returncode}")

    def counts(self):
        with open("counts", "rb") as f:
            return struct.unpack(f"{THREADS}q", f.read(8 * THREADS))


def is_stopped(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return "State:\tT" in f.read()


def check(what, target, trace, lost_most):
    with open("out.txt", encoding="ascii", errors="replace") as f:
        text = f.read()
    got = collections.defaultdict(list)
    for t, i in re.findall(r"called: .* t=(\d+) i=(\d+) mark=1$", text, re.M):
        got[int(t)].append(int(i))
    for t, n in enumerate(target.counts()):
        # One more may have been recorded that had not returned.
        want = list(range(0, n, EACH))
        if got[t] not in (want, [*want, len(want) * EACH]):
            fail(f"{what}: thread {t} has called {n} times, the last that was recorded is {got[t][-1:]}, {len(got[t])} of {len(want)}\n{trace.err}")
    # Somebody may die in the middle of a record.
    if int(trace.stat("ring_lost")) > lost_most:
        fail(f"{what}: lost\n{trace.err}")


def dies(how, is_unseen):
    target = Dying()
    trace = Trace(target, "-o", "out.txt", "--buffer-size", "65536", *PROBES)
    if is_unseen:
        trace.p.send_signal(signal.SIGSTOP)
        until("uprobe is stopped", lambda: is_stopped(trace.p.pid))
    target.ask(f"go {THREADS}")
    if not is_unseen and target.tracer():
        fail(f"{how}: somebody traces it")
    target.die(how)
    if is_unseen:
        trace.p.send_signal(signal.SIGCONT)
    trace.end(signal=None)
    check(f"{how}{', unseen' if is_unseen else ''}", target, trace, THREADS)


for way in ENDS:
    for unseen in (False, True):
        dies(way, unseen)
print("ok")
