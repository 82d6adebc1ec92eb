# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Letting go with return probes: nobody traces the process while its detours replace return addresses. Unwinders that meet one have the
tracer come back, those of a child have the guard; what ubp replaced itself before comes home without it."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, Target, Trace, fail  # noqa: E402

RETURN = ("-e", f"r:{FIXTURES}/let_go:called $retval:s64")
DONE = r"done \d+"


def probes(*functions):
    return [a for f in functions for a in ("-e", f"r:{FIXTURES}/throws:{f} $retval:s64")]


def count(trace, name):
    return len(re.findall(rf"\b{name}: ", trace.out))


def returns():
    target = Target("let_go")
    trace = Trace(target, *RETURN)
    target.ask("call 3 1")
    target.ask("signal")
    target.ask("trap", "1")
    target.ask("fork 1000 5000", "7")
    for i in range(10):
        target.ask(f"thread 2 {20 + 2 * i}")
    if target.tracer():
        fail("somebody traces it again")
    got = trace.end()
    if got != [2, 3, 4, 0, *range(21, 41)]:
        fail(f"recorded {got}\n{trace.err}")
    if trace.stat("missed") != "0" or trace.stat("ring_lost") != "0":
        fail(f"missed or lost:\n{trace.err}")
    target.ask("call 2 1")
    target.end()


def throws():
    """Past no frame of ours nobody comes; past one the tracer does, and nothing is missed."""
    target = Target("throws")
    trace = Trace(target, *probes("around", "apart"))
    target.ask("call 20", DONE)
    # It may ask where the thread's stack is.
    target.ask("throw 10", DONE)
    trace.until_alone()
    target.ask("throw 1000", DONE)
    if target.tracer():
        fail("somebody came for exceptions past no frame of ours")
    for _ in range(3):
        trace.until_alone()
        target.ask("around 20", DONE)
        target.ask("call 20", DONE)
    trace.end()
    if len(re.findall(r"around: .* arg1=21$", trace.out, re.M)) != 3 or count(trace, "apart") != 80:
        fail(f"{count(trace, 'around')} and {count(trace, 'apart')} events\n{trace.err}")
    if trace.stat("missed") != "0" or int(trace.stat("let_go")) < 3:
        fail(f"missed, or not let go of:\n{trace.err}")
    target.ask("around 20", DONE)
    target.end()


def killed():
    target = Target("throws")
    trace = Trace(target, *probes("waits", "around", "apart"))
    target.ask("open", DONE)
    target.ask("call 3", DONE)
    trace.p.kill()
    trace.p.wait()
    for _ in range(3):
        target.ask("around 20", DONE)
    target.ask("throw 20", DONE)
    target.ask("raise", DONE)
    trace = Trace(target, *probes("apart"))
    target.ask("call 5", DONE)
    trace.end()
    if count(trace, "apart") != 5:
        fail(f"{count(trace, 'apart')} events of the next one\n{trace.err}")
    target.end()


def replaced_before(how):
    """A function that was entered while its probe was a breakpoint: ubp itself has its return address."""
    target = Target("throws")
    target.ask("call 1", DONE)
    trace = Trace(target, *probes("waits"), lets_go=False)
    target.ask("open", DONE)
    trace.until_alone()
    target.ask(how, DONE)
    trace.end()
    missed = int(trace.stat("missed"))
    if count(trace, "waits") + missed != 1:
        fail(f"{how}: {count(trace, 'waits')} events, {missed} missed\n{trace.err}")
    target.ask("open", DONE)
    target.ask("close", DONE)
    target.end()


returns()
throws()
killed()
replaced_before("close")
replaced_before("raise")
print("ok")
