# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""20,000 places of a running program, which are planted in pieces (engine/plant/plant_ahead.c): all of them count; children that are
born between two pieces have them all; uprobe is killed, or cannot write, in between, and the program goes on, all or nothing stays,
and the next session leaves the code as it was."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "torture", "lib"))
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from failat import FailAt  # noqa: E402
from killat import KillAt  # noqa: E402

UPROBE, TARGET = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "many_functions")
WAIT = int(os.environ.get("TIMEOUT", "60"))
SLOWER = int(os.environ.get("UBP_SLOWER", "1"))
N = 20000
ALL = f"p:{TARGET}:f[12]????"
KILLS = (12 if os.environ.get("UBP_ALL") else 6) // SLOWER or 1
FAILS = 12 // SLOWER or 1
CHILDREN = 60


class Target:
    def __init__(self, threads, children=0):
        self.p = subprocess.Popen([TARGET, str(threads), str(children)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, bufsize=1)
        self.heard()

    def heard(self):
        line = self.p.stdout.readline().strip()
        if not line:
            sys.exit(f"the target ended with {self.p.wait(timeout=WAIT)}")
        return line

    def ask(self, line):
        self.p.stdin.write(line + "\n")
        return self.heard()

    def end(self):
        self.p.stdin.write("end\n")
        if self.p.wait(timeout=WAIT):
            sys.exit(f"the target ended with {self.p.returncode}")

    def clean(self, what):
        """The next session takes out what is left."""
        p = subprocess.run([UPROBE, "-d", "0.01", "-p", str(self.p.pid), "-e", f"p:{TARGET}:f10000"],
                           capture_output=True, text=True, timeout=WAIT, check=False)
        if p.returncode:
            sys.exit(f"{what}: the next session ended with {p.returncode}: {p.stderr}")
        if self.ask("bytes") != "same":
            sys.exit(f"{what}: something stays")


def loader(target):
    with open(f"/proc/{target.p.pid}/maps", encoding="utf-8") as f:
        return re.search(r"/(ld-[^/\n]*)\n", f.read())[1]


def start(target, *args, env=None):
    return tracer.start("-p", str(target.p.pid), "-e", ALL, *args, env={**os.environ, **(env or {})},
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stopped(p, status=0):
    p.terminate()
    out, err = p.communicate(timeout=WAIT)
    if p.returncode != status:
        sys.exit(f"uprobe ended with {p.returncode}: {err[-2000:]}")
    return out, err


def counted(threads):
    """With one thread nobody has to be waited for. What the loader calls is watched by uprobe itself, too, and comes last."""
    target = Target(threads)
    target.ask("bytes")
    p, is_ready = start(target, "--stats", "--lossless", "-o", "/dev/null", "-e", f"p:{loader(target)}:_dl_debug_state")
    if not is_ready or target.ask("once") != "called":
        sys.exit(f"not ready: {p.communicate(timeout=WAIT)[1][-2000:]}")
    _, err = stopped(p)
    hits = [int(n) for n in re.findall(r"/f[12]\d{4} hits=(\d+)", err)]
    if not re.search(r"/_dl_debug_state .* sites=1 ", err):
        sys.exit(f"_dl_debug_state() is not planted: {err[-2000:]}")
    planted = len(re.findall(r"/f[12]\d{4} .* sites=1 ", err))
    if planted != N or len(hits) != N or (max(hits) != 1 and not threads) or min(hits) < 1:
        sys.exit(f"{threads} threads: {planted} places, {len(hits)} counts of {min(hits)} to {max(hits)}")
    if target.ask("bytes") != "same":
        sys.exit("something stays")
    target.end()


def followed():
    """Those that were traced when they were born have the first place, and the last."""
    target = Target(0, CHILDREN)
    p, is_ready = start(target, "--follow", "--lossless")
    if not is_ready:
        sys.exit(f"not ready: {p.communicate(timeout=WAIT)[1][-2000:]}")
    traced = int(target.ask("children").split()[1])
    out, _ = stopped(p)
    for f in "f10000", "f29999":
        if out.count(f" {f}: ") != traced:
            sys.exit(f"{traced} children were traced, and {f} was seen {out.count(f' {f}: ')} times")
    target.end()
    return traced


def killed(target):
    """Before some of the calls that change something, until all stand as breakpoints, and some hits."""
    killat = KillAt()
    killat.arm(KillAt.ATTACH, 0, changes=True)
    p, is_ready = start(target, "--mode", "trap", "-o", "/dev/null", env=killat.env)
    n = killat.counts()[KillAt.ATTACH]
    if not is_ready or n < KILLS:
        sys.exit(f"{n} calls while attaching")
    stopped(p)
    for i in range(KILLS):
        killat.arm(KillAt.ATTACH, 1 + i * n // KILLS, changes=True)
        p, _ = start(target, "--mode", "trap", "-o", "/dev/null", env=killat.env)
        err = p.communicate(timeout=WAIT)[1]
        what = f"killed before call {1 + i * n // KILLS} of {n}"
        if p.returncode != -9:
            sys.exit(f"{what}: it ended with {p.returncode}: {err[-2000:]}")
        if target.ask("once") != "called":
            sys.exit(f"{what}: it does not go on")
    target.clean("killed")
    return n


def failed(target, n):
    """Something cannot be written for a while, of @n calls: nothing stays of the pieces before."""
    failat, n_failed = FailAt(), 0
    for i in range(FAILS):
        failat.arm(FailAt.ATTACH, 1 + i * n // FAILS, ["poke"], times=20)
        p, is_ready = start(target, "--mode", "trap", "-o", "/dev/null", env=failat.env)
        if is_ready:
            p.terminate()
        err = p.communicate(timeout=WAIT)[1]
        what = f"write {1 + i * n // FAILS} failed"
        if p.returncode not in ((0, 1) if is_ready else (1,)) or not err:
            sys.exit(f"{what}: it ended with {p.returncode}: {err[-2000:]}")
        n_failed += not is_ready
        # It may have failed where something was to be taken out.
        if "could not be taken out" in err:
            target.clean(what)
        if target.ask("bytes") != "same" or target.ask("once") != "called":
            sys.exit(f"{what}: something stays")
    return n_failed


def main():
    counted(0)
    counted(2)
    traced = sum(followed() for _ in range(3))
    target = Target(2)
    n = killed(target)
    n_failed = failed(target, n)
    target.end()
    print(f"{traced} children traced, killed before {KILLS} of {n} calls, {n_failed} of {FAILS} times refused")
    return 0 if traced and n_failed else 1


sys.exit(main())
