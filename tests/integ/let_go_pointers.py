# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Processes that nobody traces, and whose probes follow pointers: a detour asks the kernel for memory that may be gone. What is recorded is what it is with a tracer;
memory comes and goes meanwhile, and the target never notices. Where the kernel may not be asked, the process is traced."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, Target, Trace, fail, until  # noqa: E402

NAME = "let_go_pointers"
TARGET = os.path.join(FIXTURES, NAME)
# struct node: next, text, numbers[4], texts[3].
ARGS = (
    "s=+0(%si):string",
    "text=+0(+8(%dx)):string",
    "inner=+0(+8(+0(%dx))):string",
    "v=+16(%dx):s64 w=+24(+0(%dx)):s32 b=+20(%dx):u8",
    "n=+16(%dx):s64[4] c=+0(%si):char[9]",
    "t=+48(%dx):string[3] last=+0(%si):u16",
    "u=+0(%si):ustring x=+4(%si):x32 far=$stack4000:u64",
    "bits=+24(%dx):b4@3/16 near=+8(%sp):x64",
)

# On what is read, before there is a record and behind that.
FILTERS = {ARGS[0]: 's ~ "*t*"', ARGS[2]: 'inner == ""', ARGS[3]: "w == 0 || v > 3", ARGS[7]: "bits != 0"}


def defs(args, condition=""):
    return ("-e", f"p:{TARGET}:take k=%di:s64 {args}", *(("--filter", condition) if condition else ()))


def recorded(trace):
    return re.findall(r" take: \(0x[0-9a-f]+\) (.*)$", trace.out, re.M)


def run(lets_go, args, condition, line, n):
    target = Target(NAME)
    trace = Trace(target, *defs(args, condition), "--buffer-size", "16384") if lets_go else \
        Trace(target, *defs(args, condition), "--buffer-size", "16384", "--stay", "--mode", "trap", lets_go=False)
    target.ask(line)
    if lets_go and target.tracer():
        fail(f"somebody traces it again: {args}")
    trace.end()
    target.ask(line)
    target.end()
    got = recorded(trace)
    if n is not None and len(got) + int(trace.stat("missed") or 0) + int(trace.stat("lost") or 0) < n:
        fail(f"{args}: {len(got)} events, not {n}\n{trace.err}")
    return got, trace


def is_as_traced():
    for args in ARGS:
        for condition in ("", "k != 3", FILTERS.get(args, "k == 2")):
            want, _ = run(False, args, condition, "all 2", None)
            got, trace = run(True, args, condition, "all 2", None)
            # Addresses of stacks and mappings differ from run to run.
            strip = lambda events: [re.sub(r"0x[0-9a-f]+", "0x", event) for event in events]
            if strip(got) != strip(want):
                wrong = [f"{g}\n    {w}" for g, w in zip(strip(got), strip(want)) if g != w]
                fail(f"{args} {condition}: {len(got)} and {len(want)} events\n" + "\n".join(wrong[:5]) + f"\n{trace.err}")


def survives_a_storm():
    n, n_threads = 3000, 4
    target = Target(NAME)
    trace = Trace(target, *defs(ARGS[0]), "--buffer-size", "65536")
    # So many reads that it asks to be traced again.
    target.ask(f"storm {n} {n_threads}")
    trace.end()
    target.ask("storm 10 2")
    target.end()
    got = recorded(trace)
    lost = sum(map(int, re.findall(r"\[LOST (\d+) EVENTS\]", trace.out)))
    if len(got) + lost != 3 * n * n_threads:
        fail(f"{len(got)} events, {lost} lost, of {3 * n * n_threads}\n{trace.err}")
    for event in set(got):
        # It may be read while it is written.
        if event not in ('k=0 s="storm"', "k=1 s=(fault)", "k=2 s=(fault)") and \
                not any(event == f'k=2 s="{"flux!"[:i]}"' for i in range(6)):
            fail(f"recorded: {event}")


def is_let_go_of_in_a_storm():
    """Who was in the middle of a load when its tracer went would fault later."""
    for _ in range(5):
        target = Target(NAME)
        target.p.stdin.write("storm 60000 4\n")
        trace = Trace(target, *defs(ARGS[0]), lets_go=False)
        # It may be over before.
        until("let go", lambda: target.tracer() == 0)
        target.expect("done")
        trace.end()
        target.end()


def filters_later(how):
    target = Target(NAME)
    trace = Trace(target, *defs(ARGS[0]))
    target.ask("all 1")
    # It asks to be traced before, and stays so.
    target.ask(how)
    if not target.tracer():
        fail(f"{how}: nobody traces it")
    for _ in range(100):
        target.ask("all 1")
    trace.end()
    if trace.stat("let_go") != "1" or len(recorded(trace)) != 101 * 13:
        fail(f"{how}: {len(recorded(trace))} events\n{trace.err}")
    is_known(target, how)


def is_known(target, how):
    """It is never let go of, and the reason is told once that was looked at."""
    n = 1

    def tells():
        nonlocal n
        trace = Trace(target, *defs(ARGS[0]), lets_go=False)
        for _ in range(n):
            target.ask("all 1")
        n *= 2
        trace.end()
        if trace.stat("let_go") != "0":
            fail(f"{how}: let go of\n{trace.err}")
        return 'traced="a probe follows pointers, and its system calls are filtered"' in trace.err
    until("a reason", tells)
    target.end()


def filtered_before(how):
    target = Target(NAME)
    target.ask(how)
    is_known(target, how)


is_as_traced()
survives_a_storm()
is_let_go_of_in_a_storm()
for way in ("filter", "tsync"):
    filters_later(way)
    filtered_before(way)
