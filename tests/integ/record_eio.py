# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Recordings and output on a file system that fails (EIO), or takes less of a write than it was given: one clear line, and what was written is read."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from recordings import REPORT, THREADS, TICK, UPROBE, fail, run, ticks  # noqa: E402
from small_fs import SmallFs  # noqa: E402

MIB = 1 << 20
N = 40000


def trace(*options, status=0):
    return run(UPROBE, "--lossless", *options, "-e", TICK, "--", THREADS, "2", str(N), status=status)


def fails():
    with SmallFs("failing", 3 * MIB) as fs:
        # (In smaller rings hits that find no room are stops, which may stand in an earlier block than what came before them.)
        done = trace("--buffer-size", "16384", "--record", "failing/file", status=1)
        if done.stderr.strip() != "uprobe: error: cannot write failing/file: Input/output error":
            fail(f"EIO: {done.stderr}")
        if "sum " not in done.stdout:
            fail("EIO: the command has not ended as it would")
        if fs.n_failed == 0:
            fail("nothing has failed")
        with open("copy", "wb") as f:
            f.write(fs.data)
        later = run(REPORT, "failing/file")
    lines = len(later.stdout.splitlines())
    if "did not end as it should" not in later.stderr or "damaged" in later.stderr or not 10000 < lines < 2 * N:
        fail(f"behind EIO: {lines} lines, {later.stderr}")
    numbers, lost = ticks("copy")
    if lost or any(got != list(range(len(got))) for got in numbers.values()):
        fail(f"behind EIO: {lost} lost, or not all up to the end")


def fails_at_once():
    with SmallFs("failing", 0):
        done = trace("--record", "failing/file", status=1)
    if done.stderr.strip() != "uprobe: error: cannot write failing/file: Input/output error":
        fail(f"EIO at once: {done.stderr}")


def output_fails():
    with SmallFs("failing", MIB) as fs:
        done = trace("-o", "failing/out", status=1)
        if done.stderr.count("\n") != 1 or "Input/output error" not in done.stderr or fs.n_failed == 0:
            fail(f"-o and EIO: {done.stderr}")


def takes_less():
    """As network file systems may."""
    with SmallFs("short", 100 * MIB, most=5000) as fs:
        trace("--record", "short/file")
        if fs.n_short == 0:
            fail("no write was short")
        numbers, lost = ticks("short/file")
    if lost or numbers != {0: list(range(N)), 1: list(range(N))}:
        fail(f"short writes: {lost} lost, {[len(got) for got in numbers.values()]}")


try:
    with SmallFs("tried", 0):
        pass
except OSError as e:
    print(f"SKIP: no file system can be mounted: {e.strerror}")
    sys.exit(77)
for case in (fails, fails_at_once, output_fails, takes_less):
    case()
print("ok")
