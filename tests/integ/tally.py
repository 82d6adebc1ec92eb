#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What --count, --hist and --sum tell is what the target counted itself: in the target, from records, at stops; with threads that come
and go, children that are killed, signal handlers that interrupt; while they are traced, and let go of."""

import json
import os
import subprocess
import sys

FIXTURES, UPROBE = os.environ["FIXTURES"], os.environ["UPROBE"]
TARGET = f"{FIXTURES}/tally"
LIMIT = 600
NAME = "/a/name/that/is/longer/than/that/of/others"


def fail(text):
    print(text)
    sys.exit(1)


def run(keys, rounds, args):
    """What the target counted, by key; the rows of uprobe."""
    result = subprocess.run([UPROBE, "--json", "-o", "rows", *args, "--", TARGET, str(keys), str(rounds)], input=b"\n",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
    if result.returncode:
        fail(f"{args}: ends with {result.returncode}: {result.stderr.decode()}")
    if result.stderr:
        fail(f"{args}: says {result.stderr.decode()}")
    lines = [line.split() for line in result.stdout.decode().splitlines()]
    noted = {int(key) - keys // 2: int(n) for key, n in (line for line in lines if len(line) == 2 and line[0] != "ready") if int(n)}
    with open("rows", encoding="utf-8") as rows:
        return noted, [json.loads(line) for line in rows]


def compare(what, got, want):
    if got != want:
        differ = [(key, got.get(key), want.get(key)) for key in sorted(set(got) | set(want), key=str)
                  if got.get(key) != want.get(key)]
        fail(f"{what}: of {len(want)} keys {len(differ)} differ: (key, told, noted) {differ[:5]}")


def by_key(keys, rows):
    told = {}
    for row in rows:
        key = next(iter(row["key"].values()))
        key = (key["from"], key["to"]) if isinstance(key, dict) else key
        if key in told:
            fail(f"two rows for {key}")
        told[key] = row["hits"]
    return told


def text_of(key, keys):
    n = key + keys // 2
    return NAME[:n % 37] + str(n)


def collect(noted, name):
    out = {}
    for key, n in noted.items():
        out[name(key)] = out.get(name(key), 0) + n
    return out


def log2_of(value):
    if value < 0:
        return (1 - (1 << 63), -1)
    e = (value - 1).bit_length() if value > 1 else 0
    return ((1 << (e - 1)) + 1 if e else 0, 1 << e if e < 64 else (1 << 64) - 1)


def step_of(value, width):
    """Rows of values below 0 have the bounds that the kernel gives them, who sees them as unsigned."""
    first = value % (1 << 64) // width * width
    if value < 0:
        return (first - (1 << 64), min(first - (1 << 64) + width - 1, -1))
    return (first, first + width - 1)


def check(keys, rounds, mode, *more):
    plain = f"p:t/counted {TARGET}:counted"
    with_key = f"{plain} key=%di:s64 text=+0(%si):string"
    ways = ["--mode", mode, *more]
    noted, rows = run(keys, rounds, [*ways, "--count", plain])
    compare(f"{mode}: by event", by_key(keys, rows), {"counted": sum(noted.values())})
    noted, rows = run(keys, rounds, [*ways, "--count=key", with_key])
    compare(f"{mode}: by number", by_key(keys, rows), noted)
    noted, rows = run(keys, rounds, [*ways, "--count=text", with_key])
    compare(f"{mode}: by string", by_key(keys, rows), collect(noted, lambda key: text_of(key, keys)))
    noted, rows = run(keys, rounds, [*ways, "--hist=key", with_key])
    compare(f"{mode}: by log2", by_key(keys, rows), collect(noted, log2_of))
    if [row["key"]["key"]["from"] for row in rows] != sorted(row["key"]["key"]["from"] for row in rows):
        fail(f"{mode}: by log2: in another order than the table: {rows}")
    noted, rows = run(keys, rounds, [*ways, "--hist=key:7", with_key])
    compare(f"{mode}: in steps, signed", by_key(keys, rows), collect(noted, lambda key: step_of(key, 7)))
    noted, rows = run(keys, rounds, [*ways, "--hist=low:7", f"{plain} low=%di:u16"])
    compare(f"{mode}: in steps", by_key(keys, rows),
            collect(noted, lambda key: (key % 65536 // 7 * 7, key % 65536 // 7 * 7 + 6)))
    noted, rows = run(keys, rounds, [*ways, "--sum=key", "-e", with_key, "--filter", "key != 3"])
    noted.pop(3, None)
    want = {"key": {"event": "counted"}, "hits": sum(noted.values()),
            "sum": sum(key * n for key, n in noted.items()), "min": min(noted), "max": max(noted)}
    if rows != [want]:
        fail(f"{mode}: sum: {rows} is not {want}")


def check_alone(keys, rounds):
    """Nobody traces it most of the time."""
    noted, rows = run(keys, rounds, ["--mode", "jump", "--count=key", f"p:t/counted {TARGET}:counted key=%di:s64"])
    compare("alone, by number", by_key(keys, rows), noted)
    noted, rows = run(keys, rounds, ["--mode", "jump", "--count=tid", f"p:t/counted {TARGET}:counted"])
    compare("alone, by thread", {"all": sum(row["hits"] for row in rows)}, {"all": sum(noted.values())})


def check_bars():
    """What is less than 0 is the first row, and no empty ones lie behind it."""
    result = subprocess.run([UPROBE, "-o", "bars", "--hist=key", f"p:{TARGET}:counted key=%di:s64", "--", TARGET, "100", "60"],
                            input=b"\n", stdout=subprocess.PIPE, timeout=LIMIT, check=True)
    lines = [line.split() for line in result.stdout.decode().splitlines()]
    below = sum(int(line[1]) for line in lines if len(line) == 2 and line[0] != "ready" and int(line[0]) < 50)
    with open("bars", encoding="utf-8") as f:
        bars = [line.split("|")[0].split() for line in f]
    if bars[0] != ["..", "-1", str(below)] or bars[1][:3] != ["0", "..", "1"] or len(bars) != 8:
        fail(f"bars of values below 0: {bars}")


def check_signs():
    """Numbers with a sign and without one in a column: each is what it is, or it is refused."""
    noted, rows = run(100, 60, ["--count=k,event", "-e", f"p:t/with {TARGET}:counted k=%di:s32", "-e", f"p:t/without {TARGET}:counted k=%di:u16"])
    told = {(row["key"]["k"], row["key"]["event"]): row["hits"] for row in rows}
    want = {(key, "with"): n for key, n in noted.items()}
    want.update({(key % 65536, "without"): n for key, n in noted.items()})
    compare("with signs and without", told, want)
    for first, second in (("s32", "u64"), ("x64", "s64")):
        result = subprocess.run([UPROBE, "--count=k", "-e", f"p:t/a {TARGET}:counted k=%di:{first}", "-e", f"p:t/b {TARGET}:counted k=%si:{second}",
                                 "--", "true"], stderr=subprocess.PIPE, timeout=LIMIT, check=False)
        said = result.stderr.decode()
        if not result.returncode or said.count("\n") != 1 or "event b: a key has a sign here" not in said:
            fail(f"{first} beside {second}: {result.returncode}, {said}")


def check_room():
    """Code that looks entries up is longer: there is room for that of each function of a library."""
    result = subprocess.run([UPROBE, "--stats", "--mode", "jump", "-o", "rows", "--count=cpu", "p:libc:*", "--", "true"], stderr=subprocess.PIPE,
                            timeout=LIMIT, check=True)
    full = [line for line in result.stderr.decode().splitlines() if "area is full" in line]
    if full:
        fail(f"there is no room for {len(full)} jumps: {full[0]}")


check_room()
check_bars()
check_signs()
check_alone(1000, 5000)
# Calls of each thread, of which a run has a hundred.
HITS = 20000 if os.environ.get("UBP_ALL") else 3000
check(1000, HITS, "jump", "--stay")
check(200000, HITS, "jump", "--stay")
check(100, 60, "trap")
