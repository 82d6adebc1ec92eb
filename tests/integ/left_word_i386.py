# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A thread of a 32-bit program has left a function with a return probe by a jump, and runs with the stack pointer that it would have
returned with, when uprobe ends: it stays where it is."""

import os
import signal
import sys

sys.dont_write_bytecode = True
F = os.path.join(os.environ["UBP_BUILD"], "fixtures32", "left_word")
sys.path[:0] = [os.path.join(os.environ["UBP_SRC"], x) for x in ("tests/integ/lib", "tests/oracle/lib")]
from let_go import Target, Trace, fail  # noqa: E402
from oracle import is_run, skip  # noqa: E402

if not os.access(F, os.X_OK):
    skip("gcc cannot build for 32 bits (gcc-12-multilib)")
if not is_run(os.path.join(os.path.dirname(F), "exit_code"), "exit"):
    skip("this kernel runs no 32-bit programs")


def main():
    target = Target(F)
    trace = Trace(target, "-e", f"r:h/func {F}:func")
    target.ask("run 200")
    target.ask("leave", "left")
    trace.end()
    if trace.stat("hijacked") != "1":
        fail(f"its return address is not the detour's: {trace.err}")
    target.p.send_signal(signal.SIGUSR1)
    target.expect("done")
    target.ask("run 1")
    target.end()


main()
