# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# test-mounts
"""ubp-fs: while events are enabled, filtered, disabled and deleted, no hit of another event that stays enabled is missing, and each is there once."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.environ["UBP_SRC"] + "/tests/oracle/lib")
import oracle  # noqa: E402

UBP_FS = os.environ["UBP_FS"]
WAIT = int(os.environ.get("TIMEOUT", "60"))
ARG = "%x0" if os.uname().machine == "aarch64" else "%di"
CHANGES = 12
N = 4  # calls for a line, one of which comes each millisecond: what is hit faster than lines are made is lost, and told


def fail(why):
    sys.exit(f"ubp_fs_live.py: {why}")


class Target:
    """It calls called() with 0, 1, 2 ... until it is to end."""

    def __init__(self, path):
        self.p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")
        self.n = 0
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def expect(self, answer):
        got = self.p.stdout.readline().strip()
        if got != answer:
            fail(f"the target said '{got}' in place of '{answer}' (status {self.p.poll()})")

    def run(self):
        while not self.ends.wait(0.001):
            self.p.stdin.write(f"call {N} {self.n}\n")
            self.expect("done")
            self.n += N

    def end(self):
        self.ends.set()
        self.thread.join(timeout=WAIT)
        self.p.stdin.close()
        if self.p.wait(timeout=WAIT) != 0:
            fail(f"the target ended with {self.p.returncode}")


class Tree:
    def __init__(self):
        self.top = os.path.join(os.getcwd(), "tracing")
        os.mkdir(self.top)
        with open("err.txt", "wb") as err:
            self.server = subprocess.Popen([UBP_FS, "-f", self.top], stderr=err)
        until = time.monotonic() + WAIT
        while not os.path.exists(self.top + "/README"):
            if self.server.poll() is not None or time.monotonic() > until:
                fail(f"ubp-fs does not serve: {self.said()}")

    @staticmethod
    def said():
        with open("err.txt", encoding="utf-8") as f:
            return f.read()

    def write(self, name, text):
        fd = os.open(f"{self.top}/{name}", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, text.encode())
        except OSError as e:
            fail(f"{name} < {text!r}: {e}")
        finally:
            os.close(fd)

    def read(self, name):
        with open(f"{self.top}/{name}", encoding="utf-8") as f:
            return f.read()

    def end(self):
        self.server.send_signal(signal.SIGTERM)
        if self.server.wait(timeout=WAIT) != 0:
            fail(f"ubp-fs ended with {self.server.returncode}: {self.said()}")


def check(tree, target, path):
    place = f"{path}:{oracle.Elf(path).symbols['called'][0]:#x}"
    other = f"{path}:{oracle.Elf(path).symbols['on_signal'][0]:#x}"
    tree.write("buffer_size_kb", "65536")
    tree.write("uprobe_events", f"p:g/stays {place} a={ARG}:s64\np:g/comes {place} a={ARG}:s64\np:h/too {other}\n")
    tree.write("events/g/stays/enable", "1")
    target.thread.start()
    for i in range(CHANGES):
        before = target.n
        tree.write("events/h/too/enable", "1")
        tree.write("events/g/comes/enable", "1")
        tree.write("events/g/comes/filter", f"a < {i}")
        tree.write("events/g/comes/filter", "0")
        tree.write("events/g/comes/enable", "0")
        tree.write("events/h/too/enable", "0")
        until = time.monotonic() + WAIT
        while target.n == before and time.monotonic() < until:
            pass
    target.end()
    tree.write("events/g/stays/enable", "0")
    shown = tree.read("trace")
    if "LOST" in shown:
        fail(f"lost: {re.findall('.*LOST.*', shown)[:3]}")
    stays = [int(x) for x in re.findall(r": stays: .* a=(\d+)", shown)]
    comes = [int(x) for x in re.findall(r": comes: .* a=(\d+)", shown)]
    missing = sorted(set(range(target.n)) - set(stays))
    if missing:
        fail(f"of {target.n} hits {len(missing)} are missing: {missing[:10]}")
    if sorted(stays) != list(range(target.n)):
        fail(f"of {target.n} hits there are {len(stays)} lines")
    if not comes or comes != sorted(set(comes)) or len(comes) == target.n:
        fail(f"of the event that came and went there are {len(comes)} lines, of {target.n}")
    counted = {m[1]: int(m[2]) for m in re.finditer(r"^ *\S+ (\S+) +(\d+)$", tree.read("uprobe_profile"), re.M)}
    if counted["stays"] != target.n or not len(comes) <= counted["comes"] < target.n:
        fail(f"uprobe_profile counts {counted}: {target.n} and {len(comes)} lines")


def main():
    if not os.path.exists(UBP_FS):
        oracle.skip("ubp-fs is not built: libfuse3 is missing")
    if not os.access("/dev/fuse", os.W_OK):
        oracle.skip("there is no /dev/fuse")
    path = os.path.join(os.getcwd(), "target")
    shutil.copy(os.path.join(os.environ["FIXTURES"], "let_go"), path)
    target, tree = Target(path), Tree()
    try:
        check(tree, target, path)
        tree.end()
    finally:
        target.ends.set()
        if tree.server.poll() is None:
            tree.server.kill()
            tree.server.wait()
        subprocess.run(["fusermount3", "-u", "-z", tree.top], check=False, stderr=subprocess.DEVNULL)
        target.p.kill()


main()
