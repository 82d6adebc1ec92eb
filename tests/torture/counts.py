# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Count storm: a target whose threads, children and signal handlers come, go and are killed notes each call that it makes. Each uprobe that counts a
whole phase of it tells the same, to the last call; between these others are killed in the middle of one."""

import json
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402
from torture import ARG1, ARG2, Row, Table, UPROBE, fixture, mode_options  # noqa: E402

PROGRAM = fixture("tally")
NAME = "/a/name/that/is/longer/than/that/of/others"


def text_of(key, keys):
    n = key + keys // 2
    return NAME[:n % 37] + str(n)


def log2_of(key):
    """The least value of its row: those below 0 have one."""
    if key < 0:
        return 1 - (1 << 63)
    return (1 << (key - 1).bit_length() - 1) + 1 if key > 1 else 0


# What uprobe counts by; the key of a row; what the target's key is there, of so many keys.
FORMS = (
    (["--count=key"], lambda key: key["key"], lambda key, keys: key),
    (["--count=text"], lambda key: key["text"], text_of),
    (["--count=function"], lambda key: key["function"], lambda key, keys: "counted"),
    (["--count=comm,tid"], lambda key: key["comm"], lambda key, keys: "tally"),
    (["--hist=key"], lambda key: key["key"]["from"], lambda key, keys: log2_of(key)),
    (["--count=text,key"], lambda key: (key["text"], key["key"]), lambda key, keys: (text_of(key, keys), key)),
)


class Counted:
    """The target, phase by phase."""

    def __init__(self):
        self.keys = random.choice([3, 100, 3000, 100000])
        self.process = subprocess.Popen([PROGRAM, str(self.keys), str(random.choice([20, 500, 5000])), "1000000"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = int(self.process.stdout.readline().split()[1])
        self.go()
        self.phase()

    def go(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def phase(self):
        """What it noted, to its end. None: it died."""
        noted = {}
        for line in self.process.stdout:
            if line == b"end\n":
                return noted
            key, n = line.split()
            if int(n):
                noted[int(key) - self.keys // 2] = int(n)
        return None

    def is_traced(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as status:
            return "\nTracerPid:\t0\n" not in status.read()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def begin(target, mode, form):
    ready, told = os.pipe()
    uprobe = subprocess.Popen([UPROBE, "--json", *mode_options(mode), "-o", "rows", *form, "--follow", "-p", str(target.pid), "--ready-fd",
                               str(told), f"p:t/counted {PROGRAM}:counted key={ARG1}:s64 text=+0({ARG2}):string"],
                              pass_fds=[told], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(told)
    is_ready = os.read(ready, 6) == b"ready\n"
    os.close(ready)
    return uprobe if is_ready else None


def wait_alone(row, target, mode):
    """For some time, in some rounds: others are let go of in the middle of it, or never."""
    limit = time.monotonic() + random.choice([0, 0.02, 2])
    while mode == "auto" and target.is_traced() and time.monotonic() < limit:
        time.sleep(0.005)
    row.alone += not target.is_traced()


def kill_one(row, target, mode):
    uprobe = begin(target, mode, random.choice(FORMS)[0])
    if not uprobe:
        return "uprobe does not get ready"
    wait_alone(row, target, mode)
    target.go()
    time.sleep(random.random() ** 2 * 0.3)
    uprobe.send_signal(signal.SIGKILL)
    uprobe.communicate()
    row.kills += 1
    return None if target.phase() else "the target died when uprobe was killed"


def count_one(row, target, mode):
    form, key_of, name_of = random.choice(FORMS)
    uprobe = begin(target, mode, form)
    if not uprobe:
        return f"{form}: uprobe does not get ready"
    wait_alone(row, target, mode)
    target.go()
    noted = target.phase()
    if noted is None:
        return f"{form}: the target died"
    uprobe.send_signal(signal.SIGINT)
    _, said = uprobe.communicate(timeout=torture.ANSWER)
    if uprobe.returncode or b"lost" in said or b"missed" in said:
        return f"{form}: uprobe ends with {uprobe.returncode}: {said.decode()}"
    told, want = {}, {}
    with open("rows", encoding="utf-8") as rows:
        for line in map(json.loads, rows):
            told[key_of(line["key"])] = told.get(key_of(line["key"]), 0) + line["hits"]
    for key, n in noted.items():
        want[name_of(key, target.keys)] = want.get(name_of(key, target.keys), 0) + n
    row.hits += sum(told.values())
    row.clean += 1
    differ = [(key, told.get(key), n) for key, n in want.items() if told.get(key) != n]
    if told == want:
        return None
    return f"{form}, {target.keys} keys: {len(differ)} of {len(want)} differ: (key, told, noted) {differ[:3]}, {len(told)} told"


def storm(row, options, rounds):
    target = Counted()
    for _ in range(rounds):
        if row.failures >= options.stop:
            break
        row.rounds += 1
        kills = not options.no_kill and random.random() < 0.5
        why = (kill_one if kills else count_one)(row, target, row.mode)
        if why:
            row.fail(f"round {row.rounds}: {why}")
        if why or random.random() < 0.2:
            target.end()
            target = Counted()
    target.end()


if __name__ == "__main__":
    arguments = torture.parse(__doc__)
    torture.in_own_folder()
    table = Table(arguments)
    for m in arguments.modes:
        line = Row("counts", m)
        # Stops take their time.
        storm(line, arguments, arguments.rounds or (100 if m in ("auto", "stay") else 10) if arguments.full else 8)
        table.add(line)
    sys.exit(table.done())
