# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe is killed when it has just stopped a thread, before it looks at it. Calls that wait go on: those that the
kernel makes again by itself always, all others if another thread of the process can be stopped in
their place."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
from killat import KillAt  # noqa: E402

UPROBE, TARGET = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "restarts")
WAIT = int(os.environ.get("TIMEOUT", "60"))
LOOKS = 3 if os.environ.get("UBP_SLOWER", "1") == "1" else 1
# What a stop breaks off. Where that is the only thread, a kill at the moment of the stop shows (uprobe(1), GUARD).
BROKEN_OFF = ("epoll_wait", "epoll_pwait", "epoll_pwait2", "semop", "semtimedop", "io_getevents", "recv_limit",
              "read_limit", "udp_limit", "accept_limit", "sigtimedwait", "sigwaitinfo")


def attempt(killat, call, k):
    """Before the K-th look at the registers of a thread that was stopped. Returns what is wrong."""
    argv = [TARGET, call] + (["600000", "beside"] if call in BROKEN_OFF else [])
    target = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    killat.arm(KillAt.ATTACH, k, only="PTRACE_PEEKUSER")
    p = subprocess.Popen([UPROBE, "--mode", "trap", "-d", "0.05", "-p", str(target.pid), f"p:k/w {TARGET}:work"],
                         env={**os.environ, **killat.env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    err = p.communicate(timeout=WAIT)[1]
    if p.returncode != -9:
        sys.exit(f"{call}: it ended with {p.returncode} in place of being killed: {err.decode()}")
    try:
        target.stdin.write(b"go\n")
        target.stdin.flush()
    except BrokenPipeError:
        pass
    said = target.stdout.readline().decode().strip()
    target.wait(timeout=WAIT)
    return None if ": right" in said or ": handled" in said else f"killed before look {k}: {said}"


def main():
    if os.uname().machine != "x86_64":
        print("needs a machine where one call tells how a system call ends: x86_64")
        return 77
    killat = KillAt()
    calls = subprocess.run([TARGET, "list"], capture_output=True, text=True, check=True).stdout.split()
    wrong = [attempt(killat, call, k) for call in calls for k in range(1, LOOKS + 1)]
    wrong = list(filter(None, wrong))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


sys.exit(main())
