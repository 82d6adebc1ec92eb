#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--sample tells of each Nth hit that the filter lets through, of each thread, or of those at which an argument adds up to a size: exactly
those, and no matter whether a detour, the tracer or the reader of records decides."""

import json
import os
import signal
import subprocess
import sys
import time

FIXTURES, UPROBE = os.environ["FIXTURES"], os.environ["UPROBE"]
TARGET = f"{FIXTURES}/sample"
LIMIT = 600
# Where its arguments are.
N, SIZE, MEMORY, TEXT = (("%di", "%si", "%dx", "%cx") if os.environ.get("KIND") != "i386"
                         else ("$stack1", "$stack2", "$stack3", "$stack4"))
ARGS = f"n={N} size={SIZE}:u32"
CALLED = f"p:t/called {TARGET}:sampled {ARGS}"


def fail(text):
    print(text)
    sys.exit(1)


def trace(what, args, command):
    """Lines of --json, and what is said on standard error."""
    with open("rows", "w", encoding="utf-8"):
        pass
    result = subprocess.run([UPROBE, "--json", "-o", "rows", *args, *command], input=b"\n", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=LIMIT)
    if result.returncode:
        fail(f"{what}: ends with {result.returncode}: {result.stderr.decode()}")
    with open("rows", encoding="utf-8") as rows:
        return result.stdout.decode(), result.stderr.decode(), [json.loads(line) for line in rows]


def calls_of(stdout):
    return {int(tid): int(n) for tid, n in (line.split() for line in stdout.splitlines() if line[0].isdigit())}


def run(what, args, threads=3, calls=1000, ways=0):
    out, err, rows = trace(what, ["--lossless", *args], ["--", TARGET, str(threads), str(calls), str(ways)])
    if not out.endswith("end\n"):
        fail(f"{what}: the target says {out}")
    return calls_of(out), err, rows


def is_traced(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return "\nTracerPid:\t0\n" not in status.read()


def attach(what, args, threads, calls, ways):
    """To a target that runs, by its process id."""
    with subprocess.Popen([TARGET, str(threads), str(calls), str(ways)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        ready, tell = os.pipe()
        # Of 32-bit programs all hits are recorded, which may be more than there is room for.
        lossless = ["--lossless"] if TEXT == "$stack4" else []
        with open("rows", "w", encoding="utf-8"):
            pass
        with subprocess.Popen([UPROBE, "--stats", "--json", "-o", "rows", "--ready-fd", str(tell), "-p", str(target.pid), *lossless, *args],
                              pass_fds=[tell], stderr=subprocess.PIPE) as tracer:
            os.close(tell)
            os.read(ready, 1)
            os.close(ready)
            # With its jumps, and nobody traces it.
            end = time.monotonic() + LIMIT / 4
            while "--stay" not in args and "UBP_STAY" not in os.environ and TEXT != "$stack4" and is_traced(target.pid):
                if time.monotonic() > end:
                    tracer.send_signal(signal.SIGINT)
                    target.kill()
                    fail(f"{what}: not let go of: {tracer.communicate(timeout=LIMIT)[1].decode()}")
                time.sleep(0.01)
            out, _ = target.communicate(b"\n", timeout=LIMIT)
            _, err = tracer.communicate(timeout=LIMIT)
    if target.returncode or tracer.returncode:
        fail(f"{what}: {target.returncode}, {tracer.returncode}: {err.decode()}")
    with open("rows", encoding="utf-8") as rows:
        return calls_of(out.decode()), [json.loads(line) for line in rows]


def size_of(n):
    return n * 2654435761 % (1 << 32) % (3000 if n % 50 else 100000)


def each(n_calls, every, passes=lambda n: True):
    return [n for i, n in enumerate((n for n in range(1, n_calls + 1) if passes(n)), 1) if i % every == 0]


def by_size(n_calls, size, passes=lambda n: True):
    told, used = [], 0
    for n in range(1, n_calls + 1):
        if not passes(n):
            continue
        used += min(size_of(n), size)
        if used >= size:
            used -= size
            told.append(n)
    return told


def compare(what, rows, want, value=lambda row: row["args"]["n"]):
    got = {}
    for row in rows:
        got.setdefault(row["tid"], []).append(value(row))
    want = {tid: list_ for tid, list_ in want.items() if list_}
    if got != want:
        for tid in sorted(set(got) | set(want)):
            g, w = got.get(tid, []), want.get(tid, [])
            if g != w:
                print(f"  thread {tid}: {len(g)} told, {len(w)} wanted: {[n for n in g if n not in set(w)][:5]} too many, "
                      f"{[n for n in w if n not in set(g)][:5]} missing")
        fail(f"{what}: differs")


def number(row):
    return int(row["args"]["n"], 16) if isinstance(row["args"]["n"], str) else row["args"]["n"]


def check_ways(mode, calls):
    """All that may decide it: early by registers, late by memory, at returns, several probes of one place."""
    way = ["--mode", mode]

    def one(what, args, want, value=number):
        threads, _, rows = run(f"{mode}: {what}", [*way, *args], calls=calls)
        compare(f"{mode}: {what}", rows, {tid: want(n) for tid, n in threads.items()}, value)

    one("each 7th", ["--sample", "7", CALLED], lambda n: each(n, 7))
    one("each", ["--sample", "1", CALLED], lambda n: each(n, 1))
    one("filter of registers", ["--sample", "7", "-e", CALLED, "--filter", "n > 100 && size < 2000"],
        lambda n: each(n, 7, lambda n: n > 100 and size_of(n) < 2000))
    text = f"{CALLED} text=+0({TEXT}):string"
    one("filter of memory", ["--sample", "7", "-e", text, "--filter", 'text == "odd"'], lambda n: each(n, 7, lambda n: n % 2))
    one("by size", ["--sample", "size:10KiB", CALLED], lambda n: by_size(n, 10240))
    one("by size, as written", ["--sample", f"{SIZE}:10KiB", CALLED], lambda n: by_size(n, 10240))
    one("by size, larger than most", ["--sample", "size:1GB", CALLED], lambda n: by_size(n, 10 ** 9))
    memory = f"{CALLED} memory=+0({MEMORY}):u32"
    one("by size in memory", ["--sample", "memory:10KiB", memory], lambda n: by_size(n, 10240))
    one("by size in memory, filter of memory", ["--sample", "memory:10KiB", "-e", f"{memory} text=+0({TEXT}):string", "--filter",
                                                'text == "even"'], lambda n: by_size(n, 10240, lambda n: n % 2 == 0))
    negative = f"p:t/called {TARGET}:sampled {ARGS} less={N}:s8"
    one("by a number that may be negative", ["--sample", "less:300", negative],
        lambda n: by_signed(n, 300))
    back = f"r:t/back {TARGET}:sampled ret=$retval:s32"
    one("returns", ["--sample", "7", back], lambda n: each(n, 7), lambda row: row["args"]["ret"] // 3)
    one("returns by value", ["--sample", "ret:10000", back], lambda n: returned(n, 10000), lambda row: row["args"]["ret"] // 3)
    two = ["--sample", "7", "-e", f"p:t/all {TARGET}:sampled {ARGS}", "-e", f"p:t/odd {TARGET}:sampled {ARGS} text=+0({TEXT}):string",
           "--filter", 'text == "odd"', "-e", f"r:t/back {TARGET}:sampled n=$retval"]
    threads, _, rows = run(f"{mode}: several", [*way, *two], calls=calls)
    for event, passes in (("all", lambda n: True), ("odd", lambda n: n % 2), ("back", lambda n: True)):
        compare(f"{mode}: several, {event}", [row for row in rows if row["event"] == event],
                {tid: each(n, 7, passes) for tid, n in threads.items()}, lambda row: number(row) // (3 if row["event"] == "back" else 1))


def by_signed(n_calls, size):
    told, used = [], 0
    for n in range(1, n_calls + 1):
        value = n % 256
        used += min(value, size) if value < 128 else 0
        if used >= size:
            used -= size
            told.append(n)
    return told


def returned(n_calls, size):
    told, used = [], 0
    for n in range(1, n_calls + 1):
        used += min(3 * n + n % 2, size)
        if used >= size:
            used -= size
            told.append(n)
    return told


def check_counts(mode, calls):
    """What counts, counts hits that are taken; with children, and handlers that interrupt anywhere."""
    way = ["--mode", mode]
    for ways in (0, 1, 2, 3):
        what = f"{mode}: counted, {ways}"
        threads, _, rows = run(what, [*way, "--sample", "7", "--count=tid", CALLED], calls=calls, ways=ways)
        got = {row["key"]["tid"]: row["hits"] for row in rows}
        want = {tid: n // 7 for tid, n in threads.items() if n >= 7}
        if got != want:
            fail(f"{what}: {got} is not {want}")
        threads, _, rows = run(what, [*way, "--sample", "7", CALLED], calls=calls, ways=ways)
        got = {}
        for row in rows:
            got[row["tid"]] = got.get(row["tid"], 0) + 1
        want = {tid: n // 7 for tid, n in threads.items() if n >= 7}
        if got != want:
            fail(f"{what}: {got} events is not {want}")
    threads, _, rows = run(mode, [*way, "--sample", "7", "--sum", "n", CALLED], calls=calls)
    told = [n for n_calls in threads.values() for n in each(n_calls, 7)]
    want = {"key": {"event": "called"}, "hits": len(told), "sum": sum(told), "min": 7, "max": max(told)}
    if rows != [want]:
        fail(f"{mode}: sum: {rows} is not {want}")
    threads, _, rows = run(mode, [*way, "--sample", "size:10KiB", "--hist=n:100", CALLED], calls=calls)
    want = {}
    for n_calls in threads.values():
        for n in by_size(n_calls, 10240):
            want[n // 100 * 100] = want.get(n // 100 * 100, 0) + 1
    got = {row["key"]["n"]["from"]: row["hits"] for row in rows}
    if got != want:
        fail(f"{mode}: hist: {got} is not {want}")
    threads, err, rows = run(mode, [*way, "--stats", "--sample", "7", "-e", CALLED, "--filter", "n > 10"], calls=calls)
    left_out = sum(n - 10 - (n - 10) // 7 for n in threads.values())
    hits, passed = sum(threads.values()), sum((n - 10) // 7 for n in threads.values())
    if f" hits={hits} passed={passed} " not in err or f" left_out={left_out}" not in err:
        fail(f"{mode}: statistics: not hits={hits} passed={passed} left_out={left_out}: {err}")
    threads, _, rows = run(mode, [*way, "--stack", "fp", "--sample", "7", CALLED], calls=calls)
    compare(f"{mode}: stacks", rows, {tid: each(n, 7) for tid, n in threads.items()}, number)
    if not all(row["stack"] for row in rows):
        fail(f"{mode}: events without stacks")
    text = f"{CALLED} text=+0({TEXT}):string"
    for definition, filter_, want in ((CALLED, "n > 0", lambda n: each(n, 7)), (text, 'text == "odd"', lambda n: each(n, 7, lambda n: n % 2)),
                                      (f"r:t/back {TARGET}:sampled n=$retval", "n > 0", lambda n: [3 * n + n % 2 for n in each(n, 7)])):
        threads, _, rows = run(mode, [*way, "--stack", "cfi", "--sample", "7", "-e", definition, "--filter", filter_], calls=calls, ways=1)
        compare(f"{mode}: stacks that are unwound, {definition}", rows, {tid: want(n) for tid, n in threads.items()}, number)
        names = {row["stack"][1].get("function") for row in rows} if definition[0] == "p" else {"call"}
        if names != {"call"} or not all(len(row["stack"]) > 1 for row in rows):
            fail(f"{mode}: stacks that are unwound: called by {names}")
    threads, _, rows = run(mode, [*way, "--sample", "size:10KiB", CALLED], calls=calls)
    if any(row["weight"] != max(row["args"]["size"], 10240) for row in rows):
        fail(f"{mode}: weights by size")
    threads, _, rows = run(mode, [*way, "--sample", "7", CALLED], calls=calls)
    if any(row["weight"] != 7 for row in rows):
        fail(f"{mode}: weights")


def check_running(options):
    """Threads that stop first and record later; processes that are let go of."""
    for sample, want in (("1000", lambda n: each(n, 1000)), ("size:1MiB", lambda n: by_size(n, 1 << 20))):
        what = f"attached to, {options} {sample}"
        threads, rows = attach(what, [*options, "--sample", sample, CALLED], 3, 200000, int("--follow" in options))
        if TEXT != "$stack4":
            compare(what, rows, {tid: want(n) for tid, n in threads.items()}, number)
            continue
        # What the reader of records decides it decides later than what the tracer does: which ones are told depends on that, how many does not.
        for tid, n in threads.items():
            got = sum(row["tid"] == tid for row in rows)
            if got != len(want(n)):
                fail(f"{what}: {got} of thread {tid} are told, not {len(want(n))}")


def check_folded():
    subprocess.run([UPROBE, "--folded", "--stack", "fp", "-o", "folded", "--lossless", "--sample", "size:10KiB", CALLED, "--", TARGET, "3",
                    "5000"], input=b"\n", stdout=subprocess.PIPE, check=True, timeout=LIMIT)
    with open("folded", encoding="utf-8") as lines:
        got = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    want = 3 * sum(max(size_of(n), 10240) for n in by_size(5000, 10240))
    if got != want:
        fail(f"folded: {got} is not {want}")


def check_refused():
    for args, status, want in ((["--sample", "0", CALLED], 2, "0 is not from 1"),
                               (["--sample", "some", CALLED], 2, "neither a number of hits nor ARG:SIZE"),
                               (["--sample", ":5", CALLED], 2, "neither a number"),
                               (["--sample", "size:", CALLED], 2, "neither a number"),
                               (["--sample", "size:4GiB", CALLED], 2, "is not from 1"),
                               (["--sample", "-3", CALLED], 2, "neither a number"),
                               (["--sample", "7", "--once", CALLED], 2, "excludes --sample"),
                               (["--sample", "other:1KiB", CALLED], 1, "no argument 'other'"),
                               (["--sample", "text:1KiB", f"{CALLED} text=+0({TEXT}):string"], 1, "not one whole number")):
        result = subprocess.run([UPROBE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=LIMIT)
        err = result.stderr.decode()
        if result.returncode != status or want not in err or err.count("error:") != 1:
            fail(f"{args}: ends with {result.returncode}, says {err}")


check_refused()
check_ways("jump", 2000)
check_ways("trap", 300)
check_ways("auto", 2000)
check_counts("jump", 5000)
check_counts("trap", 300)
check_running([])
check_running(["--stay"])
check_running(["--follow"])
check_folded()
