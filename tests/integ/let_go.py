# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--let-go: nobody traces a process whose probes record by themselves, and nothing that it does is lost by that: its threads
of before, signals, children, an exec. Others may trace it. uprobe is killed, or cannot come back: the next one clears up."""

import os
import platform
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from ptrace import ptrace  # noqa: E402

UPROBE, TARGET = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "let_go")
WAIT = int(os.environ.get("TIMEOUT", "60"))
PROBE = f"p:{TARGET}:called a=%di:s64 s=+0(%si):string"
PTRACE_SEIZE, PTRACE_DETACH, PTRACE_INTERRUPT = 0x4206, 17, 0x4207
SIGSTOP_EVENT = 128

if platform.machine() != "x86_64":
    print("skipped: only x86-64 lets go of processes so far")
    sys.exit(77)


def fail(why):
    sys.exit(f"let_go: {why}")


def until(what, holds):
    """What is waited for comes by itself; that it never does is the failure."""
    end = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > end:
            fail(f"{what}: not in {WAIT} s")
        time.sleep(0.005)


class Target:
    def __init__(self):
        self.p = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")

    def expect(self, answer):
        got = self.p.stdout.readline().strip()
        if got != answer:
            fail(f"the target said '{got}' in place of '{answer}' (status {self.p.poll()})")

    def ask(self, line, answer="done"):
        self.p.stdin.write(line + "\n")
        self.expect(answer)

    def tracer(self):
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            return int(re.search(r"TracerPid:\s*(\d+)", f.read()).group(1))

    def end(self):
        self.p.stdin.write("end\n")
        if self.p.wait(timeout=WAIT) != 0:
            fail(f"the target ended with {self.p.returncode}")


class Trace:
    """uprobe on TARGET, that has begun to trace."""

    def __init__(self, target, *args, probe=(PROBE,), lets_go=True):
        read_end, write_end = os.pipe()
        argv = [UPROBE, "--let-go", "--stats", "--ready-fd", str(write_end), "-p", str(target.p.pid), *args, *probe]
        self.out = []
        self.p = subprocess.Popen(argv, pass_fds=[write_end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(write_end)
        if not os.read(read_end, 6):
            fail(f"uprobe did not begin: {self.p.communicate()[1]}")
        os.close(read_end)
        if lets_go:
            until("nobody traces it", lambda: target.tracer() == 0)

    def end(self, status=0):
        self.p.send_signal(2)
        out, self.err = self.p.communicate(timeout=WAIT)
        if self.p.returncode != status:
            fail(f"uprobe ended with {self.p.returncode}: {self.err}")
        return [int(a) for a in re.findall(r"called: .* a=(-?\d+) s=", out)]

    def stat(self, name):
        found = re.search(rf"\b{name}=\"?([^\" ]*)", self.err)
        return found.group(1) if found else None


def want(trace, got, expected):
    if got != expected:
        fail(f"recorded {got[:20]}, expected {expected[:20]} ({len(got)}, {len(expected)})\n{trace.err}")


def what_it_does():
    target = Target()
    trace = Trace(target)
    target.ask("call 3 1")
    target.ask("signal")
    target.ask("trap", "1")
    # A child has its mother's jumps, and records nothing; least of all into her rings.
    target.ask("fork 1000 5000", "7")
    # Threads that come while nobody traces it.
    for i in range(40):
        target.ask(f"thread 2 {20 + 2 * i}")
    if target.tracer():
        fail("somebody traces it again")
    # It is traced while its loader has mapped a library.
    target.ask("open 2 10")
    until("let go again", lambda: target.tracer() == 0)
    want(trace, trace.end(), [1, 2, 3, -1, *range(20, 100), 10, 11])
    if trace.stat("let_go") != "2" or trace.stat("stopped") not in ("0", "1"):
        fail(f"let go, and stopped:\n{trace.err}")
    target.ask("call 3 1")
    target.ask("trap", "2")
    target.end()


def executes():
    target = Target()
    trace = Trace(target)
    target.ask("call 2 1")
    target.ask("exec", "ready")
    n = 0

    # It has asked for that: it is traced when it executes, planted in, has jumps after some hits, and is let go of again.
    def is_let_go():
        nonlocal n
        target.ask("call 5 100")
        n += 1
        with open(f"/proc/{target.p.pid}/maps", encoding="ascii") as f:
            return "memfd:ubp" in f.read() and target.tracer() == 0
    until("let go after an exec", is_let_go)
    target.ask("call 2 7")
    want(trace, trace.end(), [1, 2] + n * [100, 101, 102, 103, 104] + [7, 8])
    if trace.stat("let_go") != "2":
        fail(f"let go twice:\n{trace.err}")
    target.end()


def loads_a_library():
    target = Target()
    trace = Trace(target, probe=("-e", PROBE, "-e", "p:libm:cbrt"))
    target.ask("call 2 1")
    target.ask("library 30")
    until("let go, with the library", lambda: target.tracer() == 0)
    target.ask("library 5")
    trace.p.send_signal(2)
    out, trace.err = trace.p.communicate(timeout=WAIT)
    n = len(re.findall(r"\bcbrt: ", out))
    if n != 35 or trace.stat("lost") != "0":
        fail(f"{n} hits in the library that was loaded, not 35\n{trace.err}\n{out}")
    target.end()


def traced_by_another():
    target = Target()
    trace = Trace(target)
    ptrace(PTRACE_SEIZE, target.p.pid)
    target.ask("call 2 1")
    got = trace.end(status=1)
    want(trace, got, [1, 2])
    if "cannot be traced now" not in trace.err:
        fail(f"nothing is said of it: {trace.err}")
    # What stays does nothing.
    target.ask("call 2 1")
    ptrace(PTRACE_INTERRUPT, target.p.pid)
    os.waitpid(target.p.pid, os.WUNTRACED)
    ptrace(PTRACE_DETACH, target.p.pid)
    trace = Trace(target)
    target.ask("call 2 3")
    want(trace, trace.end(), [3, 4])
    target.end()


def killed():
    target = Target()
    trace = Trace(target)
    target.ask("call 2 1")
    trace.p.kill()
    trace.p.wait()
    target.ask("call 2 1")
    target.ask("fork 3 3", "7")
    target.ask("trap", "1")
    trace = Trace(target)
    target.ask("call 2 3")
    want(trace, trace.end(), [3, 4])
    target.end()


def target_dies():
    target = Target()
    trace = Trace(target)
    target.ask("call 5 1")
    target.p.kill()
    target.p.wait()
    out, trace.err = trace.p.communicate(timeout=WAIT)
    if trace.p.returncode != 0:
        fail(f"uprobe ended with {trace.p.returncode}: {trace.err}")
    want(trace, [int(a) for a in re.findall(r"called: .* a=(-?\d+) s=", out)], [1, 2, 3, 4, 5])


def stays(why, *args, probe=(PROBE,)):
    target = Target()
    trace = Trace(target, *args, probe=probe, lets_go=False)
    target.ask("call 3 1")
    if not target.tracer():
        fail(f"let go, though {why}")
    trace.end()
    if why not in trace.err:
        fail(f"the reason is not '{why}': {trace.err}")
    target.end()


what_it_does()
executes()
loads_a_library()
traced_by_another()
killed()
target_dies()
stays("a full ring is to stop it", "--lossless")
stays("return addresses are replaced", probe=(f"r:{TARGET}:called",))
stays("children are followed", "--follow")
stays("not all of its places are jumps", "--mode", "trap")
stays("a probe asks for the thread's name", probe=(PROBE, 'a > 0 && comm == "let_go"'))
print("ok")
