# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# test-mounts
"""Random operations, performed on the kernel's tracing tree and on that of ubp-fs: each has the same errno, and all files that it
touches read the same behind it. What is masked are times, CPUs, process ids and flags; ids are compared with what they are to be (lib/trees.py).

Each side has a copy of a fixture of its own, so that both never probe one place, and a folder in instances/; of the tree's own files those are
written that are about our events alone. A run has two parts. In the first one several events may be at one place, where their order is the
tracer's. In the second one each event has places of its own, so that triggers, which are written then, see all hits in one order.

On the kernel's side all definitions are deleted (O_TRUNC) only where all are ours, no event with several probes is deleted while it is enabled, and
what a killed run has left is deleted. TREE_SEED and TREE_N choose the run: `make check-tree` makes a long one. TREE_TELL=1 tells each operation. A run of 1000 and more
also enables all events of the kernel's for a moment, in our folder."""

import difflib
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
from trees import APPEND, CPU, DEFINITIONS, TOKEN, TRUNC, Tree, clean  # noqa: E402

SEED = int(os.environ.get("TREE_SEED", "1"))
N = int(os.environ.get("TREE_N", "160")) // int(os.environ.get("UBP_SLOWER", "1"))
IS_LONG = N >= 1000
SHOWN = 10
# Of another CPU nothing is traced here.
OTHER_CPU = max(os.sched_getaffinity(0))
# Of files that kernels may lack, and that are compared by way of the corpus (tests/integ/ubp_fs_corpus.py).
CONFIGURED = ("snapshot", "hist", "synthetic_events")


# --- operations ------------------------------------------------------------------------------------

class Operations:
    """Each is told as a text, and gives (what to do with a tree, names of files to read behind it)."""

    EVENTS = [f"{TOKEN}_{c}" for c in "abcde"]
    ARGS = ["", "x=%di:u32", "s=+0(%di):string n=%si:s32", "$comm", "x=%di:s64 y=+8(%sp):x64[2]", "x=%ax:b4@2/8",
            "c=\\\"lit\" i=\\7", "x=%zz", "x=%di:u31", "s=+0(%di", "x=%di x=%si", "$retval", "x=+0(+0(%di)):ustring", "$stack1"]
    FILTERS = ["0", "", " ", "n > 1", "n==2", "x != 0\n", "foo == 1", "s == \"you\"", "s ~ \"*ou\"", "(n > 1", "n >", "n > 1 && x", " n > 0 ",
               "COMM == \"hello\"", "common_pid > 0", "none", "n & 1"]
    BOOLS = ["0", "1", "0\n", "1\n", "0", "1", "2", "x", " 1", "1 ", "-1", "00", "1\n\n", "+1", "10", "0x1", "99999999999999999999"]
    WRITTEN = {
        "tracing_on": BOOLS, "options/overwrite": BOOLS, "options/markers": BOOLS, "options/userstacktrace": BOOLS,
        "buffer_size_kb": ["1", "64", "1410", "0", "x", "7\n", "8"], f"per_cpu/cpu{CPU}/buffer_size_kb": ["1410", "77", "0", "x"],
        "trace_options": ["overwrite", "nooverwrite", " nomarkers\n", "markers", "userstacktrace", "nouserstacktrace", "foo", "no", "nofoo"],
        "set_event_pid": ["1", "x", "1 2\n", "-1", " ", "3 2 3"], "current_tracer": ["nop", " nop\n", "foo", "x"],
        "trace_clock": ["local", "global", "mono", "mono_raw", "boot", "tai", " mono\n", "tai\n", "mono x", "MONO", "[local]", "x", " "],
        "trace_marker": ["hi", "hi\n", "two\nlines", "x" * 300], "trace_pipe": ["x"], "error_log": ["x"], "trace": ["x"],
        "buffer_total_size_kb": ["1"], "available_tracers": ["nop"], "/available_events": ["x"], "/saved_cmdlines": ["x"], "/README": ["x"], "/uprobe_profile": ["x"],
        f"per_cpu/cpu{CPU}/stats": ["x"], f"per_cpu/cpu{CPU}/trace": ["x"], f"per_cpu/cpu{CPU}/trace_pipe": ["x"], f"events/{TOKEN}/{EVENTS[0]}/id": ["1"],
        f"events/{TOKEN}/{EVENTS[0]}/format": ["1"], "events/enable": ["0", "0\n", "x", "2", "-1", " 0"]}
    LOOKED_AT = ["nosuch", "current_tracer", "available_tracers", "tracing_on", "set_event_pid", "buffer_size_kb", "buffer_total_size_kb", "trace_options", "error_log",
                 "options/overwrite", "options/markers", "options/userstacktrace", "options", "events", "set_event", "trace_clock", "trace_marker", "events/enable",
                 f"per_cpu/cpu{CPU}/stats", f"per_cpu/cpu{CPU}/trace", f"per_cpu/cpu{CPU}/buffer_size_kb", f"per_cpu/cpu{OTHER_CPU}/trace", "trace", "/uprobe_profile",
                 "/available_events", "/set_event", "/README", "/trace", *DEFINITIONS]

    def __init__(self, rng, places, is_apart):
        """PLACES: places_of()."""
        self.rng, self.places, self.is_apart = rng, places, is_apart
        self.group, self.n = TOKEN, 0

    def event(self):
        return self.rng.choice(self.EVENTS)

    def whose(self):
        """Of our folder in instances/, or the tree's own."""
        return "/" if self.rng.random() < .2 else ""

    def folder(self):
        return f"{self.whose()}events/{self.group}/{self.event()}"

    def definition(self):
        rng = self.rng
        event = self.event()
        kind = rng.choice("pppprrr") if rng.random() < .95 else rng.choice(["q", "p10", "r10", "", "p:"])
        # What has no name of its own would be at a place of another one.
        unnamed = [] if self.is_apart else ["", f":{self.group}/"]
        name = f":{self.group}/{event}" if rng.random() < .95 else rng.choice([*unnamed, f":{self.group}/a-b", f":/{TOKEN}", f":{self.group}.{event}", ":1/2"])
        functions, between = self.places
        offset = rng.choice(functions)
        if self.is_apart:
            at = self.EVENTS.index(event)
            if at < len(functions):
                offset = functions[at]
            else:
                # Amid a function there is no return address to be replaced.
                offset, kind = between[at - len(functions)], kind.replace("r", "p")
        place = f"~:{offset:#x}" if rng.random() < .93 else rng.choice(
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
        file = rng.choice(DEFINITIONS)
        return f"{file} << {text!r}", lambda t: t.write(file, text, APPEND), [*DEFINITIONS, "/error_log", "/available_events"]

    def delete(self, kernel):
        rng = self.rng
        event = self.event()
        text = rng.choice([f"-:{self.group}/{event}"] * 8 + [f"-:{event}", f"-:{TOKEN}no", f"-{event}", "-:", f"-:no/{event}", f"-:{self.group}/{event} ~:0x1"])
        if rng.random() < .05:
            text = f"-:{self.group}/"
        meant = [x for x in self.EVENTS if text.endswith(("/" + x, ":" + x))] or self.EVENTS
        listing = kernel.read("/uprobe_events")
        if text == f"-:{self.group}/" and self.is_part_busy(kernel):
            return None
        for x in meant:
            several = len(re.findall(rf"^[pr]:{self.group}/{x} ", listing, re.M)) > 1
            if several and any(kernel.read(f"{top}events/{self.group}/{x}/enable") != "0\n" for top in ("", "/")):
                return None
        file = rng.choice(DEFINITIONS)
        if file == "/dynamic_events" and rng.random() < .3 and text.startswith("-:"):
            text = "!p" + text[1:]
        return (f"{file} << {text!r}", lambda t: t.write(file, text + "\n", APPEND),
                ["/uprobe_events", "/error_log", "trace", "/trace", f"events/{self.group}/enable", "set_event", "/available_events"])

    def is_part_busy(self, kernel):
        """Would some events of the group be deleted before one that is enabled ends that? Lines of theirs are of an "Unknown type" to the kernel then."""
        try:
            names = [x for x in os.listdir(kernel.path(f"/events/{self.group}")) if x not in ("enable", "filter")]
        except FileNotFoundError:
            return False
        return len({any(kernel.read(f"{top}events/{self.group}/{x}/enable") != "0\n" for top in ("", "/")) for x in names}) > 1

    def delete_all(self, kernel):
        file = self.rng.choice(DEFINITIONS)
        if not kernel.has_only_ours():
            return None
        return f"> {file}", lambda t: t.write(file, "", TRUNC), [*DEFINITIONS, "trace", "/trace", "set_event", "/available_events", f"events/{self.group}/enable"]

    def enable(self):
        folder = self.folder() if self.rng.random() < .75 else f"{self.whose()}events/{self.group}"
        text = self.rng.choice(self.BOOLS)
        return (f"{folder}/enable < {text!r}", lambda t: t.write(folder + "/enable", text),
                [folder + "/enable", f"events/{self.group}/enable", f"/events/{self.group}/enable"])

    def enable_all(self):
        """All events of our folder, and at once none any more, while nothing is kept."""
        def both(tree):
            said = [tree.write("tracing_on", "0"), tree.write("events/enable", "1"), *(tree.read(f"events/{TOKEN}/{x}/enable") for x in self.EVENTS)]
            return [*said, tree.write("events/enable", "0"), tree.write("tracing_on", "1")]
        return ("events/enable < 1, 0", both, ["events/enable", f"events/{self.group}/enable", "trace"]) if IS_LONG else None

    def set_event(self):
        rng, event, file = self.rng, self.event(), self.whose() + "set_event"
        text = rng.choice([f"{self.group}:{event}", f"!{self.group}:{event}", f"!{self.group}", f"{self.group}:*", f"{event}", f"{self.group}:no",
                           f"{TOKEN}no", "!no:no", f"{self.group}:{event} {self.group}:no", " "])
        flags = TRUNC if file == "set_event" and rng.random() < .2 else APPEND
        return f"{file} < {text!r} {flags:#o}", lambda t: t.write(file, text, flags), [f"events/{self.group}/enable", file]

    def filter(self):
        where = self.whose()
        folder = f"{where}events/{self.group}" + (f"/{self.event()}" if self.rng.random() < .85 else "")
        text = self.rng.choice(self.FILTERS)
        return (f"{folder}/filter < {text!r}", lambda t: t.write(folder + "/filter", text),
                [f"{where}events/{self.group}/{x}/filter" for x in self.EVENTS] + [where + "error_log", f"{where}events/{self.group}/filter"])

    def trigger(self):
        if not self.is_apart:
            return None
        rng, where = self.rng, self.whose()
        folder, other = f"{where}events/{self.group}/{self.event()}", self.event()
        # What the tree's own ones do concerns our events alone.
        words = ["enable_event", "disable_event"] + ([] if where else ["traceoff", "traceon"] * 2)
        text = rng.choice(words)
        if text.endswith("event"):
            text += rng.choice([f":{self.group}:{other}"] * 8 + ["", f":{self.group}", f":{self.group}:no", f":no:{other}"])
        text += rng.choice(["", "", "", ":1", ":2", ":0", ":x", ":", ":-1", ":1:1"]) + rng.choice(["", "", "", " if n > 1", " if n == 1", " if n", " if", " if x != 0", " if s == \"you\""])
        if rng.random() < .05:
            text = rng.choice(["", " ", "nonsense", "!nonsense", "!", "traceoff x", "if n > 1"])
        if rng.random() < .35:
            text = "!" + text
        flags = TRUNC if rng.random() < .1 else os.O_WRONLY
        return (f"{folder}/trigger < {text!r} {flags:#o}", lambda t: t.write(folder + "/trigger", text, flags),
                [f"{where}events/{self.group}/{x}/{y}" for x in self.EVENTS for y in ("trigger", "enable")] + ["tracing_on", where + "error_log"])

    def look(self):
        file = self.rng.choice([self.folder() + "/format", f"events/{self.group}/{self.event()}/nosuch", *self.LOOKED_AT])
        piece = self.rng.choice([65536, 65536, 61])
        return f"cat {file} ({piece})", lambda t: t.masked(file, piece=piece), []

    def look_at_ids(self):
        return "ids", lambda t: t.ids(self.EVENTS), []

    def setting(self):
        file, text = self.rng.choice([(file, x) for file, all_x in self.WRITTEN.items() for x in all_x])
        # ubp-fs refuses that while there are triggers.
        if self.is_apart and "userstacktrace" in file + text:
            return None
        # What the last two say is compared by told_of_run() and ids().
        files = [] if file.endswith(("trace_pipe", "saved_cmdlines", "/id")) else [file]
        if file == "events/enable":
            files += [f"events/{self.group}/{x}/enable" for x in self.EVENTS]
        return f"{file} < {text!r}", lambda t: t.write(file, text), files + (["trace"] if file == "trace_clock" else [])

    def truncate(self):
        file = self.rng.choice(["trace", "error_log", "set_event_pid", "set_event", "tracing_on", f"per_cpu/cpu{CPU}/trace", "nosuch", "trace_clock", "trace_options",
                                self.folder() + "/filter", self.folder() + "/enable", f"per_cpu/cpu{OTHER_CPU}/trace"])
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
        pipe = self.rng.choice(["trace_pipe", "trace_pipe", f"per_cpu/cpu{CPU}/trace_pipe", f"per_cpu/cpu{OTHER_CPU}/trace_pipe"] + [None] * 8)
        called = f"RUN{self.n}" if self.rng.random() < .1 else None

        def do(tree):
            return tree.run(called), tree.told_of_run(), tree.masked(pipe, flags=os.O_RDONLY | os.O_NONBLOCK) if pipe else ""
        triggered = [f"events/{self.group}/{x}/{y}" for x in self.EVENTS for y in ("trigger", "enable")] if self.is_apart else []
        return (f"run {called or ''} {pipe or ''}", do,
                ["trace", "/trace", "/uprobe_profile", f"per_cpu/cpu{CPU}/stats", f"per_cpu/cpu{CPU}/trace", "tracing_on", *triggered] + (["set_event_pid"] if called else []))

    def next(self, kernel):
        weights = {"define": 20, "delete": 6, "enable": 14, "set_event": 4, "filter": 10, "trigger": 14, "look": 10, "look_at_ids": 2, "setting": 11, "truncate": 4,
                   "other": 5, "run": 13, "delete_all": 1, "enable_all": .15}
        self.n += 1
        while True:
            what = self.rng.choices(list(weights), list(weights.values()))[0]
            made = getattr(self, what)(kernel) if what in ("delete", "delete_all") else getattr(self, what)()
            if made:
                return made


# --- both sides ------------------------------------------------------------------------------------

def difference(told, file, texts):
    if texts[0] == texts[1]:
        return []
    lines = list(difflib.unified_diff(texts[0].split("\n"), texts[1].split("\n"), "kernel", "ubp-fs", lineterm="", n=1))
    return [f"{told}: {file} reads\n" + "\n".join(lines[:12])]


def compare(operations, n, kernel, ours):
    """A text for each difference."""
    found = []
    for i in range(n):
        told, do, files = operations.next(kernel)
        if "TREE_TELL" in os.environ:
            print(f"{i}: {told}", flush=True)
        answers = [do(kernel), do(ours)]
        if answers[0] != answers[1]:
            found.append(f"{i}: {told}: kernel {answers[0]!r}, ubp-fs {answers[1]!r}")
        for file in files:
            found += difference(f"{i}: {told}", file, [t.masked(file) for t in (kernel, ours)])
        if len(found) >= SHOWN:
            break
    return found


def compare_modes(kernel, ours):
    """Each file and folder that we have is one of the kernel's, with the same mode. At least one event is there then."""
    text = f"p:{TOKEN}/{TOKEN}_mode ~:0x"
    for tree in (kernel, ours):
        tree.write("/uprobe_events", text + f"{oracle.Elf(tree.target).symbols['greet'][0]:x}\n", APPEND)
    has, have = kernel.modes(), ours.modes()
    found = [f"{name}: kernel {has.get(name)}, ubp-fs {mode}" for name, mode in have.items() if has.get(name) != mode and os.path.basename(name) not in CONFIGURED]
    for tree in (kernel, ours):
        tree.write("/uprobe_events", f"-:{TOKEN}/{TOKEN}_mode\n", APPEND)
    return found if len(have) > 60 else [f"only {len(have)} files"]


def begin_anew(kernel, ours):
    """What the first part has left goes: by way of what can be done with the files."""
    found = []
    unnamed = [f"-:{TOKEN}/{x}\n" for x in sorted(set(re.findall(rf"^[pr]:{TOKEN}/(p_\S+)", kernel.read("/uprobe_events"), re.M)))]
    for file, text, flags in [("set_event", "", TRUNC), (f"/events/{TOKEN}/enable", "0", os.O_WRONLY), ("set_event_pid", "", TRUNC),
                              ("tracing_on", "1", os.O_WRONLY), ("buffer_size_kb", "1410", os.O_WRONLY), ("trace_options", "markers", os.O_WRONLY),
                              *(("/uprobe_events", x, APPEND) for x in [f"-:{TOKEN}/{x}\n" for x in Operations.EVENTS] + unnamed), ("trace", "", TRUNC)]:
        answers = [t.write(file, text, flags) for t in (kernel, ours)]
        if answers[0] != answers[1]:
            found.append(f"between the parts: {file} < {text!r}: kernel {answers[0]}, ubp-fs {answers[1]}")
    return found


def places_of(program):
    """Offsets of two functions, and of three other instructions of the first one: so many as there are events."""
    at = oracle.Elf(program).symbols["greet"][0]
    between = [at + x for x in (oracle.instructions(program, "greet")[1::2] if os.uname().machine == "x86_64" else range(4, 16, 4))]
    return [at, oracle.Elf(program).symbols["main"][0]], between[:3]


def compare_parts(places, kernel, ours):
    rng = random.Random(SEED)
    found = compare_modes(kernel, ours)
    found += compare(Operations(rng, places, False), N // 2, kernel, ours)
    if len(found) < SHOWN:
        found += begin_anew(kernel, ours)
        found += compare(Operations(rng, places, True), N - N // 2, kernel, ours)
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
    kernel, ours = Tree(oracle.TRACEFS, f"{base}/k/hello"), Tree(base + "/mount", f"{base}/u/hello")
    clean(oracle.TRACEFS)
    with subprocess.Popen([fs, "-f", base + "/mount"]) as server:
        try:
            while not os.path.exists(ours.path("/uprobe_events")):
                if server.poll() is not None:
                    sys.exit("ubp-fs has ended")
            # What runs from here on is of one CPU, whose files can be compared.
            os.sched_setaffinity(0, {CPU})
            for tree in (kernel, ours):
                os.mkdir(tree.own)
            found = compare_parts(places_of(oracle.fixture("hello")), kernel, ours)
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
