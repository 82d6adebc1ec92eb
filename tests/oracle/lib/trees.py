# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The two sides of tests/oracle/tree.py: what is done with a tree, what is masked where it is read, and what is left of the kernel's at the end."""

import contextlib
import errno
import os
import re
import stat
import subprocess
import time

TOKEN = f"ubpt{os.getpid()}"
CPU = min(os.sched_getaffinity(0))
APPEND = os.O_WRONLY | os.O_APPEND
TRUNC = os.O_WRONLY | os.O_TRUNC
DEFINITIONS = ("/uprobe_events", "/dynamic_events")
# Those that both sides have.
CLOCKS = {"local": None, "global": None, "mono": time.CLOCK_MONOTONIC, "mono_raw": time.CLOCK_MONOTONIC_RAW, "boot": time.CLOCK_BOOTTIME, "tai": time.CLOCK_TAI}
OPTIONS = ("overwrite", "markers", "userstacktrace")
# What programs look for in README to learn what may be written (perf probe, and the kernel's own tests).
README_PATTERNS = (r"Create/append/", r"place \(uprobe\)", r"type: .*x8/16/32/64,", r"ref_ctr_offset", r"u\]<offset>", r"\\imm-value,", r"%return", r"\\\[<array-size>\\\]",
                   r"<group>/", r"error_log", r"trace_pipe", r"set_event", r"maxactive", r"\$comm", r"\$retval", r"ustring", r"<bit-width>@<bit-offset>/<container-size>")
LINE = re.compile(r"^ *(\S+)-(\d+) +\[\d{3}\] \S+ +(\d+\.\d+): (.*)$", re.M)


def name_of(number):
    return errno.errorcode.get(number, str(number)) if number else "ok"


def now():
    return {name: time.clock_gettime(number) for name, number in CLOCKS.items() if number is not None}


class Tree:
    """In what is written and read, ~ stands for its copy of the fixture. A name that begins with "/" is the tree's own, any other is of our folder in instances/."""

    def __init__(self, top, target):
        self.top, self.target = top, target
        self.own = f"{top}/instances/{TOKEN}"
        self.pids = {}  # of the fixture: how they are called
        self.last = None  # its last run: its pid, and what the clocks said before it and behind it

    def path(self, name):
        return f"{self.top}/{name[1:]}" if name.startswith("/") else f"{self.own}/{name}"

    def write(self, name, data, flags=os.O_WRONLY):
        try:
            fd = os.open(self.path(name), flags)
        except OSError as e:
            return "open: " + name_of(e.errno)
        try:
            return f"{os.write(fd, data.replace('~', self.target).encode()) - data.count('~') * len(self.target)}" if data else "0"
        except OSError as e:
            return name_of(e.errno)
        finally:
            os.close(fd)

    def read(self, name, flags=os.O_RDONLY, piece=65536):
        """A list is read a page at a time: where others take an event out in between, one of ours is passed over."""
        got, before = self.read_once(name, flags, piece), None
        while name in DEFINITIONS and got != before:
            got, before = self.read_once(name, flags, piece), got
        return got

    def read_once(self, name, flags, piece):
        try:
            fd = os.open(self.path(name), flags)
        except OSError as e:
            return "open: " + name_of(e.errno)
        parts = []
        try:
            while part := os.read(fd, piece):
                parts.append(part)
        except OSError as e:
            if e.errno != errno.EAGAIN:
                parts.append(name_of(e.errno).encode())
        finally:
            os.close(fd)
        return b"".join(parts).decode(errors="surrogateescape").replace(self.target, "~")

    def masked(self, name, **how):
        text = self.read(name, **how)
        if name.endswith("set_event_pid"):
            return re.sub(r"^\d+$", lambda m: self.pids.get(int(m[0]), m[0]), text, flags=re.M)
        return mask(name, text)

    def call(self, what, *names):
        try:
            what(*(self.path(name) for name in names))
        except OSError as e:
            return name_of(e.errno)
        return "ok"

    def run(self, called=None):
        """The fixture: its events are there when it has ended. CALLED: set_event_pid gets its pid, which reads so then."""
        before, answer = now(), ""
        with subprocess.Popen(["sh", "-c", 'read go; exec setarch -R "$0" a you', self.target], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              cwd=os.path.dirname(self.target)) as program:
            if called:
                self.pids[program.pid] = called
                answer = self.write("set_event_pid", str(program.pid), APPEND).replace(str(len(str(program.pid))), "all")
            program.communicate(b"go\ngo\n")
        self.last = program.pid, before, now()
        return f"ran {program.returncode} {answer}"

    def told_of_run(self):
        """Of the lines that trace has of the last run: what their thread is called there, and whether their times are of the chosen clock."""
        pid, before, after = self.last
        clock = re.search(r"\[(.*?)\]", self.read("trace_clock"))[1]
        lines = [m for m in LINE.findall(self.read("trace")) if int(m[1]) == pid]
        named = re.search(rf"^{pid} (.*)$", self.read("/saved_cmdlines"), re.M) if lines else None
        late = [t for _, _, t, _ in lines if CLOCKS.get(clock) is not None and not before[clock] - 2e-6 <= float(t) <= after[clock] + 2e-6]
        return f"{len(lines)} lines of {sorted({m[0] for m in lines})}, {named and named[1]} in saved_cmdlines, {len(late)} at times that {clock} did not have"

    def ids(self, events):
        """What is wrong with the ids of events: each has one that no other has, and the one that its format tells."""
        found, seen = [], set()
        for event in events:
            text, form = (self.read(f"/events/{TOKEN}/{event}/{x}") for x in ("id", "format"))
            if text.startswith("open:"):
                found.append(f"{event}: {text}")
                continue
            wrong = not re.fullmatch(r"[1-9]\d*\n", text) or text in seen or f"\nID: {text}" not in form or text != self.read(f"events/{TOKEN}/{event}/id")
            seen.add(text)
            found.append(f"{event}: {text if wrong else 'good'}")
        return "; ".join(found)

    def modes(self):
        """What each of our files and folders is, and who may do what with it."""
        found = {}
        for top, group in ((self.top, f"{self.top}/events/{TOKEN}"), (self.own, f"{self.own}/events/{TOKEN}")):
            for where in (top, f"{top}/events", f"{top}/options", f"{top}/per_cpu", f"{top}/per_cpu/cpu{CPU}", group, *(e.path for e in os.scandir(group) if e.is_dir())):
                for name in (".", *os.listdir(where)):
                    found[os.path.relpath(f"{where}/{name}", self.top)] = stat.filemode(os.stat(f"{where}/{name}").st_mode)
        return found

    def has_only_ours(self):
        """Of definitions: so that those of nobody else go with ours."""
        return all(TOKEN in line for name in DEFINITIONS for line in self.read(name).splitlines())


# --- what is masked ------------------------------------------------------------------------------------

def mask_trace(name, text):
    # Of several events at one place, and on several CPUs, the order is the tracer's.
    head = re.sub(r"#P:\d+", "#P", "".join(x + "\n" for x in text.split("\n") if x.startswith("#")))
    # The kernel forgets how threads of old lines were called; those of the last run are looked at by told_of_run().
    lines = sorted(what for _, _, _, what in LINE.findall(text))
    if name.startswith("/"):
        return "\n".join(x for x in lines if TOKEN in x)
    return head + "\n".join(lines)


def mask(name, text):
    base = name.rsplit("/", 1)[1] if "/" in name else name
    if base in ("trace", "trace_pipe"):
        return mask_trace(name, text)
    if base == "format":
        return re.sub(r"^ID: \d+", "ID", text, flags=re.M)
    if base == "stats":
        return "".join(x + "\n" for x in text.split("\n") if x.startswith(("entries", "dropped", "overrun", "read")))
    if name == "/error_log":
        entries = re.findall(r"^\[ *\d+\.\d+\] (\w+: error: .*)\n  Command: (.*)\n( *\^)$", text, re.M)
        return "\n".join("\n".join(e) for e in entries if TOKEN in e[1])
    if name == "error_log":
        return re.sub(r"^\[ *\d+\.\d+\]", "[]", text, flags=re.M)
    if name in (*DEFINITIONS, "/uprobe_profile", "/available_events", "/set_event"):
        return "\n".join(x for x in text.split("\n") if TOKEN in x)
    if base == "trace_options":
        return "".join(x + "\n" for x in text.split("\n") if x.removeprefix("no") in OPTIONS)
    if base == "available_tracers":
        return " ".join(x for x in text.split() if x == "nop")
    if base == "trace_clock":
        return " ".join(x for x in text.split() if x.strip("[]") in CLOCKS)
    if name == "events/enable":
        # The kernel has events of its own, which are not enabled: it never says "1" here, nor "?".
        return {"0\n": "none", "?\n": "none", "1\n": "some", "X\n": "some"}.get(text, text)
    if base == "trigger":
        # Which commands there are is a matter of the kernel's configuration.
        return re.sub(r"\A# Available triggers:\n#.*\n", "", text)
    if base == "README":
        return "; ".join(x for x in README_PATTERNS if not re.search(x, text))
    return text


# --- the end ------------------------------------------------------------------------------------

def is_over(pid):
    return int(pid) == os.getpid() or not os.path.exists(f"/proc/{pid}")


def put(path, text, flags=os.O_WRONLY):
    """Written, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(path, flags)
        try:
            if text:
                os.write(fd, text.encode())
        finally:
            os.close(fd)


def remove_triggers(folder):
    """One by one: O_TRUNC removes histograms alone."""
    with contextlib.suppress(FileNotFoundError), open(folder + "/trigger", encoding="utf-8", errors="surrogateescape") as f:
        for line in f.read().splitlines():
            words = line.split(" ")[0].split(":")
            if line[:1] != "#":
                put(folder + "/trigger", "!" + ":".join(words[:3] if words[0] in ("enable_event", "disable_event") else words[:1]))


def clean(top):
    """What this run made in the kernel's tree, and what killed ones have left. Enabled events are disabled first: see tree.py."""
    for name in os.listdir(top + "/instances"):
        m = re.match(r"ubpt(\d+)2?$", name)
        if m and is_over(m[1]):
            put(f"{top}/instances/{name}/set_event", "", TRUNC)
            os.rmdir(f"{top}/instances/{name}")
    with open(top + "/uprobe_events", encoding="utf-8", errors="surrogateescape") as f:
        left = re.findall(r"^[pr]:(\S+/\S*) .*?ubpt(\d+)", f.read(), re.M)
    ours = [event for event, pid in dict.fromkeys(left) if is_over(pid)]
    for event in ours:
        remove_triggers(f"{top}/events/{event}")
        put(f"{top}/events/{event}/enable", "0")
    for event in ours:
        with contextlib.suppress(FileNotFoundError), open(f"{top}/events/{event}/enable", encoding="ascii") as f:
            if (text := f.read()) != "0\n":
                raise RuntimeError(f"{event} stays enabled ({text!r}), so it is not deleted")
        put(top + "/uprobe_events", f"-:{event}\n", APPEND)
