# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Operands of static probes, translated into fetch args, on the kernel's uprobes: the values
must be those that the program prints. What the kernel has no words for is left out."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402

# Sums of registers, registers and types of ours.
EXTENDED = re.compile(r"%\w+[+*]|_base|xmm|:f32|:f64|:sb")


def definitions(path):
    out = subprocess.run([os.environ["USDT"], "--check", f"{path}:forms:*"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    for line in out.splitlines():
        head, place, *args = line.split(" ")
        yield " ".join([head.replace("forms/", ""), place, *(a for a in args if not EXTENDED.search(a))])


def without(args, kept):
    return [a for a in args if a.split("=")[0] in kept]


def check(path):
    defs = list(definitions(path))
    kept = {d.split(" ")[0][2:]: {a.split("=")[0] for a in d.split(" ")[2:]} for d in defs}
    events, lost, out, rc = oracle.by_kernel(defs, [path])
    truth = [line.split(" ") for line in out.decode().splitlines()[1:]]
    bad = []
    if rc or lost or len(events) != len(truth):
        bad.append(f"status {rc}, {len(events)} events, {len(truth)} probes passed")
    for event, (name, *args) in zip(events, truth):
        got = event.text.decode().split(" ")[1:]
        if re.sub(r"_\d+$", "", event.name) != name or got != without(args, kept[event.name]):
            bad.append(f"{event.name} {got}, not {name} {args}")
    n = sum(len(k) for k in kept.values())
    print(f"{'differs' if bad else 'equal'}: {os.path.basename(path)}: {len(defs)} probes, {n} arguments")
    for b in bad:
        print("  " + b)
    return not bad and n > 0


if __name__ == "__main__":
    oracle.done([check(oracle.fixture("usdt_forms"))])
