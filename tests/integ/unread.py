# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""When uprobe ends, it looks once more at all places that it had probed before it gives mappings back. A look that fails
tells nothing: then what may be needed stays mapped, and the next uprobe gives it back."""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
for folder in ("integ", "torture"):
    sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", folder, "lib"))
import tracer  # noqa: E402
from failat import FailAt  # noqa: E402

ROOM = os.path.join(os.environ["FIXTURES"], "room")
WAIT = int(os.environ.get("TIMEOUT", "60"))
TRIES = 8  # two looks at a page, each of which is tried four times
GUARD = 2  # mappings: its code and its data


def n_mappings(pid):
    with open(f"/proc/{pid}/maps") as f:
        return len(f.readlines())


def call(target):
    target.stdin.write(b"call 1000\n")
    target.stdin.flush()
    if target.stdout.readline() != b"done\n":
        sys.exit(f"the target has the status {target.wait(WAIT)}")


def session(target, failat):
    p, is_ready = tracer.start("--mode", "trap", "-o", "out.txt", "-p", str(target.pid),
                               "-e", f"r:u/step {ROOM}:step", stderr=subprocess.PIPE,
                               env={**os.environ, **failat.env})
    if is_ready:
        call(target)
        failat.phase(FailAt.DETACH)
    p.send_signal(signal.SIGINT)
    err = p.communicate(timeout=WAIT)[1].decode()
    if not is_ready or p.returncode != 0:
        sys.exit(f"uprobe ended with {p.returncode}: {err}")
    call(target)


def main():
    target = subprocess.Popen([ROOM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    call(target)
    before = n_mappings(target.pid)
    failat = FailAt()
    failat.note_chains()
    session(target, failat)
    looks = failat.find(FailAt.DETACH, "peek", "site_is_out", "give_back")
    if not looks or n_mappings(target.pid) != before + GUARD:
        sys.exit(f"{n_mappings(target.pid) - before} mappings stay, {len(looks)} looks: nothing is shown by this")
    for chain in looks:
        failat.arm(FailAt.DETACH, 1, ("peek",), TRIES, chain=chain)
        session(target, failat)
        if failat.failed() < TRIES:
            sys.exit(f"only {failat.failed()} reads have failed: nothing is shown by this")
        if n_mappings(target.pid) <= before + GUARD:
            sys.exit("mappings are given back though nobody could look whether they are needed")
        failat.arm(0, 0, ())
        session(target, failat)
        if n_mappings(target.pid) != before + GUARD:
            sys.exit(f"{n_mappings(target.pid) - before} mappings stay behind the next uprobe")
    target.stdin.close()
    return target.wait(WAIT)


sys.exit(main())
