# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""usdt is killed before each of its steps, coming and going: the next one leaves the semaphores
as they were, which another tracer has raised as well: none is lowered twice, or not at all."""

import os
import select
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from killat import KillAt  # noqa: E402

FIXTURES = os.environ["FIXTURES"]
PROBES = os.path.join(FIXTURES, "usdt") + ":sema:*"
WAIT = int(os.environ.get("TIMEOUT", "60"))
# At most, of each phase; they are spread over all there are.
STEPS = (120 if os.environ.get("UBP_ALL") else 50) // int(os.environ.get("UBP_SLOWER", "1"))
# Without a target that is hit often, all ways of probing raise semaphores alike.
MODE = "trap"


class Target:
    def __init__(self):
        self.p = subprocess.Popen([os.path.join(FIXTURES, "usdt")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, bufsize=0)
        self.answer("ready")

    def answer(self, want):
        if not select.select([self.p.stdout], [], [], WAIT)[0]:
            sys.exit(f"the target does not answer {want!r}")
        got = self.p.stdout.readline().decode().strip()
        if got != want:
            raise ValueError(f"{got!r}, not {want!r}")

    def ask(self, word, want):
        self.p.stdin.write(word.encode() + b"\n")
        self.answer(want)


def run(target, killat=None):
    """Come, and if it got so far go. What it said, and whether it was killed."""
    p, ready = tracer.start("--mode", MODE, "-p", str(target.p.pid), PROBES, program=tracer.USDT,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env={**os.environ, **killat.env} if killat else None)
    if ready and killat:
        killat.phase(KillAt.DETACH)
    if ready:
        p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=WAIT)[1].decode()
    return said, p.returncode


def main():
    target, killat = Target(), KillAt()
    target.ask("other", "guarded=1 far=1")
    killat.arm(0, 0)
    said, rc = run(target, killat)
    counts, lowered, n = killat.counts(), 0, 0
    if rc != 0 or min(counts[KillAt.ATTACH], counts[KillAt.DETACH]) < 20:
        sys.exit(f"usdt ended with {rc} and counted {counts}: {said}")
    target.ask("go", "guarded=1 far=1")
    for phase in (KillAt.ATTACH, KillAt.DETACH):
        step = max(1, counts[phase] // STEPS)
        for k in range(1, counts[phase] + 1, step):
            freeze = n % 2 == 1  # it stays where it was, until the next one is gone
            killat.arm(phase, k, target.p.pid if freeze else 0)
            run(target, killat)
            said, rc = run(target)
            target.p.send_signal(signal.SIGCONT)
            lowered += "lowered" in said
            try:
                if rc != 0:
                    raise ValueError(f"the next one ended with {rc}")
                target.ask("go", "guarded=1 far=1")
            except ValueError as e:
                sys.exit(f"killed before call {k} of {counts[phase]} ({killat.last()}) of phase {phase}"
                         f"{', stopped' if freeze else ''}: {e}: {said}")
            n += 1
    target.ask("alone", "guarded=0 far=0")
    target.p.stdin.close()
    if target.p.wait(WAIT) != 0 or lowered == 0:
        sys.exit(f"the target ended with {target.p.returncode}; {lowered} times something was lowered")
    print(f"killed {n} times; {lowered} times something was to be lowered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
