# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--control and -D: a program has its probes switched 2000 times beside 100,000 hits, and is stopped for none of it. It
switches them itself and awaits the answers, so it is known which hits have to be told: all of these are, and no other."""

import collections
import os
import re
import select
import signal
import subprocess
import sys
import time

UPROBE, FIXTURES = os.environ["UPROBE"], os.environ["FIXTURES"]
WAIT, SLOWER = int(os.environ.get("TIMEOUT", "60")), int(os.environ.get("UBP_SLOWER", "1"))
TARGET = os.path.join(FIXTURES, "toggled")
ARM = os.uname().machine == "aarch64"
ARG = "%x0" if ARM else "%di"
RETURNS = ("-e", f"r:t/back {TARGET}:inner v=$retval:s64", "-e", f"r:t/held {TARGET}:held v=$retval:s64")
ALL = ("-e", f"p:t/in {TARGET}:inner a={ARG}:s64", "-e", f"r:t/beside {TARGET}:beside v=$retval:s64", *RETURNS)


def fail(why):
    sys.exit(f"control.py: {why}")


class Target:
    def __init__(self):
        for name in ("ctl", "ack"):
            if os.path.exists(name):
                os.unlink(name)
            os.mkfifo(name)
        self.p = subprocess.Popen([TARGET, "ctl", "ack"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")

    def expect(self, answer):
        got = self.p.stdout.readline().strip()
        if got != answer:
            fail(f"the target said '{got}' in place of '{answer}' (status {self.p.poll()})")

    def ask(self, line):
        self.p.stdin.write(line + "\n")
        self.expect("done")

    def tracer(self):
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            return int(re.search(r"TracerPid:\s*(\d+)", f.read()).group(1))

    def end(self):
        self.p.stdin.close()
        if self.p.wait(timeout=WAIT) != 0:
            fail(f"the target ended with {self.p.returncode}")


class Trace:
    """uprobe, which has begun."""

    def __init__(self, target, *args, pass_fds=()):
        read_end, write_end = os.pipe()
        argv = [UPROBE, "--stats", "--ready-fd", str(write_end), "-p", str(target.p.pid), *args]
        self.out = self.err = ""
        with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
            self.p = subprocess.Popen(argv, pass_fds=[write_end, *pass_fds], stdout=out, stderr=err)
        os.close(write_end)
        if os.read(read_end, 6) != b"ready\n":
            fail(f"uprobe did not begin: {open('err.txt', encoding='utf-8').read()}")
        os.close(read_end)

    def end(self, sig=signal.SIGINT, status=0):
        if sig:
            self.p.send_signal(sig)
        self.p.wait(timeout=WAIT)
        with open("out.txt", encoding="utf-8") as out, open("err.txt", encoding="utf-8") as err:
            self.out, self.err = out.read(), err.read()
        if self.p.returncode != status:
            fail(f"uprobe ended with {self.p.returncode}: {self.err}")

    def values(self, event):
        return [int(v) for v in re.findall(rf" {event}: .* [av]=(-?\d+)", self.out)]


def acked(ack, n):
    """All answers that have to come; that they never do is the failure."""
    got = b""
    while len(got) < 4 * n:
        if not select.select([ack], [], [], WAIT)[0]:
            fail(f"answers: {got}, {n} expected")
        got += os.read(ack.fileno(), 4 * n - len(got))
    if got != b"ack\n" * n:
        fail(f"answers: {got}")


def same(what, trace, got, want):
    if got != want:
        wrong = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        fail(f"{what}: {len(got)} of {len(want)} values; the first that differ: {got[wrong:wrong + 5]}, "
             f"expected {want[wrong:wrong + 5]}\n{trace.err}")


FROM = -1000000  # of what comes before the storm that is looked at: its values are negative


def check_storm(trace, rounds, n):
    each = [range(r * n, (r + 1) * n) for r in range(rounds)]
    same("in", trace, [v for v in trace.values("in") if v >= 0], [v for r in range(rounds) if r & 1 for v in each[r]])
    same("back", trace, [v for v in trace.values("back") if v > 0], [v + 1 for r in range(rounds) if r & 2 for v in each[r]])
    # Threads that run while their event is switched: whatever is told has been, once in each of the two.
    beside = [v for v in trace.values("beside") if v > 1]
    if not beside or max(beside) >= rounds * (n // 10) + 2 or max(collections.Counter(beside).values()) > 2:
        fail(f"beside: {beside[:20]}")
    # Of both times: on at the entry and at the return.
    same("held", trace, trace.values("held"), [3, 3])
    for name in ("lost", "missed", "ring_lost"):
        if set(re.findall(rf"\b{name}=(\d+)", trace.err)) != {"0"}:
            fail(f"{name}:\n{trace.err}")


def storm(rounds, n, *args, lets_go=False):
    target = Target()
    # Rings take all that comes between two looks at them.
    trace = Trace(target, "--buffer-size", "65536", "--control", "fifo:ctl,ack", *args, *ALL)
    end = time.monotonic() + WAIT
    target.ask("inside")
    target.ask(f"storm {FROM} 4 10")
    while lets_go and target.tracer():
        # A return probe becomes a jump once it was hit.
        target.ask(f"storm {FROM} 4 10")
        if time.monotonic() > end:
            trace.end()
            fail(f"not let go of\n{trace.err}")
    target.ask("inside")
    target.ask(f"storm 0 {rounds} {n}")
    if (target.tracer() == 0) != lets_go:
        fail("somebody traces it again" if lets_go else "nobody traces it")
    trace.end()
    target.end()
    check_storm(trace, rounds, n)
    # Only a tracer stops threads, and there was none since.
    if lets_go and not re.search(r"\blet_go=1\b", trace.err):
        fail(f"it was taken back:\n{trace.err}")


def delays():
    """-D -1: nothing is told before "enable"; and -D 1: all that comes behind that is, in the end."""
    target = Target()
    trace = Trace(target, "-D", "-1", "--control", "fifo:ctl,ack", *ALL)
    target.ask("call 5")
    with open("ctl", "wb", buffering=0) as ctl, open("ack", "rb", buffering=0) as ack:
        ctl.write(b"ping\nenable t:in\n")
        acked(ack, 2)
        target.ask("call 2")
        ctl.write(b"stop\n")
        acked(ack, 1)
    trace.end(sig=None)
    same("-D -1", trace, [*trace.values("in"), *trace.values("back")], [-1, -1])
    trace = Trace(target, "-D", "1", "-n", "3", *ALL)
    while trace.p.poll() is None:
        target.ask("call 1")
    trace.end(sig=None)
    if len(re.findall(r" (in|back): ", trace.out)) != 3:
        fail(f"-D 1: {trace.out}")
    target.end()


BAD = [b"enabled\n", b"snapshot\n", b"ping pong\n", b"x" * 5000 + b"\n", b"\xff\x01\n"]


def bad_commands():
    """Each is one line on standard error, and tracing goes on; who gives one that perf answers is answered."""
    target = Target()
    trace = Trace(target, "--control", "fifo:ctl,ack", *ALL)
    with open("ctl", "wb", buffering=0) as ctl, open("ack", "rb", buffering=0) as ack:
        for command in BAD:
            ctl.write(command)
        ctl.write(b"\n  \n disable nosuch \nenable a b\ndis")
        ctl.write(b"able t/*\r\n\0ping")
        ctl.write(b"\0")
        acked(ack, 4)
        target.ask("call 1")
        ctl.write(b"enable\n")
        acked(ack, 1)
    target.ask("call 2")
    trace.end()
    same("in", trace, trace.values("in"), [-1, -1])
    said = [line for line in trace.err.splitlines() if "--control" in line]
    if len(said) != len(BAD) + 2 or "nosuch" not in said[-2] or "takes one event" not in said[-1] or "'snapshot' is no command" not in said[1]:
        fail(f"said: {said}")
    target.end()


def descriptors():
    """fd:CTL,ACK; whoever gives no more commands closes the pipe, and tracing goes on."""
    target = Target()
    ctl_read, ctl_write = os.pipe()
    ack_read, ack_write = os.pipe()
    trace = Trace(target, "--control", f"fd:{ctl_read},{ack_write}", *ALL, pass_fds=[ctl_read, ack_write])
    os.close(ctl_read)
    os.close(ack_write)
    os.write(ctl_write, b"disable back\n")
    if os.read(ack_read, 16) != b"ack\n":
        fail("no answer by a descriptor")
    os.close(ctl_write)
    target.ask("call 3")
    trace.end()
    os.close(ack_read)
    same("fd", trace, [*trace.values("in"), *trace.values("back")], [-1] * 3)
    target.end()


def nobody_reads():
    """Answers that nobody reads keep nobody waiting."""
    target = Target()
    trace = Trace(target, "--control", "fifo:ctl,ack", *ALL)
    with open("ctl", "wb", buffering=0) as ctl:
        for _ in range(20000 // SLOWER):
            ctl.write(b"ping\n")
        ctl.write(b"disable\nstop\n")
    trace.end(sig=None)
    target.end()


def refused():
    rows = (("fifo:", "--control takes"), ("ctl", "--control takes"), ("fifo:a,", "--control takes"), ("fd:x", "--control takes"),
            ("fifo:nosuch", "No such file"), ("fifo:/dev/null", "is no FIFO"), ("fd:77", "descriptor 77"), (None, "-D -1 takes --control"))
    for spec, text in rows:
        how = ["--control", spec] if spec else ["-D", "-1"]
        done = subprocess.run([UPROBE, *how, *ALL], capture_output=True, text=True, timeout=WAIT, check=False)
        if done.returncode == 0 or text not in done.stderr or done.stdout:
            fail(f"{how}: {done}")


refused()
delays()
bad_commands()
descriptors()
nobody_reads()
storm(40, 100 // SLOWER + 10, "--mode", "trap")
storm(1000 // SLOWER, 100, "--stay", "--mode", "jump")
if os.uname().machine == "x86_64" and "UBP_STAY" not in os.environ:
    storm(1000 // SLOWER, 100, lets_go=True)
