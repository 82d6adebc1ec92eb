# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A thread has met the breakpoint of a killed uprobe, and stops at the guard's first instruction. The
next uprobe is told so and leaves all as it is: what the guard is about to look up must be there still. Once the thread
has gone on, uprobe comes and goes."""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from ptrace import ptrace  # noqa: E402

HELLO = os.path.join(os.environ["FIXTURES"], "hello")
WAIT = int(os.environ.get("TIMEOUT", "60"))
CONT, SINGLESTEP, DETACH, SEIZE = 7, 9, 17, 0x4206


def stops_for(pid, sig):
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) != sig:
        sys.exit(f"it does not stop for signal {sig} but has the status {status:#x}")


def mappings(pid):
    with open(f"/proc/{pid}/maps") as f:
        return [line.split(None, 5) for line in f]


def start(pid):
    path = next(m[5].strip() for m in mappings(pid) if len(m) > 5 and "libc.so" in m[5])
    return tracer.start("--mode", "trap", "-p", str(pid), "-e", f"p:k/greet {HELLO}:greet",
                        "-e", f"p:k/exit {path}:exit", stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def comes(pid):
    p, is_ready = start(pid)
    if not is_ready:
        sys.exit(f"uprobe does not get ready: {p.communicate(timeout=WAIT)[1].decode()}")
    return p


def is_refused(pid):
    p, is_ready = start(pid)
    if is_ready:
        sys.exit("uprobe gets ready though a thread is stopped in the guard")
    err = p.communicate(timeout=WAIT)[1].decode()
    want = f"process {pid}: thread {pid} is in what an earlier ubp left, and does not go on"
    if p.returncode != 1 or err.count("\n") != 1 or want not in err:
        sys.exit(f"uprobe ended with {p.returncode}: {err}")


def is_in_guard(pid):
    """It stands in code of no file."""
    with open(f"/proc/{pid}/syscall") as f:
        pc = int(f.read().split()[-1], 16)
    for m in mappings(pid):
        lo, hi = (int(end, 16) for end in m[0].split("-"))
        if lo <= pc < hi:
            return "x" in m[1] and m[4] == "0" and not m[5:]
    return False


def stops_in_guard(pid, function):
    stops_for(pid, signal.SIGTRAP)
    ptrace(SINGLESTEP, pid, signal.SIGTRAP)
    stops_for(pid, signal.SIGTRAP)
    if not is_in_guard(pid):
        sys.exit(f"{function}(): it is not in the guard: nothing is shown by this")


def begin(*args):
    """A target with breakpoints of a killed uprobe in it, traced by us, about to go on."""
    target = subprocess.Popen([HELLO, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    first = comes(target.pid)
    first.kill()
    first.communicate(timeout=WAIT)
    ptrace(SEIZE, target.pid)
    target.stdin.write(b"\n")
    target.stdin.flush()
    return target


def leave_stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    ptrace(CONT, pid)
    stops_for(pid, signal.SIGSTOP)
    ptrace(DETACH, pid, signal.SIGSTOP)
    is_refused(pid)
    if not is_in_guard(pid):
        sys.exit("it has left the guard: nothing is shown by this")


def ends_well(target, want):
    said = target.communicate(timeout=WAIT)[0].decode().strip()
    if target.returncode != 0 or said != want:
        sys.exit(f"the target ended with {target.returncode} and said {said!r}")


def main():
    # In the last function that it calls: the guard finds the way by what was left in its tables.
    target = begin("abc")
    stops_in_guard(target.pid, "greet")
    ptrace(CONT, target.pid)
    stops_in_guard(target.pid, "exit")
    leave_stopped(target.pid)
    target.send_signal(signal.SIGCONT)
    ends_well(target, "3")

    # In the first one: once it has come through, uprobe is welcome.
    target = begin("abc", "de")
    stops_in_guard(target.pid, "greet")
    leave_stopped(target.pid)
    ptrace(SEIZE, target.pid)
    stops_for(target.pid, signal.SIGSTOP)
    while is_in_guard(target.pid):
        ptrace(SINGLESTEP, target.pid)
        stops_for(target.pid, signal.SIGTRAP)
    ptrace(DETACH, target.pid, signal.SIGSTOP)
    then = comes(target.pid)
    target.send_signal(signal.SIGCONT)
    ends_well(target, "5")
    out, err = then.communicate(timeout=WAIT)
    if then.returncode != 0 or b" greet: " not in out:
        sys.exit(f"uprobe ended with {then.returncode}: {out.decode()} {err.decode()}")
    return 0


sys.exit(main())
