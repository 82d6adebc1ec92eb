# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Is each call of a storm's workers in the trace? They call the same functions in the same order
for ever (storm_calls() of fixtures/storm.h), so each event has a place, and a gap shows."""

import re

# One round of a worker, as fail.py's definitions tell it; half() tells no number.
ROUND = ("mix", "leaf", "leaf_ret", "leaf", "leaf_ret", "mix", "outer", "half")
LEN = len(ROUND)

EVENT = re.compile(rb" *.{1,16}-(\d+) +\[\d+\] \S+ +[\d.]+: (\w+): \([^)]*\)(?: (?:i|arg1)=(-?\d+))?"
                   rb"(?: s=(\S+))?")
LOST = re.compile(rb"\[LOST (\d+) EVENTS\]")


def number(name, value):
    """The worker's round."""
    if value is None:
        return None
    if name == "leaf_ret":
        return (value - 7) ^ 0x5a5a
    if name == "outer":
        # leaf(i) * 3 + mix(i, "outer"): nothing that can be solved for i; its place tells.
        return None
    return value


def parse(lines):
    """Thread -> [(function, round or None, text or None)]."""
    threads = {}
    for line in lines:
        m = EVENT.match(line)
        if m:
            name = m[2].decode()
            value = int(m[3]) if m[3] is not None else None
            threads.setdefault(int(m[1]), []).append((name, number(name, value), m[4]))
    return threads


def fits(place, event):
    name, i, text = event
    if ROUND[place % LEN] != name or (i is not None and place // LEN != i):
        return False
    return name != "mix" or not text or b"fault" in text or (b"abc" in text) == (place % LEN == 0)


def places(events):
    """The place of each event; the first ones, up to one that tells its round, are left out.
    None: one that can have none behind the one before."""
    out = []
    for event in events:
        if not out:
            if event[1] is None:
                continue
            at = event[1] * LEN
        else:
            at = out[-1] + 1
            if event[1] is not None and event[1] * LEN > at:
                at = event[1] * LEN
        for place in range(at, at + LEN):
            if fits(place, event):
                out.append(place)
                break
        else:
            return None
    return out


def missing(at):
    """How many are missing between the first whole round and the last. Before and behind, probes
    come and go one by one."""
    whole = [n for n in range(len(at) - LEN + 1) if at[n + LEN - 1] - at[n] == LEN - 1]
    if not whole:
        return 0
    first, last = whole[0], whole[-1] + LEN - 1
    return at[last] - at[first] - (last - first)


def check(path, tids, ends=None):
    """Of these threads: a text if one has an event twice or in the wrong place, or None; how many
    events are missing; how many of all are said to be lost. @ends: so many lines of the begin and of the end are
    looked at, which is where uprobe comes and goes."""
    with open(path, "rb") as f:
        text = f.read()
    lost = sum(int(n) for n in LOST.findall(text))
    lines = text.split(b"\n")
    parts = [lines[:ends], lines[-ends:]] if ends and len(lines) > 2 * ends else [lines]
    n = 0
    for threads in map(parse, parts):
        for tid in tids:
            at = places(threads.get(tid, []))
            if at is None:
                return f"events of thread {tid} are doubled or in no order", 0, lost
            n += missing(at)
    return None, n, lost
