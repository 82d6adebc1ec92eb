# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Run the same definitions on the kernel's uprobes and on ubp, and compare.

A test gives definitions with symbols ("p:open FILE:SYMBOL[+OFF] ARGS") and a
program. Both sides get the same text, with file offsets, in a group of our own:

    oracle.compare(["p:area {args_int}:area w=%di:s32"], [fixture("args_int")])

The program runs twice, not randomised, from the same folder with the same
environment, so addresses are compared unmasked; what is masked is the pid, the cpu, the time
and the flags column (which is the kernel's own state). Probed files that others
use as well are copied first (private()), so that nobody else hits our probes.

On ubp's side it runs once in each mode ($UBP_MODES may name fewer), and in the mode "jump" --stats must tell that
there were jumps, and why those places are none that are none: see why_no_jumps(). In the mode "alone" these are jumps, too, and
nobody traces the program from before its first hit.

The kernel's side uses a tracefs instance of its own, one probe per event, and
always disables before it deletes.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

import alone

TRACEFS = "/sys/kernel/tracing"
# s for what never takes that long; more where all is slow.
TIMEOUT = max(120, int(os.environ.get("TIMEOUT", "0")))
UPROBE = os.environ["UPROBE"]
FIXTURES = os.environ["FIXTURES"]
# Two pid namespaces have the same numbers.
GROUP = f"ubp_oracle_{os.stat('/proc/self/ns/pid').st_ino}_{os.getpid()}"
LAUNCH = os.path.join(FIXTURES, "launch")
MAY_GO = os.uname().machine == "x86_64" and "UBP_STAY" not in os.environ
MODES = tuple(os.environ.get("UBP_MODES", "trap step jump" + (" alone" if MAY_GO else "")).split())
# Rings take all that comes while nobody may wait for them. In KiB.
ALONE = ["--mode", "jump", "--buffer-size", "16384"]


def scaled(n):
    """Where all is slow (UBP_SLOWER times) fewer of what only makes a test longer; for argv."""
    return str(max(1, n // int(os.environ.get("UBP_SLOWER", "1"))))


def fixture(name):
    return os.path.join(FIXTURES, name)


def skip(reason):
    print(reason)
    sys.exit(77)


def is_run(*command):
    """Does the kernel run such a program, and does that end with 0? Not all run those for 32 bits."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def private(path, name=None):
    """Copy a file that others use, too, into the test's folder."""
    copy = os.path.abspath(name or os.path.basename(path))
    if not os.path.exists(copy):
        shutil.copy(os.path.realpath(path), copy)
    return copy


def mapped_library(program, name):
    """The file that PROGRAM gets for the library NAME (e.g. libc.so.6)."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    m = re.search(rf"^\s*{re.escape(name)} => (\S+)", out, re.M)
    if not m:
        skip(f"{program} does not use {name}")
    return m.group(1)


# --- ELF: symbol -> file offset, by program headers --------------------------


class Elf:
    """Symbols of a little-endian ELF file: name -> (file offset, type, size)."""

    FUNC, IFUNC = 2, 10

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        d = self.data
        if d[:4] != b"\x7fELF" or d[4] not in (1, 2) or d[5] != 1:
            raise ValueError(f"{path}: no little-endian ELF file")
        self.wide = d[4] == 2
        phoff, shoff = struct.unpack_from("<QQ", d, 32) if self.wide else struct.unpack_from("<II", d, 28)
        phsize, phnum, shsize, shnum = struct.unpack_from("<HHHH", d, 54 if self.wide else 42)
        self.loads = []
        for i in range(phnum):
            at = phoff + i * phsize
            if self.wide:
                kind, _, off, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", d, at)
            else:
                kind, off, vaddr, _, filesz = struct.unpack_from("<IIIII", d, at)
            if kind == 1:
                self.loads.append((vaddr, off, filesz))
        section = "<IIQQQQIIQQ" if self.wide else "<IIIIIIIIII"
        sections = [struct.unpack_from(section, d, shoff + i * shsize) for i in range(shnum)]
        self.symbols = {}
        for s in sections:
            if s[1] in (2, 11):  # SYMTAB, DYNSYM
                self._read_symbols(s, sections[s[6]])

    def _read_symbols(self, table, strings):
        for at in range(table[4], table[4] + table[5], 24 if self.wide else 16):
            if self.wide:
                name, info, _, shndx, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            else:
                name, value, size, info, _, shndx = struct.unpack_from("<IIIBBH", self.data, at)
            if shndx == 0 or info & 15 not in (0, Elf.FUNC, Elf.IFUNC):
                continue
            start = strings[4] + name
            text = self.data[start : self.data.index(b"\0", start)].decode()
            offset = self.offset_of(value)
            if text and offset is not None:
                self.symbols.setdefault(text, (offset, info & 15, size))

    def offset_of(self, vaddr):
        for base, off, size in self.loads:
            if base <= vaddr < base + size:
                return vaddr - base + off
        return None

    def functions(self):
        return {n: s for n, s in self.symbols.items() if s[1] == Elf.FUNC and s[2] > 0}


_elfs = {}


# Definitions name x86's registers. Where there are others: those with the same task, for a
# task that no other has any.
REGISTERS = {"aarch64": {"di": "x0", "si": "x1", "dx": "x2", "cx": "x3", "r8": "x4", "r9": "x5", "ax": "x0",
                         "sp": "sp", "bp": "x29", "ip": "pc", "flags": "pstate", "cs": "x18", "ss": "x30"}}


def has_char():
    """Before Linux 6.3 characters are numbers."""
    with open(f"{TRACEFS}/README") as f:
        return re.search(r"type:.*\bchar\b", f.read())


def registers(text):
    """"+0(%di):string" -> the same for this machine and its kernel."""
    names = REGISTERS.get(os.uname().machine, {})
    if ":char" in text and not has_char():
        text = text.replace(":char", ":u8")
    return re.sub(r"%(\w+)", lambda m: "%" + names.get(m[1], m[1]), text) if names else text


def resolve(definition, group):
    """"p:EVENT FILE:SYMBOL[+OFF] ARGS" (or FILE:0xOFFSET) -> "p:GROUP/EVENT FILE:0xOFFSET ARGS"."""
    head, place, *args = definition.split(" ")
    kind, event = head.split(":")
    path, where = place.rsplit(":", 1)
    m = re.fullmatch(r"([^+%]+)(?:\+(\w+))?(%return)?", where)
    if path not in _elfs:
        _elfs[path] = Elf(path)
    if m.group(1).startswith("0x"):
        offset = int(m.group(1), 16)
    elif m.group(1) in _elfs[path].symbols:
        offset = _elfs[path].symbols[m.group(1)][0] + int(m.group(2) or "0", 0)
    else:
        raise KeyError(f"{path} has no symbol {m.group(1)}")
    return " ".join([f"{kind}:{group}/{event}", f"{path}:0x{offset:x}{m.group(3) or ''}", *map(registers, args)])


def instructions(path, symbol):
    """Offsets of the instructions of a function from its start."""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={symbol}", path],
                         capture_output=True, text=True, check=True).stdout
    at = [int(m.group(1), 16) for m in re.finditer(r"^\s+([0-9a-f]+):\t", out, re.M)]
    return [a - at[0] for a in at]


# --- events ------------------------------------------------------------------

# An event's line up to its text. Task names, padded to 16 bytes, and strings may hold newlines,
# so the next event is what looks like one, not the next line. Or a count of lost ones.
HEAD = re.compile(rb"^(?:(?P<comm>.{16})-(?P<tid>\d+) +\[\d{3}\] .{5} +(?P<time>\d+\.\d{6}): (?P<name>\w+): "
                  rb"(?=\(0x)|(?:CPU:\d+ )?\[LOST (?P<lost>\d+) EVENTS\]\n)", re.S | re.M)


class Event:
    __slots__ = ("comm", "tid", "time", "name", "text")

    def __init__(self, m, text):
        self.comm, self.tid = m["comm"].lstrip(b" "), int(m["tid"])
        self.time, self.name = float(m["time"]), m["name"].decode()
        self.text = text

    def __repr__(self):
        return f"{self.tid} {self.name}: {self.text.decode(errors='backslashreplace')}"


def parse(data):
    """Trace text -> (events, number of lost records)."""
    events, lost = [], 0
    heads = list(HEAD.finditer(data))
    for m, after in zip(heads, [*heads[1:], None]):
        if m["lost"]:
            lost += int(m["lost"])
        else:
            text = data[m.end() : after.start() if after else len(data)]
            events.append(Event(m, text.rstrip(b"\n")))
    return events, lost


# --- running the program -----------------------------------------------------


def environment(extra):
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": os.getcwd(), "TERM": "dumb"}
    env.update(extra or {})
    return env


def on_pty(argv, env, script):
    """Run argv on a terminal of its own. SCRIPT is a list of (text to wait for,
    line to type then). Returns all output and the exit status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(argv[0], argv, env)
    out, at, deadline = b"", 0, time.monotonic() + TIMEOUT
    script = list(script)
    while True:
        if script and script[0][0] in out[at:]:
            at = len(out)
            os.write(fd, script.pop(0)[1])
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise TimeoutError(f"{argv}: no more output; so far: {out!r}")
        try:
            piece = os.read(fd, 65536)
        except OSError:  # EIO: the other side was closed
            piece = b""
        if not piece:
            break
        out += piece
    os.close(fd)
    return out, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(argv, env, script, stdin):
    if script:
        return on_pty(argv, env, script)
    p = subprocess.run(argv, env=env, input=stdin, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=TIMEOUT)
    return p.stdout, p.returncode


# --- the kernel's side -------------------------------------------------------


def write(path, text):
    """One write(2), without O_TRUNC: that would delete everybody's events."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode(errors="surrogateescape"))
    finally:
        os.close(fd)


def mount_tracefs():
    if os.path.exists(f"{TRACEFS}/uprobe_events"):
        return
    if os.geteuid() != 0:
        skip("kernel uprobes need root")
    subprocess.run(["mount", "-t", "tracefs", "nodev", TRACEFS], capture_output=True, check=False)
    if not os.path.exists(f"{TRACEFS}/uprobe_events"):
        skip("this kernel has no uprobe_events, or tracefs cannot be mounted")


class Kernel:
    """A tracefs instance and a group of events, both named GROUP."""

    def __init__(self, buffer_kb=16384):
        mount_tracefs()
        self.group = GROUP
        self.dir = f"{TRACEFS}/instances/{self.group}"
        self.events = []
        with locked(f"{TRACEFS}/instances"):
            sweep()
            try:
                os.mkdir(self.dir)
            except OSError as e:
                skip(f"no tracefs instance: {e}")
            self.lock = os.open(self.dir, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        write(f"{self.dir}/buffer_size_kb", str(buffer_kb))
        write(f"{self.dir}/trace_clock", "mono")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        remove(self.group)
        os.close(self.lock)

    def define(self, definitions):
        for d in definitions:
            try:
                write(f"{TRACEFS}/uprobe_events", d + "\n")
            except OSError as e:
                with open(f"{TRACEFS}/error_log", encoding="utf-8") as f:
                    raise ValueError(f"{d}: {e}\n{''.join(f.readlines()[-3:])}") from e

    def filter(self, name, text):
        write(f"{self.dir}/events/{self.group}/{name}/filter", text)

    def switch(self, on):
        write(f"{self.dir}/events/{self.group}/enable", "1" if on else "0")

    def trace(self):
        with open(f"{self.dir}/trace", "rb") as f:
            data = f.read()
        m = re.search(rb"entries-in-buffer/entries-written: (\d+)/(\d+)", data)
        if m and m.group(1) != m.group(2):
            raise RuntimeError("the kernel's buffer was too small")
        return data


def remove(group):
    """Disable first, wherever it is on; only then delete, event by event."""
    instance = f"{TRACEFS}/instances/{group}"
    if os.path.exists(f"{instance}/events/{group}/enable"):
        write(f"{instance}/events/{group}/enable", "0")
    with open(f"{TRACEFS}/uprobe_events", encoding="utf-8", errors="surrogateescape") as f:
        names = [m.group(1) for line in f if (m := re.match(rf"[pr]:{group}/(\S+) ", line))]
    for name in names:
        write(f"{TRACEFS}/uprobe_events", f"-:{group}/{name}\n")
    if os.path.isdir(instance):
        os.rmdir(instance)


@contextlib.contextmanager
def locked(path, how=fcntl.LOCK_EX):
    """A lock that its owner cannot outlive, and that is seen from all pid namespaces."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, how)
        yield
    finally:
        os.close(fd)


def sweep():
    """What a killed run left behind, in whichever pid namespace: nobody has its lock."""
    for group in os.listdir(f"{TRACEFS}/instances"):
        if not group.startswith("ubp_oracle_"):
            continue
        try:
            with locked(f"{TRACEFS}/instances/{group}", fcntl.LOCK_EX | fcntl.LOCK_NB):
                remove(group)
        except (BlockingIOError, FileNotFoundError):
            pass


def by_kernel(definitions, argv, env=None, script=None, stdin=b"go\n", filters=None):
    with Kernel() as k:
        k.define([resolve(d, k.group) for d in definitions])
        for name, text in (filters or {}).items():
            k.filter(name, text)
        k.switch(True)
        try:
            out, rc = run([LAUNCH, *argv], environment(env), script, stdin)
        finally:
            k.switch(False)
        events, lost = parse(k.trace())
        return events, lost, out, rc


# --- ubp's side --------------------------------------------------------------


def with_filters(definitions, filters):
    """As options."""
    words = []
    for d in definitions:
        text = (filters or {}).get(d.split(" ")[0][2:].split("/")[-1])
        words += ["-e", d] + (["--filter", text] if text else [])
    return words


def by_ubp(definitions, argv, env=None, script=None, stdin=b"go\n", mode="auto", filters=None):
    """uprobe runs the launcher, so the program itself comes by exec."""
    group = GROUP
    # --force: the kernel plants on what runs in posix_spawn() children too.
    cmd = [UPROBE, "--strict", "--stats", "-o", "ubp.out"]
    cmd += ALONE if mode == "alone" else ["--lossless", "--force", "--mode", mode]
    cmd += with_filters([resolve(d, group) for d in definitions], filters)
    cmd += ["--", LAUNCH, *argv]
    if mode == "alone":
        out, rc = alone.run(cmd, environment(env), stdin, TIMEOUT)
    else:
        out, rc = run(cmd, environment(env), script, stdin)
    with open("ubp.out", "rb") as f:
        events, lost = parse(f.read())
    stats = [Stats(m) for m in STATS.finditer(out)]
    return events, lost, STATS_LINE.sub(b"", out), rc, stats


# --- what --stats tells --------------------------------------------------------

STATS_LINE = re.compile(rb"(?:uprobe|usdt): stats: [^\n]*\n")
STATS = re.compile(rb"(?:uprobe|usdt): stats: \S+ [^/ ]+/(?P<name>\w+) (?P<counts>(?:\w+=\d+ ?)+)"
                   rb"(?:stops=\"[^\"\n]*\" ?)?(?:no_jump=\"(?P<why>[^\n]*)\")?\r?\n")

# Why a place may well be no jump: what its code is like, and other probes. All else is a fault.
GOOD_REASONS = re.compile(
    r"only a stop tells|a handler runs|another probe stands|the jump of another probe|more probes than a detour|"
    r"returns are caught|no room for a jump at the ret|too few returns by the ret|several functions are left by the ret|ubp itself watches|"
    r"no room for a jump where the function is left|more than that a function is left|not a function of few instructions|"
    r"an instruction under the jump made a fault|a thread was in the middle of it|"
    r"a thread could not be stopped|others have the unused bytes near by|there is no free memory where its jump would lead")


class Stats:
    """One probe's."""

    def __init__(self, m):
        self.name = m["name"].decode()
        self.why = m["why"].decode(errors="replace") if m["why"] else None
        for count in m["counts"].decode().split():
            setattr(self, *[int(x) if x.isdigit() else x for x in count.split("=")])


def explain(definitions, filters):
    cmd = [UPROBE, "--strict", "--force", "--explain", *with_filters(definitions, filters)]
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)


def why_traced(definitions, filters):
    """Why a process with these is not let go of, by --explain; None: it may be."""
    said = explain([resolve(d, "g") for d in definitions], filters).stderr.decode(errors="replace")
    m = re.search(r"processes are traced all the time: (.*)", said)
    return m.group(1) if m else None


def explained(definitions, filters):
    """What --explain says of each definition: event -> text."""
    out = explain(definitions, filters).stdout
    return dict(re.findall(r"^[^/\s]+/(\w+) (.*)$", out.decode(errors="replace"), re.M))


def why_no_jumps(definitions, stats, filters=None):
    """What is wrong with the rungs of a run in the mode "jump", as a list of texts. A probe
    may be no jump for what --explain says, or for a reason that is known above."""
    bad, text = [], explained(definitions, filters)
    if len(stats) != len(definitions):
        return [f"statistics of {len(stats)} probes, not {len(definitions)}"]
    for s in stats:
        if s.jumps == s.sites:
            continue
        if not s.why or not (GOOD_REASONS.match(s.why) or s.why in text[s.name]):
            bad.append(f"{s.name}: {s.jumps} of {s.sites} places are jumps: {s.why}; {text[s.name]}")
    return bad


# --- comparing ---------------------------------------------------------------


def per_thread(events):
    """Each thread's events in order; threads in order of their birth (tid)."""
    threads = {}
    for e in events:
        threads.setdefault(e.tid, []).append(e)
    # Numbers wrap around: after the highest come the low ones.
    wrapped = threads and max(threads) - min(threads) > 10000
    return [threads[t] for t in sorted(threads, key=lambda t: (wrapped and t < 10000, t))]


def text_of(event, masks):
    text = event.text
    for pattern, by in masks:
        text = re.sub(pattern, by, text)
    return event.name, text


def differences(kernel, ubp, masks=(), ignore_comm=False):
    a, b = per_thread(kernel), per_thread(ubp)
    bad = []
    if len(a) != len(b):
        bad.append(f"threads with events: kernel {len(a)}, ubp {len(b)}")
    for n, (x, y) in enumerate(zip(a, b)):
        for i in range(max(len(x), len(y))):
            p = x[i] if i < len(x) else None
            q = y[i] if i < len(y) else None
            if p is None or q is None or text_of(p, masks) != text_of(q, masks):
                bad.append(f"thread {n}, event {i} of {len(x)}/{len(y)}:\n  kernel {p}\n  ubp    {q}")
                break
        if x and y and not ignore_comm and x[-1].comm not in (y[-1].comm, b"<...>"):
            bad.append(f"thread {n}: task name: kernel {x[-1].comm!r}, ubp {y[-1].comm!r}")
    return bad


def unordered(events):
    """Where time goes back, as a list of texts."""
    return [f"{b.time:.6f} {b} comes behind {a.time:.6f} {a}"
            for a, b in zip(events, events[1:]) if b.time < a.time]


def compare_mode(mode, definitions, argv, kernel, masks, ignore_comm, same_output,
                 recorded_there, loses_alone, how):
    """What differs in one mode, as a list of texts, and how it went."""
    k_events, k_out, k_rc = kernel
    events, lost, out, rc, stats = by_ubp(definitions, argv, mode=mode, **how)
    if mode == "alone" and loses_alone:
        k_events, lost = alone.but_for(k_events, events, lost, lambda e: text_of(e, masks)), 0
    bad = differences(k_events, events, masks, ignore_comm) + unordered(events)
    if k_rc != rc:
        bad.append(f"exit status: kernel {k_rc}, ubp {rc}: {out[-300:]!r}")
    if same_output and k_out != out:
        bad.append(f"the program's output: kernel {k_out[-300:]!r}, ubp {out[-300:]!r}")
    if lost:
        bad.append(f"{lost} events lost")
    there = sum(s.hits - s.stopped for s in stats)
    has_jumps = mode in ("jump", "alone")
    if has_jumps:
        bad += why_no_jumps([resolve(d, "g") for d in definitions], stats,
                            how.get("filters"))
    if there and not has_jumps or not there and has_jumps and recorded_there:
        bad.append(f"{there} hits were recorded without a stop")
    return bad, (f"{len(events)} events, {sum(s.jumps > 0 for s in stats)} of "
                 f"{len(definitions)} definitions are jumps, {there} hits without a stop")


def compare(definitions, argv, title=None, masks=(), ignore_comm=False, same_output=True,
            at_least=1, modes=MODES, recorded_there=True, stays=(), loses_alone=False, **how):
    """Run on both sides, on ubp's in all modes; print what differs. Returns whether all was
    equal. RECORDED_THERE: with jumps some hits must not have stopped a thread. STAYS: what keeps the program traced where
    --explain cannot know it, by name; or True. LOSES_ALONE: some are lost while nobody traces it, and counted (one thread has
    all). FILTERS, in **how: those of some events, by name."""
    title = title or " ".join([os.path.basename(argv[0]), *argv[1:]])[:60]
    k_events, lost, *k_end = by_kernel(definitions, argv, **how)
    if len(k_events) < at_least or lost:
        print(f"{title}: {len(k_events)} events, {lost} lost on the kernel's side: "
              "the test shows nothing")
        return False
    seen = {e.name for e in k_events}
    silent = [d.split(" ")[0][2:] for d in definitions if d.split(" ")[0][2:] not in seen]
    if silent:
        print(f"{title}: never hit: {' '.join(silent)}")
    # The entries alone, too: returns may keep a place from being a jump.
    entries = [d for d in definitions if d[0] == "p" and "%return" not in d.split(" ")[1]]
    runs = [(mode, definitions) for mode in modes if mode != "alone"]
    if "alone" in modes and stays is not True and not how.get("script"):
        may = alone.those_that_may([d for d in definitions if d.split(" ")[0][2:] not in (stays or ())], why_traced, how.get("filters"))
        runs += [("alone", may)] if may else []
    if "jump" in modes and 0 < len(entries) < len(definitions):
        runs.append(("jump", entries))
    good = True
    for mode, defs in runs:
        names = {d.split(" ")[0][2:] for d in defs}
        events = [e for e in k_events if e.name in names]
        bad, how_it_went = compare_mode(mode, defs, argv, (events, *k_end), masks, ignore_comm,
                                        same_output, recorded_there, loses_alone, how)
        print(f"{'differs' if bad else 'equal'}: {title}, {mode}: {how_it_went}")
        for b in bad[:10]:
            print("  " + b)
        good &= not bad
    return good


def done(results):
    results = list(results)
    if not all(results):
        sys.exit(f"{results.count(False)} of {len(results)} comparisons differ")
