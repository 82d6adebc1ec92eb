# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# test-mounts
"""Random operations, performed on the kernel's tracing tree and on that of ubp-fs: each has the same errno, and all files that it
touches read the same behind it. What is masked are ids, times, CPUs, process ids and flags.

Each side has a copy of a fixture of its own, so that both never probe one place, and a folder in instances/, so that nothing of
others is enabled. On the kernel's side uprobe_events is never truncated, no event with several probes is deleted while it is
enabled, and what a killed run has left is deleted. TREE_SEED and TREE_N choose the run: `make check-tree` makes a long one."""

import contextlib
import difflib
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "oracle", "lib"))
import oracle  # noqa: E402

SEED = int(os.environ.get("TREE_SEED", "1"))
N = int(os.environ.get("TREE_N", "120")) // int(os.environ.get("UBP_SLOWER", "1"))
TOKEN = f"ubpt{os.getpid()}"
SHOWN = 10
CPU = min(os.sched_getaffinity(0))
APPEND = os.O_WRONLY | os.O_APPEND
TRUNC = os.O_WRONLY | os.O_TRUNC


def name_of(number):
    return errno.errorcode.get(number, str(number)) if number else "ok"


class Tree:
    """One of the two sides. In what is written and read, ~ stands for its copy of the fixture."""

    def __init__(self, top, target):
        self.top, self.target = top, target
        self.own = f"{top}/instances/{TOKEN}"

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

    def read(self, name, flags=os.O_RDONLY):
        """A list is read a page at a time: where others take an event out in between, one of ours is passed over."""
        got, before = self.read_once(name, flags), None
        while name in ("/uprobe_events", "/dynamic_events") and got != before:
            got, before = self.read_once(name, flags), got
        return got

    def read_once(self, name, flags):
        try:
            fd = os.open(self.path(name), flags)
        except OSError as e:
            return "open: " + name_of(e.errno)
        parts = []
        try:
            while part := os.read(fd, 65536):
                parts.append(part)
        except OSError as e:
            if e.errno != errno.EAGAIN:
                parts.append(name_of(e.errno).encode())
        finally:
            os.close(fd)
        return b"".join(parts).decode(errors="surrogateescape").replace(self.target, "~")

    def call(self, what, *names):
        try:
            what(*(self.path(name) for name in names))
        except OSError as e:
            return name_of(e.errno)
        return "ok"

    def run(self):
        """The fixture: its events are there when it has ended."""
        subprocess.run(["setarch", "-R", self.target, "a", "you"], stdout=subprocess.DEVNULL,
                       input=b"go\n", cwd=os.path.dirname(self.target), check=False)
        return "ran"


# --- what is masked ------------------------------------------------------------------------------------

LINE = re.compile(r"^ *(\S+)-\d+ +\[\d{3}\] \S+ +\d+\.\d+: (.*)$", re.M)


def mask(name, text):
    if name.endswith(("trace", "trace_pipe")):
        # Of several events at one place, and on several CPUs, the order is the tracer's.
        head = re.sub(r"#P:\d+", "#P", "".join(x + "\n" for x in text.split("\n") if x.startswith("#")))
        return head + "\n".join(sorted(m[1] if m[1].startswith("tracing_mark_write") else f"{m[0]}: {m[1]}" for m in LINE.findall(text)))
    if name.endswith("/id"):
        return re.sub(r"^\d+$", "ID", text, flags=re.M)
    if name.endswith("format"):
        return re.sub(r"^ID: \d+", "ID", text, flags=re.M)
    if name.endswith("stats"):
        return "".join(x + "\n" for x in text.split("\n") if x.startswith(("entries", "dropped", "overrun")))
    if name == "/error_log":
        entries = re.findall(r"^\[ *\d+\.\d+\] (\w+: error: .*)\n  Command: (.*)\n( *\^)$", text, re.M)
        return "\n".join("\n".join(e) for e in entries if TOKEN in e[1])
    if name == "error_log":
        return re.sub(r"^\[ *\d+\.\d+\]", "[]", text, flags=re.M)
    if name in ("/uprobe_events", "/dynamic_events", "/uprobe_profile"):
        return "\n".join(x for x in text.split("\n") if TOKEN in x)
    if name == "trace_options":
        return "".join(x + "\n" for x in text.split("\n") if x.removeprefix("no") in ("overwrite", "markers", "userstacktrace"))
    return text


# --- operations ------------------------------------------------------------------------------------

class Operations:
    """Each is told as a text, and gives (what to do with a tree, names of files to read behind it)."""

    EVENTS = [f"{TOKEN}_{c}" for c in "abcde"]
    ARGS = ["", "x=%di:u32", "s=+0(%di):string n=%si:s32", "$comm", "x=%di:s64 y=+8(%sp):x64[2]", "x=%ax:b4@2/8",
            "c=\\\"lit\" i=\\7", "x=%zz", "x=%di:u31", "s=+0(%di", "x=%di x=%si", "$retval", "x=+0(+0(%di)):ustring", "$stack1"]
    FILTERS = ["0", "", " ", "n > 1", "n==2", "x != 0\n", "foo == 1", "s == \"you\"", "s ~ \"*ou\"", "(n > 1", "n >", "n > 1 && x", " n > 0 ",
               "COMM == \"hello\"", "common_pid > 0", "none", "n & 1"]
    BOOLS = ["0", "1", "0\n", "1\n", "0", "1", "2", "x", " 1", "1 ", "-1", "00", "1\n\n", "+1", "10", "0x1", "99999999999999999999"]

    def __init__(self, rng, offsets):
        self.rng, self.offsets = rng, offsets
        self.group = TOKEN

    def event(self):
        return self.rng.choice(self.EVENTS)

    def folder(self):
        return f"events/{self.group}/{self.event()}"

    def definition(self):
        rng = self.rng
        kind = rng.choice("pppprrr") if rng.random() < .95 else rng.choice(["q", "p10", "r10", "", "p:"])
        name = f":{self.group}/{self.event()}" if rng.random() < .95 else rng.choice(
            ["", f":{self.group}/", f":{self.group}/a-b", f":/{TOKEN}", f":{self.group}.{self.event()}", ":1/2"])
        place = f"~:{rng.choice(self.offsets):#x}" if rng.random() < .93 else rng.choice(
            ["~", "~:", "~:x", f"{TOKEN}:0x10", f"/tmp/{TOKEN}:0x10", "~:0x10%return(", f"/{TOKEN}"])
        return f"{kind}{name} {place} {rng.choice(self.ARGS)}".rstrip()

    def define(self):
        rng = self.rng
        text = self.definition()
        if rng.random() < .1:
            text += "\n" + self.definition()
        text += rng.choice(["", "\n", "\n", " # why\n", "\n\n"])
        # What has no name of this run would not be deleted.
        if any(TOKEN not in x.split("~")[0].split(" ")[0] and "~" in x for x in text.split("\n")):
            return None
        file = rng.choice(["/uprobe_events", "/dynamic_events"])
        return f"{file} << {text!r}", lambda t: t.write(file, text, APPEND), ["/uprobe_events", "/dynamic_events", "/error_log"]

    def delete(self, kernel):
        rng = self.rng
        event = self.event()
        text = rng.choice([f"-:{self.group}/{event}"] * 8 + [f"-:{event}", f"-:{TOKEN}no", f"-{event}", "-:", f"-:no/{event}", f"-:{self.group}/{event} ~:0x1"])
        if rng.random() < .05:
            text = f"-:{self.group}/"
        meant = [x for x in self.EVENTS if text.endswith(("/" + x, ":" + x))] or self.EVENTS
        listing = kernel.read("/uprobe_events")
        for x in meant:
            several = len(re.findall(rf"^[pr]:{self.group}/{x} ", listing, re.M)) > 1
            if several and kernel.read(f"events/{self.group}/{x}/enable") == "1\n":
                return None
        file = rng.choice(["/uprobe_events", "/dynamic_events"])
        if file == "/dynamic_events" and rng.random() < .3 and text.startswith("-:"):
            text = "!p" + text[1:]
        return (f"{file} << {text!r}", lambda t: t.write(file, text + "\n", APPEND),
                ["/uprobe_events", "/error_log", "trace", f"events/{self.group}/enable", "set_event"])

    def enable(self):
        folder = self.folder() if self.rng.random() < .75 else f"events/{self.group}"
        text = self.rng.choice(self.BOOLS)
        return (f"{folder}/enable < {text!r}", lambda t: t.write(folder + "/enable", text),
                [folder + "/enable", f"events/{self.group}/enable"])

    def set_event(self):
        rng, event = self.rng, self.event()
        text = rng.choice([f"{self.group}:{event}", f"!{self.group}:{event}", f"!{self.group}", f"{self.group}:*", f"{event}", f"{self.group}:no",
                           f"{TOKEN}no", "!no:no", f"{self.group}:{event} {self.group}:no", " "])
        flags = TRUNC if rng.random() < .2 else APPEND
        return f"set_event < {text!r} {flags:#o}", lambda t: t.write("set_event", text, flags), [f"events/{self.group}/enable"]

    def filter(self):
        folder = self.folder() if self.rng.random() < .85 else f"events/{self.group}"
        text = self.rng.choice(self.FILTERS)
        return (f"{folder}/filter < {text!r}", lambda t: t.write(folder + "/filter", text),
                [f"events/{self.group}/{x}/filter" for x in self.EVENTS] + ["error_log", f"events/{self.group}/filter"])

    def look(self):
        file = self.rng.choice([self.folder() + "/format", f"events/{self.group}/{self.event()}/nosuch", "nosuch", "current_tracer",
                                "tracing_on", "set_event_pid", "buffer_size_kb", "buffer_total_size_kb", "trace_options", "error_log", "options/overwrite",
                                "options/markers", "options/nosuch", f"per_cpu/cpu{CPU}/trace", f"per_cpu/cpu{CPU}/stats", f"per_cpu/cpu{CPU}/buffer_size_kb", "/uprobe_events", "trace_marker"])
        return f"read {file}", lambda t: "", [file]

    def setting(self):
        rng = self.rng
        file, text = rng.choice([(f, b) for f in ("tracing_on", "options/overwrite", "options/markers", "options/userstacktrace") for b in self.BOOLS] + [
            (f, x) for f, all_x in {
                "buffer_size_kb": ["1", "64", "1410", "0", "x", "7\n", "8"], f"per_cpu/cpu{CPU}/buffer_size_kb": ["1410", "77", "0", "x"], "trace_options": ["overwrite", "nooverwrite", " nomarkers\n", "markers", "userstacktrace", "nouserstacktrace", "foo", "no", "nofoo"],
                "set_event_pid": ["1", "x", "1 2\n", "-1", " ", "3 2 3"], "current_tracer": ["nop", " nop\n", "foo", "x"],
                "trace_marker": ["hi", "hi\n", "two\nlines", "x" * 300], "trace_pipe": ["x"], "error_log": ["x"], "trace": ["x"],
                "buffer_total_size_kb": ["1"], f"events/{self.group}/{self.EVENTS[0]}/id": ["1"], f"events/{self.group}/{self.EVENTS[0]}/format": ["1"]}.items() for x in all_x])
        return f"{file} < {text!r}", lambda t: t.write(file, text), [] if file == "trace_pipe" else [file]

    def truncate(self):
        file = self.rng.choice(["trace", "error_log", "set_event_pid", "set_event", "tracing_on", f"per_cpu/cpu{CPU}/trace", "nosuch"])
        return f"> {file}", lambda t: t.write(file, "", TRUNC), [file]

    def other(self):
        what, names = self.rng.choice([
            (os.mkdir, ["x"]), (os.mkdir, ["events/x"]), (os.mkdir, ["/x"]), (os.rmdir, ["options"]), (os.rmdir, ["events"]), (os.unlink, ["trace"]),
            (os.rename, ["trace", "t"]), (os.mknod, ["y"]), (os.link, ["trace", "l"]), (os.rmdir, ["/instances/" + TOKEN + "no"]),
            (os.mkdir, ["/instances/" + TOKEN]), (os.mkdir, ["/instances/" + TOKEN + "2"]), (os.rmdir, ["/instances/" + TOKEN + "2"]),
            (lambda p: os.truncate(p, 0), ["trace"]), (lambda p: os.close(os.open(p, os.O_WRONLY | os.O_CREAT)), ["z"]),
            (os.listdir, ["trace"]), (lambda p: os.symlink("a", p), ["s"])])
        return f"{what.__name__} {names}", lambda t: t.call(what, *names), ["trace"]

    def run(self):
        pipe = self.rng.random() < .3
        return "run", lambda t: t.run() + (mask("trace_pipe", t.read("trace_pipe", os.O_RDONLY | os.O_NONBLOCK)) if pipe else ""), ["trace", "/uprobe_profile"]

    def next(self, kernel):
        weights = {"define": 20, "delete": 6, "enable": 14, "set_event": 4, "filter": 10, "look": 10, "setting": 10, "truncate": 4, "other": 5, "run": 12}
        while True:
            what = self.rng.choices(list(weights), list(weights.values()))[0]
            made = self.delete(kernel) if what == "delete" else getattr(self, what)()
            if made:
                return made


# --- both sides ------------------------------------------------------------------------------------

def clean(kernel_top):
    """What this run made, and what killed ones have left."""
    for name in os.listdir(kernel_top + "/instances"):
        m = re.match(r"ubpt(\d+)2?$", name)
        if m and (int(m[1]) == os.getpid() or not os.path.exists(f"/proc/{m[1]}")):
            with open(f"{kernel_top}/instances/{name}/set_event", "w", encoding="ascii"):
                pass
            os.rmdir(f"{kernel_top}/instances/{name}")
    with open(kernel_top + "/uprobe_events", encoding="utf-8", errors="surrogateescape") as f:
        left = re.findall(r"^[pr]:((\S+)/\S*) .*?ubpt(\d+)", f.read(), re.M)
    for event, _, pid in dict.fromkeys(left):
        if int(pid) == os.getpid() or not os.path.exists(f"/proc/{pid}"):
            # A run that was killed has left it enabled, perhaps.
            with contextlib.suppress(FileNotFoundError), open(f"{kernel_top}/events/{event}/enable", "w", encoding="ascii") as enable:
                enable.write("0")
            fd = os.open(kernel_top + "/uprobe_events", APPEND)
            try:
                os.write(fd, f"-:{event}\n".encode())
            except FileNotFoundError:
                pass
            finally:
                os.close(fd)


def compare(operations, kernel, ours):
    """A text for each difference."""
    found = []
    for i in range(N):
        told, do, files = operations.next(kernel)
        answers = [do(kernel), do(ours)]
        if answers[0] != answers[1]:
            found.append(f"{i}: {told}: kernel {answers[0]!r}, ubp-fs {answers[1]!r}")
        for file in files:
            texts = [mask(file, t.read(file)) for t in (kernel, ours)]
            if texts[0] != texts[1]:
                found.append(f"{i}: {told}: {file} reads\n" + "\n".join(difflib.unified_diff(texts[0].split("\n"), texts[1].split("\n"), "kernel", "ubp-fs", lineterm="", n=1)))
        if len(found) >= SHOWN:
            break
    return found


def main():
    fs = os.environ["UBP_FS"]
    if not os.path.exists(fs):
        oracle.skip("ubp-fs is not built: libfuse3 is missing")
    if not os.access("/dev/fuse", os.W_OK):
        oracle.skip("no /dev/fuse")
    if not os.access(oracle.TRACEFS + "/uprobe_events", os.W_OK):
        oracle.skip("no uprobe_events that can be written")
    # The kernel's paths and ours differ in one letter.  Behind the number comes no digit: clean() of another run reads it.
    base = tempfile.mkdtemp(prefix=TOKEN + "_", dir=os.getcwd())
    for side in "ku":
        os.mkdir(f"{base}/{side}")
        shutil.copy(oracle.fixture("hello"), f"{base}/{side}/hello")
    os.mkdir(base + "/mount")
    symbols = oracle.Elf(oracle.fixture("hello")).symbols
    offsets = [symbols[x][0] for x in ("greet", "length", "main") if x in symbols]
    kernel, ours = Tree(oracle.TRACEFS, f"{base}/k/hello"), Tree(base + "/mount", f"{base}/u/hello")
    clean(oracle.TRACEFS)
    with subprocess.Popen([fs, "-f", base + "/mount"]) as server:
        try:
            while not os.path.exists(ours.path("/uprobe_events")):
                if server.poll() is not None:
                    sys.exit("ubp-fs has ended")
            # What runs from here on is of one CPU, whose files can be compared.
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            for tree in (kernel, ours):
                os.mkdir(tree.own)
            found = compare(Operations(random.Random(SEED), offsets), kernel, ours)
        finally:
            server.send_signal(signal.SIGTERM)
            status = server.wait()
            clean(oracle.TRACEFS)
    print(f"seed {SEED}: {N} operations, {len(found)} differences")
    for text in found[:SHOWN]:
        print(text)
    if status:
        print(f"ubp-fs ended with {status}")
    sys.exit(1 if found or status else 0)


main()
