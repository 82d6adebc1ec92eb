# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe is killed before each byte that it writes, coming and going, while a thread runs all the time through a jump to the guard that
lies across two pages, and so is a breakpoint for a moment. Every other time the target is stopped until the next uprobe has cleaned up.
The target lives, and its mask is right. Before some of the writes, that is: with UBP_ALL=1 before all."""

import os
import platform
import select
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from killat import KillAt  # noqa: E402

PATH = os.path.join(os.environ["FIXTURES"], "hook_across")
WAIT = int(os.environ.get("TIMEOUT", "60"))
STEPS = 1000 if os.environ.get("UBP_ALL") else 12  # at most, of each phase


class Target:
    def __init__(self):
        self.p = subprocess.Popen([PATH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.answer("ready")

    def answer(self, want):
        if not select.select([self.p.stdout], [], [], WAIT)[0]:
            raise ValueError("the target does not answer")
        got = self.p.stdout.readline().decode().strip()
        if got != want:
            raise ValueError(f"the target says {got!r} and ended with {self.p.poll()}")

    def goes_on(self):
        try:
            self.p.stdin.write(b"\n")
        except BrokenPipeError:
            pass
        self.answer("steps")


def run(target, killat, mode):
    p, is_ready = tracer.start("--mode", mode, "-p", str(target.p.pid), f"p:h/step {PATH}:step", stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env={**os.environ, **killat.env})
    if is_ready:
        killat.phase(KillAt.DETACH)
        p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=WAIT)[1].decode()
    return p.returncode, said


def storm(target, killat, mode):
    killat.arm(0, 0, changes=True)
    rc, said = run(target, killat, mode)
    counts, n = killat.counts(), 0
    if rc != 0 or min(counts[KillAt.ATTACH], counts[KillAt.DETACH]) < 4:
        sys.exit(f"uprobe ended with {rc} and counted {counts}: {said}")
    for phase in (KillAt.ATTACH, KillAt.DETACH):
        step = max(1, -(-counts[phase] // STEPS))
        for k in range(1 + n % step, counts[phase] + 1, step):
            freeze = n % 2 == 1
            killat.arm(phase, k, target.p.pid if freeze else 0, changes=True)
            run(target, killat, mode)
            where = f"killed before change {k} of {counts[phase]} ({killat.last()}) of phase {phase}{', stopped' if freeze else ''}"
            n += 1
            try:
                if not freeze:
                    target.goes_on()
                killat.arm(0, 0)
                rc, said = run(target, killat, mode)
                target.p.send_signal(signal.SIGCONT)
                if freeze and "does not go on" in said:  # the thread was stopped in the jump's own code
                    target.goes_on()
                    rc, said = run(target, killat, mode)
                if rc != 0:
                    raise ValueError(f"the next one ended with {rc}")
                target.goes_on()
            except ValueError as e:
                sys.exit(f"{mode}, {where}: {e}: {said}")
    return n


def main():
    if platform.machine() != "x86_64":
        print("such jumps are whole in memory on this machine")
        return 77
    target, killat, n = Target(), KillAt(), 0
    for mode in ("trap", "jump") if os.environ.get("UBP_ALL") else ("jump",):
        n += storm(target, killat, mode)
    target.p.stdin.close()
    if target.p.wait(WAIT) != 0:
        sys.exit(f"the target ended with {target.p.returncode}")
    print(f"killed {n} times")
    return 0


sys.exit(main())
