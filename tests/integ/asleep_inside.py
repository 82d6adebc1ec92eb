# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A thread sleeps in a function with a return probe when uprobe ends: it is stopped while its return address is put back, for it could
wake up and return just then."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, Target, Trace, fail, until  # noqa: E402

WAITS = os.path.join(FIXTURES, "waits_inside")


def sleeper(pid):
    """Its directory."""
    return next(f"/proc/{pid}/task/{tid}" for tid in os.listdir(f"/proc/{pid}/task") if tid != str(pid))


def times_slept(thread):
    with open(f"{thread}/status", encoding="ascii") as f:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M).group(1))


def is_asleep(thread):
    with open(f"{thread}/syscall", encoding="ascii") as f:
        return f.read().split()[0] != "running"


def main():
    target = Target("waits_inside")
    trace = Trace(target, "--stay", "-e", f"r:h/waits {WAITS}:waits", lets_go=False)
    for _ in range(100):
        target.ask("a", "a")
    thread = sleeper(target.pid)
    until("the sleep", lambda: is_asleep(thread))
    before = times_slept(thread)
    trace.end()
    if trace.stat("hijacked") != "1":
        fail(f"its return address is not the detour's: {trace.err}")
    if times_slept(thread) == before:
        fail("it was not stopped")
    target.ask("b", "b")
    target.end()


main()
