#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Lines that can be probed, and where, beside gdb and perf: programs compiled by gcc and clang at
each level, with DWARF 4 and 5. gdb tells the addresses of each line, perf the lines."""

import itertools
import os
import re
import shutil
import subprocess
import sys

UPROBE = os.environ["UPROBE"]
SOURCE = os.path.join(os.environ["UBP_SRC"], "fixtures/source.c")
FUNCTIONS = ("twice", "sum", "parse", "main")


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=False)


def listed(lines):
    """Numbers of a listing."""
    return [int(m.group(1)) for m in (re.match(r" {0,6}(\d+)(  |$)", line) for line in lines) if m]


def ours(prog, places):
    """The addresses of each place."""
    text = "".join(f"p:t/place_{i} {prog}:{place}\n" for i, place in enumerate(places))
    out = subprocess.run([UPROBE, "--check", "-f", "-"], input=text, capture_output=True, text=True,
                         check=False)
    if out.returncode:
        raise SystemExit(out.stderr)
    found = [set() for _ in places]
    for number, addr in re.findall(r"^p:t/place_(\d+) .*:0x([0-9a-f]+)$", out.stdout, re.M):
        found[int(number)].add(int(addr, 16))
    return [sorted(addrs) for addrs in found]


def gdb(prog, places):
    args = ["gdb", "-nx", "-batch", "-ex", "set breakpoint pending off"]
    for place in places:
        args += ["-ex", f"break {place}", "-ex", "info breakpoints", "-ex", "delete", "-ex", "echo @\n"]
    parts = run(*args, prog).stdout.split("@\n")
    return [sorted({int(word, 16) for word in re.findall(r"0x[0-9a-f]{16}", part)})
            for part in parts[:len(places)]]


def declared(function):
    with open(SOURCE, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if re.match(rf"\w.* {function}\(", line) and not line.rstrip().endswith(";"):
                return number
    raise SystemExit(f"no {function}() in {SOURCE}")


def compare_places(prog, counts):
    places = []
    for function in FUNCTIONS:
        lines = listed(run(UPROBE, "--lines-of", function, prog).stdout.splitlines()[1:])
        places += [(function, line) for line in lines if line]
    we = ours(prog, [f"{function}:{line}" for function, line in places])
    they = gdb(prog, [f"source.c:{declared(function) + line}" for function, line in places])
    for place, our, their in zip(places, we, they, strict=True):
        counts["same" if our == their else "other"] += 1
        if our != their:
            print(f"{prog} {place}: {list(map(hex, our))}, gdb {list(map(hex, their))}")


def compare_lists(prog, counts):
    # Of what is inlined perf lists lines of others, that have addresses in common with it.
    for function in FUNCTIONS[1:]:
        we = run(UPROBE, "--lines-of", function, prog)
        they = run("perf", "probe", "-x", prog, "-L", function)
        if they.returncode or not they.stdout:
            counts["unread"] += 1
        elif we.stdout == they.stdout:
            counts["same list"] += 1
        else:
            counts["other list"] += 1
            print(f"{prog} {function}: perf\n{they.stdout}ours\n{we.stdout}")


def main():
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
    has_gdb, has_perf = shutil.which("gdb"), shutil.which("perf")
    counts = dict.fromkeys(("same", "other", "same list", "other list", "unread"), 0)
    if not compilers or not has_gdb:
        print("needs gcc or clang, and gdb")
        return 77
    for compiler, level, version in itertools.product(compilers, "0123", "45"):
        prog = f"./{compiler}-{level}-{version}"
        subprocess.run([compiler, f"-O{level}", f"-gdwarf-{version}", "-o", prog, SOURCE], check=True)
        compare_places(prog, counts)
        if has_perf:
            compare_lists(prog, counts)
    print(counts)
    # Where they differ, gdb takes the line behind, or has one more in a loop.
    if counts["other"] * 20 > counts["same"] or counts["same"] < 100:
        return 1
    if not has_perf:
        print("lists were not compared: no perf (package linux-perf)")
        return 77
    return 1 if counts["other list"] * 10 > counts["same list"] or not counts["same list"] else 0


sys.exit(main())
