#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""At which ret instructions could a jump catch returns? Counts them, and the hits that stop there today.

ret_sites.py FILE [HOT_JSON DEFINITIONS]: FILE is an x86-64 program or library with symbols. HOT_JSON is what
`hot.py --json` has written, its first row that of FILE. DEFINITIONS is what `uprobe --check -e p:FILE:* -e r:FILE:*` has
printed: it tells which event is which function. Without these two only places are counted.

It is an estimate. A function's hits are shared out equally among its rets. Only direct branches and symbols count as what leads
into a jump, so the engine refuses some more.
"""

import bisect
import collections
import json
import re
import subprocess
import sys

JUMP = 5
INSN_MAX = 15
RUN_UP_MAX = 24
RUN_UP_INSNS = 7
FILL_MAX = 8

LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)(?:\s+(.*))?$")
HEAD = re.compile(r"^([0-9a-f]+) <(.*)>:$")
SECTION = re.compile(r"\.text\s+PROGBITS\s+([0-9a-f]+)\s+([0-9a-f]+)")
BRANCH = re.compile(r"^(j\w+|call\w*|loop\w*|xbegin)$")
PREFIXES = ("rep", "repz", "bnd", "notrack", "lock", "cs", "ds", "data16")
# What arch/x86/run_up.c lets run anywhere.
PLAIN = re.compile(r"^((add|or|and|sub|xor|cmp|test|mov)[bwlq]?|movz\w+|movs[bwl][wlq]|cmov\w+|set\w+)$")
VECTOR = re.compile(r"^(movups|movss|movsd)$")
WORD = re.compile(r"[^\s,]*\([^)]*\)")


class Code:
    """The instructions of .text, and what leads to which."""

    def __init__(self, path):
        self.at, self.ops, self.args, self.starts, self.led_to = [], [], [], [], set()
        run = subprocess.Popen(["objdump", "-d", "-w", "--no-show-raw-insn", "--section=.text", path],
                               stdout=subprocess.PIPE, text=True, errors="replace")
        for line in run.stdout:
            self.take(line)
        if run.wait():
            sys.exit(f"objdump cannot read {path}")
        self.led_to.update(self.starts)

    def take(self, line):
        insn, head = LINE.match(line), HEAD.match(line)
        if head:
            self.starts.append(int(head[1], 16))
        if not insn:
            return
        op, args = insn[2], insn[3] or ""
        while op in PREFIXES and args:
            op, _, args = args.partition(" ")
        self.at.append(int(insn[1], 16))
        self.ops.append(op)
        self.args.append(args.strip())
        if BRANCH.match(op):
            target = self.args[-1].split(" ")[0]
            if re.fullmatch(r"[0-9a-f]+", target):
                self.led_to.add(int(target, 16))

    def len(self, i):
        return self.at[i + 1] - self.at[i]

    def runs_anywhere(self, i, by):
        """By @by, a set of registers, words of the stack are found."""
        op, args = self.ops[i], self.args[i]
        if op == "leave":
            return "%rbp" in by
        if op in ("lea", "movabs"):
            return "%rip" not in args
        if op == "pop":
            return args.startswith("%r")
        if "%fs" in args or "%gs" in args or not (PLAIN.match(op) or VECTOR.match(op)):
            return False
        words = WORD.findall(args)
        return (words or not VECTOR.match(op)) and all(w[w.index("(") + 1:-1] in by for w in words)

    def run_up(self, i, by):
        """Its instructions, the last one first."""
        found = []
        for j in range(i - 1, max(i - 1 - RUN_UP_INSNS, -1), -1):
            if not self.runs_anywhere(j, by) or self.at[i] - self.at[j] > RUN_UP_MAX:
                break
            found.append(j)
            if self.at[j] in self.starts_set():
                break
        return found

    def starts_set(self):
        if not hasattr(self, "_starts"):
            self._starts = set(self.starts)
        return self._starts

    def fill(self, i):
        """Bytes behind instruction @i that nobody comes to."""
        n = 0
        for j in range(i + 1, len(self.at) - 1):
            if not self.ops[j].startswith(("nop", "int3", "xchg")) or self.at[j] in self.led_to or n >= FILL_MAX:
                break
            n += self.len(j)
        return min(n, FILL_MAX)

    def is_free(self, start):
        return not any(at in self.led_to for at in range(start + 1, start + JUMP))


def ways(code, i):
    """Which ways could catch returns at ret @i by a jump."""
    end, fill = code.at[i + 1], code.fill(i)
    own = end - code.at[i] + fill
    stack, frame = code.run_up(i, {"%rsp"}), code.run_up(i, {"%rsp", "%rbp"})

    def one(run):
        return any(code.len(j) >= JUMP or (code.len(j) == JUMP - 1 and j != run[0]) for j in run)

    def several(run):
        return any(code.at[i] - code.at[j] >= JUMP and code.is_free(code.at[j]) for j in run)

    def behind(run):
        return own >= JUMP or any(end + fill - code.at[j] >= JUMP and code.is_free(code.at[j]) for j in run)

    return {
        "a run-up, one instruction under the jump": one(stack),
        "a run-up, several instructions": one(stack) or several(stack),
        "the ret with 4 bytes of fill": own >= JUMP,
        "... or one instruction of a run-up": own >= JUMP or one(stack),
        "... or punned, on 2 bytes of fill": own >= JUMP - 2 or one(stack),
        "... or punned, on 1 byte of fill": own >= JUMP - 3 or one(stack),
        "several instructions, the ret and fill": one(stack) or several(stack) or behind(stack),
        "... with leave, and words by %rbp": one(frame) or several(frame) or behind(frame),
    }


def starts_of_events(code, path, definitions):
    text = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    vaddr, foffset = (int(n, 16) for n in SECTION.search(text).groups())
    found = {}
    with open(definitions, encoding="utf-8") as f:
        for line in f:
            m = re.match(r"r:uprobes/(\S+) \S+:0x([0-9a-f]+)$", line)
            if m and int(m[2], 16) - foffset + vaddr in code.starts_set():
                found[m[1]] = int(m[2], 16) - foffset + vaddr
    return found


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit("usage: ret_sites.py FILE [HOT_JSON DEFINITIONS]")
    code, rets = Code(sys.argv[1]), collections.defaultdict(list)
    for i, op in enumerate(code.ops[:-1]):
        if op.startswith("ret"):
            start = code.starts[bisect.bisect_right(code.starts, code.at[i]) - 1]
            rets[start].append(ways(code, i))
    stops = {}
    if len(sys.argv) == 4:
        events = starts_of_events(code, sys.argv[1], sys.argv[3])
        with open(sys.argv[2], encoding="utf-8") as f:
            for place in json.load(f)[0]["places"]:
                at = events.get(place["event"]) if place["type"] == "r" else None
                if at in rets:
                    stops[at] = stops.get(at, 0) + place["stops"].get("at_ret", 0)
    every = [w for found in rets.values() for w in found]
    print(f"{len(every)} rets, {sum(stops.values())} stops at them")
    print("| a jump on | of rets | of stops |\n|---|---|---|")
    for way in every[0] if every else ():
        share = sum(n * sum(w[way] for w in rets[at]) / len(rets[at]) for at, n in stops.items())
        of_stops = f"{100 * share / sum(stops.values()):.1f} %" if sum(stops.values()) else "-"
        print(f"| {way} | {100 * sum(w[way] for w in every) / len(every):.1f} % | {of_stops} |")


if __name__ == "__main__":
    main()
