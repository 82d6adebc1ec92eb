# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Rows of the corpus of triggers by way of the command: what --trigger prints at the end is the kernel's hist file to the byte, and what
the kernel refuses is refused with its message and caret. (tests/unit/test_triggers.c has all rows; here are those that the
command can be given: each text behind its definition, one run, histograms without masked ids, times or addresses. Of these every
third, or with UBP_ALL=1 all.)
UBP_TRIGGERS=FILE: other rows, of random triggers (tests/machine/triggers.sh)."""

import errno
import json
import os
import re
import subprocess
import sys

SRC = os.environ["UBP_SRC"]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SRC, "tests/oracle/lib"))
import oracle  # noqa: E402

# How many rows are of each kind: none is left out unseen.
N_PRINTED, N_REFUSED = 379, 292
RANDOM = os.environ.get("UBP_TRIGGERS")
PROGRAM = "tests/machine/triggers/rndtgt.c" if RANDOM else "tests/corpus/trigtgt.c"


def build():
    target = os.path.abspath("trigtgt")
    subprocess.run(["gcc", "-O1", "-fno-pie", "-no-pie", "-static", "-pthread", "-w", "-I", SRC, "-o", target,
                    os.path.join(SRC, PROGRAM)], check=True)
    nm = subprocess.run(["nm", target], check=True, capture_output=True, text=True).stdout
    return target, {m[2]: int(m[1], 16) - 0x400000 for m in re.finditer(r"^(\w+) T (pt_\w+)$", nm, re.M)}


def rows():
    with open(RANDOM or os.path.join(SRC, "tests/corpus/triggers.jsonl"), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def event_of(definition):
    name = definition.split()[0][2:]
    return name if "/" in name else "uprobes/" + name


def is_plain(row):
    """Texts that the command can be given in this order."""
    order, events = [], [event_of(d) for d in row["defs"]]
    for step in row["steps"]:
        if "run" in step:
            continue
        text = step.get("text", "")
        if step.get("trunc") or "read" in step or not text or not text.isprintable() or "stacktrace" in text.lower() or len(text) > 500 or "sched" in text:
            return False
        if step["write"] == "trigger" and step["event"] in events:
            order.append(events.index(step["event"]))
        elif step["write"] == "synthetic_events":
            if order:
                return False
        elif not (step["write"].startswith("events/synthetic/") and text == "1"):
            return False
    return bool(order) and order == sorted(order) and len(set(events)) == len(events) and "key2" not in str(events)


def has_other_pids(row):
    """The rows were recorded where process ids are small; in a pid namespace they may be large."""
    return os.getpid() >= 60000 and "common_pid.buckets" in json.dumps(row["steps"])


def is_printed(row):
    runs = [s for s in row["steps"] if "run" in s]
    return (is_plain(row) and len(runs) == 1 and row["steps"][-1] is runs[0] and all(s.get("errno") is None for s in row["steps"])
            and any(k.endswith("/hist") and v for k, v in row["after"].items()) and not {"volatile", "undefined", "order"} & set(row)
            and not any("@" in v for k, v in row["after"].items() if k.endswith("/hist")))


def is_refused(row):
    """The last text is the first that is refused."""
    steps = [s for s in row["steps"] if s.get("write") == "trigger"]
    return is_plain(row) and bool(steps[-1].get("errno")) and all(s.get("errno") is None for s in row["steps"] if s is not steps[-1])


def command(row, target, offsets, more):
    cmd = [oracle.UPROBE, "--strict", "--lossless", *more]
    for step in row["steps"]:
        if step.get("write") == "synthetic_events":
            cmd += ["--synthetic", step["text"]]
    for definition in row["defs"]:
        place = re.sub(r"@OFF\((\w+)\)@", lambda m: f"0x{offsets[m[1]]:x}", definition.replace("@BIN@", target))
        cmd += ["-e", place]
        for step in row["steps"]:
            if step.get("write") == "trigger" and step["event"] == event_of(definition):
                cmd.append(f"--trigger={step['text']}")
    return cmd


def printed(row):
    """What the command prints of these hist files."""
    hists = [(event_of(d), row["after"].get(event_of(d) + "/hist")) for d in row["defs"]]
    hists = [(e, h) for e, h in hists if h]
    if len(hists) == 1:
        return hists[0][1]
    return "\n".join(f"# {e.replace('/', ':')}\n{h}" for e, h in hists)


def check_printed(row, target, offsets):
    run = [s["run"] for s in row["steps"] if "run" in s][0]
    cmd = [*command(row, target, offsets, ["-o", "out"]), "--", target, *run]
    p = subprocess.run(cmd, capture_output=True, timeout=oracle.TIMEOUT, check=False)
    if p.returncode != 0:
        return f"{row['id']}: ended with {p.returncode}: {p.stderr.decode(errors='replace')}"
    with open("out", "rb") as f:
        have = f.read()
    want = printed(row).encode(errors="surrogateescape")
    # Lines of events that are recorded stand in front.
    return None if have.endswith(want) and (have == want or b"histogram" not in have[:-len(want)]) else (
        f"{row['id']}: {cmd}: printed\n{have.decode(errors='replace')}\nnot\n{printed(row)}")


def check_refused(row, target, offsets):
    step = [s for s in row["steps"] if s.get("errno")][-1]
    cmd = command(row, target, offsets, ["--check"])
    p = subprocess.run(cmd, capture_output=True, timeout=oracle.TIMEOUT, check=False)
    have = p.stderr.decode(errors="surrogateescape")
    if step["error"]:
        first = step["error"][0]
        want = f"uprobe: error: {first['text']}\n  {first['command']}\n  {' ' * first['caret']}^\n"
    else:
        want = f"uprobe: error: '{step['text']}': {os.strerror(getattr(errno, step['errno']))}\n"
    return None if have == want and p.returncode == 1 else f"{row['id']}: {cmd}: {p.returncode}\n{have}\nnot\n{want}"


def main():
    if os.uname().machine != "x86_64":
        oracle.skip("the corpus is of x86_64")
    if 0 not in os.sched_getaffinity(0):
        oracle.skip("needs processor 0: the rows were recorded with that alone")
    os.sched_setaffinity(0, {0})
    target, offsets = build()
    bad, n, n_run = [], {"printed": 0, "refused": 0, "other": 0}, 0
    for row in rows():
        # A random text that was refused has done nothing.
        kept = {**row, "steps": [s for s in row["steps"] if not s.get("errno")]} if RANDOM else row
        for kind, fits, check, about in ("printed", is_printed, check_printed, kept), ("refused", is_refused, check_refused, row):
            if kind == "printed" and fits(about) and has_other_pids(about):
                n["other"] += 1
            elif fits(about):
                if RANDOM or os.environ.get("UBP_ALL") or n[kind] % 3 == 0:
                    n_run += 1
                    bad += filter(None, [check(about, target, offsets)])
                n[kind] += 1
    print(f"{n['printed']} rows to be printed, {n['refused']} to be refused; {n_run} of them run, {len(bad)} differ")
    if bad:
        sys.exit("\n".join(bad[:10]))
    if not RANDOM and (n["printed"] + n["other"], n["refused"]) != (N_PRINTED, N_REFUSED):
        sys.exit("not so many rows as there were")


if __name__ == "__main__":
    main()
