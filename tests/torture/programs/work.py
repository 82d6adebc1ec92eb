# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Threads, subprocesses and much allocation; each "check" does the same work (storm.h)."""

import hashlib
import subprocess
import sys
import threading

stop = False


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def unit(i):
    h = hashlib.sha256()
    for k in range(200):
        h.update(repr({"k": k, "v": [str(j * i) for j in range(10)]}).encode())
    return h.hexdigest() + str(fib(12))


def background(i, want):
    while not stop:
        if unit(i) != want:
            print("wrong in a thread", flush=True)


def check():
    results = [None] * 4

    def run(i):
        results[i] = unit(i)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    out = subprocess.run(["sh", "-c", "echo sub; exit 4"], capture_output=True, check=False)
    results.append(f"{out.stdout!r} {out.returncode}")
    return hashlib.sha256(repr(results).encode()).hexdigest()


workers = [threading.Thread(target=background, args=(i, unit(i))) for i in range(2)]
for w in workers:
    w.start()
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        break
    print("ok", check(), flush=True)
stop = True
for w in workers:
    w.join()
