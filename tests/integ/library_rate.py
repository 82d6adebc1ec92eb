# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Ten million events through the library, by accessors: each arrives once, in order, with its argument. How fast is printed. RATE_EVENTS=N: as many."""

import os
import subprocess
import sys

BENCH, TOOLS, WAIT = os.environ.get("UBP_BENCH", ""), os.environ["TOOLS"], int(os.environ.get("TIMEOUT", "60"))
N = int(os.environ.get("RATE_EVENTS", 10000000 // int(os.environ.get("UBP_SLOWER", "1"))))
if not os.access(BENCH, os.X_OK):
    print("SKIP: ubp-bench is not built for this machine")
    sys.exit(77)

work = subprocess.Popen([BENCH, "--work", "1", "0", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
if work.stdout.readline() != "ready\n":
    sys.exit("the target does not get ready")
host = subprocess.Popen([f"{TOOLS}/api_rate", str(work.pid), BENCH, "bench_push"], stdout=subprocess.PIPE, text=True)
if host.stdout.readline() != "ready\n":
    sys.exit("the host does not get ready")
work.stdin.write(f"push {N}\n")
work.stdin.flush()
work.stdout.readline()
work.stdin.close()
said, _ = host.communicate(timeout=WAIT)
if work.wait(timeout=WAIT) != 0 or host.returncode:
    sys.exit(f"the target ended with {work.returncode}, the host with {host.returncode}")
print(said, end="")
if not said.startswith(f"{N} events, sum ") or ", 0 lost, 0 out of order," not in said:
    sys.exit("not all events came")
SUMS = (N * (N - 1) // 2, N * (N + 1) // 2)
if not any(f"sum {x}," in said for x in SUMS):
    sys.exit("their arguments are not those of the calls")
