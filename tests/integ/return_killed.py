# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe is killed before each of its calls that change something, on the way to a return probe in a jump, on a
program of its own each time: the next one has returns from what the first left, and the program ends as it should. The
program runs on meanwhile, or it stays where it was; UBP_ALL=1: once so, once so, before each call. Else before every second one."""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from killat import KillAt  # noqa: E402

HELLO = os.path.join(os.environ["FIXTURES"], "hello")
WAIT = int(os.environ.get("TIMEOUT", "60"))
CALLS = 20
STEP = int(os.environ.get("UBP_SLOWER", "1"))  # where all is slow only some of the steps
RETURN = f"r:k/r {HELLO}:greet"


def start(pid, defs, env=None):
    """Until it is ready or has ended."""
    args = [word for text in defs for word in ("-e", text)]
    return tracer.start("--mode", "jump", "-p", str(pid), *args, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def attempt(killat, k, freeze=False):
    """Returns how many calls it took to come, if it was not killed."""
    target = subprocess.Popen([HELLO, *["abc"] * CALLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    killat.arm(KillAt.ATTACH, k, target.pid if freeze else 0, changes=True)
    first, is_ready = start(target.pid, [RETURN], {**os.environ, **killat.env})
    calls = killat.counts()[KillAt.ATTACH]
    if is_ready:
        first.terminate()
    first.communicate(timeout=WAIT)
    # Others too, so that what is taken for free is used.
    then, _ = start(target.pid, [RETURN, f"p:k/p {HELLO}:greet", f"r:k/again {HELLO}:greet v=$retval"])
    target.send_signal(signal.SIGCONT)
    said = target.communicate(b"\n", timeout=WAIT)[0].decode().strip()
    out, err = (text.decode(errors="replace") for text in then.communicate(timeout=WAIT))
    what = f"killed before call {k} ({killat.last()}){', stopped' if freeze else ''}"
    if target.returncode != 0 or said != str(3 * CALLS):
        sys.exit(f"{what}: the target ended with {target.returncode} and said {said!r}: {err}")
    if then.returncode != 0 or [out.count(f": {e}: ") for e in ("r", "p", "again")] != [CALLS] * 3:
        sys.exit(f"{what}: the next one ended with {then.returncode}: {err}{out[-500:]}")
    return calls


def main():
    killat = KillAt()
    calls = attempt(killat, 0)
    if calls < 20:
        sys.exit(f"only {calls} calls are counted")
    every = bool(os.environ.get("UBP_ALL"))
    for n, k in enumerate(range(1, calls + 1, STEP if every else 2 * STEP)):
        if every or n % 2 == 0:
            attempt(killat, k)
        if every or n % 2 == 1:
            attempt(killat, k, freeze=True)
    print(calls, "calls")
    return 0


sys.exit(main())
