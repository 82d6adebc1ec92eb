# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A thread stands at any instruction on its way into a function with a return probe, and out of it, when uprobe ends, or is killed and
another one clears up: it comes home, and nothing is left."""

import ctypes
import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, UPROBE, Target, Trace, fail, until  # noqa: E402
from ptrace import ptrace  # noqa: E402

SINGLESTEP, GETREGS, ATTACH, DETACH = 9, 12, 16, 17
RIP, RSP = 16, 19  # of struct user_regs_struct
EVERY = int(os.environ.get("EVERY", "16" if os.environ.get("UBP_ALL") else "32"))  # instruction that is not near a call
NEAR = 4 if os.environ.get("UBP_ALL") else 2
DEFS = ("-e", f"p:{FIXTURES}/let_go:called a=%di:s32", "-e", f"r:{FIXTURES}/let_go:called $retval:s32")


def stopped(pid):
    _, status = os.waitpid(pid, 0x40000000)  # __WALL
    if not os.WIFSTOPPED(status):
        fail(f"it ended: {status:#x}")


def regs(pid):
    all_of_them = (ctypes.c_uint64 * 27)()
    ptrace(GETREGS, pid, ctypes.addressof(all_of_them))
    return all_of_them[RIP], all_of_them[RSP]


def step(pid):
    ptrace(SINGLESTEP, pid)
    stopped(pid)


def address_of(pid, name):
    path = f"{FIXTURES}/let_go"
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(rf"^([0-9a-f]+) \w {name}$", out, re.M).group(1), 16)
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        return offset + min(int(line.split("-")[0], 16) for line in f if line.rstrip().endswith("/let_go"))


def to_function(target):
    """It is traced, and stands at the function; returns that address and the stack pointer."""
    ptrace(ATTACH, target.pid)
    stopped(target.pid)
    target.p.stdin.write("call 1 7\n")
    start = address_of(target.pid, "called")
    pc, sp = regs(target.pid)
    while pc != start:
        step(target.pid)
        pc, sp = regs(target.pid)
    return start, sp


def way():
    """Which instructions there are from the function to its caller: their first bytes."""
    target = Target("let_go")
    trace = Trace(target, *DEFS)
    start, sp = to_function(target)
    codes, pc, now = [], start, sp
    with open(f"/proc/{target.pid}/mem", "rb", buffering=0) as mem:
        while now != sp + 8 or not 0 <= pc - start + 0x4000 < 0x8000:
            codes.append(os.pread(mem.fileno(), 2, pc))
            step(target.pid)
            pc, now = regs(target.pid)
    ptrace(DETACH, target.pid)
    target.expect("done")
    trace.end()
    if re.findall(r"called(?:_1)?: .*=(\d+)$", trace.out, re.M) != ["7", "8"]:
        fail(f"recorded {trace.out}{trace.err}")
    target.end()
    return codes


def has_ours(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        return "ubp" in f.read()


def stop_at(n, is_killed):
    target = Target("let_go")
    trace = Trace(target, *DEFS)
    to_function(target)
    for _ in range(n):
        step(target.pid)
    ptrace(DETACH, target.pid, signal.SIGSTOP)
    until("the stop", lambda: open(f"/proc/{target.pid}/stat", encoding="ascii").read().split(")")[1].split()[0] == "T")
    if is_killed:
        trace.p.kill()
        trace.p.wait()
        p = subprocess.run([UPROBE, "-p", str(target.pid), "-d", "0.1", *DEFS], capture_output=True, text=True, timeout=60)
        if p.returncode:
            fail(f"at {n}: the next one ended with {p.returncode}: {p.stderr}")
    else:
        trace.end()
    os.kill(target.pid, signal.SIGCONT)
    target.expect("done")
    target.ask("call 3 1")
    # Who was in it when uprobe ended may have needed some of it until now.
    subprocess.run([UPROBE, "-p", str(target.pid), "-d", "0.05", "-e", f"p:{FIXTURES}/let_go:main"], capture_output=True, check=False)
    if has_ours(target.pid):
        fail(f"at {n}: something is left")
    target.end()


def main():
    codes = way()
    calls = [i for i, code in enumerate(codes) if code[0] in (0xe8, 0xc3)]
    near = {i for c in calls for i in range(c - NEAR, c + NEAR)}
    for n in range(len(codes)):
        if n in near or n % EVERY == 0:
            stop_at(n, False)
            if n in near:
                stop_at(n, True)
    print(f"{len(codes)} instructions, calls and returns at {calls}")


main()
