#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A program that nobody traces counts in itself, and executes itself: what it had counted is kept, and what it calls behind the exec is counted."""

import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, UPROBE, WAIT, Target, fail, until  # noqa: E402

CALLED = f"{FIXTURES}/let_go_odd:called"
EXECS, IN_EACH = 8, 200


def one(definition):
    target = Target("let_go_odd")
    read_end, write_end = os.pipe()
    uprobe = subprocess.Popen([UPROBE, "--json", "--stats", *definition, "-o", "out", "--ready-fd", str(write_end), "-p", str(target.pid)],
                              pass_fds=[write_end], stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    if os.read(read_end, 6) != b"ready\n":
        fail(f"uprobe did not begin: {uprobe.communicate()[1]}")
    os.close(read_end)
    target.ask("call 1000")
    until("let go of", lambda: target.tracer() == 0)
    target.ask(f"storm {EXECS}", "ready")
    target.ask("call 500")
    target.end()
    err = uprobe.communicate(timeout=WAIT)[1]
    with open("out", encoding="utf-8") as f:
        rows = [row for row in map(json.loads, f) if "totals" not in row]
    if uprobe.returncode:
        fail(f"uprobe ended with {uprobe.returncode}: {err}")
    return rows, "could not be traced again in time" in err, err


for args in (["--count", "-e", f"p:{CALLED} a=%di:s64"], ["-e", f"p:called {CALLED} a=%di:s64", "--trigger", "hist:keys=a"]):
    for _ in range(5):
        got, in_vain, said = one(args)
        # A busy machine may keep uprobe from being there at an exec in time, which it has told.
        if not in_vain:
            break
    else:
        fail("uprobe was not there in time in 5 rounds")
    if args[0] == "--count":
        if [row["hits"] for row in got] != [1000 + EXECS * IN_EACH + 500]:
            fail(f"{got}: {said}")
    elif sum(row["hits"] for row in got) != 1000 + EXECS * IN_EACH + 500 or len(got) != 1000:
        fail(f"{len(got)} rows, {sum(row['hits'] for row in got)} hits: {said}")
print("ok")
