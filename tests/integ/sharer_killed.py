# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe is killed before each byte that it writes while it attaches to a program that has a child in its
memory, with signal actions of its own (vfork(), clone(CLONE_VM)), and to one whose threads are in the
middle of fork(). Children and program then call what is probed, and live. Before some of them, that is: with UBP_ALL=1 of more."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from killat import KillAt  # noqa: E402

FIXTURES = os.environ["FIXTURES"]
TARGETS = (("gated_sharer", "vfork"), ("gated_sharer", "clone"), ("forks_large",))
WAIT = int(os.environ.get("TIMEOUT", "60"))
STEP = int(os.environ.get("UBP_SLOWER", "1"))  # where all is slow only some of the steps


def attempt(killat, name, mode, k):
    """Returns how many calls it took to come, if it was not killed."""
    path = os.path.join(FIXTURES, name[0])
    target = subprocess.Popen([path, *name[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    target.stdout.readline()
    killat.arm(KillAt.ATTACH, k, only="pwrite")
    p, is_ready = tracer.start("--mode", mode, "-p", str(target.pid), "-e", f"p:k/p {path}:work",
                               "-e", f"r:k/r {path}:work", env={**os.environ, **killat.env},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    calls = killat.counts()[KillAt.ATTACH]
    if is_ready:
        p.kill()
    out, err = p.communicate(timeout=WAIT)
    what = f"{' '.join(name)}, {mode}: killed before call {k} of {calls} ({killat.last()})"
    if not is_ready and p.returncode != -9:
        sys.exit(f"{what}: it ended with {p.returncode}: {err.decode()}")
    said, wrong = target.communicate(b"\n", timeout=WAIT)
    if target.returncode or not said.endswith(b"well\n"):
        return calls, f"{what}: the program ended with {target.returncode}: {wrong.decode()}{said.decode()}"
    return calls, None


def main():
    killat, failed = KillAt(), []
    for mode in ("trap", "auto"):
        for name in TARGETS:
            calls, wrong = attempt(killat, name, mode, 0)
            if calls < 10:
                sys.exit(f"only {calls} calls are counted")
            failed += [wrong] if wrong else []
            step = (2 if mode == "trap" else 8) * (1 if os.environ.get("UBP_ALL") else 3)
            for k in range(1, calls + 1, step * STEP):
                wrong = attempt(killat, name, mode, k)[1]
                failed += [wrong] if wrong else []
            print(f"{' '.join(name)}, {mode}: {calls} calls")
    print(*failed, sep="\n")
    return 1 if failed else 0


sys.exit(main())
