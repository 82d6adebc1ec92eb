# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A thread executes another program just when uprobe has given the process its guard and waits for births
before it plants: uprobe is attached all the same, and leaves the new image as it was."""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402

PATH = os.path.join(os.environ["FIXTURES"], "guarded_exec")
WAIT = int(os.environ.get("TIMEOUT", "60")) / 6
ROUNDS = 4


def attempt():
    with open("said.txt", "wb+") as said, open("err.txt", "wb+") as err:
        target = subprocess.Popen([PATH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
        target.stdout.readline()
        p, is_ready = tracer.start("-p", str(target.pid), "-e", f"p:k/p {PATH}:work", stdout=said, stderr=err)
        executed = target.stdout.readline() == b"executed\n"
        p.send_signal(signal.SIGINT)
        rc = p.wait(WAIT)
        target.stdin.write(b"\n")
        target.stdin.close()
        ended = target.wait(WAIT)
        err.seek(0)
        if not is_ready or not executed or rc or ended or target.stdout.read() != b"well\n":
            sys.exit(f"uprobe {'' if is_ready else 'not '}ready, and ended with {rc}, the program with {ended}: "
                     f"{err.read().decode()}")


for _ in range(ROUNDS):
    attempt()
