#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe is killed while a target counts: the target goes on, and the next uprobe counts from 0, exactly. Both while the target is traced, and while
nobody traces it, with few keys, and with so many that tables have to grow and rings get full."""

import json
import os
import signal
import subprocess
import sys
import time

FIXTURES, UPROBE = os.environ["FIXTURES"], os.environ["UPROBE"]
TARGET = f"{FIXTURES}/tally"
LIMIT = 600


def fail(text):
    print(text)
    sys.exit(1)


def is_traced(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return "\nTracerPid:\t0\n" not in status.read()


def begin(target, out, *ways):
    """An uprobe that has planted its probe, and, unless it stays, has let go of the target."""
    ready, told = os.pipe()
    run = subprocess.Popen([UPROBE, "--json", "--mode", "jump", "-o", out, "--count=key", "--follow", *ways, "-p", str(target),
                            "--ready-fd", str(told), f"p:t/counted {TARGET}:counted key=%di:s64"], pass_fds=[told])
    os.close(told)
    if os.read(ready, 6) != b"ready\n":
        fail("uprobe does not get ready")
    os.close(ready)
    limit = time.monotonic() + LIMIT
    while not ways and is_traced(target):
        if time.monotonic() > limit:
            fail("the target is not let go of")
        time.sleep(0.01)
    return run


def phase(run, keys):
    """What the target has noted in one; it has begun."""
    noted = {}
    for line in run.stdout:
        if line == b"end\n":
            return noted
        key, n = line.split()
        if int(n):
            noted[int(key) - keys // 2] = int(n)
    return fail("the target ends early")


def go_on(run):
    run.stdin.write(b"\n")
    run.stdin.flush()


def check(keys, rounds, *ways):
    with subprocess.Popen([TARGET, str(keys), str(rounds), "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        word, pid = process.stdout.readline().split()
        first = begin(int(pid), "first", *ways)
        go_on(process)
        # The first numbers come when all of a phase is over: it is in the middle of it now, or has just begun.
        first.send_signal(signal.SIGKILL)
        first.wait(LIMIT)
        phase(process, keys)
        for name in ("second", "third"):
            uprobe = begin(int(pid), name, *ways)
            go_on(process)
            want = phase(process, keys)
            uprobe.send_signal(signal.SIGINT)
            if uprobe.wait(LIMIT):
                fail(f"the {name} uprobe ends with {uprobe.returncode}")
            with open(name, encoding="utf-8") as rows:
                told = {row["key"]["key"]: row["hits"] for row in map(json.loads, rows)}
            if told != want:
                differ = [(key, told.get(key), want.get(key)) for key in sorted(set(told) | set(want))
                          if told.get(key) != want.get(key)]
                fail(f"{name}: of {len(want)} keys {len(differ)} differ: (key, told, noted) {differ[:5]}")
        if process.wait(LIMIT):
            fail(f"the target ends with {process.returncode}")


check(500, 20000, "--stay")
check(500, 20000)
check(200000, 5000)
