# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Why a process with breakpoints of ubp's stays traced: what becomes of a breakpoint that a program's own handler makes good, which is
all that could be there if nobody traced it, while others trace the program. If this fails one day, letting go of such processes can be
thought about again (docs/architecture.md)."""

import os
import platform
import shutil
import subprocess
import sys

if platform.machine() != "x86_64" or not shutil.which("gdb") or not shutil.which("gcc"):
    print("skipped: needs x86-64, gdb and gcc")
    sys.exit(77)
SOURCE = os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib", "trapped.c")
WAIT = int(os.environ.get("TIMEOUT", "60"))
GDB = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off"]


def start(*args):
    target = subprocess.Popen(["./trapped", *args], stdout=subprocess.PIPE, bufsize=0)
    if target.stdout.readline() != b"ready\n":
        sys.exit("the target does not begin")
    return target


def lives(target):
    """It meets hundreds of breakpoints from now on."""
    os.set_blocking(target.stdout.fileno(), False)
    target.stdout.read()
    os.set_blocking(target.stdout.fileno(), True)
    got = [target.stdout.readline() for _ in range(3)]
    return b"" not in got


def end(target):
    target.kill()
    return target.wait(timeout=WAIT)


def gdb(*commands):
    """How the target ends: it goes on under gdb, then without."""
    target = start()
    args = [*GDB, "-p", str(target.pid)]
    for command in commands:
        args += ["-ex", command]
    done = subprocess.run(args, capture_output=True, text=True, timeout=WAIT, check=False, stdin=subprocess.DEVNULL)
    status = "lives" if lives(target) else f"ended with {target.wait(timeout=WAIT)}"
    if status == "lives":
        end(target)
    return status, done.stdout


def want(what, got, expected):
    print(f"{what}: {got}")
    if got != expected:
        sys.exit(f"{what}: {got}, not {expected}")


subprocess.run(["gcc", "-O1", "-o", "trapped", SOURCE], check=True)
alone = start()
want("nobody traces it", "lives" if lives(alone) else "ends", "lives")
end(alone)

# gdb takes each SIGTRAP for one of its own, tells of it, and lets the thread go on behind the breakpoint: in the middle of an instruction.
how, text = gdb("continue", "continue")
want("gdb, continue", how, "ended with -11")
if "received signal SIGTRAP" not in text:
    sys.exit(f"gdb does not tell of a SIGTRAP:\n{text}")

if shutil.which("strace"):
    traced = start()
    p = subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(traced.pid)], stderr=subprocess.PIPE, text=True)
    p.stderr.readline()
    want("strace", "lives" if lives(traced) else "ends", "lives")
    p.send_signal(2)
    p.wait(timeout=WAIT)
    want("behind strace", "lives" if lives(traced) else "ends", "lives")
    end(traced)

# The kernel does not ask a handler whose signal is blocked.
blocked = start("blocked")
want("SIGTRAP is blocked", blocked.wait(timeout=WAIT), -5)
print("ok")
