#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What it costs to attach to many processes, or to many threads, and to let go of them.

scale.py [UPROBE [FIXTURES [ROW...]]] prints rows as docs/overhead.md has them; ROW is the name of one. The longest stop of
any thread is what the kernel's scheduler says (tracefs, as root), from the moment it stopped for its tracer to the moment
it was let go on; hits are in it. The processor time is UPROBE's own, of user and system.
"""

import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time

UPROBE = sys.argv[1] if len(sys.argv) > 1 else "build/uprobe"
FIXTURE = os.path.join(sys.argv[2] if len(sys.argv) > 2 else "build/fixtures", "crowd")
TRACEFS = "/sys/kernel/tracing"
ROUNDS = int(os.environ.get("ROUNDS", "3"))

# Name, processes, threads of each, threads that hit, threads that do so all the time, mode, load beside.
ROWS = [
    ("100 processes", 100, 1, 0, 0, "auto", 0),
    ("250 processes", 250, 1, 0, 0, "auto", 0),
    ("500 processes", 500, 1, 0, 0, "auto", 0),
    ("1000 processes", 1000, 1, 0, 0, "auto", 0),
    ("1000 threads", 1, 1000, 1, 0, "auto", 0),
    ("2000 threads", 1, 2000, 1, 0, "auto", 0),
    ("4000 threads", 1, 4000, 1, 0, "auto", 0),
    ("4000 threads, mode trap", 1, 4000, 1, 0, "trap", 0),
    ("4000 threads, one runs all the time", 1, 4000, 1, 1, "auto", 0),
    ("1000 processes, beside 4 busy loops", 1000, 1, 0, 0, "auto", 4),
    ("4000 threads, beside 4 busy loops", 1, 4000, 1, 0, "auto", 4),
]


class Stops:
    """How long threads of a name stood still for a tracer, by the scheduler."""

    def __init__(self, comm):
        self.dir = f"{TRACEFS}/instances/ubp-scale-{os.getpid()}"
        try:
            os.mkdir(self.dir)
        except OSError:
            self.dir = None
            return
        self.put("trace_clock", "mono")
        self.put("buffer_size_kb", "65536")
        self.put("events/sched/sched_switch/filter", f'prev_comm == "{comm}" && prev_state & 0x28')
        self.put("events/sched/sched_waking/filter", f'comm == "{comm}"')
        self.put("events/sched/sched_switch/enable", "1")
        self.put("events/sched/sched_waking/enable", "1")

    def put(self, name, text):
        with open(f"{self.dir}/{name}", "w") as f:
            f.write(text)

    def end(self):
        """The longest, in ms; None: not known."""
        if not self.dir:
            return None
        since, longest = {}, 0
        self.put("tracing_on", "0")
        with open(f"{self.dir}/trace") as f:
            for line in f:
                m = re.search(r" ([0-9.]+): sched_(switch|waking): (?:prev_comm|comm)=.* (?:prev_)?pid=(\d+)", line)
                if not m:
                    continue
                if m[2] == "switch":
                    since[m[3]] = float(m[1])
                elif m[3] in since:
                    longest = max(longest, float(m[1]) - since.pop(m[3]))
        os.rmdir(self.dir)
        return 1000 * longest


class Load:
    def __init__(self, n):
        self.all = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]

    def end(self):
        for p in self.all:
            p.kill()
            p.wait()


def one(processes, threads, busy, spinning, mode, load):
    target = subprocess.Popen([FIXTURE, *map(str, (processes, threads, busy, spinning))], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert target.stdout.readline() == "ready\n"
    pids = subprocess.run(["pgrep", "-P", str(target.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
    pids = ",".join([str(target.pid), *pids])
    load = Load(load)
    stops = Stops("crowd")
    begun, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.Popen([UPROBE, "--mode", mode, "--stats", "--ready-fd", "1", "-o", "/dev/null", "-p", pids,
                          "-e", f"p:t/tick {FIXTURE}:tick"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "ready\n", p.stderr.read()
    ready = time.monotonic()
    time.sleep(1)  # jumps that are still to be made
    with open(f"/proc/{p.pid}/status") as f:
        peak = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])
    ending = time.monotonic()
    p.send_signal(signal.SIGINT)
    err = p.communicate()[1]
    ended = time.monotonic()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    longest = stops.end()
    load.end()
    target.stdin.write("\n")
    target.stdin.close()
    assert target.stdout.read() == "all woken\n" and target.wait() == 0
    assert p.returncode == 0, err
    if os.environ.get("V"):
        print(err, file=sys.stderr)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return 1000 * (ready - begun), 1000 * (ended - ending), 1000 * cpu, longest, peak / 1024


def row(name, *what):
    n = what[0] * what[1]
    rounds = [one(*what) for _ in range(ROUNDS)]
    attach, detach, cpu, _, peak = (statistics.median(x) if x[0] is not None else 0 for x in zip(*rounds))
    stops = [r[3] for r in rounds]
    longest = "-" if None in stops else f"{max(stops):.1f}"
    print(f"| {name} | {attach:.0f} | {1000 * attach / n:.0f} | {detach:.0f} | {cpu:.0f} | {peak:.0f} MB | {longest} |",
          flush=True)


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print("| targets | attach, ms | for each, us | detach, ms | processor time, ms | resident memory | longest stop, ms |")
    print("|---|---|---|---|---|---|---|")
    for r in ROWS:
        if not sys.argv[3:] or r[0] in sys.argv[3:]:
            row(*r)


main()
