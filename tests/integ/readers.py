# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""ubp-report's --chrome, --pprof and --folded as speedscope and pprof-format read them: the same calls, stacks and times as --stats and --json have."""

import collections
import json
import os
import shutil
import subprocess
import sys

UPROBE, REPORT, FIXTURES, SRC = (os.environ[v] for v in ("UPROBE", "UBP_REPORT", "FIXTURES", "UBP_SRC"))
WAIT = int(os.environ.get("TIMEOUT", "60"))
PROGRAM = f"{FIXTURES}/recursion"
POINTS = ("down", "even", "odd")


def fail(why):
    sys.exit(f"readers.py: {why}")


def same(what, got, want):
    if got != want:
        fail(f"{what}:\n{got}\nnot\n{want}")


def run(*argv):
    done = subprocess.run(argv, input="\n\n", capture_output=True, text=True, check=False, timeout=4 * WAIT)
    if done.returncode:
        fail(f"{' '.join(argv)}: ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def evented(profile, frames):
    """Of a profile of calls: {path: [how many, total ns]}."""
    paths, stack = collections.defaultdict(lambda: [0, 0]), []
    for e in profile["events"]:
        # speedscope takes what is recorded with a call for a part of its name.
        name = frames[e["frame"]]["name"].split(" {")[0]
        if e["type"] == "O":
            stack.append((name, e["at"]))
            continue
        path = tuple(n for n, _ in stack)
        opened, at = stack.pop()
        same("speedscope: what is closed", opened, name)
        paths[path][0] += 1
        paths[path][1] += round((e["at"] - at) * 1000)
    return dict(paths)


def has_ties(path):
    with open(path, encoding="utf-8") as f:
        calls = [(e["tid"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
    times = [t for tid, at, ns in calls for t in ((tid, at), (tid, at + ns))]
    return len(set(times)) < len(times)


def weighed(profile, frames):
    """Of a profile of stacks: {path: weight}. speedscope tells it as samples, or as what is opened and closed when."""
    weights, stack, last = collections.Counter(), [], profile["startValue"]
    for indices, weight in zip(profile.get("samples", ()), profile.get("weights", ())):
        weights[tuple(frames[f]["name"] for f in indices)] += weight
    for e in profile.get("events", ()):
        weights[tuple(stack)] += e["at"] - last
        last = e["at"]
        if e["type"] == "O":
            stack.append(frames[e["frame"]]["name"])
        else:
            stack.pop()
    return {path: weight for path, weight in weights.items() if weight}


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not os.path.exists(f"{SRC}/engine/picture/page/node_modules/speedscope") or not chromium or not shutil.which("node"):
        print("chromium, node, or what npm fetches (make deps) is not there")
        sys.exit(77)
    run(UPROBE, "--record", "calls.ubp", "--lossless", *(w for p in POINTS for w in ("-e", f"p:{p} {PROGRAM}:{p} n=%di:s64", "-e", f"r:r_{p} {PROGRAM}:{p} $retval:s64")),
        "--", PROGRAM, "20")
    run(UPROBE, "--record", "stacks.ubp", "--lossless", "-s", *(w for p in POINTS for w in ("-e", f"p:{p} {PROGRAM}:{p}")), "--", PROGRAM, "5")
    run(REPORT, "--chrome", "-o", "calls.json", "calls.ubp")
    run(REPORT, "--pprof", "-o", "calls.gz", "calls.ubp")
    run(REPORT, "--folded", "-o", "stacks.txt", "stacks.ubp")
    stats = json.loads(run(REPORT, "--stats", "--json", "calls.ubp"))
    paths, want = {0: ()}, {}
    for node in stats["tree"]:
        paths[node["path"]] = paths[node["parent"]] + (node["name"],)
        want[paths[node["path"]]] = [node["calls"], node["total_ns"], node["self_ns"]]
    if max(len(p) for p in want) < 10:
        fail(f"calls are not nested: {want}")

    told = json.loads(run("node", f"{SRC}/tests/integ/lib/readers.mjs", chromium, "calls.json", "calls.gz", "stacks.txt"))
    files = told["speedscope"]
    same("speedscope, --chrome: profiles", len(files["calls.json"]["profiles"]), 1)
    if has_ties("calls.json"):
        print("calls begin or end at one time: speedscope adds times up with a rounding, so it has any of them first, and they are not compared")
    else:
        same("speedscope, --chrome", evented(files["calls.json"]["profiles"][0], files["calls.json"]["shared"]["frames"]), {p: v[:2] for p, v in want.items()})
    same("pprof-format", {tuple(s["stack"]): s["values"] for s in told["pprof"]}, {p: [v[0], v[2]] for p, v in want.items()})
    units = {p["unit"]: weighed(p, files["calls.gz"]["shared"]["frames"]) for p in files["calls.gz"]["profiles"]}
    same("speedscope, --pprof", units, {"nanoseconds": {p: v[2] for p, v in want.items() if v[2]}})
    with open("stacks.txt", encoding="utf-8") as f:
        lines = dict(line.rstrip("\n").rsplit(" ", 1) for line in f)
    same("speedscope, --folded", weighed(files["stacks.txt"]["profiles"][0], files["stacks.txt"]["shared"]["frames"]), {tuple(k.split(";")): int(v) for k, v in lines.items()})
    print("ok")


main()
