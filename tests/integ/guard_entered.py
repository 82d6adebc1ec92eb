# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A thread has met the breakpoint of a killed uprobe, and stops at the guard's first instruction. The
next uprobe comes and goes meanwhile: what the guard is about to look up must be there still."""

import ctypes
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402

HELLO = os.path.join(os.environ["FIXTURES"], "hello")
WAIT = int(os.environ.get("TIMEOUT", "60"))
CONT, SINGLESTEP, DETACH, SEIZE = 7, 9, 17, 0x4206
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, sig=0):
    if libc.ptrace(request, pid, None, sig) < 0:
        sys.exit(f"ptrace({request}): {os.strerror(ctypes.get_errno())}")


def stops_for(pid, sig):
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) != sig:
        sys.exit(f"it does not stop for signal {sig} but has the status {status:#x}")


def mappings(pid):
    with open(f"/proc/{pid}/maps") as f:
        return [line.split(None, 5) for line in f]


def start(pid):
    path = next(m[5].strip() for m in mappings(pid) if len(m) > 5 and "libc.so" in m[5])
    p, is_ready = tracer.start("--mode", "trap", "-p", str(pid), "-e", f"p:k/greet {HELLO}:greet",
                               "-e", f"p:k/exit {path}:exit", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not is_ready:
        sys.exit(f"uprobe does not get ready: {p.communicate(timeout=WAIT)[1].decode()}")
    return p


def is_in_guard(pid):
    """It stands in code of no file."""
    with open(f"/proc/{pid}/syscall") as f:
        pc = int(f.read().split()[-1], 16)
    for m in mappings(pid):
        lo, hi = (int(end, 16) for end in m[0].split("-"))
        if lo <= pc < hi:
            return "x" in m[1] and m[4] == "0" and not m[5:]
    return False


def main():
    target = subprocess.Popen([HELLO, "abc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    pid = target.pid
    first = start(pid)
    first.kill()
    first.communicate(timeout=WAIT)

    ptrace(SEIZE, pid)
    target.stdin.write(b"\n")
    target.stdin.flush()
    for function in ("greet", "exit"):
        stops_for(pid, signal.SIGTRAP)
        ptrace(SINGLESTEP, pid, signal.SIGTRAP)
        stops_for(pid, signal.SIGTRAP)
        if not is_in_guard(pid):
            sys.exit(f"{function}(): it is not in the guard: nothing is shown by this")
        if function == "greet":
            ptrace(CONT, pid)
    os.kill(pid, signal.SIGSTOP)
    ptrace(CONT, pid)
    stops_for(pid, signal.SIGSTOP)
    ptrace(DETACH, pid, signal.SIGSTOP)

    then = start(pid)
    if not is_in_guard(pid):
        sys.exit("it has left the guard: nothing is shown by this")
    then.terminate()
    err = then.communicate(timeout=WAIT)[1].decode()
    if then.returncode != 0:
        sys.exit(f"uprobe ended with {then.returncode}: {err}")
    target.send_signal(signal.SIGCONT)
    said = target.communicate(timeout=WAIT)[0].decode().strip()
    if target.returncode != 0 or said != "3":
        sys.exit(f"the target ended with {target.returncode} and said {said!r}: {err}")
    return 0


sys.exit(main())
