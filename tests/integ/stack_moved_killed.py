# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A stack that is copied away while a probed function has not returned comes back after one uprobe has ended, and the next was killed before
one of the changes by which it comes. The program returns to where it was called from. Before some of the changes, that is: with UBP_ALL=1
before each."""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from killat import KillAt  # noqa: E402

PATH = os.path.join(os.environ["FIXTURES"], "stack_moved")
WAIT = int(os.environ.get("TIMEOUT", "60"))
STEPS = 1000 if os.environ.get("UBP_ALL") else 12  # at most


def trace(target, **how):
    return tracer.start("--mode", "trap", "-p", str(target.pid), f"r:k/r {PATH}:probed", stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE, **how)


def end(p):
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=WAIT)[1].decode()
    if p.returncode != 0:
        sys.exit(f"uprobe ended with {p.returncode}: {said}")


def attempt(killat, k):
    """The changes that the second uprobe made."""
    target = subprocess.Popen([PATH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    target.stdout.readline()
    end(trace_left(target))
    killat.arm(KillAt.ATTACH, k, changes=True)
    p, is_ready = trace(target, env={**os.environ, **killat.env})
    calls, last = killat.counts()[KillAt.ATTACH], killat.last()
    if is_ready:
        p.kill()
    said = p.communicate(timeout=WAIT)[1].decode()
    if p.returncode != -signal.SIGKILL:
        sys.exit(f"the second uprobe ended with {p.returncode}: {said}")
    target.communicate(b"\n", timeout=WAIT)
    if target.returncode != 0:
        sys.exit(f"killed before change {k} of {calls} ({last}): the target ended with {target.returncode}")
    return calls


def trace_left(target):
    p, is_ready = trace(target)
    if not is_ready:
        sys.exit(p.communicate()[1].decode())
    target.stdin.write(b"\n")
    if target.stdout.readline().strip() != b"left":
        sys.exit("the target has not left the function's stack")
    return p


def main():
    killat = KillAt()
    n = attempt(killat, 0)
    if n < 10:
        sys.exit(f"{n} changes")
    ks = range(1, n + 1, max(1, -(-n // STEPS)))
    for k in ks:
        attempt(killat, k)
    print(f"killed before {len(ks)} of {n} changes")
    return 0


sys.exit(main())
