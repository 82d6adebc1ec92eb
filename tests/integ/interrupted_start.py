# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe is interrupted while it plants thousands of probes: all that stood already is taken out, the guard's handler with it."""

import os
import re
import signal
import subprocess
import sys
import time

UPROBE, TARGET = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "many_threads")
WAIT = int(os.environ.get("TIMEOUT", "60"))
ROUNDS = 40


def signals(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return re.findall(r"^(Sig(?:Cgt|Blk|Ign)):\s*(\w+)", f.read(), re.M)


def main():
    target = subprocess.Popen([TARGET, "300", "100"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    if target.stdout.readline() != "ready\n":
        sys.exit("the target does not start")
    before, n_cut_short = signals(target.pid), 0
    for i in range(ROUNDS):
        p = subprocess.Popen([UPROBE, "-p", str(target.pid), "p:libc:*"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        # Any moment will do: from the reading of files to the last jump.
        time.sleep(0.03 * i)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=WAIT)[1]
        n_cut_short += "before all probes were planted" in err
        if "taken out" in err or signals(target.pid) != before or target.poll() is not None:
            sys.exit(f"round {i}: something stays: {err}")
    target.stdin.write("\n")
    target.stdin.flush()
    if target.wait(timeout=WAIT) != 0:
        sys.exit(f"the target was changed: it ended with {target.returncode}")
    print(f"{n_cut_short} of {ROUNDS} were cut short")


main()
