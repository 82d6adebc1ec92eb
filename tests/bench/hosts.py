#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What telling other hosts costs: hosts.py BUILD [EVENTS]. Processor time is uprobe's own, of all its threads; the figures in docs/many-hosts.md are from here."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

BUILD = os.path.abspath(sys.argv[1])
EVENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 200000
UPROBE, TARGET = f"{BUILD}/uprobe", f"{BUILD}/fixtures/let_go"


class Run:
    def __init__(self, *args):
        self.target = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.target.stdout.readline()
        read_end, write_end = os.pipe()
        self.err = open("/tmp/hosts-bench.err", "w+", encoding="utf-8")
        self.p = subprocess.Popen([UPROBE, "--ready-fd", str(write_end), "-p", str(self.target.pid), *args], pass_fds=[write_end], stderr=self.err,
                                  stdout=subprocess.DEVNULL)
        os.close(write_end)
        os.read(read_end, 6)
        os.close(read_end)
        time.sleep(0.5)

    def call(self, n, first=1):
        self.target.stdin.write(f"call {n} {first}\n")
        self.target.stdout.readline()

    def cpu(self):
        """Nanoseconds, of all threads."""
        return sum(int(open(f"/proc/{self.p.pid}/task/{t}/schedstat", encoding="ascii").read().split()[0]) for t in os.listdir(f"/proc/{self.p.pid}/task"))

    def rss(self):
        return int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{self.p.pid}/status", encoding="ascii").read())[1])

    def url(self):
        self.err.seek(0)
        return re.search(r"http://\S+", self.err.read())[0]

    def end(self):
        self.p.send_signal(signal.SIGINT)
        self.p.wait()
        self.target.stdin.close()
        self.target.wait()


def scrapes(what, *args, keys=1):
    run = Run("--prometheus", "0", *args)
    for first in range(keys):
        run.call(3, first * 1000)
    url, rounds = run.url(), 40
    time.sleep(0.5)
    begin = run.cpu()
    for _ in range(rounds):
        size = len(urllib.request.urlopen(url).read())
        time.sleep(0.11)
    each = (run.cpu() - begin) / rounds
    begin = run.cpu()
    time.sleep(3)
    print(f"{what}: {size} bytes an answer, {each / 1000:.0f} us an answer, {(run.cpu() - begin) / 3e6:.2f} ms a second between, {run.rss()} kB")
    run.end()


def events(what, file, per, *args):
    run = Run("--lossless", *args)
    begin = run.cpu()
    run.call(EVENTS)
    time.sleep(1.5)
    used = run.cpu() - begin
    run.end()
    print(f"{what}: {used / EVENTS * per:.0f} ns and {os.path.getsize(file) / EVENTS * per:.0f} bytes each, {EVENTS // per}")
    os.unlink(file)


ENTRY, RETURN = f"p:t/in {TARGET}:called a=%di:s64", f"r:t/out {TARGET}:called v=$retval:s64"
scrapes("one histogram", "--hist=a", ENTRY)
scrapes("a count of 1000 keys", "--count=a", ENTRY, keys=400)
OUT = "/tmp/hosts-bench.out"
events("spans to a file", OUT, 1, "--otlp", OUT, "-e", ENTRY, "-e", RETURN)
events("JSON lines", OUT, 1, "--json", "-o", OUT, ENTRY)
events("text lines", OUT, 1, "-o", OUT, ENTRY)
