# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# test-mounts
"""Rows of the corpus of triggers (tests/corpus/triggers.jsonl: what a kernel with histograms answered) by way of the files that ubp-fs serves: each
text is written to "trigger", "synthetic_events", "enable" or "filter", and errno, the entries of error_log and what files read then are compared, at last
trigger, hist, enable, tracing_on, trace, snapshot and dynamic_events. Each row has a tree of its own, as it had when it was recorded; every second row is
played in a folder of its instances/, with only definitions outside. Where the kernel shows its own stack, ubp-fs shows the program's: frames are left out.
CORPUS_EACH=1: every row that such a tree can be given (make check-tree); else every 40th of them, and every 5th of those with a snapshot.
CORPUS_ROWS="ID ID...": these. CORPUS_WITHIN=0, =1: no row in instances/, all of them."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests/oracle/lib"))
import oracle  # noqa: E402

SRC = os.environ["UBP_SRC"]
# None is left out unseen: so many can be given.
N_FIT = 1052
EACH = int(os.environ.get("CORPUS_EACH", "40"))
ROWS = os.environ.get("CORPUS_ROWS", "").split()
WITHIN = os.environ.get("CORPUS_WITHIN")
# Played each time: set_event_pid, two events at one place, stacks in histograms and as variables.
ALWAYS = ("ctl-044", "exprval-041", "multi-019", "match-034")
# What there is once for the tree.
COMMON = ("uprobe_events", "dynamic_events", "synthetic_events")
APPEND, TRUNC = os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC
LINE = re.compile(r"^ *(\S+)-\d+ +\[\d{3}\] \S+ +\d+\.\d+: (.*)$", re.M)


def encode(text):
    return text.encode(errors="surrogateescape")


def why_not(row):
    """What the tree has not got: events of the kernel's own, an answer that is one by accident."""
    if "sched_switch" in json.dumps(row["steps"]):
        return "sched"
    # A stack as a number is an address of the kernel's.
    return "undefined" if "undefined" in row or "stacktrace.hex" in json.dumps(row["steps"]) else None


def wants_stacks(row):
    return "stacktrace" in json.dumps(row["steps"]).lower()


def without_frames(text):
    """The kernel has its own stack there, ubp-fs the program's."""
    return re.sub(r"^( ?=> | {9}).*\n", "", text, flags=re.M).replace("<user stack trace>", "<stack trace>")


class Tree:
    IDLE = "traceon if common_pid == 0"

    def __init__(self, top, own, target, addresses):
        self.top, self.own, self.target, self.addresses = top, own, target, addresses
        self.found = []

    def path(self, name):
        return f"{self.top if name in COMMON else self.own}/{name}"

    def write(self, name, text, flags=os.O_WRONLY):
        try:
            fd = os.open(self.path(name), flags)
        except OSError as e:
            return errno.errorcode[e.errno]
        try:
            if text or not flags & os.O_TRUNC:
                os.write(fd, encode(text))
        except OSError as e:
            return errno.errorcode[e.errno]
        finally:
            os.close(fd)
        return None

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="surrogateescape", newline="") as f:
            return f.read()

    def same(self, what, have, want):
        if "@" not in want and have != want:
            self.found.append(f"{what}:\n{have}\nnot\n{want}")

    def same_file(self, name, want):
        have = self.read(name)
        if name.endswith("/trigger"):
            have = re.sub(r"\A# Available triggers:\n#.*\n", "", have)
        if name.endswith(("/enable", "tracing_on")):
            have = have.rstrip("\n")
            want = want.rstrip("\n")
        if name.endswith("/hist"):
            have, want = without_frames(have), without_frames(want)
        if not self.is_vague or not name.endswith("/hist"):
            self.same(name, re.sub(r"^ID: \d+$", "ID: @TYPE@", have, flags=re.M) if name.endswith("/format") else have, want)

    def same_errors(self, text, want):
        have = self.read("error_log")
        if self.own != self.top:
            # Those of synthetic_events are the tree's own.
            with open(f"{self.top}/error_log", encoding="utf-8", errors="surrogateescape") as f:
                have = f.read() + have
        have = re.sub(r"^\[ *\d+\.\d+\] ", "", have, flags=re.M)
        entries = [f"{e['loc']}: error: {e['text']}\n  Command: {e['command']}\n{' ' * (11 + e['caret'])}^\n" for e in want or []]
        self.same(f"error_log after {text!r}", have, "".join(entries))

    def take_stacks(self, defs):
        """From the beginning on, as they can't be taken from a trigger on that has others before it: another folder in instances/ asks for them."""
        os.mkdir(self.top + "/instances/stacks")
        for name, text in ("options/userstacktrace", "1"), (f"events/uprobes/{re.split('[ :]', defs[0])[1]}/enable", "1"):
            with open(f"{self.top}/instances/stacks/{name}", "w", encoding="ascii") as f:
                f.write(text)

    def come_first(self, defs):
        """Of events at one place the kernel runs that which was defined last first, ubp-fs that whose probe came first: that one has a probe from the
        beginning, until a trigger of its own is written, by one that never is about a hit."""
        places = [d.split()[1] for d in defs]
        names = [d.split()[0].split(":")[1] for d in defs]
        self.early = {f"uprobes/{name}": self.IDLE for i, name in enumerate(names) if places[i] in places[:i]}
        for event, text in self.early.items():
            if self.write(f"events/{event}/trigger", text):
                self.found.append(f"{text}: refused")

    def write_step(self, step):
        name = f"events/{step['event']}/trigger" if step["write"] == "trigger" else step["write"]
        self.write("error_log", "", TRUNC)
        if self.own != self.top:
            os.close(os.open(f"{self.top}/error_log", TRUNC))
        have = self.write(name, step["text"], TRUNC if step.get("trunc") else os.O_WRONLY)
        if step["write"] == "trigger" and step["event"] in self.early and self.write(name, "!" + self.early.pop(step["event"])):
            self.found.append("what came first stays")
        if have != step["errno"]:
            self.found.append(f"{name} < {step['text']!r}: {have}, not {step['errno']}")
            return
        self.same_errors(step["text"], step["error"])
        if "listing" in step and name.endswith(("/trigger", "synthetic_events")) and os.path.exists(self.path(name)):
            self.same_file(name, step["listing"])

    def same_trace(self, name, want):
        lines = "\n".join(want)
        lines = re.sub(r"-@T[\d.]+@: ", ": ", lines)
        for symbol, address in self.addresses.items():
            lines = lines.replace(f"@{symbol}@", f"0x{address:x}")
        have = re.sub(r"^#.*\n", "", self.read(name), flags=re.M)
        # In the corpus a line has no blank at its beginning where a stack ends in it.
        self.same(name, re.sub("^ ", "", without_frames(LINE.sub(r"\1: \2", have)), flags=re.M).rstrip("\n"), without_frames(lines + "\n").rstrip("\n"))

    def check(self, row):
        self.is_vague = bool({"volatile", "order"} & set(row))
        for text in row["defs"]:
            text = re.sub(r"@OFF\((\w+)\)@", lambda m: f"0x{self.addresses[m[1]] - 0x400000:x}", text.replace("@BIN@", self.target))
            if self.write("uprobe_events", text + "\n", APPEND):
                self.found.append(f"{text}: refused")
        if wants_stacks(row) and row["defs"]:
            self.take_stacks(row["defs"])
        self.come_first(row["defs"])
        for step in row["steps"]:
            if "run" in step:
                subprocess.run([self.target, *step["run"]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            elif "read" in step:
                self.same_file(step["read"], step["text"])
            else:
                self.write_step(step)
        for name, want in row["after"].items():
            if "/" in name:
                self.same_file("events/" + name, want)
            elif name == "tracing_on":
                self.same_file(name, want)
            elif name in ("trace", "snapshot") and isinstance(want, list):
                self.same_trace(name, want)
            elif name == "snapshot":
                # "allocated", "freed": nothing is in it.
                self.same(name, (re.findall(r"^# \* Snapshot is (\w+) \*$", self.read(name), re.M) + ["some"])[0], want)
            elif name == "dynamic_events":
                made = "".join(x + "\n" for x in self.read(name).split("\n") if x.startswith("s:"))
                self.same(name, made, "".join(x + "\n" for x in want.split("\n") if x.startswith("s:")))


def check_row(row, target, addresses, within):
    mount = tempfile.mkdtemp(prefix="m", dir=os.getcwd())
    tree = Tree(mount, f"{mount}/instances/i" if within else mount, target, addresses)
    with subprocess.Popen([os.environ["UBP_FS"], "-f", mount]) as server:
        try:
            while not os.path.exists(mount + "/README"):
                if server.poll() is not None:
                    sys.exit("ubp-fs has ended")
            if within:
                os.mkdir(tree.own)
            tree.check(row)
        finally:
            server.send_signal(signal.SIGTERM)
            if server.wait():
                tree.found.append(f"ubp-fs ended with {server.returncode}")
    os.rmdir(mount)
    return [f"{row['id']}: {x}" for x in tree.found]


def main():
    if not os.path.exists(os.environ["UBP_FS"]):
        oracle.skip("ubp-fs is not built: libfuse3 is missing")
    if not os.access("/dev/fuse", os.W_OK) or not (os.geteuid() == 0 or shutil.which("fusermount3")):
        oracle.skip("no /dev/fuse")
    if os.uname().machine != "x86_64":
        oracle.skip("the corpus is of x86-64")
    if 0 not in os.sched_getaffinity(0):
        oracle.skip("needs processor 0: the rows were recorded with that alone")
    target = os.path.abspath("trigtgt")
    subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "-static", "-pthread", "-w", "-I", SRC, "-o", target, os.path.join(SRC, "tests/corpus/trigtgt.c")], check=True)
    nm = subprocess.run(["nm", target], check=True, capture_output=True, text=True).stdout
    addresses = {m[2]: int(m[1], 16) for m in re.finditer(r"^(\w+) T (pt_\w+)$", nm, re.M)}
    with open(os.path.join(SRC, "tests/corpus/triggers.jsonl"), encoding="utf-8") as f:
        rows = [r for r in map(json.loads, f) if not why_not(r)]
    os.sched_setaffinity(0, {0})
    n_bad = 0
    snapshots = [r for r in rows if "snapshot" in r["after"]]
    some = rows[::EACH] + (snapshots[::5] + [r for r in rows if r["id"] in ALWAYS] if EACH > 1 else [])
    chosen = [r for r in rows if r["id"] in ROWS] if ROWS else some
    for i, row in enumerate(chosen):
        within = WITHIN == "1" if WITHIN else i % 2
        found = check_row(row, target, addresses, within)
        n_bad += bool(found)
        if found and n_bad <= 10:
            print("in an instance:" if within else "", "\n".join(found), flush=True)
    print(f"{len(rows)} rows fit, where {N_FIT} are to; {n_bad} of {len(chosen)} differ")
    sys.exit(1 if n_bad or len(rows) != N_FIT else 0)


main()
