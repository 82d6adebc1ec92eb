# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe is killed before it lets a thread go on from a hit, one of them each time, of functions whose returns are
probed: the guard does what is left to do, and the program's results are right. Once there is nothing
else in the guard's table but what is over, once one that was killed before has left what is none of it."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from killat import KillAt  # noqa: E402

TARGET = os.path.join(os.environ["FIXTURES"], "recursion")
WAIT = int(os.environ.get("TIMEOUT", "60"))
SLOWER = int(os.environ.get("UBP_SLOWER", "1"))  # where all is slow only some of the hits
# So that the innermost frame is further down than a function may use of the stack below its pointer.
DEPTH, ROUNDS = 20, 3


class Target:
    def __init__(self, *args):
        self.p = subprocess.Popen([TARGET, str(DEPTH), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.p.stdout.readline()

    def round(self):
        self.p.stdin.write(b"\n")
        self.p.stdin.flush()
        if self.p.stdout.readline() != b"round\n":
            self.end("no first round")

    def end(self, what):
        said, wrong = self.p.communicate(b"\n" * ROUNDS, timeout=WAIT)
        if self.p.returncode:
            return f"{what}: the program ended with {self.p.returncode}: {wrong.decode()}{said.decode()}"
        return None


def start(killat, target, function, k):
    killat.arm(KillAt.HIT, k, only="PTRACE_CONT")
    p, is_ready = tracer.start("--mode", "trap", "-p", str(target.p.pid), "-e", f"r:k/r {TARGET}:{function}",
                               env={**os.environ, **killat.env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not is_ready:
        sys.exit(f"uprobe does not get ready: {p.communicate(timeout=WAIT)[1].decode()}")
    killat.phase(KillAt.HIT)
    return p


def ended(p, killat, k, what):
    """Returns its events and how many stops there were; the last may come when the target has ended."""
    out, err = (text.decode(errors="replace") for text in p.communicate(timeout=WAIT))
    stops = killat.counts()[KillAt.HIT]
    if p.returncode != (-9 if 0 < k <= stops else 0):
        sys.exit(f"{what}: it ended with {p.returncode} after {stops} stops: {err}")
    return out.count(" r: "), stops


def attempt(killat, k):
    """Returns how many stops there were, if it was not killed, and what went wrong."""
    target, what = Target(), f"killed before it let go of stop {k}"
    p = start(killat, target, "down", k)
    wrong = target.end(what)
    events, stops = ended(p, killat, k, what)
    if not k and events != ROUNDS * (DEPTH + 1):
        sys.exit(f"{events} events, not {ROUNDS * (DEPTH + 1)}")
    return stops, wrong


def attempt_again(killat, k):
    """The same, where one was killed when all had been entered."""
    target, what = Target("lines"), f"with the rest of another, killed before it let go of stop {k}"
    p = start(killat, target, "down", DEPTH + 2)
    target.round()
    _, stops = ended(p, killat, DEPTH + 2, what)
    if stops < DEPTH + 2:
        sys.exit(f"{what}: only {stops} stops")
    p = start(killat, target, "many_returns", k)
    wrong = target.end(what)
    return ended(p, killat, k, what)[1], wrong


def main():
    killat, failed = KillAt(), []
    for how, least, step in ((attempt, 2 * ROUNDS * DEPTH, 3), (attempt_again, 2 * 2 * 4, 1)):
        stops, wrong = how(killat, 0)
        if wrong or stops < least:
            sys.exit(wrong or f"only {stops} stops")
        failed += [wrong for k in range(1, stops + 1, step * SLOWER) if (wrong := how(killat, k)[1])]
        print(f"{stops} stops")
    print(*failed, sep="\n")
    return 1 if failed else 0


sys.exit(main())
