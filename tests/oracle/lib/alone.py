# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A program under `uprobe ... -- COMMAND` begins its work when nobody traces it."""

import os
import re
import select
import subprocess
import time


def children_of(pid):
    """Programs that it started: helpers of uprobe's run what it runs."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as f:
                found += [int(word) for word in f.read().split()]
        except FileNotFoundError:
            pass
    own = os.readlink(f"/proc/{pid}/exe")
    return [p for p in found if os.path.exists(f"/proc/{p}/exe") and os.readlink(f"/proc/{p}/exe") != own]


def is_let_go(pid):
    """It has what was planted, and none of its threads is traced."""
    try:
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as f:
            if "memfd:ubp" not in f.read():
                return False
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii", errors="replace") as f:
                if not re.search(r"^TracerPid:\t0$", f.read(), re.M):
                    return False
    except FileNotFoundError:
        return False
    return True


def run(argv, env, stdin, timeout, letting_go=20):
    """All output and the exit status. A program that says "ready" is let go of before it gets @stdin; others are at any time."""
    p = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
    out, end = b"", time.monotonic() + letting_go
    while True:
        if select.select([p.stdout], [], [], 0.005)[0]:
            piece = os.read(p.stdout.fileno(), 65536)
            out += piece
            if not piece:
                break
        elif not b"ready\n".startswith(out[:6]):
            break
        elif out.startswith(b"ready\n") and any(map(is_let_go, children_of(p.pid))):
            break
        if time.monotonic() > end:
            out += b"\n[not let go of]\n"
            break
    rest = p.communicate(stdin, timeout=timeout)[0]
    return out + rest, p.returncode


def those_that_may(definitions, why_traced, filters):
    """Those for which alone nobody has to be traced."""
    found = []
    for d in definitions:
        why = why_traced([d], filters)
        if why:
            print(f"traced for {d.split(' ')[0]}: {why}")
        else:
            found.append(d)
    why = why_traced(found, filters) if found else None
    if why:
        print(f"traced for all of them: {why}")
    return [] if why else found


def but_for(kernel, ubp, lost, text_of):
    """The kernel's events without those that ubp has counted as @lost."""
    left, found = list(ubp), []
    for event in kernel:
        if left and text_of(event) == text_of(left[0]):
            left.pop(0)
            found.append(event)
    return kernel if left or len(kernel) - len(found) > lost else found
