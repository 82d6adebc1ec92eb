# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A recording that is larger than the memory that ubp-report takes to read it, in each form that streams."""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from recordings import REPORT, WAIT, Tracing, fail  # noqa: E402

BENCH = os.environ.get("UBP_BENCH", "")
if not os.access(BENCH, os.X_OK):
    print("SKIP: ubp-bench is not built for this machine")
    sys.exit(77)
N = 3000000
FORMS = (["--text"], ["--csv"], ["--stats"])


def report(form):
    """(status, KiB that it had in memory at most)."""
    with open(os.devnull, "w", encoding="utf-8") as nobody:
        p = subprocess.Popen([REPORT, *form, "large"], stdout=nobody, stderr=nobody)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return p.returncode, used.ru_maxrss


work = subprocess.Popen([BENCH, "--work", "1", "0", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
if work.stdout.readline() != "ready\n":
    fail("the target does not get ready")
with Tracing("--lossless", "--mode", "jump", "--record", "large", "-p", str(work.pid), "-e", f"p:{BENCH}:bench_push a=%di:s64") as recorder:
    work.stdin.write(f"push {N}\n")
    work.stdin.flush()
    work.stdout.readline()
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=WAIT)
work.kill()
work.communicate()
size = os.path.getsize("large") >> 10
for form in FORMS:
    rc, used = report(form)
    print(f"{size} KiB of recording, {form[0]}: {used} KiB of memory")
    if rc or used > size * 2 // 3:
        fail(f"{form}: ended with {rc}")
os.unlink("large")
