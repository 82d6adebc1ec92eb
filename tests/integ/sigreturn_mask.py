# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe comes while a thread stands behind its handler for SIGTRAP, in the code that calls rt_sigreturn(): the
signal is blocked still, and no address of a signal's frame is on the stack any more. The program keeps every trap that
it makes."""

import ctypes
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from ptrace import libc, ptrace  # noqa: E402

RAISE_TRAP = os.path.join(os.environ["FIXTURES"], "raise_trap")
WAIT = int(os.environ.get("TIMEOUT", "60"))
CONT, GETREGS, SETREGS, DETACH, SYSCALL = 7, 12, 13, 17, 24
SETOPTIONS, GETEVENTMSG, SEIZE = 0x4200, 0x4201, 0x4206
TRACESYSGOOD, TRACECLONE, CLONE_EVENT, STOP_EVENT = 1, 8, 3, 128
WALL = 0x40000000
SYSCALL_STOP = signal.SIGTRAP | 0x80
SIGRETURN, TGKILL, NO_CALL = 15, 234, (1 << 64) - 1
N_REGS, RAX, ORIG_RAX, RIP = 27, 10, 15, 16  # in struct user_regs_struct
# "mov $15, %rax; syscall", and how far behind the first byte each instruction begins
RESTORER, STARTS = bytes.fromhex("48c7c00f0000000f05"), (0, 7)
Regs = ctypes.c_uint64 * N_REGS


def stops_for(pid, sig):
    """SIG: with the event above it, as the status has them."""
    status = os.waitpid(pid, WALL)[1]
    if not os.WIFSTOPPED(status) or status >> 8 != sig:
        sys.exit(f"it does not stop for signal {sig} but has the status {status:#x}")


def blocks_trap(pid):
    with open(f"/proc/{pid}/status") as f:
        mask = next(line.split()[1] for line in f if line.startswith("SigBlk:"))
    return int(mask, 16) >> (signal.SIGTRAP - 1) & 1


def second_thread(target):
    """Traced by us from its birth on; the first one is not."""
    pid = target.pid
    ptrace(SEIZE, pid, TRACECLONE)
    target.stdin.write(b"\n")
    target.stdin.flush()
    stops_for(pid, signal.SIGTRAP | CLONE_EVENT << 8)
    tid = ctypes.c_ulong()
    ptrace(GETEVENTMSG, pid, ctypes.addressof(tid))
    ptrace(DETACH, pid)
    stops_for(tid.value, signal.SIGTRAP | STOP_EVENT << 8)
    ptrace(SETOPTIONS, tid.value, TRACESYSGOOD)
    return tid.value


def leave_behind_handler(target, start):
    """A thread is stopped in front of one of the instructions that call rt_sigreturn()."""
    tid = second_thread(target)
    regs = Regs()
    ptrace(CONT, tid)
    stops_for(tid, signal.SIGTRAP)
    sig = signal.SIGTRAP
    while regs[ORIG_RAX] != SIGRETURN:
        ptrace(SYSCALL, tid, sig)
        sig = 0
        stops_for(tid, SYSCALL_STOP)
        ptrace(GETREGS, tid, ctypes.addressof(regs))
    at = regs[RIP] - len(RESTORER)
    with open(f"/proc/{tid}/mem", "rb") as f:
        f.seek(at)
        if f.read(len(RESTORER)) != RESTORER:
            print("another C library: it calls rt_sigreturn() otherwise")
            sys.exit(77)
    # No call is made; then it goes back to before it.
    regs[ORIG_RAX] = NO_CALL
    ptrace(SETREGS, tid, ctypes.addressof(regs))
    ptrace(SYSCALL, tid)
    stops_for(tid, SYSCALL_STOP)
    regs[RIP], regs[RAX] = at + start, SIGRETURN
    ptrace(SETREGS, tid, ctypes.addressof(regs))
    libc.syscall(TGKILL, target.pid, tid, signal.SIGSTOP)
    ptrace(CONT, tid)
    stops_for(tid, signal.SIGSTOP)
    ptrace(DETACH, tid, signal.SIGSTOP)
    if not blocks_trap(tid):
        sys.exit("SIGTRAP is open: nothing is shown by this")


def keeps_traps(start, mode):
    target = subprocess.Popen([RAISE_TRAP, "thread"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    leave_behind_handler(target, start)
    uprobe, is_ready = tracer.start("--mode", mode, "-p", str(target.pid), "-e", f"p:k/work {RAISE_TRAP}:work",
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    target.send_signal(signal.SIGCONT)
    said = target.communicate(timeout=WAIT)[0].decode().strip()
    out, err = uprobe.communicate(timeout=WAIT)
    where = f"--mode {mode}, byte {start} of the call"
    if target.returncode or said != "traps 50 raised 100":
        sys.exit(f"{where}: the target ended with {target.returncode} and said {said!r}")
    if not is_ready or uprobe.returncode or out.count(b" work: ") != 99:
        sys.exit(f"{where}: uprobe ended with {uprobe.returncode}: {out.decode()} {err.decode()}")


def main():
    if os.uname().machine != "x86_64":
        print("needs x86_64, whose registers it sets")
        return 77
    for mode in ("trap", "auto"):
        for start in STARTS:
            keeps_traps(start, mode)
    return 0


sys.exit(main())
