# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--once: one event of each probe, whoever hits it how often; then the place is as it was, while tracing goes on."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, UPROBE, Target, Trace, fail, until  # noqa: E402

TARGET = os.path.join(FIXTURES, "let_go")


def address_of(target):
    """Of called() in the target."""
    symbols = subprocess.run(["nm", TARGET], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"^([0-9a-f]+) . called$", symbols, re.M).group(1), 16)
    with open(f"/proc/{target.pid}/maps", encoding="ascii") as f:
        base = int(re.search(rf"^([0-9a-f]+)-.* {TARGET}$", f.read(), re.M).group(1), 16)
    with open(TARGET, "rb") as f:
        is_pie = f.read(18)[16] == 3
    return base + offset if is_pie else offset


def code(target):
    with open(f"/proc/{target.pid}/mem", "rb") as f:
        f.seek(address_of(target))
        return f.read(16)


def want(trace, got, values, n_hit, n_places):
    if got != values:
        fail(f"recorded {got}, expected {values}\n{trace.err}")
    if not re.search(rf"^uprobe: {n_hit} of {n_places} places? of {TARGET} (was|were) hit", trace.err, re.M):
        fail(f"not told how many were hit:\n{trace.err}")


def is_taken_out(mode):
    """The code is as it was, while tracing goes on."""
    target = Target("let_go")
    before = code(target)
    lets_go = mode == "auto"
    trace = Trace(target, "--once", "--mode", mode, "-e", f"p:{TARGET}:called a=%di:s64", lets_go=lets_go)
    if code(target) == before:
        fail("nothing was planted")
    target.ask("call 3 7")
    target.ask("call 100 1")
    until(f"{mode}: the probe is taken out", lambda: code(target) == before)
    target.ask("call 100 1")
    got = trace.end()
    want(trace, got, [7], 1, 1)
    if not re.search(r"\btaken_out=once\b", trace.err):
        fail(f"not told that it was taken out:\n{trace.err}")
    target.end()


def passes_the_filter(mode):
    """What a filter drops is no hit."""
    target = Target("let_go")
    trace = Trace(target, "--once", "--mode", mode, "-e", f"p:{TARGET}:called a=%di:s64", "--filter", "a > 50", lets_go=mode == "auto")
    target.ask("call 200 1")
    target.ask("call 200 60")
    want(trace, trace.end(), [51], 1, 1)
    target.end()


def returns(mode):
    target = Target("let_go")
    trace = Trace(target, "--once", "--mode", mode, "-e", f"r:{TARGET}:called a=$retval:s64", "-e", f"p:never {TARGET}:main", lets_go=False)
    target.ask("call 50 20")
    target.ask("call 50 20")
    want(trace, trace.end(), [21], 1, 2)
    target.end()


def by_threads(mode):
    """Many at once; and one event of several processes."""
    target = Target("let_go_ns")
    trace = Trace(target, "--once", "--mode", mode, "-e", f"p:{FIXTURES}/let_go_ns:called a=%di:s64", lets_go=False)
    target.ask("stand 40")
    got = trace.end()
    if len(got) != 1:
        fail(f"{mode}: {len(got)} events of 40 threads")
    target.ask("leave")
    target.end()


def by_processes(mode):
    """A command with children: one event of each place in all of them."""
    run = subprocess.run([UPROBE, "--once", "--mode", mode, "--follow", "-e", "p:libc:getenv", "-e", "p:libc:write", "-e", "p:libc:cbrtl_is_not",
                          "--", "sh", "-c", "true"], capture_output=True, text=True, check=False)
    if run.returncode != 1 or "cbrtl_is_not" not in run.stderr:
        fail(f"a wrong name is no error: {run.returncode}, {run.stderr}")
    run = subprocess.run([UPROBE, "--once", "--mode", mode, "--follow", "-o", "out.txt", "-e", "p:libc:getenv", "-e", "p:libc:write",
                          "--", "bash", "-c", "for i in 1 2 3 4 5; do bash -c 'echo x; echo y'; done"], capture_output=True, text=True, check=False)
    with open("out.txt", encoding="utf-8") as f:
        events = re.findall(r"\b(getenv|write): \(", f.read())
    if run.returncode or sorted(events) != ["getenv", "write"] or "2 of 2 places of" not in run.stderr:
        fail(f"{mode}: {run.returncode}, {events}\n{run.stderr}")


def bad():
    run = subprocess.run([UPROBE, "--once", "--count", "p:libc:write"], capture_output=True, text=True, check=False)
    if run.returncode != 2 or "--once has one event of each probe" not in run.stderr:
        fail(f"{run.returncode}: {run.stderr}")


for mode in ("auto", "jump", "trap", "step"):
    is_taken_out(mode)
    passes_the_filter(mode)
    returns(mode)
    by_threads(mode)
    by_processes(mode)
bad()
print("ok")
