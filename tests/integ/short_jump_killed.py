# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Short jumps, and what they lead to: uprobe is killed before each call that changes something, or its writes to the target
fail, while they are planted and taken out. The program goes on as if nothing were, and the next sessions leave its code as
it was."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
from failat import FailAt  # noqa: E402
from killat import KillAt  # noqa: E402

# Punned ones the same, with KIND=punned in the environment (pun_jump_killed.sh); run-ups, with KIND=run_up (go_epilogue_killed.sh); on rets, with KIND=ret_fill
# (ret_fill_killed.sh).
KIND = os.environ.get("KIND")
NAME = {"punned": "pun_jump", "run_up": "go_epilogue", "ret_fill": "ret_fill"}.get(KIND, "short_jump")
UPROBE, TARGET = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], NAME)
WAIT = int(os.environ.get("TIMEOUT", "60"))
STEP = 97 if os.environ.get("UBP_SLOWER", "1") != "1" else 23 if os.environ.get("UBP_ALL") else 53
MOST = 4000
PROBES = [f"p:s/{f} {TARGET}:{f}" for f in ("copied", "one", "two")]
if KIND == "run_up":
    PROBES = [f"r:s/{f} {TARGET}:{f}" for f in ("new_small", "new_two")]
if KIND == "ret_fill":
    PROBES = [f"r:s/{f} {TARGET}:{f}" for f in ("end_nops", "middle", "two_bytes", "several", "only_ret", "lead_ret", "tails", "next_one", "next_three",
                                               "far_two")]
    PROBES += [f"p:s/{f}_p {TARGET}:{f}" for f in ("only_ret", "lead_ret", "next_two")]


class Target:
    def __init__(self):
        self.p = subprocess.Popen([TARGET, "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.heard()

    def heard(self):
        line = self.p.stdout.readline().strip()
        if not line:
            sys.exit(f"the target ended with {self.p.wait(timeout=WAIT)}")
        return line

    def ask(self, line):
        try:
            self.p.stdin.write(line + "\n")
        except BrokenPipeError:
            pass  # how it ended is told below
        return self.heard()

    def trace(self, *probes, env=None):
        # A few times more than it takes to make jumps of breakpoints.
        argv = [UPROBE, "-d", "0.05", "-p", str(self.p.pid), *(w for p in probes for w in ("-e", p))]
        p = subprocess.run(argv, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=WAIT,
                           check=False)
        return p.returncode, p.stderr

    def clean(self, what):
        """One that is interrupted where a signal handler begins may have to be waited for."""
        for _ in range(4):
            rc, err = self.trace(PROBES[1])
            if rc:
                sys.exit(f"{what}: the next session ended with {rc}: {err}")
            if self.ask("bytes") == "same":
                return
        sys.exit(f"{what}: something stays")


def storm(target, arm, what, ends):
    """Until k is more than there are. Returns how many there were."""
    for k in range(1, MOST, STEP):
        env = arm(k)
        rc, err = target.trace(*PROBES, env=env)
        if target.ask("once 50") != "called":
            sys.exit(f"{what} {k}: it does not go on")
        if rc not in ends:
            sys.exit(f"{what} {k}: it ended with {rc}: {err}")
        if rc == 0 and not struck(what):
            return k
        target.clean(f"{what} {k}")
    return MOST


killat, failat = KillAt(), FailAt()


def struck(what):
    return what == "failed" and failat.failed()


def kill(k):
    killat.arm(KillAt.ATTACH, k, changes=True)
    return killat.env


def fail(k):
    failat.arm(FailAt.ATTACH, k, ["poke"], times=3)
    return failat.env


def main():
    if os.uname().machine != "x86_64":
        print("needs x86_64")
        return 77
    target = Target()
    n_killed = storm(target, kill, "killed", (0, -9))
    n_failed = storm(target, fail, "failed", (0, 1))
    print(f"killed before {n_killed} calls, {n_failed} writes failed")
    target.p.stdin.write("end\n")
    if target.p.wait(timeout=WAIT):
        return 1
    return 0 if n_killed > 30 and n_failed > 1 else 1


sys.exit(main())
