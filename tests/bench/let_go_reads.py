# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What a hit costs that follows a pointer: with a tracer, without one (a call of the kernel for each read, a process that makes few, so that
nobody comes back for it; and one that makes many). A filter drops all, behind the read.

  env UPROBE=build/uprobe FIXTURES=build/fixtures python3 tests/bench/let_go_reads.py"""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integ", "lib"))
from let_go import FIXTURES, Target, Trace, until  # noqa: E402

TARGET = os.path.abspath(os.path.join(FIXTURES, "let_go"))
FEW, MANY, ROUNDS = 1500, 300000, 8
CASES = (("string of 5 bytes", "s=+0(%si):string", 's == "no"'), ("u32", "w=+0(%si):u32", "w == 1"))


def per_call(target, n):
    begin = time.monotonic()
    target.ask(f"call {n} 1")
    return (time.monotonic() - begin) / n * 1e9


def best(n, *args, alone=True):
    values = []
    for _ in range(ROUNDS):
        target = Target("let_go")
        trace = Trace(target, *args, lets_go=alone)
        if not alone:
            # Until it has its jumps.
            until("a jump", lambda: target.ask("call 1000 1") or "memfd:ubp" in open(f"/proc/{target.p.pid}/maps", encoding="ascii").read())
            target.ask(f"call {MANY} 1")
        values.append(per_call(target, n))
        trace.end()
        target.end()
    return min(values)


print("| reads | nobody probes | traced | few, alone | many, alone |\n|---|---|---|---|---|")
for name, arg, condition in CASES:
    target = Target("let_go")
    plain = min(per_call(target, FEW) for _ in range(ROUNDS))
    target.end()
    probe = ("-e", f"p:{TARGET}:called a=%di:s64 {arg}", "--filter", condition)
    row = (plain, best(MANY, "--stay", *probe, alone=False), best(FEW, *probe), best(MANY, *probe))
    print(f"| {name} | " + " | ".join(f"{value:.0f}" for value in row) + " |", flush=True)
