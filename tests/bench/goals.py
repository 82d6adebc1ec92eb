#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Which goals are reached, by the JSON of ubp-bench: goals.py [--check] FILE.

With --check the exit status tells whether one is missed by more than a quarter, which is what
a busy machine's noise explains.
"""

import json
import sys

# mode, case, first instruction, threads, what, goal:
# "ratio": at most so many times the kernel's cost; "over": ns over the bare call at most;
# "speed-up": at least so many times the hits per second of one thread.
GOALS = [
    ("auto", "string", "push", 1, "ratio", 1 / 25),
    ("auto", "string", "endbr64", 1, "ratio", 1 / 90),
    ("auto", "return", "push", 1, "ratio", 1 / 20),
    ("auto", "both", "push", 1, "ratio", 1 / 16),
    ("auto", "miss", "push", 1, "over", 6),
    ("auto", "string", "push", 2, "speed-up", 1.5),
    ("trap", "int", "push", 1, "ratio", 9),
    ("trap", "int", "endbr64", 1, "ratio", 2),
    ("trap", "string", "push", 1, "ratio", 11),
    ("trap", "string", "endbr64", 1, "ratio", 2.2),
    ("trap", "return", "push", 1, "ratio", 15),
]


def figures(data, mode, case, first, threads):
    for r in data["results"]:
        if (r["case"], r["first"], r["threads"], r["reader"]) == (case, first, threads, False):
            for f in r["ubp"]:
                if f["name"] == mode:
                    return f
    return None


def value(data, mode, case, first, threads, what):
    """None: not measured."""
    f = figures(data, mode, case, first, threads)
    if f is None:
        return None
    if what == "ratio":
        return f["ratio"] and f["ratio"]["median"]
    if what == "over":
        return f["over_ns"]["median"]
    one = figures(data, mode, case, first, 1)
    return one and one["total_ns"]["median"] / f["total_ns"]["median"]


def number(x, what):
    if what == "ratio" and x < 1:
        return f"1/{1 / x:.3g}"
    return f"{x:.3g}"


def main():
    args = sys.argv[1:]
    check = "--check" in args
    with open(args[-1], encoding="utf-8") as f:
        data = json.load(f)
    bad = False
    print(f"\n{'goal':44} {'is':>8} {'should be':>12}")
    for mode, case, first, threads, what, goal in GOALS:
        is_now = value(data, mode, case, first, threads, what)
        if is_now is None:
            continue
        least = what == "speed-up"
        good = is_now >= goal if least else is_now <= goal
        bad = bad or (is_now < goal * 0.75 if least else is_now > goal * 1.25)
        name = f"{mode}: {case}, {first}, {threads} thread{'s' if threads > 1 else ''}, {what}"
        print(f"{name:44} {number(is_now, what):>8} {('>= ' if least else '<= ') + number(goal, what):>12} "
              f" {'reached' if good else 'MISSED'}")
    if check and bad:
        sys.exit("a goal is missed")


if __name__ == "__main__":
    main()
