# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What tests of files that a target chose have in common: ELF files that say more than they are, and a uprobe whose
memory is bounded."""

import os
import resource
import shutil
import signal
import struct
import subprocess
import sys

UPROBE, FIXTURES = os.environ["UPROBE"], os.environ["FIXTURES"]
MIB = 1 << 20
ENV = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}


missing = set()


def fail(text):
    sys.exit(f"FAIL: {text}")


def has(what):
    """A tool, or a file, that a part of this needs: without it that part is left out, and the end tells."""
    if shutil.which(what) or os.path.exists(what):
        return True
    missing.add(what)
    return False


def tell_missing():
    """Tells what was left out."""
    if missing:
        print("the rest needs", *sorted(missing))
        sys.exit(77)


def tool(*args):
    """Of binutils."""
    subprocess.run(args, check=True)


def uprobe(*args, status=1, memory=300 * MIB, limit=60):
    """Runs, with that much address space beside what it has itself, and ends in time. Its output."""
    def bound():
        resource.setrlimit(resource.RLIMIT_AS, (2048 * MIB + memory, 2048 * MIB + memory))
    p = subprocess.run((UPROBE,) + args, capture_output=True, text=True, timeout=limit, check=False, env=ENV,
                       preexec_fn=bound)
    if p.returncode != status:
        fail(f"{args}: status {p.returncode}: {p.stderr}")
    return p.stdout + p.stderr


def used(*args, program=UPROBE):
    """What it says, and how much memory (MiB) and time of the processor (s) it took. It fails."""
    with subprocess.Popen((program,) + args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV) as p:
        text = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 1:
        fail(f"{args}: status {p.returncode}: {text}")
    return text, usage.ru_maxrss >> 10, usage.ru_utime + usage.ru_stime


def sparse(path, size, begin=b""):
    """A file that costs nothing."""
    with open(path, "wb") as file:
        file.write(begin)
        try:
            file.truncate(size)
        except OSError:
            file.truncate(15 << 40)  # ext4 with 4 KiB


def sections(path):
    """name -> (place of its header, offset, size)"""
    with open(path, "rb") as file:
        data = file.read()
    shoff, = struct.unpack_from("<Q", data, 40)
    n, names = struct.unpack_from("<HH", data, 60)
    all_names = struct.unpack_from("<Q", data, shoff + 64 * names + 24)[0]
    found = {}
    for i in range(n):
        at = shoff + 64 * i
        start = all_names + struct.unpack_from("<I", data, at)[0]
        found[data[start:data.index(b"\0", start)].decode()] = at, *struct.unpack_from("<QQ", data, at + 24)
    return found


def put(path, at, *words):
    """64-bit words."""
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(struct.pack(f"<{len(words)}Q", *words))


def ticks(pid):
    """Of the processor, that it has had."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))


def interrupted(*args, program=UPROBE):
    """INT and TERM end it at once, in the middle of a long call of a library's, too."""
    for number in signal.SIGINT, signal.SIGTERM:
        with subprocess.Popen((program,) + args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENV) as p:
            while ticks(p.pid) < 6 and p.poll() is None:  # it is at it; a fast machine has the shortest of these done in 20
                pass
            p.send_signal(number)
            if p.wait(30) != -number:
                fail(f"{args}: {number} is not obeyed: {p.returncode} {p.stderr.read()}")
