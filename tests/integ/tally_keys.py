#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What is counted by function and by stack: the same at stops and from records of detours, as text, as JSON, by bars. Events beside the counts
are all there, and on a terminal no table is torn by them."""

import collections
import json
import os
import pty
import re
import subprocess
import sys

FIXTURES, UPROBE = os.environ["FIXTURES"], os.environ["UPROBE"]
NAMES, FP = f"{FIXTURES}/stack_names", f"{FIXTURES}/stack_fp"
LIMIT = 100
ENV = {**os.environ, "LC_ALL": "C.UTF-8"}


def fail(text):
    print(text)
    sys.exit(1)


def run(args, program, *words, status=0):
    result = subprocess.run([UPROBE, "-o", "out", *args, "--", program, *words], input=b"go\n", env=ENV,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
    if result.returncode != status:
        fail(f"{args}: ends with {result.returncode}: {result.stderr.decode()}")
    return open("out", encoding="utf-8").read() if status == 0 else result.stderr.decode()


def rows(args, program, *words):
    return [json.loads(line) for line in run(["--json", *args], program, *words).splitlines()]


def check_functions():
    found = rows(["--count=function", "-e", f"p:{NAMES}:bottom", "-e", f"p:{NAMES}:bottom+7"], NAMES, "10")
    if found != [{"key": {"function": "bottom"}, "hits": 60}]:
        fail(f"two places of a function: {found}")
    found = rows(["--count=function,event", "-e", f"p:a {NAMES}:*pay*", "-e", f"p:b {NAMES}:bottom"], NAMES, "10")
    if [(row["key"]["function"], row["hits"]) for row in found] != [("bottom", 30), ("shop::item::pay", 20)]:
        fail(f"a pattern's functions: {found}")
    found = rows(["--count=function", "-e", f"p:{NAMES}:bottom", "-e", "p:libc:qsort_r"], NAMES, "10")
    if not {"bottom [stack_names]", "qsort_r [libc.so.6]"} >= {row["key"]["function"] for row in found}:
        fail(f"functions of two files: {found}")
    table = run(["--count", "p:libc:mem*"], "/bin/ls", "/").splitlines()
    if table[0].split() != ["HITS", "EVENT"] or len(table) < 2 or \
            [int(line.split()[0]) for line in table[1:]] != sorted((int(line.split()[0]) for line in table[1:]), reverse=True):
        fail(f"a table of functions: {table}")


def check_processes():
    """By process, as a shell says which these are; and by CPU, where the target has but one."""
    code = f"{FIXTURES}/exit_code"
    found = {}
    for line in run(["--json", "--count=pid", f"p:{code}:work"], "/bin/sh", "-c",
                    f"for i in 1 2 3; do {code} exit 0 & echo $! >> pids; wait; done").splitlines():
        row = json.loads(line)
        found[row["key"]["pid"]] = row["hits"]
    with open("pids", encoding="ascii") as f:
        if found != {int(line): 1 for line in f}:
            fail(f"by pid: {found}")
    cpu = max(os.sched_getaffinity(0))
    for mode in ("jump", "trap"):
        rows_of = rows(["--count=cpu", "--mode", mode, f"p:{NAMES}:bottom"], "taskset", "-c", str(cpu), NAMES, "100")
        if rows_of != [{"key": {"cpu": cpu}, "hits": 300}]:
            fail(f"by cpu, {mode}: {rows_of}")


def check_bars():
    """Of the same length in both alphabets, but for the last character, which may be a part of one."""
    args = ["--hist=n", f"p:{NAMES}:bottom n=%di:u8"]
    wide = [line.split("|")[1].strip() for line in run(args, NAMES, "100").splitlines() if "|" in line]
    ENV["LC_ALL"] = "C"
    plain = [line.split("|")[1].strip() for line in run(args, NAMES, "100").splitlines() if "|" in line]
    ENV["LC_ALL"] = "C.UTF-8"
    if not plain or any(set(bar) - {"#"} for bar in plain) or not any("\u2588" in bar for bar in wide):
        fail(f"bars: {wide} and {plain}")
    if len(plain) != len(wide) or any(abs(len(a) - len(b)) > 1 for a, b in zip(plain, wide)):
        fail(f"bars of other lengths: {wide} and {plain}")


def check_units():
    """Bytes and times have units as text, and none as JSON."""
    args = ["--sum=size", f"p:{NAMES}:bottom size=\\4096:u64"]
    table = [line.split() for line in run(args, NAMES, "10").splitlines()]
    if table != [["HITS", "SUM", "MIN", "MAX", "MEAN", "EVENT"], ["30", "120KiB", "4.00KiB", "4.00KiB", "4.00KiB", "bottom"]]:
        fail(f"a sum of bytes: {table}")
    if rows(args, NAMES, "10") != [{"key": {"event": "bottom"}, "hits": 30, "sum": 122880, "min": 4096, "max": 4096}]:
        fail(f"a sum of bytes as JSON: {rows(args, NAMES, '10')}")
    bars = run(["--hist", f"r:{NAMES}:bottom $duration"], NAMES, "100").splitlines()
    if not bars or any(not re.match(r" *[\d.]+(ns|us|ms|s) \.\. +[\d.]+(ns|us|ms|s) +\d+ \|", bar) for bar in bars):
        fail(f"a histogram of times: {bars}")


def check_stacks():
    """As --folded has them, which is another way to the same."""
    folded = {}
    for line in run(["--folded", f"p:{NAMES}:bottom"], NAMES, "100").splitlines():
        stack, n = line.rsplit(" ", 1)
        folded[tuple(reversed(stack.split(";")[1:]))] = int(n)
    for key in ("ustack", "stack"):
        found = rows([f"--count={key}", f"p:{NAMES}:bottom"], NAMES, "100")
        if {tuple(row["key"][key]): row["hits"] for row in found} != folded or len(found) != 3:
            fail(f"{key}: {found} is not {folded}")
    text = run(["--count=comm,ustack", "--top=1", f"p:{NAMES}:bottom"], NAMES, "100").splitlines()
    if text[0].split() != ["HITS", "COMM", "USTACK"] or text[1].split() != ["100", "stack_names", "bottom"] or \
            tuple(line.strip() for line in ["bottom", *text[2:]]) not in folded:
        fail(f"as text: {text}")
    bars = run(["--hist=n", "--by=ustack", f"p:{NAMES}:bottom n=%di:u8"], NAMES, "100").splitlines()
    if sum(int(line.split("|")[0].split()[-1]) for line in bars if "|" in line) != 300 or bars[0] != "bottom":
        fail(f"histograms by stack: {bars}")
    for mode in ("jump", "trap"):
        found = rows(["--count=ustack", "--stack=fp", "--mode", mode, "--buffer-size=16", f"p:{FP}:leaf"], FP, "1500", "2")
        if sum(row["hits"] for row in found) != 18000 or any(row["key"]["ustack"][0] != "leaf" for row in found):
            fail(f"by frame pointers, {mode}: {found}")
    raw = rows(["--count=ustack", "--stack-raw", "--frames=2", f"p:{NAMES}:bottom"], NAMES, "10")
    if any(not re.fullmatch("0x[0-9a-f]+", frame) for row in raw for frame in row["key"]["ustack"]):
        fail(f"addresses: {raw}")
    told = run(["--explain", "--count=ustack", "--stack=fp", f"p:{FP}:leaf"], FP)
    if "counted from its records: a key is the stack" not in told or "trigger: hist:keys=ustack" not in told:
        fail(f"--explain: {told}")


def check_events():
    """Each hit is an event, and is counted."""
    for mode in ("jump", "trap"):
        lines = rows(["--count=n", "--with-events", "--buffer-size=16", "--mode", mode, f"p:{NAMES}:bottom n=%di:u8"], NAMES, "3000")
        events = collections.Counter(line["args"]["n"] for line in lines if "key" not in line)
        counts = {line["key"]["n"]: line["hits"] for line in lines if "key" in line}
        if events != counts or sum(counts.values()) != 9000:
            fail(f"{mode}: events {events} are not {counts}")
    told = run(["--explain", "--count=n", "--with-events", f"p:{NAMES}:bottom n=%di:u8"], NAMES)
    if "counted from its records: they are events, too" not in told:
        fail(f"--explain: {told}")
    for bad in (["--with-events"], ["--count", "--folded"], ["--count", "-n", "3"]):
        if "--count, --hist and --sum" not in run([*bad, f"p:{NAMES}:bottom"], NAMES, status=2):
            fail(f"{bad} are taken")


def on_terminal(text, height):
    """What a terminal shows in the end of what came, all that scrolled away included."""
    lines, at, top = [""], 0, 0
    for piece in re.findall(r"\x1b\[[?0-9]*[A-Za-z]|\r\n|[^\x1b\r]+", text):
        if piece == "\r\n":
            at += 1
            if at == len(lines):
                lines.append("")
            top = max(top, len(lines) - height)
        elif piece.endswith("A"):
            at = max(at - int(piece[2:-1]), top)
        elif piece == "\x1b[J":
            del lines[at + 1:]
            lines[at] = ""
        elif piece[0] != "\x1b":
            lines[at] += piece
    return lines


def check_terminal(height):
    args = [UPROBE, "--count=n", "--every=0.02", "--with-events", f"p:{NAMES}:bottom n=%di:u8"]
    script = f"stty rows {height}; for i in 1 2 3; do echo go | {NAMES} 200 > told; sleep 0.1; done"
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(LC_ALL="C.UTF-8", NO_COLOR="1")
        os.execvp("sh", ["sh", "-c", f"stty rows {height}; exec \"$@\"", "sh", *args, "--", "sh", "-c", script])
    text = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    _, status = os.waitpid(pid, 0)
    if status:
        fail(f"on a terminal it ends with {status}: {text[-500:]}")
    shown = [line for line in on_terminal(text.decode(), height) if line]
    events = [line for line in shown if ": bottom: (0x" in line]
    table = shown[len(events):]
    if len(events) != 1800 or shown[:1800] != events or table[0].split() != ["HITS", "N"] or \
            sum(int(line.split()[0]) for line in table[1:]) != 1800:
        fail(f"{height} lines: {len(events)} events, then {table[:20]}")


check_functions()
check_processes()
check_bars()
check_units()
check_stacks()
check_events()
check_terminal(24)
check_terminal(5)
