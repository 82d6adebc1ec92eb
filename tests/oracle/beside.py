# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The kernel's uprobes and ubp's jumps on the same functions at the same time, which begin with
instructions of all lengths: whoever comes first, comes again, leaves or is killed, the program
computes what it computes, and both see each call."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fixtures/beside.c")
with open(FIXTURE, encoding="utf-8") as source:
    # Functions, and what each adds to its argument.
    PLUS = {m[0]: int(m[1]) for m in re.findall(r"^\tX\((\w+), (\d+)\)", source.read(), re.M)}
NAMES = list(PLUS)
bad = []


def fail(text):
    bad.append(text)
    print("  " + text)


class Target:
    """The fixture, its workers and its errands."""

    def __init__(self, path, workers):
        self.path = path
        # What stores into memory has no jump beside the kernel's for those who ask for memory,
        # where arguments are.
        self.names = [n for n in NAMES if n != "store10" or "fixtures32" not in path]
        self.process = subprocess.Popen([path, str(workers)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.next = 1
        self.answer()

    def is_changed(self, name):
        """Does something else than in the file stand at its first byte?"""
        offset = oracle.Elf(self.path).symbols[name][0]
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as f:
            for line in f:
                m = re.match(r"(\w+)-(\w+) r-xp (\w+) .*" + re.escape(self.path), line)
                if m and int(m[3], 16) <= offset < int(m[3], 16) + int(m[2], 16) - int(m[1], 16):
                    at = int(m[1], 16) + offset - int(m[3], 16)
        with open(f"/proc/{self.process.pid}/mem", "rb", buffering=0) as memory, open(self.path, "rb") as f:
            memory.seek(at)
            f.seek(offset)
            return memory.read(1) != f.read(1)

    def answer(self):
        if not select.select([self.process.stdout], [], [], oracle.TIMEOUT)[0]:
            raise TimeoutError("the program does not answer")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the program has ended with {self.process.wait()}")

    def tell(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        self.answer()

    def calls(self, n):
        """Each function with N numbers that are new. Returns them."""
        first, self.next = self.next, self.next + n
        self.tell(f"calls {first} {n}")
        self.tell("check")
        return set(range(first, first + n))

    def end(self):
        self.process.stdin.write(b"end\n")
        self.process.stdin.flush()
        status = self.process.wait(oracle.TIMEOUT)
        if status:
            fail(f"the program ended with {status}")

    def kill(self):
        self.process.kill()
        self.process.wait()


def definition(kind, group, path, name):
    return oracle.resolve(text(kind, path, name), group)


def text(kind, path, name):
    bits = 32 if "fixtures32" in path else 64
    if kind == "r":
        return f"r:{name} {path}:{name} n=$retval:s{bits}"
    if name == "store10":
        return f"p:{name} {path}:{name} sp=%sp n=%di:s64"
    return f"p:{name} {path}:{name} sp=%sp " + (
        "n=+4(%sp):s32" if bits == 32 else "n=%di:s64 top=$stack0:x64")


class Ubp:
    """uprobe on the target, from when it is ready."""

    count = 0

    def __init__(self, target, kind, *options):
        Ubp.count += 1
        self.out = os.path.abspath(f"ubp{Ubp.count}.out")
        self.names = target.names
        read_end, write_end = os.pipe()
        cmd = [oracle.UPROBE, "--lossless", "--stats", "-p", str(target.process.pid), "-o", self.out,
               "--ready-fd", str(write_end), *options]
        for name in self.names:
            cmd += ["-e", definition(kind, "ubp", target.path, name), "--filter", "n > 0"]
        self.err = open(f"{self.out}.err", "w+b")
        self.process = subprocess.Popen(cmd, pass_fds=[write_end], stderr=self.err)
        os.close(write_end)
        with os.fdopen(read_end) as f:
            self.started = select.select([f], [], [], oracle.TIMEOUT)[0] and f.readline() == "ready\n"
        if not self.started:
            self.process.wait(oracle.TIMEOUT)
            fail(f"uprobe does not start: {self.text()}")

    def text(self):
        self.err.seek(0)
        return self.err.read().decode(errors="replace")

    def end(self, sig=signal.SIGINT):
        """What it has recorded of known calls, and its statistics."""
        self.process.send_signal(sig)
        self.process.wait(oracle.TIMEOUT)
        if sig == signal.SIGINT and self.process.returncode:
            fail(f"uprobe ended with {self.process.returncode}: {self.text()}")
        with open(self.out, "rb") as f:
            events = oracle.parse(f.read())[0]
        return [e for e in events if value(e) > 0], \
            [oracle.Stats(m) for m in oracle.STATS.finditer(self.text().encode())]


def value(event):
    m = re.search(rb" n=(-?\d+)", event.text if isinstance(event.text, bytes) else event.text.encode())
    return int(m.group(1)) if m else 0


class Kernel:
    """The kernel's uprobes on the same places, in all processes."""

    def __init__(self, kind, target):
        self.kernel = oracle.Kernel()
        self.group, names = self.kernel.group, target.names
        self.kernel.define([definition(kind, self.group, target.path, n)
                            for n in names])
        for n in names:
            oracle.write(f"{self.kernel.dir}/events/{self.group}/{n}/filter", "n > 0")

    def switch(self, on):
        self.kernel.switch(on)

    def end(self):
        self.switch(False)
        events = oracle.parse(self.kernel.trace())[0]
        oracle.remove(self.group)
        return events


def text_of(event, kind):
    """Where it returns to the kernel knows alone, if it has replaced that."""
    return event.name, re.sub(rb"\(0x[0-9a-f]+ <- ", b"(", event.text) if kind == "r" else event.text


def has_all(who, events, names, numbers, kind, plus):
    """Each call with NUMBERS once, and no other. PLUS: what each function adds."""
    for name in names:
        add = plus[name] if kind == "r" else 0
        got = sorted(value(e) - add for e in events if e.name == name)
        if got != sorted(numbers):
            fail(f"{who}: {name}: {len(got)} events of {len(numbers)} calls: "
                 f"missing {sorted(set(numbers) - set(got))[:5]}, more {sorted(set(got) - set(numbers))[:5]}, "
                 f"{len(got) - len(set(got))} twice")


def equal(kernels, ubps, both, kind, plus):
    """Of the calls with numbers in BOTH, the same text."""
    def seen(events):
        return sorted(text_of(e, kind) for e in events
                      if value(e) - (plus[e.name] if kind == "r" else 0) in both)
    a, b = seen(kernels), seen(ubps)
    for x, y in zip(a, b):
        if x != y:
            fail(f"the kernel has {x}, ubp {y}")
            break
    if len(a) != len(b) or not a:
        fail(f"{len(a)} events of the kernel's, {len(b)} of ubp's")


def jumps(stats, names):
    if len(stats) != len(names):
        fail(f"statistics of {len(stats)} probes")
    for s in stats:
        if s.jumps != 1:
            fail(f"{s.name} is no jump: {s.why}")


# --- the orders --------------------------------------------------------------

N = 10


def ubp_first(target, kind, plus):
    """It comes and goes, and comes again, while ubp's jumps stand."""
    ubp, both, all_ = Ubp(target, kind), set(), set()
    all_ |= target.calls(N)
    kernel = Kernel(kind, target)
    for _ in range(3):
        kernel.switch(True)
        both |= target.calls(N)
        kernel.switch(False)
        all_ |= target.calls(N)
    all_ |= both
    kernels = kernel.end()
    ubps, stats = ubp.end()
    all_after = target.calls(N)
    del all_after
    jumps(stats, target.names)
    has_all("kernel", kernels, target.names, both, kind, plus)
    has_all("ubp", ubps, target.names, all_, kind, plus)
    equal(kernels, ubps, both, kind, plus)


def kernel_first(target, kind, plus):
    """ubp plants beside it, stays when it goes, is there when it comes again, leaves."""
    kernel = Kernel(kind, target)
    kernel.switch(True)
    alone = target.calls(N)
    ubp = Ubp(target, kind)
    both = target.calls(N)
    kernel.switch(False)
    ours = target.calls(N)
    kernel.switch(True)
    both |= target.calls(N)
    ubps, stats = ubp.end()
    alone |= target.calls(N)
    kernels = kernel.end()
    target.calls(N)
    jumps(stats, target.names)
    has_all("kernel", kernels, target.names, alone | both, kind, plus)
    has_all("ubp", ubps, target.names, both | ours, kind, plus)
    equal(kernels, ubps, both, kind, plus)


def killed(target, kind, plus):
    """ubp is killed while the kernel's stand, another comes beside them, they go, it goes."""
    kernel = Kernel(kind, target)
    Ubp(target, kind).end(signal.SIGKILL)
    kernel.switch(True)
    alone = target.calls(N)
    ubp = Ubp(target, kind)
    both = target.calls(N)
    ubp.end(signal.SIGKILL)
    alone |= target.calls(N)
    kernel.switch(False)
    target.calls(N)
    ubp = Ubp(target, kind)
    ours = target.calls(N)
    kernel.switch(True)
    late = target.calls(N)
    kernels = kernel.end()
    ours |= target.calls(N)
    ubps, stats = ubp.end()
    target.calls(N)
    jumps(stats, target.names)
    has_all("kernel", kernels, target.names, alone | both | late, kind, plus)
    has_all("ubp", ubps, target.names, ours | late, kind, plus)
    equal(kernels, ubps, late, kind, plus)


def by_perf(target, kind, plus):
    """perf comes, and is killed; what it has recorded is not looked at."""
    perf = shutil.which("perf")
    if not perf:
        print("  (no perf here)")
        return
    group = f"ubp_oracle_{os.getpid()}"
    ubp = Ubp(target, kind)
    ours = target.calls(N)
    for name in target.names:
        oracle.write(f"{oracle.TRACEFS}/uprobe_events",
                     definition(kind, group, target.path, name) + "\n")
    for sig in signal.SIGKILL, signal.SIGINT:
        events = [x for n in target.names for x in ("-e", f"{group}:{n}", "--filter", "n > 0")]
        cmd = [perf, "record", "-q", "-o", "perf.data", "-p", str(target.process.pid), *events]
        record = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not all(target.is_changed(n) for n in target.names):
            if record.poll() is not None:
                fail(f"perf ended: {record.stderr.read()!r}")
                break
            ours |= target.calls(1)
        ours |= target.calls(N)
        record.send_signal(sig)
        record.wait(oracle.TIMEOUT)
        ours |= target.calls(N)
    oracle.remove(group)
    ubps, stats = ubp.end()
    target.calls(N)
    jumps(stats, target.names)
    has_all("ubp", ubps, target.names, ours, kind, plus)


def run(path, workers):
    for kind in sys.argv[1] if len(sys.argv) > 1 else "pr":
        for order in ubp_first, kernel_first, killed, by_perf:
            target = Target(path, workers)
            before = len(bad)
            try:
                order(target, kind, PLUS)
                target.end()
            except (RuntimeError, TimeoutError, BrokenPipeError) as e:
                fail(f"{e}")
                target.kill()
                oracle.remove(f"ubp_oracle_{os.getpid()}")
            print(f"{'differs' if len(bad) > before else 'equal'}: {path[-40:]} {workers} workers, "
                  f"{'entries' if kind == 'p' else 'returns'}, {order.__name__}")
            sys.stdout.flush()


if __name__ == "__main__":
    oracle.mount_tracefs()
    run(oracle.fixture("beside"), 2)
    other = os.path.join(os.path.dirname(oracle.FIXTURES.rstrip("/")), "fixtures32/beside")
    if os.path.exists(other):
        run(other, 1)
    sys.exit(1 if bad else 0)
