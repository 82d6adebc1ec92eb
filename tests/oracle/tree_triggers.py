# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# test-mounts
"""The files "trigger" and "enable" of a folder in instances/ of the kernel's tree and of ubp-fs's: the same texts are written to both, the same program runs, and errno, what
files say and what was traced are compared. Histograms, which not every
kernel has, are the subject of tests/integ/ubp_fs_corpus.py."""

import errno
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
TOKEN = f"ubpt{os.getpid()}"
APPEND = os.O_WRONLY | os.O_APPEND
TRUNC = os.O_WRONLY | os.O_TRUNC

G = TOKEN
A, B = f"events/{G}/a", f"events/{G}/b"
# (file, text), ("top", file, text), ("run",), ("trunc", file), ("delete", text). Behind each step all files are compared.
STEPS = [
    (A + "/trigger", "traceoff:1"), ("run",), ("tracing_on", "1"), ("run",), (A + "/trigger", "!traceoff"),
    (A + "/enable", "1"), ("run",), (A + "/trigger", "traceoff"), ("run",), ("run",), ("tracing_on", "1"), ("run",),
    (A + "/trigger", "traceoff"), (A + "/trigger", "traceon"), (A + "/trigger", "!traceoff:3"), ("tracing_on", "1"), ("run",),
    (B + "/trigger", "traceoff if n == 2"), (A + "/enable", "0"), (B + "/enable", "1"), ("run",), ("tracing_on", "1"), (B + "/trigger", "!traceoff"),
    (B + "/enable", "0"), (A + "/trigger", f"enable_event:{G}:b:1"), ("run",), (B + "/enable", "1"), ("run",), (B + "/enable", "0"), ("run",),
    ("delete", f"-:{G}/b"), ("delete", f"-:{G}/a"), (A + "/trigger", f"!enable_event:{G}:b"), ("run",),
    (A + "/trigger", f"enable_event:{G}:b if n == 1"), ("run",), (A + "/trigger", f"!enable_event:{G}:b"),
    (B + "/enable", "1"), (A + "/trigger", f"disable_event:{G}:b"), ("run",), (B + "/enable", "1"), (A + "/trigger", f"!disable_event:{G}:b"), ("run",), (B + "/enable", "0"),
    (A + "/trigger", "traceoff if x > 1"), (A + "/trigger", "traceoff if"), (A + "/trigger", "nonsense"), (A + "/trigger", ""), (A + "/trigger", "\n"), (A + "/trigger", "traceoff:x"),
    (A + "/trigger", "traceoff:"), (A + "/trigger", "enable_event"), (A + "/trigger", f"enable_event:{G}:nobody"), (A + "/trigger", f"enable_event:{G}"),
    (A + "/trigger", "!traceoff"), (A + "/trigger", "!nonsense"), (A + "/trigger", "traceoff:2 if n == 1 && n > 0\n"), (A + "/trigger", "traceoff"), ("trunc", A + "/trigger"),
    (A + "/filter", "n == 2"), (A + "/enable", "1"), ("run",), ("tracing_on", "1"), ("run",), (A + "/trigger", "!traceoff"), ("run",), (A + "/enable", "0"),
    (A + "/trigger", "traceon"), ("tracing_on", "0"), ("run",), (A + "/trigger", "!traceon"), ("tracing_on", "1"),
    # A hit is counted once, in however many instances.
    ("top", A + "/enable", "1"), ("run",), (A + "/enable", "1"), ("run",), ("top", A + "/filter", "n == 1"), ("run",), ("top", A + "/enable", "0"), ("run",), ("top", A + "/enable", "1"),
    (A + "/enable", "0"), ("run",), ("top", A + "/enable", "0"), ("run",), ("delete", f"-:{G}/a"),
]
PROFILE = "../../uprobe_profile"
LOOKED_AT = [A + "/trigger", B + "/trigger", A + "/enable", B + "/enable", f"events/{G}/enable", "tracing_on", "set_event", "trace", PROFILE]
LINE = re.compile(r"^ *(\S+)-\d+ +\[\d{3}\] \S+ +\d+\.\d+: (.*)$", re.M)


class Tree:
    def __init__(self, top, own, target):
        self.top, self.own, self.target = top, own, target

    def write(self, path, text, flags=os.O_WRONLY):
        try:
            fd = os.open(path, flags)
        except OSError as e:
            return "open: " + errno.errorcode[e.errno]
        try:
            return str(os.write(fd, text.encode())) if text else ""
        except OSError as e:
            return errno.errorcode[e.errno]
        finally:
            os.close(fd)

    def read(self, name):
        with open(f"{self.own}/{name}", encoding="utf-8", errors="surrogateescape") as f:
            text = f.read()
        if name == PROFILE:
            return [line.split()[1:] for line in text.splitlines() if self.target in line]
        if name == "trace":
            return "\n".join(f"{m[0]}: {m[1]}" for m in LINE.findall(text)).replace(self.target, "~")
        # Which commands there are is a matter of the kernel's configuration.
        return re.sub(r"\n# trace.*", "", text)

    def do(self, step):
        if step[0] == "run":
            subprocess.run(["setarch", "-R", self.target, "a", "you"], stdout=subprocess.DEVNULL, input=b"go\n", check=True)
            return ""
        if step[0] == "trunc":
            return self.write(f"{self.own}/{step[1]}", "", TRUNC)
        if step[0] == "delete":
            return self.write(self.top + "/uprobe_events", step[1] + "\n", APPEND)
        if step[0] == "top":
            return self.write(f"{self.top}/{step[1]}", step[2])
        return self.write(f"{self.own}/{step[0]}", step[1])

    def define(self, offsets):
        # At places of their own: the order of events at one place is the tracer's.
        for name, offset in zip("ab", offsets):
            self.write(self.top + "/uprobe_events", f"p:{G}/{name} {self.target}:{offset:#x} n=%si:s32\n", APPEND)


    def is_held_by(self, name):
        """What removing the instance says while one of its files is open."""
        fd = os.open(f"{self.own}/{name}", os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.rmdir(self.own)
        except OSError as e:
            return errno.errorcode[e.errno]
        finally:
            os.close(fd)
        os.mkdir(self.own)
        return "removed"


def compare_held(kernel, ours):
    names = [os.path.relpath(f"{where}/{name}", ours.own) for where, _, names in os.walk(ours.own) for name in names]
    return [f"removing while {name} is open: kernel {answers[0]}, ubp-fs {answers[1]}" for name in sorted(names) if os.path.exists(f"{kernel.own}/{name}")
            and not re.search(r"cpu[1-9]|/b/", name) for answers in [[t.is_held_by(name) for t in (kernel, ours)]] if answers[0] != answers[1]]


def compare(kernel, ours):
    found = compare_held(kernel, ours)
    for i, step in enumerate(STEPS):
        for what, texts in [("answers", [t.do(step) for t in (kernel, ours)])] + [(f, [t.read(f) for t in (kernel, ours)]) for f in LOOKED_AT if os.path.exists(f"{ours.own}/{f}")]:
            if texts[0] != texts[1]:
                found.append(f"{i}: {step}: {what}: kernel {texts[0]!r}, ubp-fs {texts[1]!r}")
        if len(found) > 5:
            break
    return found


def clean(top, instance):
    if os.path.isdir(instance):
        os.rmdir(instance)
    for name in ("a", "b"):
        Tree(top, top, "").write(f"{top}/uprobe_events", f"-:{G}/{name}\n", APPEND)


def main():
    fs = os.environ["UBP_FS"]
    if not os.path.exists(fs):
        oracle.skip("ubp-fs is not built: libfuse3 is missing")
    if not os.access("/dev/fuse", os.W_OK):
        oracle.skip("no /dev/fuse")
    if os.uname().machine != "x86_64":
        oracle.skip("the events' argument is a register of x86-64")
    if not os.access(oracle.TRACEFS + "/uprobe_events", os.W_OK):
        oracle.skip("no uprobe_events that can be written")
    # Behind the number comes no digit: clean() of tree.py reads it.
    base = tempfile.mkdtemp(prefix=TOKEN + "_", dir=os.getcwd())
    for side in "ku":
        os.mkdir(f"{base}/{side}")
        shutil.copy(oracle.fixture("hello"), f"{base}/{side}/hello")
    mount = base + "/mount"
    os.mkdir(mount)
    instance = f"{oracle.TRACEFS}/instances/{TOKEN}"
    with subprocess.Popen([fs, "-f", mount]) as server:
        try:
            while not os.path.exists(mount + "/README"):
                if server.poll() is not None:
                    sys.exit("ubp-fs has ended")
            # The second instruction leaves the argument as it is.
            hello = oracle.fixture("hello")
            places = [oracle.Elf(hello).symbols["greet"][0] + x for x in oracle.instructions(hello, "greet")[:2]]
            own = f"{mount}/instances/{TOKEN}"
            kernel, ours = Tree(oracle.TRACEFS, instance, f"{base}/k/hello"), Tree(mount, own, f"{base}/u/hello")
            os.mkdir(instance)
            os.mkdir(own)
            for tree in (kernel, ours):
                tree.define(places)
            found = compare(kernel, ours)
        finally:
            server.send_signal(signal.SIGTERM)
            status = server.wait()
            clean(oracle.TRACEFS, instance)
    print("\n".join(found[:10]))
    if status:
        print(f"ubp-fs ended with {status}")
    sys.exit(1 if found or status else 0)


main()
