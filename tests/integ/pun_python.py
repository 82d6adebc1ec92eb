# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Punned jumps in python3, which nobody here wrote: every function and part of one that can have such a jump is probed, a
program runs, and what is told is the same as by breakpoints."""

import os
import re
import subprocess
import sys

UPROBE = os.environ["UPROBE"]
WAIT = int(os.environ.get("TIMEOUT", "60")) * 4
PROGRAM = """
import json, re, decimal, collections, itertools
class C:
    __slots__ = ('x',)
    def __getattr__(self, n): raise AttributeError(n)
for i in range(60):
    c = C(); c.x = i
    try: c.y
    except AttributeError: pass
    try: int('z')
    except ValueError as e: str(e)
    json.loads(json.dumps({'a': [1, 2.5, None, str(i)], 'b': {'c': i}}))
    re.match(r'(a|b)*c', 'ababc').group(1)
    d = collections.OrderedDict(a=1); d.pop('a'); d.get('z')
    list(itertools.islice(itertools.cycle('abc'), 9)); sorted([3, 1, 2], reverse=True)
    ''.join(['x'] * i); 'é'.encode(); b'ab'.decode(); bytearray(b'a' * i).find(b'z')
    {1, 2} ^ {2, 3}; (1, 2) + (3,); [*range(i)]; 10 ** i // 3; f'{i:>5}'; i.bit_length()
    eval('1 + 2'); exec('def f(*a, **k): return a'); f(1, z=2); c.__class__.__name__
"""


def python():
    """One without a script in front of it."""
    path = os.path.realpath("/usr/bin/python3")
    with open(path, "rb") as f:
        return path if f.read(4) == b"\x7fELF" else None


def starts(path):
    """Offsets in the file of all that has call frame information: functions, and parts of them."""
    segments = [tuple(int(w, 16) for w in m) for m in re.findall(
        r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE,
                                                              text=True, check=True).stdout)]
    frames = subprocess.run(["readelf", "--debug-dump=frames", "-W", path], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for pc in sorted({int(m, 16) for m in re.findall(r"pc=(\w+)\.\.", frames)}):
        for offset, vaddr, size in segments:
            if vaddr <= pc < vaddr + size:
                yield pc - vaddr + offset


def punned(path):
    """Of them, those that can have a punned jump."""
    with open("all.txt", "w") as f:
        f.writelines(f"p:s/f_{at:x} {path}:0x{at:x} a=%di b=%ax sp=%sp\n" for at in starts(path))
    told = subprocess.run([UPROBE, "--explain", "-f", "all.txt"], stdout=subprocess.PIPE, text=True, timeout=WAIT,
                          check=True).stdout
    return [m for m in re.findall(r"^s/f_(\w+) .*: jump \(over . bytes, of which the next", told, re.M)]


def trace(path, places, *options):
    """What is told, hit by hit: stacks are where they are with the same environment; and the statistics."""
    argv = [UPROBE, "--lossless", "--stats", "--mode", "jump", "-o", "out.txt", *options]
    for at in places:
        argv += ["-e", f"p:s/f_{at} {path}:0x{at} a=%di:u8 sp=%sp:u8"]
    env = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    p = subprocess.run([*argv, "--", "setarch", "-R", path, "-c", PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=WAIT, env=env, check=False)
    if p.returncode:
        sys.exit(f"{options}: it ended with {p.returncode}: {p.stderr[-2000:]}")
    with open("out.txt") as f:
        events = re.findall(r": (f_\w+: .*)", f.read())
    return events, p.stderr


def main():
    path = python()
    if os.uname().machine != "x86_64" or not path:
        print("needs x86_64, and a python3 that is a program")
        return 77
    places = punned(path)
    print(f"{len(places)} places of {path}")
    if not places:
        return 77
    by_jump, stats = trace(path, places)
    by_trap, _ = trace(path, places, "--mode", "trap")
    jumps = re.findall(r" s/f_(\w+) hits=(\d+) .*stopped=(\d+) .* by_punned=1", stats)
    hits, stops = (sum(int(m[k]) for m in jumps) for k in (1, 2))
    print(f"{len(jumps)} jumps, {len(by_jump)} and {len(by_trap)} events; {hits} hits of jumps, {stops} stops")
    for why, n in sorted({(w, stats.count(w)) for w in re.findall(r'no_jump="[^"]*"', stats)}):
        print(f"{n:4} {why}")
    if by_jump != by_trap:
        pairs = [p for p in zip(by_jump, by_trap) if p[0] != p[1]]
        sys.exit(f"they differ: {pairs[:3]}")
    return 0 if len(jumps) * 2 > len(places) and hits else 1


sys.exit(main())
