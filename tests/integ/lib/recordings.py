# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What tests of recordings share."""

import json
import os
import subprocess
import sys
import time

UPROBE, USDT, REPORT, FIXTURES = (os.environ[v] for v in ("UPROBE", "USDT", "UBP_REPORT", "FIXTURES"))
WAIT = int(os.environ.get("TIMEOUT", "60"))
THREADS = f"{FIXTURES}/threads"
TICK = f"p:{THREADS}:tick t=%di:s64 i=%si:s64"


def fail(why):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")


def run(*argv, status=0, words="\n\n", **how):
    done = subprocess.run(argv, input=words, capture_output=True, text=True, errors="surrogateescape", check=False, timeout=WAIT, **how)
    if done.returncode != status:
        fail(f"{' '.join(argv)}: ended with {done.returncode}, not {status}\n{done.stderr}")
    return done


def wait_until(what, is_so):
    end = time.monotonic() + WAIT
    while not is_so():
        if time.monotonic() > end:
            fail(f"waited in vain until {what}")
        time.sleep(0.01)


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def ticks(*files, options=()):
    """What the report has of fixture threads: the numbers of each thread in their order, and the losses."""
    numbers, lost = {}, 0
    for e in events(run(REPORT, "--json", *options, *files).stdout):
        if "args" in e:
            numbers.setdefault(e["args"]["t"], []).append(e["args"]["i"])
        lost += e.get("lost", 0)
    return numbers, lost


class Target:
    """threads N M US, which goes on until it has done all."""

    def __init__(self, n_threads, n_rounds, rest_us=0):
        self.process = subprocess.Popen([THREADS, str(n_threads), str(n_rounds), str(rest_us)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            fail("the target does not get ready")
        self.pid = self.process.pid

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Its status, and what it said."""
        out, _ = self.process.communicate(timeout=WAIT)
        return self.process.returncode, out

    def kill(self):
        self.process.kill()
        self.process.communicate()


class Tracing:
    """uprobe with @options: ready once there is one. It ends with the block, whatever happens there."""

    def __init__(self, *options):
        ours, its = os.pipe()
        self.process = subprocess.Popen([UPROBE, "--ready-fd", str(its), *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=(its,))
        os.close(its)
        if os.read(ours, 6) != b"ready\n":
            fail(f"uprobe {options}: {self.process.communicate()[1]}")
        os.close(ours)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
