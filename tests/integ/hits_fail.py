# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""One read or write of a target's memory fails while it hits probes, at each place that makes one: it is made again, and
each call has its event all the same."""

import os
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
for folder in ("integ", "torture"):
    sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", folder, "lib"))
import tracer  # noqa: E402
from failat import FailAt, names  # noqa: E402

ROOM = os.path.join(os.environ["FIXTURES"], "room")
WAIT = int(os.environ.get("TIMEOUT", "60"))
CALLS = 50


def call(target):
    target.stdin.write(f"call {CALLS}\n".encode())
    target.stdin.flush()
    if target.stdout.readline() != b"done\n":
        sys.exit(f"the target has the status {target.wait(WAIT)}")


def session(target, failat):
    """How many events there are, and how many are counted as missed."""
    p, is_ready = tracer.start("--mode", "trap", "--stats", "-p", str(target.pid), "-e", f"r:h/step {ROOM}:step v=$retval:s64",
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **failat.env})
    if is_ready:
        failat.phase(FailAt.HIT)
        call(target)
        failat.phase(FailAt.DETACH)
    p.send_signal(signal.SIGINT)
    out, err = (text.decode() for text in p.communicate(timeout=WAIT))
    if not is_ready or p.returncode != 0:
        sys.exit(f"uprobe ended with {p.returncode}: {err}")
    call(target)
    return len(re.findall(r" step: .* v=\d+\n", out)), sum(int(n) for n in re.findall(r" missed=(\d+)", err))


def main():
    target = subprocess.Popen([ROOM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    failat = FailAt()
    failat.note_chains()
    if session(target, failat) != (CALLS, 0):
        sys.exit("events are missing where nothing fails")
    seen = [(kind, chain) for (kind, chain), counts in failat.chains().items()
            if kind in ("peek", "poke") and counts[FailAt.HIT]]
    if not {"peek", "poke"} <= {kind for kind, _ in seen}:
        sys.exit("nothing is read or written: nothing is shown by this")
    failed = set()
    for kind, chain in seen:
        failat.arm(FailAt.HIT, 1, (kind,), chain=chain)
        told, missed = session(target, failat)
        # When uprobe is never idle between two hits, what it does then is not done.
        if failat.failed():
            failed.add(kind)
        if (told, missed) != (CALLS, 0):
            sys.exit(f"{told} events and {missed} missed of {CALLS} when a {kind} fails at {names(failat.stack())}")
    if failed != {"peek", "poke"}:
        sys.exit(f"only of {sorted(failed)} one has failed: nothing is shown by this")
    target.stdin.close()
    return target.wait(WAIT)


sys.exit(main())
