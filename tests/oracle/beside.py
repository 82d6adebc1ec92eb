# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The kernel's uprobes and ubp's jumps on the same functions at the same time, which begin with
instructions of all lengths: whoever comes first, comes again, leaves or is killed, the program
computes what it computes, and both see each call."""

import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
import together  # noqa: E402
from together import bad, fail  # noqa: E402

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fixtures/beside.c")
with open(FIXTURE, encoding="utf-8") as source:
    # Functions, and what each adds to its argument.
    PLUS = {m[0]: int(m[1]) for m in re.findall(r"^\tX\((\w+), (\d+)\)", source.read(), re.M)}
SITES = [name for name in PLUS if name.startswith("site")]
NAMES = [name for name in PLUS if name not in SITES]
USDT = os.environ["USDT"]
KINDS = {"p": "entries", "r": "returns", "s": "static probes"}


class Target(together.Target):
    """The fixture, its workers and its errands."""

    def __init__(self, path, workers, kind):
        super().__init__(path, str(workers))
        # A first instruction that stores into memory has no jump behind it for a probe that reads memory, and
        # 32-bit programs have their arguments there.
        self.names = [n for n in NAMES if n != "store10" or "fixtures32" not in path]
        if kind == "s":
            self.names = SITES

    def is_changed(self, name):
        """Does something else than in the file stand at its first byte?"""
        offset = oracle.Elf(self.path).symbols[name + "_at" if name in self.names and self.names == SITES else name][0]
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as f:
            for line in f:
                m = re.match(r"(\w+)-(\w+) r-xp (\w+) .*" + re.escape(self.path), line)
                if m and int(m[3], 16) <= offset < int(m[3], 16) + int(m[2], 16) - int(m[1], 16):
                    at = int(m[1], 16) + offset - int(m[3], 16)
        with open(f"/proc/{self.process.pid}/mem", "rb", buffering=0) as memory, open(self.path, "rb") as f:
            memory.seek(at)
            f.seek(offset)
            return memory.read(1) != f.read(1)

    def calls(self, n):
        """Each function with N numbers that are new. Returns them."""
        numbers = self.numbers(n)
        self.tell(f"calls {numbers[0]} {n}")
        self.tell("check")
        return set(numbers)


def definition(kind, group, path, name):
    return oracle.resolve(text(kind, path, name), group)


def text(kind, path, name):
    bits = 32 if "fixtures32" in path else 64
    if kind == "s":
        return f"p:{name} {path}:{name}_at n=%bx:s{bits}"
    if kind == "r":
        return f"r:{name} {path}:{name} n=$retval:s{bits}"
    if name == "store10":
        return f"p:{name} {path}:{name} sp=%sp n=%di:s64"
    return f"p:{name} {path}:{name} sp=%sp " + (
        "n=+4(%sp):s32" if bits == 32 else "n=%di:s64 top=$stack0:x64")


class Ubp(together.Ubp):
    """uprobe or usdt on the target."""

    # Those of all sessions: how sites are to stand.
    options = []

    def __init__(self, target, kind):
        words = [*Ubp.options]
        for name in target.names:
            what = f"p:ubp/{name} {target.path}:beside:{name} n=arg1" if kind == "s" else \
                definition(kind, "ubp", target.path, name)
            words += ["-e", what, "--filter", "n > 0"]
        super().__init__(target, words, USDT if kind == "s" else oracle.UPROBE)

    def end(self, sig=signal.SIGINT):
        """What it has recorded of known calls, and its statistics."""
        events, stats = super().end(sig)
        return [e for e in events if value(e) > 0], stats


def value(event):
    m = re.search(rb" n=(-?\d+)", event.text if isinstance(event.text, bytes) else event.text.encode())
    return int(m.group(1)) if m else 0


def new_kernel(kind, target):
    return together.Kernel([definition(kind, oracle.GROUP, target.path, n) for n in target.names],
                           {n: "n > 0" for n in target.names})


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


def behind(stats, names):
    """All sites stand behind the first instruction, and are jumps if they may be."""
    if len(stats) != len(names):
        fail(f"statistics of {len(stats)} probes")
    for s in stats:
        if s.jumps != (not Ubp.options):
            fail(f"{s.name} is {s.jumps} jumps: {s.why}")
        if s.behind != 1 or s.at_first or s.hidden:
            fail(f"{s.name}: behind={s.behind} at_first={s.at_first} hidden={s.hidden}")


# --- the orders --------------------------------------------------------------

N = 10


def ubp_first(target, kind, plus):
    """It comes and goes, and comes again, while ubp's jumps stand."""
    ubp, both, all_ = Ubp(target, kind), set(), set()
    all_ |= target.calls(N)
    kernel = new_kernel(kind, target)
    for _ in range(2):
        kernel.switch(True)
        both |= target.calls(N)
        kernel.switch(False)
        all_ |= target.calls(N)
    all_ |= both
    kernels = kernel.end()
    ubps, stats = ubp.end()
    target.calls(N)
    behind(stats, target.names)
    has_all("kernel", kernels, target.names, both, kind, plus)
    has_all("ubp", ubps, target.names, all_, kind, plus)
    equal(kernels, ubps, both, kind, plus)


def kernel_first(target, kind, plus):
    """ubp plants beside it, stays when it goes, is there when it comes again, leaves."""
    kernel = new_kernel(kind, target)
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
    behind(stats, target.names)
    has_all("kernel", kernels, target.names, alone | both, kind, plus)
    has_all("ubp", ubps, target.names, both | ours, kind, plus)
    equal(kernels, ubps, both, kind, plus)


def killed(target, kind, plus):
    """ubp is killed while the kernel's stand, another comes beside them, they go, it goes."""
    kernel = new_kernel(kind, target)
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
    behind(stats, target.names)
    has_all("kernel", kernels, target.names, alone | both | late, kind, plus)
    has_all("ubp", ubps, target.names, ours | late, kind, plus)
    equal(kernels, ubps, late, kind, plus)


def by_perf(target, kind, plus):
    """perf comes and is killed, and comes again: the second one's records are ubp's, too."""
    perf = shutil.which("perf")
    if not perf:
        print("  (no perf here)")
        return
    ubp = Ubp(target, kind)
    ours = target.calls(N)
    kernel = new_kernel(kind, target)  # defines them; perf switches them on
    for sig in signal.SIGKILL, signal.SIGINT:
        record, pipes, meanwhile = start_perf(perf, target, kernel.group)
        ours |= meanwhile
        both = target.calls(N)
        record.send_signal(sig)
        record.wait(oracle.TIMEOUT)
        for fd in pipes:
            os.close(fd)
        ours |= both | target.calls(N)
    perfs = perf_events(perf)
    kernel.end()
    ubps, stats = ubp.end()
    target.calls(N)
    behind(stats, target.names)
    has_all("ubp", ubps, target.names, ours, kind, plus)
    for name in target.names:
        add = plus[name] if kind == "r" else 0
        missing = both - {n - add for event, n in perfs if event == name}
        if missing:
            fail(f"perf: {name}: missing {sorted(missing)[:5]}")


def start_perf(perf, target, group):
    """Returns when it records, with what was called meanwhile."""
    control, acks = os.pipe(), os.pipe()
    events = [x for n in target.names for x in ("-e", f"{group}:{n}", "--filter", "n > 0")]
    record = subprocess.Popen(
        [perf, "record", "-q", "-o", "perf.data", "-D", "-1", "--control", f"fd:{control[0]},{acks[1]}",
         "-p", str(target.process.pid), *events],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[control[0], acks[1]])
    os.close(control[0])
    os.close(acks[1])
    meanwhile = set()
    while not all(target.is_changed(n) for n in target.names):
        if record.poll() is not None:
            fail(f"perf ended: {record.stderr.read()!r}")
            break
        meanwhile |= target.calls(1)
    os.write(control[1], b"enable\n")
    if not os.read(acks[0], 16).startswith(b"ack"):
        fail(f"perf does not begin: {record.stderr.read()!r}")
    return record, [control[1], acks[0]], meanwhile


def perf_events(perf):
    out = subprocess.run([perf, "script", "-i", "perf.data", "-F", "event,trace"], check=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [(m[1], int(m[2])) for m in re.finditer(r"(\w+): .* n=(-?\d+)", out.stdout.decode())]


def found(target):
    """Breakpoints that would stand at the first instruction stand behind it where the kernel's do."""
    kernel = new_kernel("p", target)
    kernel.switch(True)
    alone = target.calls(N)
    ubp = Ubp(target, "p")
    both = target.calls(N)
    kernel.switch(False)
    ours = target.calls(N)
    ubps, stats = ubp.end()
    behind(stats, target.names)
    has_all("kernel", kernel.end(), target.names, alone | both, "p", PLUS)
    has_all("ubp", ubps, target.names, both | ours, "p", PLUS)


def hidden(target, stands):
    """The kernel's come to breakpoints at the first instruction, and stay or go: it is told."""
    target.names = target.names[:1]
    ubp, kernel = Ubp(target, "p"), new_kernel("p", target)
    seen = target.calls(N)
    kernel.switch(True)
    theirs = target.calls(N)
    if not stands:
        kernel.switch(False)
    ubps, stats = ubp.end()
    if stats[0].hidden != 1 or stats[0].behind or "of the kernel's" not in ubp.text():
        fail(f"hidden={stats[0].hidden}: {ubp.text()}")
    target.calls(N)
    if len(kernel.end()) < len(theirs):
        fail("the kernel does not see its own")
    has_all("ubp", ubps, target.names, seen, "p", PLUS)


def breakpoints(path):
    for name, order in ("found", found), ("stands", lambda t: hidden(t, True)), \
            ("goes", lambda t: hidden(t, False)):
        target = Target(path, 1, "p")
        together.attempt(f"--mode trap, the kernel's {name}", target, lambda: order(target))


def run(path, workers, kinds):
    for kind in sys.argv[1] if len(sys.argv) > 1 else kinds:
        for order in ubp_first, kernel_first, killed, by_perf:
            target = Target(path, workers, kind)
            how = "let go of" if together.Ubp.lets_go else " ".join(Ubp.options)
            together.attempt(f"{path[-40:]} {workers} workers, {KINDS[kind]}, {how} {order.__name__}",
                             target, lambda: order(target, kind, PLUS))


if __name__ == "__main__":
    oracle.mount_tracefs()
    if os.environ.get("UBP_SLOWER", "1") != "1":
        run(oracle.fixture("beside"), 0, "pr")
        sys.exit(1 if bad else 0)
    # Of static probes on arm64 there is nothing that the kernel knows.
    run(oracle.fixture("beside"), 2, "pr" if os.uname().machine == "aarch64" else "prs")
    if "alone" in oracle.MODES:
        together.Ubp.lets_go = True
        run(oracle.fixture("beside"), 1, "prs" if os.environ.get("UBP_ALL") else "p")
        together.Ubp.lets_go = False
    Ubp.options = ["--mode", "trap", "--beside-kernel"]
    run(oracle.fixture("beside"), 1, "pr")
    Ubp.options = ["--mode", "trap"]
    breakpoints(oracle.fixture("beside"))
    Ubp.options = []
    if together.fixture32("beside"):
        run(together.fixture32("beside"), 1, "pr")
    else:
        print("  (no 32-bit programs here)")
    sys.exit(1 if bad else 0)
