# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Others trace a process that uprobe has let go of, while two of its threads are recorded at full rate: gdb with breakpoints on the
probed function and at each of its first instructions, by steps through the jump and the detour, with a watchpoint and calls of its own;
strace, gcore, the kernel's uprobe, a core dump, a kill. Each hit is recorded, and the program goes on as if nobody were there. UBP_ALL=1:
all this with programs of each build."""

import os
import re
import resource
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import UPROBE, WAIT, Target, Trace, fail, until  # noqa: E402

SOURCE = os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib", "debugged.c")
EACH = 8192
# How it is compiled, and whether all of its places can be let go of.
BUILDS = {"debug": ("-g", "-O0"), "plain": ("-O0",), "low": ("-g", "-O0", "-no-pie"), "optimised": ("-g", "-O2"),
          "punned": ("-g", "-O0", "-DPUNNED"), "pads": ("-g", "-O0", "-fcf-protection=branch")}
ALL = bool(os.environ.get("UBP_ALL"))
# Else: jumps of both kinds, and one behind a landing pad; with lines of a program as it is debugged, and as it is used.
AT_EACH, BY_LINES, SESSIONS = ("debug", "punned", "pads"), ("debug", "optimised"), ("debug",)
ONE_BY_ONE = ("debug", "punned") if ALL else ("punned",)
if ALL:
    AT_EACH, BY_LINES, SESSIONS = tuple(BUILDS), tuple(name for name in BUILDS if name != "punned"), ("debug", "optimised")

BEGUN = time.monotonic()


def build(name):
    print(f"{time.monotonic() - BEGUN:.0f} s: {name}, {sys._getframe(1).f_code.co_name}")
    done = subprocess.run(["gcc", *BUILDS[name], "-pthread", "-o", name, SOURCE], capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"gcc: {done.stderr}")
    return os.path.abspath(name)


class Debugged(Target):
    def __init__(self, path):
        self.path = path
        # sudo may have set the limit to 0, which not every root may raise.
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        self.p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")
        self.trace = Trace(self, f"p:{path}:called a=%di:s64 mark=%si:s64", "mark == 1", "-o", "events.txt")

    def go(self):
        self.ask("go")
        return self

    def is_alone(self):
        return self.tracer() == 0

    def gdb(self, *commands, before=(), status=0):
        """All that gdb says, attached to it."""
        args = ["gdb", "-nx", "-batch", "-ex", "set pagination off", "-ex", "set debuginfod enabled off", "-ex", "set confirm off"]
        for command in [*before, f"attach {self.p.pid}", *commands]:
            args += ["-ex", command]
        done = subprocess.run([*args, self.path], capture_output=True, text=True, timeout=2 * WAIT, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != status or self.p.poll() not in (None, -9):
            fail(f"gdb ended with {done.returncode}, the target with {self.p.poll()}:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def check(self, extra=()):
        """It ends as it should, and each call that was to be recorded is."""
        self.p.stdin.write("stop\n")
        line = self.p.stdout.readline()
        if not re.fullmatch(r"\d+ \d+\n", line) or self.p.wait(timeout=WAIT) != 0:
            fail(f"the target said '{line}', and ended with {self.p.poll()}")
        counts = [int(n) for n in line.split()]
        self.trace.end(signal=None)
        with open("events.txt", encoding="ascii") as f:
            got = [int(a) for a in re.findall(r"called: .* a=(-?\d+)", f.read())]
        want = sorted([2 * i + me for me in (0, 1) for i in range(0, counts[me], EACH)] + list(extra))
        if sorted(got) != want:
            fail(f"recorded {len(got)}, not {len(want)} of {counts}; missed {sorted(set(want) - set(got))[:9]}, "
                 f"invented {sorted(set(got) - set(want))[:9]}\n{self.trace.err}")
        if self.trace.stat("lost") != "0" or min(counts) < EACH:
            fail(f"{counts}\n{self.trace.err}")


def says(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.M):
            fail(f"gdb does not say '{pattern}':\n{text}")


# tick() is called every 2 ms: so long all breakpoints stand, and threads run.
TICKS = ["tbreak tick", "continue"] * 2


def instructions(target, n):
    """Offsets of the first ones, in the file."""
    out = subprocess.run(["gdb", "-nx", "-batch", "-ex", f"x/{n}i called", target.path], capture_output=True, text=True, check=True).stdout
    addrs = [int(addr, 16) for addr in re.findall(r"^\s+0x([0-9a-f]+)", out, re.M)]
    return [addr - addrs[0] for addr in addrs]


def at_each_instruction(name):
    """Breakpoints where a debugger may know instructions from the file: each by itself, and all at once."""
    target = Debugged(build(name)).go()
    explained = subprocess.run([UPROBE, "--explain", f"p:{target.path}:called"], capture_output=True, text=True, check=True).stdout
    if (name == "punned") != ("are a part" in explained):
        fail(f"{name}: {explained}")
    places = [f"break *((char *)called + {at})" for at in instructions(target, 6)]
    for n, place in enumerate(places if name in ONE_BY_ONE else []):
        says(target.gdb(place, "ignore 1 1000000", *TICKS), r"hit .*tick|tick \(")
        if n == 0 and not target.is_alone():
            fail("somebody traces it")
    target.gdb(*places, *[f"ignore {i + 1} 1000000" for i in range(len(places))], *TICKS)
    target.check()


def by_lines(name):
    """As a user sets them: before gdb knows the process, so where the file's code says; and in it."""
    target = Debugged(build(name)).go()
    with open(SOURCE, encoding="utf-8") as f:
        first = next(n for n, line in enumerate(f, 1) if "long called(" in line)
    sets = ["break called"] + ([f"break debugged.c:{line}" for line in range(first, first + 7)] if name != "plain" else [])
    ignores = [f"ignore {i + 1} 1000000" for i in range(len(sets))]
    target.gdb(*ignores, *TICKS, before=sets)
    target.gdb(*sets, *ignores, *TICKS)
    target.check()


CALL = "print ((long (*)(long, long))called)(-2, 1)"


def calls_functions(path):
    """Can this gdb? With some processors' registers it cannot write those of any program."""
    p = subprocess.run(["gdb", "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex", CALL, "-ex", "kill", path],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT, check=False)
    return "Couldn't write" not in p.stderr


def watches():
    """Do gdb's watchpoints stop programs on this machine at all? Some virtual ones do not give their debug registers to anybody."""
    with open("watched.c", "w", encoding="utf-8") as source:
        source.write("volatile long n;\nint main(void) { for (;;) n++; }\n")
    subprocess.run(["gcc", "-g", "-o", "watched", "watched.c"], check=True)
    try:
        said = subprocess.run(["gdb", "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex", "delete", "-ex", "watch n", "-ex", "continue",
                               "-ex", "kill", "./watched"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False).stdout
    except subprocess.TimeoutExpired:
        return False
    return "Old value" in said


def session(name):
    """Many things, one after the other."""
    target = Debugged(build(name)).go()
    # But for a thread that is in the detour just now: debuggers know nothing of its frame.
    says(target.gdb("thread apply all bt"), r"\bticking \(", r"\bmain \(")
    # Each stops at the function: ignored ones, too.
    hits = target.gdb("break called", "ignore 1 300", "continue", "info breakpoints", "bt",
                      "set scheduler-locking on", "finish", "set scheduler-locking off", "tbreak called", *["continue"] * 3)
    says(hits, r"already hit 30[0-9] times", r"#1 .* calls \(", r"Value returned is")
    says(target.gdb("break *called", *["continue"] * 50, "info breakpoints"), r"already hit 5[0-9] times")
    # Through the jump, the mirror, the detour and the copy, and on in the function.
    steps = target.gdb("break called", "continue", "set scheduler-locking on", *["stepi", "x/i $pc"] * 90, "bt")
    says(steps, r"^=> 0x[0-9a-f]+ <called\+\d+>:\s+(cs |notrack )?jmp", r"^=> 0x[0-9a-f]+:")
    behind = re.findall(r"^=> 0x[0-9a-f]+( <\w+\+?\d*>)?:", steps, re.M)
    if "" not in behind or not any(behind[behind.index(""):]):
        fail(f"not through the detour and out again in 90 steps:\n{steps}")
    says(target.gdb("break called", "continue", "delete", "set scheduler-locking on", *["next"] * 4, "bt"), r"\bcalls \(")
    if watches():
        says(target.gdb("watch counts[0]", *["continue"] * 3), r"Old value = \d+")
    else:
        print("without watchpoints: none stops a program here")
    calls = calls_functions(target.path)
    if calls:
        # gdb calls it: that is a hit, too.
        says(target.gdb(CALL), rf"= {(-2 + 1) ^ 5}$")
    else:
        print("without a call by gdb: it cannot write this processor's registers")
    target.gdb("detach")
    if not target.is_alone():
        fail("somebody traces it")
    target.check([-2] if calls else [])


def killed():
    target = Debugged(build("debug")).go()
    says(target.gdb("break called", "continue", "kill"), r"killed")
    if target.p.wait(timeout=WAIT) != -9:
        fail(f"it ended with {target.p.returncode}")
    target.trace.end(signal=None)


def strace():
    if not shutil.which("strace"):
        print("without strace")
        return
    target = Debugged(build("debug")).go()
    for _ in range(3):
        p = subprocess.Popen(["strace", "-f", "-o", "calls.txt", "-p", str(target.p.pid)], stderr=subprocess.DEVNULL)
        until("a call of nanosleep", lambda: os.path.exists("calls.txt") and open("calls.txt", encoding="utf-8").read().count("nanosleep(") > 9)
        p.send_signal(2)
        p.wait(timeout=WAIT)
        os.unlink("calls.txt")
    target.check()


def core_of(path, core):
    return subprocess.run(["gdb", "-nx", "-batch", "-ex", "thread apply all bt", path, core], capture_output=True, text=True, timeout=WAIT,
                          check=False).stdout


def cores():
    target = Debugged(build("debug")).go()
    if shutil.which("gcore"):
        done = subprocess.run(["gcore", "-o", "core.gcore", str(target.p.pid)], capture_output=True, text=True, timeout=WAIT, check=False)
        if done.returncode:
            fail(f"gcore: {done.stderr}")
        says(core_of(target.path, f"core.gcore.{target.p.pid}"), r"\bticking \(", r"\bmain \(")
    else:
        print("without gcore")
    target.p.stdin.write("crash\n")
    if target.p.wait(timeout=WAIT) != -11:
        fail(f"it crashed with {target.p.returncode}")
    target.trace.end(signal=None)
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as f:
        pattern = f.read().strip()
    found = [name for name in (pattern, f"{pattern}.{target.p.pid}") if os.path.exists(name)]
    if not found:
        print(f"without a core dump: they go to '{pattern}', or may not be made")
        return
    says(core_of(target.path, found[0]), r"SIGSEGV|signal 11|#0 .*crashes", r"#0 .*crashes \(at=0x0\)", r"#1 .*\bmain \(", r"\bticking \(")


def beside_kernel():
    """A uprobe of the kernel's comes and goes, at the first instruction, which is no part of the jump."""
    if not shutil.which("bpftrace") or os.geteuid() != 0:
        print("without bpftrace")
        return
    target = Debugged(build("debug")).go()
    for _ in range(2):
        done = subprocess.run(["bpftrace", "-e", f"uprobe:{target.path}:called {{ @n = count(); }} interval:ms:300 {{ exit(); }}"],
                              capture_output=True, text=True, timeout=WAIT, check=False)
        found = re.search(r"@n: (\d+)", done.stdout)
        if done.returncode or not found or int(found.group(1)) == 0:
            print(f"without bpftrace: it says {done.stderr} {done.stdout}")
            break
    target.check()


def beside_perf():
    """perf samples the process, with its stacks, while nobody traces it."""
    if not shutil.which("perf") or os.geteuid() != 0:
        print("without perf")
        return
    target = Debugged(build("debug")).go()
    sampled = subprocess.run(["perf", "record", "-o", "perf.data", "-e", "cpu-clock", "-F", "1999", "-g", "-p", str(target.p.pid), "--", "sleep", "0.5"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT, check=False)
    if sampled.returncode:
        print(f"without perf: it says {sampled.stderr}")
    else:
        said = subprocess.run(["perf", "script", "-i", "perf.data", "-F", "ip,sym"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=WAIT, check=False).stdout
        says(said, r"\bcalls\b")
    if not target.is_alone():
        fail("somebody traces it")
    target.check()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


class First(Target):
    """The first process of a pid namespace."""

    def __init__(self, path):
        self.outer = subprocess.Popen(["unshare", "-pf", "--mount-proc", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.p = self.outer
        self.expect("ready")
        self.inner = children(self.outer.pid)[0]

    @property
    def pid(self):
        return self.inner


def first_of_namespace():
    """The kernel spares it while it is traced. Let go of, it dies at once by its fault, as without uprobe."""
    path = build("debug")
    if os.geteuid() != 0 or subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True, check=False).returncode:
        print("without pid namespaces")
        return
    target = First(path)
    read_end, write_end = os.pipe()
    trace = subprocess.Popen(["nsenter", "-t", str(target.pid), "-p", "-m", UPROBE, "--stats", "--ready-fd", str(write_end), "-p", "1",
                              "-o", "/dev/null", f"p:{path}:called", "-e", f"p:{path}:crashes"], pass_fds=[write_end],
                             stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    if os.read(read_end, 6) != b"ready\n":
        fail(f"uprobe did not begin: {trace.communicate()[1]}")
    until("let go", lambda: target.tracer() == 0)
    target.ask("go")
    target.p.stdin.write("crash\n")
    if target.outer.wait(timeout=WAIT) != -11:
        fail(f"it ended with {target.outer.returncode}")
    # All of the namespace ends with it, and that is where uprobe had to be.
    trace.communicate(timeout=WAIT)


if not shutil.which("gdb") or not shutil.which("gcc"):
    print("skipped: needs gdb and gcc")
    sys.exit(77)
for build_name in AT_EACH:
    at_each_instruction(build_name)
for build_name in BY_LINES:
    by_lines(build_name)
for build_name in SESSIONS:
    session(build_name)
killed()
strace()
cores()
beside_kernel()
beside_perf()
first_of_namespace()
print("ok")
