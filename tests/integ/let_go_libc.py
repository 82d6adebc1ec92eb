#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""All functions of libc in a program that makes processes: each place is a jump, so nobody traces it meanwhile; what it executes and how it makes
processes is probed, too, where uprobe itself has to know of that. The same hits are told as with --stay."""

import collections
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import Target, Trace, fail, until  # noqa: E402

N = 20
TRUE = shutil.which("true")
PROGRAM = f"""
import os, subprocess, sys
print("ready", flush=True)
for line in sys.stdin:
    if line == "execve\\n": # vfork() and execve()
        for _ in range({N}):
            subprocess.run([{TRUE!r}], check=True)
    elif line == "fork\\n":
        for _ in range({N}):
            if os.fork() == 0:
                os.execve({TRUE!r}, ["true"], {{}})
            os.wait()
    elif line == "execveat\\n":
        for _ in range({N}):
            if os.fork() == 0:
                fd = os.open({TRUE!r}, os.O_RDONLY)
                os.execve(fd, ["true"], {{}})
            os.wait()
    elif line == "spawn\\n": # with all signals blocked
        for _ in range({N}):
            os.waitpid(os.posix_spawn({TRUE!r}, ["true"], {{}}), 0)
    print("done", flush=True)
"""
NAMES = ("vfork", "__vfork", "execve", "execveat", "fexecve", "fork", "__libc_fork", "posix_spawn")


class Python(Target):
    def __init__(self):
        # Not what PATH has for it, which may be a script.
        self.p = subprocess.Popen([os.path.realpath(sys.executable), "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  bufsize=1)
        self.expect("ready")


def hits(out):
    return collections.Counter(name for name in re.findall(r" (\w+): \(", out) if name in NAMES)


def run(*args, stays=False):
    target = Python()
    trace = Trace(target, *args, lets_go=not stays)
    for line in ("execve", "fork", "execveat", "spawn"):
        target.ask(line)
        if not stays:
            until("let go again", lambda: target.tracer() == 0)
    target.end()
    trace.end(signal=None)
    if trace.stat("lost") not in (None, "0"):
        fail(trace.err)
    return trace


def in_time(*args):
    """On a machine with much other load the tracer may come too late, which it says then: that is no comparison."""
    for _ in range(5):
        trace = run(*args)
        if "could not be traced again in time" not in trace.err:
            break
    return trace


def few(follow):
    args = [*follow, "-e", "p:libc:*fork", "-e", "p:libc:execve*", "-e", "p:libc:posix_spawn"]
    want, got = hits(run(*args, "--stay", stays=True).out), hits(in_time(*args).out)
    if got != want or want["__vfork"] < N or want["posix_spawn"] < N or (follow and want["execve"] < 3 * N):
        fail(f"{follow}: with --stay {want}, else {got}")


def all_of_libc():
    """A place that is no jump would be the reason to trace it."""
    trace = run("-o", "events.txt", "p:libc:*", "--filter", "common_pid == 0")
    made = re.findall(r" sites=(\d+) jumps=(\d+) ", trace.err)
    sites, jumps = (sum(int(m[i]) for m in made) for i in (0, 1))
    if sites < 1000 or jumps < sites:
        fail(f"p: {jumps} jumps of {sites}\n" + "\n".join(re.findall(r".* jumps=0 .*", trace.err)[:9]))


def returns():
    """Those that are caught at instructions keep it traced; there is room for the others' detours."""
    target = Python()
    trace = Trace(target, "-o", "events.txt", "r:libc:*", "--filter", "common_pid == 0", lets_go=False)
    for _ in range(3):
        target.ask("execve")
    target.end()
    trace.end(signal=None)
    full = re.findall(r".*area is full.*", trace.err)
    made = re.findall(r" sites=(\d+) jumps=(\d+) ", trace.err)
    sites, jumps = (sum(int(m[i]) for m in made) for i in (0, 1))
    if full or sites < 1000 or jumps < sites - sites // 100:
        fail(f"r: {jumps} jumps of {sites}\n" + "\n".join(full[:3]))


few([])
few(["--follow"])
all_of_libc()
returns()
print("ok")
