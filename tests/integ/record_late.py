# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A recorder that gets no processor for a while: nothing is lost of what fits into --buffer-size; a thread that is quiet then keeps little of it."""

import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from recordings import REPORT, WAIT, Tracing, fail, run, wait_until  # noqa: E402

BENCH = os.environ.get("UBP_BENCH", "")
if not os.access(BENCH, os.X_OK):
    print("SKIP: ubp-bench is not built for this machine")
    sys.exit(77)
# Of 48 bytes each: 9.6 MB.
N = 200000
MUCH, LITTLE = 8 << 10, 6 << 10  # KiB


def rings_kib(pid):
    """What the process has in memory of its rings."""
    kib, is_ring = 0, False
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
        for line in f:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                is_ring = "/memfd:ubp" in line
            elif is_ring and line.startswith("Rss:"):
                kib += int(line.split()[1])
    return kib


class Work:
    def __init__(self):
        self.process = subprocess.Popen([BENCH, "--work", "1", "0", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            fail("the target does not get ready")

    def call(self, n):
        self.process.stdin.write(f"push {n}\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline().strip().isdigit():
            fail("the target does not answer")


work = Work()
pid = work.process.pid
with Tracing("--mode", "jump", "--record", "late", "-p", str(pid), "-e", f"p:{BENCH}:bench_push a=%di:s64") as recorder:
    work.call(1000)
    wait_until("the first are in the file", lambda: os.path.getsize("late") > 40000)
    for _ in range(2):
        os.kill(recorder.pid, signal.SIGSTOP)
        work.call(N)
        had = rings_kib(pid)
        os.kill(recorder.pid, signal.SIGCONT)
        if had < MUCH:
            fail(f"{had} KiB in memory hold not all that was recorded")
        wait_until("a quiet thread keeps little", lambda: rings_kib(pid) < LITTLE)
    work.call(1000)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=WAIT)
work.process.kill()
work.process.communicate()
if f"{2 * N + 2000} events, 0 lost" not in run(REPORT, "--info", "late").stdout:
    fail(run(REPORT, "--info", "late").stdout)
print("ok")
