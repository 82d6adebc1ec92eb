# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Letting go: nobody traces a process whose probes record by themselves, and nothing that it does is lost by that: its threads
of before, signals, children, an exec. Others may trace it. uprobe is killed, or cannot come back: the next one clears up."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, WAIT, Target, Trace, fail, until  # noqa: E402
from ptrace import ptrace  # noqa: E402

TARGET = os.path.join(FIXTURES, "let_go")
PROBE = ("-e", f"p:{TARGET}:called a=%di:s64")
FOLLOWS = f"p:{TARGET}:called a=%di:s64 s=+0(%si):string none=+0(%di):string s_again=+0(%si):string"
PTRACE_SEIZE, PTRACE_DETACH, PTRACE_INTERRUPT = 0x4206, 17, 0x4207


def want(trace, got, expected):
    if got != expected:
        fail(f"recorded {got[:20]}, expected {expected[:20]} ({len(got)}, {len(expected)})\n{trace.err}")


def what_it_does():
    target = Target("let_go")
    trace = Trace(target, *PROBE)
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
    if int(trace.stat("let_go")) < 2 or trace.stat("stopped") not in ("0", "1"):
        fail(f"let go, and stopped:\n{trace.err}")
    target.ask("call 3 1")
    target.ask("trap", "2")
    with open(f"/proc/{target.p.pid}/smaps", encoding="ascii") as f:
        if re.search(r"^VmFlags:.* wf\b", f.read(), re.M):
            fail("a page is wiped on fork still")
    target.end()


def shares_its_memory():
    """A child that would record into its mother's rings: it is traced while there is one. One with memory of its own goes unseen."""
    target = Target("let_go")
    trace = Trace(target, *PROBE)
    target.ask("call 2 1")
    target.ask("fork 3 100", "7")
    target.ask("vfork 3 200", "7")
    target.ask("call 2 3")
    target.ask("vfork 3 300", "7")
    until("let go again", lambda: target.tracer() == 0)
    target.ask("vfork 3 400", "7")
    target.ask("call 2 5")
    want(trace, trace.end(), [1, 2, 3, 4, 5, 6])
    target.end()


def rings_of(pid):
    """How many bytes of them are mapped."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as f:
        ends = [line.split()[0].split("-") for line in f if "memfd:ubp" in line]
    return sum(int(end, 16) - int(start, 16) for start, end in ends)


def has_more_threads_than_rings():
    """Who finds no ring is not recorded, and counted. So the process is traced again, and has more rings when it is let go of next."""
    target = Target("let_go_ns")
    trace = Trace(target, "-o", "crowd.txt", "--buffer-size", "64", "-e", f"p:{FIXTURES}/let_go_ns:called a=%di:s64")
    before = rings_of(target.pid)
    target.ask("stand 300")
    until("more rings", lambda: rings_of(target.pid) > before + before // 2)
    trace.until_alone()
    target.ask("stand 100")
    trace.end()
    with open("crowd.txt", encoding="ascii") as f:
        n = len(re.findall(r"called: ", f.read()))
    if int(trace.stat("let_go")) < 2 or trace.stat("lost") == "0" or n + int(trace.stat("lost")) != 2 * 400:
        fail(f"{n} were recorded of 800\n{trace.err}")
    target.ask("leave")
    target.end()


def grows():
    """Arguments on a stack that has grown while nobody traces it: where that is to be told, the tracer comes back for it."""
    target = Target("let_go")
    trace = Trace(target, "-o", "grown.txt", *PROBE)
    n = 0

    def has_come():
        nonlocal n
        n += 1
        target.ask("deep 2 9000")
        return target.tracer() != 0 or n == 400

    if FIXTURES.endswith("32"):
        until("the tracer comes", has_come)
    until("let go again", lambda: target.tracer() == 0)
    target.ask("call 1 7777")
    target.ask("deep 3 9000")
    trace.end()
    with open("grown.txt", encoding="ascii") as f:
        got = [int(a) for a in re.findall(r"called: .* a=(\d+)", f.read())]
    want(trace, got[-196:], [7777, *65 * [9000, 9001, 9002]])
    target.end()


def executes(*by):
    target = Target("let_go", *by)
    trace = Trace(target, *PROBE)
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


def loads_a_library(*args):
    """Seen by a jump at the loader's hook, traced or not."""
    target = Target("let_go")
    trace = Trace(target, *args, *PROBE, "-e", "p:libm:cbrt", lets_go=not args)
    target.ask("call 2 1")
    if args:
        until("a jump", lambda: "memfd:ubp" in open(f"/proc/{target.p.pid}/maps", encoding="ascii").read())
    target.ask("library 30")
    if not args:
        trace.until_alone()
    target.ask("library 5")
    trace.end()
    n = len(re.findall(r"\bcbrt: ", trace.out))
    if n != 35 or trace.stat("lost") != "0":
        fail(f"{n} hits in the library that was loaded, not 35\n{trace.err}\n{trace.out}")
    target.end()


def unloads_a_library():
    """What is probed comes and goes, and comes again."""
    target = Target("let_go")
    trace = Trace(target, *PROBE, "-e", "p:libm:cbrt")
    for i in range(20):
        target.ask(f"open 2 {2 * i}")
    trace.until_alone()
    target.ask("library 7")
    trace.until_alone()
    target.ask("library 3")
    got = trace.end()
    want(trace, got, list(range(40)))
    if len(re.findall(r"\bcbrt: ", trace.out)) != 10 or int(trace.stat("let_go")) < 2:
        fail(f"hits in the library that came again:\n{trace.err}\n{trace.out}")
    target.end()


def follows():
    """It is traced while it makes a process, which is traced, let go of, makes another ... and each executes a program."""
    target = Target("let_go")
    trace = Trace(target, "--follow", *PROBE)
    target.ask("call 2 1")
    target.ask("thread 2 3")
    if target.tracer():
        fail("a thread was followed")
    target.ask("fork 300 5", "7")
    trace.until_alone()
    target.ask("fork 300 305", "7")
    trace.until_alone()
    target.ask("exec", "ready")
    target.ask("fork 300 605", "7")
    want(trace, trace.end(), [1, 2, 3, 4, *range(5, 905)])
    target.end()


def follows_pointers():
    """Of several strings one is no address."""
    if FIXTURES.endswith("32"):
        stays("a probe follows pointers", probe=("-e", FOLLOWS))
        return
    target = Target("let_go")
    trace = Trace(target, "-e", FOLLOWS)
    target.ask("call 2 1")
    want(trace, trace.end(), [1, 2])
    if trace.out.count(' s="text" none=(fault) s_again="text"') != 2:
        fail(f"no strings: {trace.out}")
    target.end()


def traced_by_another():
    target = Target("let_go")
    trace = Trace(target, *PROBE)
    ptrace(PTRACE_SEIZE, target.p.pid)
    target.ask("call 2 1")
    # It asks for uprobe, which cannot come.
    target.ask("open 0 0")
    got = trace.end(status=1)
    want(trace, got, [1, 2])
    if "cannot be traced now" not in trace.err:
        fail(f"nothing is said of it: {trace.err}")
    # What stays does nothing.
    target.ask("call 2 1")
    ptrace(PTRACE_INTERRUPT, target.p.pid)
    os.waitpid(target.p.pid, os.WUNTRACED)
    ptrace(PTRACE_DETACH, target.p.pid)
    trace = Trace(target, *PROBE)
    target.ask("call 2 3")
    want(trace, trace.end(), [3, 4])
    target.end()


def code_of(pid):
    """What it executes of files, by where that lies."""
    code = {}
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            words = line.split()
            if "x" in words[1] and len(words) == 6 and words[5].startswith("/") and "memfd:ubp" not in line:
                start, end = (int(word, 16) for word in words[0].split("-"))
                mem.seek(start)
                code[start] = mem.read(end - start)
    return code


def killed():
    """Nothing in the target changes by that. The next one records by what stands there, and takes it out when it ends."""
    target = Target("let_go")
    before = code_of(target.p.pid)
    trace = Trace(target, *PROBE)
    target.ask("call 2 1")
    planted = code_of(target.p.pid)
    trace.p.kill()
    trace.p.wait()
    target.ask("call 2 1")
    target.ask("fork 3 3", "7")
    target.ask("trap", "1")
    if code_of(target.p.pid) != planted or planted == before or target.tracer():
        fail("something changes where ubp is killed")
    trace = Trace(target, *PROBE)
    target.ask("call 2 3")
    want(trace, trace.end(), [3, 4])
    target.ask("call 2 5")
    after = code_of(target.p.pid)
    for at, code in before.items():
        # A stub may stay, in the zeros behind a library's code.
        differs = [i for i, (a, b) in enumerate(zip(code, after[at])) if a != b]
        if any(code[i] for i in differs):
            fail(f"at {at + differs[0]:#x} it does not execute what it did before")
    target.end()


def killed_while_alone():
    """The next one traces it: what needs a tracer then, as a full ring of --lossless does, is not left out as if nobody did."""
    target = Target("let_go")
    trace = Trace(target, *PROBE)
    target.ask("call 2 1")
    trace.p.kill()
    trace.p.wait()
    trace = Trace(target, "--lossless", "-o", "out.txt", *PROBE, lets_go=False)
    target.ask("call 200000 1")
    trace.end()
    with open("out.txt", encoding="utf-8") as f:
        got = [int(a) for a in re.findall(r" a=(-?\d+)", f.read())]
    if got != list(range(1, 200001)):
        fail(f"of 200000 {len(got)} are told: {trace.err}")
    target.end()


def target_dies():
    target = Target("let_go")
    trace = Trace(target, *PROBE)
    target.ask("call 5 1")
    target.p.kill()
    target.p.wait()
    want(trace, trace.end(signal=None), [1, 2, 3, 4, 5])


def stays(why, *args, probe=PROBE, first=None):
    """For a reason, which is told once somebody has looked."""
    target = Target("let_go")
    if first:
        target.ask(first)
    n = 1

    def tells():
        nonlocal n
        trace = Trace(target, *args, *probe, lets_go=False)
        for _ in range(n):
            target.ask("call 3 1")
        n *= 2
        if not target.tracer():
            fail(f"let go, though {why}")
        trace.end()
        return why in trace.err
    until(f"the reason '{why}'", tells)
    target.end()


what_it_does()
shares_its_memory()
has_more_threads_than_rings()
grows()
executes()
# Another container's, whose memory nobody trusts to answer.
if subprocess.run(["unshare", "-Ur", "true"], check=False).returncode == 0:
    executes("unshare", "-Ur")
else:
    print("no user namespace can be had: not tried with a stranger")
loads_a_library()
loads_a_library("--follow")
unloads_a_library()
follows()
follows_pointers()
traced_by_another()
killed()
killed_while_alone()
target_dies()
stays("it is to stay so", "--stay")
stays("a full ring is to stop it", "--lossless")
stays("its threads may not read the clock", first="no_ticks")
stays("not all of its places are jumps", "--mode", "trap")
stays("stacks are read", "--stack=fp")
stays("a probe asks for the thread's name", probe=(PROBE[1], 'a > 0 && comm == "let_go"'))
print("ok")
