#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What one hit costs, ubp beside the kernel's uprobes.

Each case runs alternately: kernel, ubp, kernel, ubp ... on the same thread of
the same process, with the same definition. A round's ratio is ubp's time over
the mean of the kernel's just before and after it, since machines change their speed within
seconds; shown are medians over the rounds. The kernel writes to a trace instance of its own,
recording, without a reader; ubp writes its lines to /dev/null. Both sides' hit
counts are checked. Without tracefs only ubp is measured.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../oracle/lib"))
os.environ.setdefault("FIXTURES", os.environ.get("UBP_BUILD", "build") + "/fixtures")
import oracle  # noqa: E402

HOT = os.path.abspath(os.path.join(os.environ.get("UBP_BUILD", "build"), "tests/bench/hot"))
INTS = "a=%di:s64 b=%si:x64"
STRING = "a=%di:s64 s=+0(%si):string"
RET = "r=$retval:s64"

# name, first instruction, probe, arguments, threads, idle threads, pinned, goal, stretch.
# Goals are of the ratio to the kernel; of the idle case to the case it names.
CASES = [
    ("entry, ints, push", "push", "p", INTS, 1, 0, True, 9, 7),
    ("entry, ints, nop", "nop", "p", INTS, 1, 0, True, 9, 7),
    ("entry, ints, mov", "mov", "p", INTS, 1, 0, True, 2, 1.4),
    ("entry, ints, endbr64", "endbr64", "p", INTS, 1, 0, True, 2, 1.4),
    ("entry, int + 16-byte string, push", "push", "p", STRING, 1, 0, True, 11, 9),
    ("entry, int + 16-byte string, endbr64", "endbr64", "p", STRING, 1, 0, True, 2.2, 1.8),
    ("return, push", "push", "r", RET, 1, 0, True, 15, 14),
    ("return, endbr64", "endbr64", "r", RET, 1, 0, True, None, None),
    ("entry, ints, push, 4 threads", "push", "p", INTS, 4, 0, False, 8, 5),
    ("entry, ints, endbr64, 4 threads", "endbr64", "p", INTS, 4, 0, False, None, None),
    ("entry, ints, push, 1000 idle threads", "push", "p", INTS, 1, 1000, True, None, None),
    ("entry, ints, push, not pinned", "push", "p", INTS, 1, 0, False, 15, 8.5),
    ("entry, ints, endbr64, not pinned", "endbr64", "p", INTS, 1, 0, False, None, None),
]
IDLE = ("entry, ints, push, 1000 idle threads", "entry, ints, push", 1.2, 1.05)


class Hot:
    """The target; pinned to the last CPU or not."""

    def __init__(self, threads, idle, pinned):
        self.p = subprocess.Popen([HOT, str(threads), str(idle)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        if self.p.stdout.readline() != "ready\n":
            sys.exit("hot does not start")
        if pinned:
            for tid in os.listdir(f"/proc/{self.p.pid}/task"):
                os.sched_setaffinity(int(tid), {max(os.sched_getaffinity(0))})

    def run(self, name, hits):
        """ns per call."""
        self.p.stdin.write(f"{name} {hits}\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            sys.exit(f"hot died: {self.p.wait()}")
        return int(line) / hits

    def end(self):
        self.p.stdin.close()
        if self.p.wait() != 0:
            sys.exit(f"hot ended with {self.p.returncode}")


def profile(event):
    with open(f"{oracle.TRACEFS}/uprobe_profile", encoding="utf-8") as f:
        return next(int(line.split()[-1]) for line in f if line.split()[-2] == event)


def kernel_run(kernel, hot, event, name, hits):
    before = profile(event)
    kernel.switch(True)
    try:
        ns = hot.run(name, hits)
    finally:
        kernel.switch(False)
    if profile(event) - before != hits:
        sys.exit(f"kernel: {profile(event) - before} hits, not {hits}")
    return ns


def ubp_run(definition, hot, name, hits, options):
    r, w = os.pipe()
    p = subprocess.Popen([oracle.UPROBE, "--stats", "--ready-fd", str(w), "-o", "/dev/null", *options,
                          "-p", str(hot.p.pid), "-e", definition], pass_fds=[w],
                         stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    os.close(w)
    with os.fdopen(r) as f:
        if f.readline() != "ready\n":
            sys.exit(f"uprobe: {p.stderr.read()}")
    ns = hot.run(name, hits)
    p.send_signal(signal.SIGINT)
    text = p.communicate()[1]
    m = re.search(r" hits=(\d+)", text)
    if p.returncode != 0 or not m or int(m.group(1)) != hits:
        sys.exit(f"uprobe ended with {p.returncode}: {text}")
    return ns


def measure(case, args, kernel):
    title, first, kind, fetch, threads, idle, pinned, goal, stretch = case
    hot = Hot(threads, idle, pinned)
    hot.run("none", 100000)
    event = f"hot_{first}_{kind}_{os.getpid()}"  # uprobe_profile tells no groups
    place = f"{HOT}:0x{oracle.Elf(HOT).symbols['work_' + first][0]:x}"
    hits = args.hits - args.hits % threads
    ours, theirs, ratios = [], [], []
    if kernel:
        kernel.define([f"{kind}:{kernel.group}/{event} {place} {fetch}"])
        theirs.append(kernel_run(kernel, hot, event, first, hits))
    for _ in range(args.rounds):
        ours.append(ubp_run(f"{kind}:bench/{event} {place} {fetch}", hot, first, hits, args.option))
        if kernel:
            theirs.append(kernel_run(kernel, hot, event, first, hits))
            ratios.append(ours[-1] / ((theirs[-1] + theirs[-2]) / 2))
    if kernel:
        # Off since the last run; one probe in the event.
        oracle.write(f"{oracle.TRACEFS}/uprobe_events", f"-:{kernel.group}/{event}\n")
    hot.end()
    med = statistics.median
    return {"case": title, "pinned": pinned, "threads": threads, "idle": idle,
            "ubp_ns": med(ours), "ubp_quiet_ns": min(ours),
            "kernel_ns": med(theirs) if theirs else None,
            "kernel_quiet_ns": min(theirs) if theirs else None,
            "ratio": med(ratios) if ratios else None,
            "ratio_min": min(ratios, default=None), "ratio_max": max(ratios, default=None),
            "goal": goal, "stretch": stretch}


def judge(r, slack=1.0):
    if r["goal"] is None or r["ratio"] is None:
        return ""
    if r["ratio"] <= r["stretch"] * slack:
        return "stretch"
    return "reached" if r["ratio"] <= r["goal"] * slack else "MISSED"


def show(r):
    def num(v, text="{:.0f}"):
        return "-" if v is None else text.format(v)

    spread = "" if r["ratio_min"] is None else f"({r['ratio_min']:.1f}-{r['ratio_max']:.1f})"
    goal = "" if r["goal"] is None else f"{r['goal']:g} ({r['stretch']:g})"
    print(f"{r['case']:40} {'cpu' if r['pinned'] else '-':6} {num(r['kernel_ns']):>9} {num(r['ubp_ns']):>9} "
          f"{num(r['ubp_quiet_ns']):>9} {num(r['ratio'], '{:.2f}'):>7} {spread:13} {goal:>10} {judge(r)}",
          flush=True)


def idle_row(results):
    by = {r["case"]: r for r in results}
    if IDLE[0] not in by or IDLE[1] not in by:
        return None
    a, b = by[IDLE[0]], by[IDLE[1]]
    # The two ran at different times: by their ratio to the kernel where there is one.
    ratio = a["ratio"] / b["ratio"] if a["ratio"] else a["ubp_ns"] / b["ubp_ns"]
    return {"case": "1000 idle threads / none", "pinned": True, "threads": 1, "idle": 1000,
            "ubp_ns": a["ubp_ns"], "ubp_quiet_ns": a["ubp_quiet_ns"], "kernel_ns": None,
            "kernel_quiet_ns": None, "ratio": ratio, "ratio_min": None, "ratio_max": None,
            "goal": IDLE[2], "stretch": IDLE[3]}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--hits", type=int, default=20000, help="per run")
    p.add_argument("--only", default="", help="cases whose name holds this")
    p.add_argument("--option", action="append", default=[], help="one more option for uprobe")
    p.add_argument("--json", action="store_true")
    p.add_argument("--check", action="store_true", help="fail if a goal is missed by more than 25 %%")
    return p.parse_args()


def main():
    args = options()
    cases = [c for c in CASES if args.only in c[0]]
    try:
        kernel = oracle.Kernel()
    except SystemExit:  # no tracefs: its reason is printed
        kernel = None
    if kernel:
        # Named so that the oracle's sweep finds it, and with a group of its own.
        kernel.__enter__()
    results = []
    try:
        if not args.json:
            print(f"ns per hit, medians of {args.rounds} rounds of {args.hits} hits; pinned 'cpu': target "
                  "on one CPU, ubp free to follow;\nratio: ubp / kernel (least-greatest of the rounds); "
                  "goal (stretch) is of the ratio.\n")
            print(f"{'case':40} {'pinned':6} {'kernel':>9} {'ubp':>9} {'ubp quiet':>9} {'ratio':>7} "
                  f"{'':13} {'goal':>10}")
        for case in cases:
            results.append(measure(case, args, kernel))
            if not args.json:
                show(results[-1])
        extra = idle_row(results)
        if extra:
            results.append(extra)
            if not args.json:
                show(extra)
    finally:
        if kernel:
            kernel.__exit__()
    if args.json:
        json.dump({"rounds": args.rounds, "hits": args.hits, "results": results}, sys.stdout, indent=1)
        print()
    if args.check and any(judge(r, 1.25) == "MISSED" for r in results):
        sys.exit("a goal is missed")


if __name__ == "__main__":
    main()
