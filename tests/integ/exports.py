# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""ubp-report's exports, each read by its own reader: what comes back is what --json tells; statistics; and which events are chosen."""

import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

UPROBE, REPORT, FIXTURES, SRC = (os.environ[v] for v in ("UPROBE", "UBP_REPORT", "FIXTURES", "UBP_SRC"))
WAIT = int(os.environ.get("TIMEOUT", "60"))
FILE = "record.ubp"
missing = []


def fail(why):
    sys.exit(f"exports.py: {why}")


def same(what, got, want):
    if got != want:
        if isinstance(got, list) and isinstance(want, list):
            differ = next(((i, pair) for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]), None)
            fail(f"{what}: {len(got)}, not {len(want)}; the first that differ: {differ}")
        fail(f"{what}: {got}, not {want}")


def run(*argv, status=0, words="\n\n", text=True, stdin=None):
    done = subprocess.run(argv, input=None if stdin else words if text else words.encode(), stdin=stdin, capture_output=True, text=text, check=False, timeout=WAIT)
    if done.returncode != status:
        fail(f"{' '.join(argv)}: ended with {done.returncode}, not {status}\n{done.stderr}")
    return done


def record(*argv, file=FILE):
    if os.path.exists(file):
        os.unlink(file)
    return run(UPROBE, "--record", file, *argv)


def report(*options, file=FILE, status=0):
    return run(REPORT, *options, file, status=status)


def has(*programs):
    lack = [p for p in programs if not shutil.which(p)]
    missing.extend(p for p in lack if p not in missing)
    return not lack


# --- what there is, by --json --------------------------------------------------------------------

def ns(text):
    """Seconds with nine digits."""
    whole, fraction = text.split(".")
    return int(whole) * 10**9 + int(fraction)


def read_events(*options):
    events = [json.loads(line, parse_float=str) for line in report("--json", *options).stdout.splitlines()]
    for e in events:
        if "event" in e:
            e["ns"] = ns(e["time"])
    return events


class Call:
    def __init__(self, entry, ret, parent, children):
        self.entry, self.ret, self.parent, self.children = entry, ret, parent, children
        self.start, self.end = entry["ns"], ret["ns"]
        self.total = self.end - self.start


# What has a return probe that is never hit.
RETURNLESS = {"jump_down"}


def pair(events):
    """Calls, and events that are none: by thread, an entry and the return of the same function."""
    returning = {e["func"] for e in events if e.get("type") == "r"} | {e["ip"] for e in events if e.get("event") in RETURNLESS}
    stacks, calls, others, left = collections.defaultdict(list), [], [], 0
    for e in (e for e in events if "event" in e):
        stack = stacks[e["tid"]]
        if e["type"] == "p" and e["ip"] in returning:
            stack.append([e, 0])
        elif e["type"] == "p":
            others.append(e)
        else:
            while stack and stack[-1][0]["ip"] != e["func"]:
                stack.pop()
                left += 1
            entry, children = stack.pop()
            calls.append(Call(entry, e, [s[0]["event"] for s in stack], children))
            if stack:
                stack[-1][1] += calls[-1].total
    return calls, others, left, sum(len(s) for s in stacks.values())


# --- each form ------------------------------------------------------------------------------------

def octal(value):
    """JSON has \\xHH for a byte that is no character, all else \\ooo."""
    if isinstance(value, str):
        return re.sub(r"\\x([0-9a-f]{2})", lambda m: f"\\{int(m[1], 16):03o}", value)
    return value


def octal_args(args):
    return {k: octal(v) for k, v in args.items()}


def is_same_value(text, value):
    """A cell, and what JSON has."""
    if isinstance(value, bool) or value is None:
        return text == ""
    if isinstance(value, list):
        cells = text[1:-1].split(",")
        return text[0] + text[-1] == "{}" and len(cells) == len(value) and all(is_same_value(c.strip('"'), v) for c, v in zip(cells, value))
    return text == str(octal(value))


def check_csv(events):
    text = run(REPORT, "--csv", FILE, text=False).stdout.decode()
    if text.count("\n") != text.count("\r\n"):
        fail("csv: a line does not end as RFC 4180 has it")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    same("csv: lines", len(rows), len(events))
    for row, e in zip(rows, events):
        for key in ("time", "task", "pid", "tid", "cpu", "group", "event", "type", "ip", "func", "ret_ip", "lost", "weight"):
            same(f"csv: {key} of {e}", row[key], str(e.get(key, "")))
        for name, value in e.get("args", {}).items():
            if not is_same_value(row[f"args.{name}"], value):
                fail(f"csv: {name} is {row[f'args.{name}']!r}, not {value!r}")
        empty = [k for k in row if k.startswith("args.") and k[5:] not in e.get("args", {}) and row[k]]
        same(f"csv: columns that {e} has not", empty, [])
        if "stack" in e and e["stack"] and isinstance(e["stack"][0], dict):
            names = [f["function"] for f in reversed(e["stack"]) if "function" in f]
            same("csv: stack", [f for f in row["stack"].split(";") if not f.startswith("[")], names)


def us(text):
    whole, fraction = text.split(".")
    return int(whole) * 1000 + int(fraction)


def check_chrome(events):
    calls, others, left, n_open = pair(events)
    trace = json.loads(report("--chrome").stdout, parse_float=str)["traceEvents"]
    slices = [e for e in trace if e["ph"] == "X" and e["args"]["state"] in ("returned", "events were lost meanwhile")]
    same("chrome: calls", [(e["name"], us(e["ts"]), us(e["dur"]), e["pid"], e["tid"], e["args"]["call"], e["args"]["return"]) for e in slices],
         [(c.entry["event"], c.start, c.total, c.entry["pid"], c.entry["tid"], c.entry["args"], c.ret["args"]) for c in calls])
    same("chrome: calls without a return", sum(e["ph"] == "X" and e["args"]["state"] == "left without a return" for e in trace), left)
    same("chrome: calls that were open", sum(e["ph"] == "X" and e["args"]["state"] == "no return" for e in trace), n_open)
    same("chrome: events", [(e["name"], us(e["ts"]), e["tid"], e["args"]["args"]) for e in trace if e["ph"] == "i" and "args" in e["args"]],
         [(e["event"], e["ns"], e["tid"], e["args"]) for e in others])
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace if e["name"] == "thread_name"}
    same("chrome: names of threads", names, {(e["pid"], e["tid"]): e["task"] for e in events if "event" in e})


def parse_text_proto(text):
    """What protoc --decode prints: each field a list."""
    stack = [collections.defaultdict(list)]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            inner = collections.defaultdict(list)
            stack[-1][line[:-1].strip()].append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
        elif line:
            key, value = line.split(": ", 1)
            stack[-1][key].append(re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value)
    return stack[0]


def note_value(note):
    for key in ("int_value", "uint_value", "pointer_value"):
        if note[key]:
            return f"0x{int(note[key][0]):x}" if key == "pointer_value" else int(note[key][0])
    if note["array_values"]:
        return [note_value(v) for v in note["array_values"]]
    return note["string_value"][0] if note["string_value"] else float(note["double_value"][0])


def check_perfetto(events):
    if not has("protoc"):
        return
    calls, others, left, n_open = pair(events)
    report("--perfetto", "-o", "trace.pb")
    with open("trace.pb", "rb") as f:
        text = run("protoc", f"--proto_path={SRC}/engine/sink", "--decode=perfetto.Trace", "perfetto.proto", stdin=f).stdout
    packets = parse_text_proto(text)["packet"]
    tracks, stacks, slices, instants, n_left = {}, collections.defaultdict(list), [], [], 0
    for p in packets:
        for track in p["track_descriptor"]:
            for thread in track["thread"]:
                tracks[track["uuid"][0]] = (int(thread["pid"][0]), int(thread["tid"][0]), thread["thread_name"][0])
        for e in p["track_event"]:
            time, kind, track = int(p["timestamp"][0]), e["type"][0], e["track_uuid"][0]
            args = {n["name"][0]: note_value(n) for n in e["debug_annotations"]}
            if kind == "TYPE_SLICE_BEGIN":
                stacks[track].append((e["name"][0], time, args))
            elif kind == "TYPE_SLICE_END":
                name, start, entry_args = stacks[track].pop()
                if args.get("ubp.state") == "left without a return":
                    n_left += 1
                    continue
                slices.append((name, start, time, tracks[track][1], entry_args, args))
            elif kind == "TYPE_INSTANT":
                instants.append((e["name"][0], time, tracks[track][1], args))
    same("perfetto: calls", slices, [(c.entry["event"], c.start, c.end, c.entry["tid"], octal_args(c.entry["args"]), octal_args(c.ret["args"])) for c in calls])
    same("perfetto: calls without a return", n_left, left)
    same("perfetto: calls that were open", sum(len(s) for s in stacks.values()), n_open)
    same("perfetto: events", instants, [(e["event"], e["ns"], e["tid"], octal_args(e["args"])) for e in others])
    same("perfetto: threads", sorted(set(tracks.values())), sorted({(e["pid"], e["tid"], e["task"]) for e in events if "event" in e}))
    counted = sum(e["type"][0] == "TYPE_COUNTER" for p in packets for e in p["track_event"])
    same("perfetto: counters", counted, sum(isinstance(v, int) for e in others for v in e["args"].values()))


def read_pprof():
    """Samples of `go tool pprof -raw`: values, and the functions of a stack."""
    report("--pprof", "-o", "profile.gz")
    raw = run("go", "tool", "pprof", "-raw", "profile.gz").stdout
    head, rest = raw.split("Samples:\n")
    samples, locations = rest.split("Locations\n")
    names = {}
    for line in locations.split("Mappings")[0].splitlines():
        found = re.match(r"\s*(\d+): 0x[0-9a-f]+ M=\d+ (\S+)", line) or re.match(r"\s*(\d+): (0x[0-9a-f]+)", line)
        if found:
            names[found[1]] = found[2]
    got = collections.Counter()
    for line in samples.splitlines()[1:]:
        values, stack = line.split(":")
        hits, time = values.split()
        got[tuple(names[s] for s in reversed(stack.split()))] += complex(int(hits), int(time))
    return head, got


def check_pprof(events):
    if not has("go"):
        return
    calls, others, left, n_open = pair(events)
    _, got = read_pprof()
    want = collections.Counter()
    for c in calls:
        want[tuple(c.parent + [c.entry["event"]])] += complex(1, c.total - c.children)
    for e in others:
        want[(e["event"],)] += 1
    unreturned = sum(v.real for v in got.values()) - sum(v.real for v in want.values())
    same("pprof: hits of calls that did not return", unreturned, left + n_open)
    for stack, value in want.items():
        if got[stack].imag != value.imag or got[stack].real < value.real:
            fail(f"pprof: {stack} has {got[stack]}, not {value}")


def ctf_value(text):
    if text.startswith("["):
        return [ctf_value(v) for v in re.findall(r'\[\d+\] = ("(?:[^"\\]|\\.)*"|[^,\]]+)', text)]
    if text.startswith('"'):
        return text[1:-1]
    return text.strip().lower() if text.startswith("0x") else int(text)


def ctf_args(args):
    """A char is a number there."""
    return {k: int(v[2:], 16) if isinstance(v, str) and v.startswith("\\x") else octal(v) for k, v in args.items()}


def check_ctf(events):
    if not has("babeltrace2"):
        return
    shutil.rmtree("ctf", ignore_errors=True)
    report("--ctf", "-o", "ctf")
    done = run("babeltrace2", "--clock-seconds", "--no-delta", "ctf")
    got = []
    for line in done.stdout.splitlines():
        time, name, context, fields = re.fullmatch(r"\[(\S+)\] (\S+): \{ (.*) \}, \{ (.*?) ?\}", line).groups()
        context = dict(re.findall(r'(\w+) = ("[^"]*"|[^,]+)', context))
        args = {k: ctf_value(v.strip()) for k, v in re.findall(r'(\w+) = (\[(?: \[\d+\] = (?:"(?:[^"\\]|\\.)*"|[^,\]]+),?)* \]|"(?:[^"\\]|\\.)*"|[^,]+)', fields)}
        got.append((ns(time), name, int(context["pid"]), int(context["tid"]), int(context["cpu"]), context["task"].strip('"'), args))
    want = [(e["ns"], f"{e['group']}:{e['event']}", e["pid"], e["tid"], e["cpu"], e["task"], ctf_args(e["args"])) for e in events if "event" in e]
    same("ctf", got, want)
    lost = sum(e.get("lost", 0) for e in events)
    told = sum(int(n) for n in re.findall(r"Tracer discarded (\d+) event", done.stderr))
    same("ctf: events that were lost", told, lost)


def check_stats(events):
    calls, others, left, n_open = pair(events)
    stats = json.loads(report("--stats", "--json").stdout)
    text = report("--stats").stdout
    same("stats: left, open", (stats["left"], stats["open"]), (left, n_open))
    same("stats: events", {e["name"]: e["hits"] for e in stats["events"]}, dict(collections.Counter(e["event"] for e in others)))
    by_name = collections.defaultdict(list)
    for c in calls:
        by_name[c.entry["event"]].append(c)
    same("stats: functions", sorted(f["name"] for f in stats["functions"] if f["calls"]), sorted(by_name))
    for f in (f for f in stats["functions"] if f["calls"]):
        its = by_name[f["name"]]
        times = sorted(c.total for c in its)
        same(f"stats: {f['name']}", (f["calls"], f["total_ns"], f["self_ns"], f["min_ns"], f["max_ns"]),
             (len(its), sum(c.total for c in its if f["name"] not in c.parent), sum(c.total - c.children for c in its), times[0], times[-1]))
        for share, key in ((0.5, "median_ns"), (0.99, "p99_ns")):
            exact = times[max(0, -int(-share * len(times) // 1) - 1)]
            if abs(f[key] - exact) > exact * stats["quantile_error"] + 1:
                fail(f"stats: {key} of {f['name']} is {f[key]}, not {exact}")
        if not re.search(rf"^{f['name']} +{f['calls']} +\d", text, re.M):
            fail(f"stats: {f['name']} is not in\n{text}")
    paths = {0: []}
    for node in stats["tree"]:
        paths[node["path"]] = paths[node["parent"]] + [node["name"]]
    tree = {tuple(paths[n["path"]]): (n["calls"], n["total_ns"], n["self_ns"]) for n in stats["tree"] if n["calls"]}
    want = collections.defaultdict(lambda: (0, 0, 0))
    for c in calls:
        old = want[tuple(c.parent + [c.entry["event"]])]
        want[tuple(c.parent + [c.entry["event"]])] = (old[0] + 1, old[1] + c.total, old[2] + c.total - c.children)
    same("stats: tree", tree, dict(want))


def check_all(what):
    events = read_events()
    if not events:
        fail(f"{what}: nothing was recorded")
    for check in (check_csv, check_chrome, check_perfetto, check_pprof, check_ctf, check_stats):
        check(events)
    return events


# --- traces ----------------------------------------------------------------------------------------

def values():
    arg = f"{FIXTURES}/args_int"
    record("--lossless", "-e", f"p:area {arg}:area w=%di:s32 h=%si:s32 x=%si:x8", "-e", f"r:back {arg}:area ret=$retval:s32 d=$duration",
           "-e", f"p:{arg}:widths a=%di:s8 b=%si:b4@2/8 c=+0(%sp):u8[4] d=$comm e=%dx:char", "--", arg)
    check_all("values")


def nested():
    """Recursion, calls of each other, one that longjmp() leaves."""
    program = f"{FIXTURES}/recursion"
    points = ("down", "even", "odd", "jump_down", "in_handler", "many_returns")
    record("--lossless", *(w for p in points for w in ("-e", f"p:{p} {program}:{p} n=%di:s64", "-e", f"r:r_{p} {program}:{p} $retval:s64")), "--", program, "20")
    events = check_all("nested")
    _, _, left, n_open = pair(events)
    if not left and not n_open:
        fail("longjmp() left nothing")


def threads():
    program = f"{FIXTURES}/threads"
    record("--lossless", "-e", f"p:tick {program}:tick t=%di:s64 i=%si:s64", "-e", f"r:{program}:tick sum=$retval:s64", "--", program, "4", "300")
    check_all("threads")


def stacks():
    arg = f"{FIXTURES}/args_int"
    record("--lossless", "-s", "-e", f"p:area {arg}:area", "-e", f"p:widths {arg}:widths", "--", arg)
    events = read_events()
    check_csv(events)
    check_chrome(events)
    if has("go"):
        _, got = read_pprof()
        ends = collections.Counter()
        for stack, value in got.items():
            ends[stack[-2:]] += value.real
        same("pprof: stacks", dict(ends), {("main", "area"): 3, ("main", "widths"): 2})


def lost():
    """What was lost is told by every form that has a place for it."""
    program = f"{FIXTURES}/threads"
    record("--mode", "jump", "--buffer-size", "16", "-e", f"p:tick {program}:tick i=%si:s64", "--", program, "2", "30000")
    events = read_events()
    n = sum(e.get("lost", 0) for e in events)
    if not n:
        print("nothing was lost: that was not tried")
        return
    check_csv(events)
    check_ctf(events)
    if f"{n} events were lost" not in report("--stats").stdout:
        fail(f"stats: not told that {n} were lost\n{report('--stats').stdout}")
    if sum(e["args"]["lost"] for e in json.loads(report("--chrome").stdout)["traceEvents"] if e["name"] == "lost events") != n:
        fail("chrome: not all is told that was lost")


# --- two traces, and parts of one -------------------------------------------------------------------

def diff():
    program = f"{FIXTURES}/threads"
    for file, n in (("old.ubp", "100"), ("new.ubp", "150")):
        record("--lossless", "-e", f"p:tick {program}:tick", "-e", f"r:{program}:tick", "--", program, "1", n, file=file)
    both = json.loads(run(REPORT, "--stats", "--diff", "--json", "old.ubp", "new.ubp").stdout)["functions"]
    same("diff", [(f["name"], f["old"]["calls"], f["new"]["calls"]) for f in both], [("tick", 100, 150)])
    if not re.search(r"^tick +150 +\+50 ", run(REPORT, "--stats", "--diff", "old.ubp", "new.ubp").stdout, re.M):
        fail(run(REPORT, "--stats", "--diff", "old.ubp", "new.ubp").stdout)
    record("--lossless", "-e", f"p:other {FIXTURES}/args_int:area", "-e", f"r:{FIXTURES}/args_int:area", "--", f"{FIXTURES}/args_int", file="other.ubp")
    text = run(REPORT, "--stats", "--diff", "old.ubp", "other.ubp").stdout
    if not re.search(r"^tick +100 +gone ", text, re.M) or not re.search(r"^other +3 +new ", text, re.M):
        fail(text)


def choice():
    program = f"{FIXTURES}/threads"
    record("--lossless", "-e", f"p:grp/tick {program}:tick t=%di:s64 i=%si:s64", "-e", f"r:grp/tock {program}:tick sum=$retval:s64", "--", program, "2", "50")
    events = read_events()
    first = events[0]["ns"]
    middle = events[len(events) // 2]
    for options, wanted in (
            (("--event", "tick"), lambda e: e["event"] == "tick"),
            (("-e", "grp:to*"), lambda e: e["event"] == "tock"),
            (("-e", "t*", "--filter", "i > 30 && t == 1"), lambda e: e["event"] == "tick" and e["args"]["i"] > 30 and e["args"]["t"] == 1),
            (("--filter", "sum >= 1000003"), lambda e: e["event"] == "tock" and e["args"]["sum"] >= 1000003),
            (("-e", "tick", "--filter", "i == 3", "-e", "tock", "--filter", "sum == 4"), lambda e: e["args"].get("i") == 3 or e["args"].get("sum") == 4),
            (("--pid", str(middle["pid"])), lambda e: True),
            (("-p", "1"), lambda e: False),
            (("--from", middle["time"]), lambda e: e["ns"] >= middle["ns"]),
            (("--to", middle["time"]), lambda e: e["ns"] <= middle["ns"]),
            (("--from", "+0.00002", "--to", "+0.0004"), lambda e: first + 20000 <= e["ns"] <= first + 400000)):
        same(f"{options}", [(e["time"], e["tid"]) for e in read_events(*options)], [(e["time"], e["tid"]) for e in events if wanted(e)])
    for options, calls, hits in (
            (("-e", "tick"), {}, {"tick": 100}),
            (("-e", "*", "--filter", "i > 30"), {}, {"tick": sum(e["args"].get("i", 0) > 30 for e in events)}),
            (("-e", "tick", "--filter", "i == 3", "-e", "tock"), {"tick": 2}, {})):
        told = json.loads(run(REPORT, "--stats", "--json", *options, FILE).stdout)
        same(f"stats {options}", {f["name"]: f["calls"] for f in told["functions"]}, calls)
        same(f"stats {options}", {e["name"]: e["hits"] for e in told["events"]}, hits)
    done = run(REPORT, "--folded", FILE)
    same("folded, without stacks", (done.stdout, done.stderr), ("", "ubp-report: warning: no event has a stack: uprobe -s records them\n"))


def none():
    """Of no event at all: each reader takes that for what it is."""
    shutil.rmtree("none.ctf", ignore_errors=True)
    for form in ("chrome", "pprof", "ctf"):
        run(REPORT, f"--{form}", "--to", "0", "-o", f"none.{form}", FILE)
    with open("none.chrome", encoding="utf-8") as f:
        same("chrome, no event", [e["ph"] for e in json.load(f)["traceEvents"]], ["M"])
    if has("babeltrace2"):
        same("ctf, no event", run("babeltrace2", "none.ctf").stdout, "")
    if has("go"):
        run("go", "tool", "pprof", "-top", "none.pprof")


def hosts():
    """""Of two hosts whose processes have the same numbers: calls of one are not paired with those of the other."""
    arg = f"{FIXTURES}/args_int"
    where = ("unshare", "-u", "-p", "-f", "--mount-proc")
    if subprocess.run([*where, "true"], check=False, capture_output=True).returncode:
        print("hosts were not tried: there are no namespaces for them")
        return
    for host in ("one", "two"):
        run(*where, "sh", "-c", f'hostname {host} && exec "$@"', "sh", UPROBE, "--record", f"of.{host}", "--lossless", "-e", f"p:area {arg}:area w=%di:s32",
            "-e", f"r:back {arg}:area", "--", arg)
    both = ("of.one", "of.two")
    trace = json.loads(run(REPORT, "--chrome", *both).stdout)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in trace if e["name"] == "process_name"}
    same("hosts: processes", sorted(names.values()), ["one: args_int", "two: args_int"])
    calls = collections.Counter(names[e["pid"]] for e in trace if e["ph"] == "X" and e["args"]["state"] == "returned")
    same("hosts: calls", calls, {"one: args_int": 3, "two: args_int": 3})
    same("hosts: csv", [r["host"] for r in csv.DictReader(io.StringIO(run(REPORT, "--csv", *both).stdout))], ["one"] * 6 + ["two"] * 6)
    same("hosts: stats", json.loads(run(REPORT, "--stats", "--json", *both).stdout)["functions"][0]["calls"], 6)
    if has("babeltrace2"):
        run(REPORT, "--ctf", "-o", "hosts.ctf", *both)
        same("hosts: ctf", re.findall(r'host = "(\w+)"', run("babeltrace2", "hosts.ctf").stdout), ["one"] * 6 + ["two"] * 6)


def sampled():
    """Weights of samples are in all forms that have room for them: of 300 hits one in 7, and of 300 bytes one in 50."""
    program = f"{FIXTURES}/threads"
    for how in ("7", "i:50"):
        record("--lossless", "--sample", how, "-e", f"p:tick {program}:tick i=%si:s64", "--", program, "1", "300")
        weights = [e["weight"] for e in read_events()]
        if not weights or max(weights) < 7:
            fail(f"--sample {how}: {weights}")
        trace = json.loads(report("--chrome").stdout)["traceEvents"]
        same(f"chrome: weights of {how}", [e["args"]["weight"] for e in trace if e["ph"] == "i"], weights)
        if has("protoc"):
            report("--perfetto", "-o", "sampled.pb")
            with open("sampled.pb", "rb") as f:
                text = run("protoc", f"--proto_path={SRC}/engine/sink", "--decode=perfetto.Trace", "perfetto.proto", stdin=f).stdout
            notes = [n for p in parse_text_proto(text)["packet"] for e in p["track_event"] for n in e["debug_annotations"] if n["name"][0] == "ubp.weight"]
            same(f"perfetto: weights of {how}", [note_value(n) for n in notes], weights)
        if has("babeltrace2"):
            shutil.rmtree("sampled.ctf", ignore_errors=True)
            report("--ctf", "-o", "sampled.ctf")
            same(f"ctf: weights of {how}", [int(n) for n in re.findall(r"weight = (\d+)", run("babeltrace2", "sampled.ctf").stdout)], weights)
        report("--otlp", "sampled.otlp")
        with open("sampled.otlp", encoding="utf-8") as f:
            logs = [r for line in f for s in json.loads(line).get("resourceLogs", ()) for sc in s["scopeLogs"] for r in sc["logRecords"]]
        same(f"otlp: weights of {how}", [int(a["value"]["intValue"]) for r in logs for a in r["attributes"] if a["key"] == "ubp.weight"], weights)
    # A call has that of its return.
    record("--lossless", "--sample", "2", "-e", f"r:back {program}:tick d=$duration", "--", program, "1", "20")
    trace = json.loads(report("--chrome").stdout)["traceEvents"]
    same("chrome: weights of calls", [e["args"]["weight"] for e in trace if e["ph"] == "X"], [2] * 10)
    report("--otlp", "sampled.otlp")
    with open("sampled.otlp", encoding="utf-8") as f:
        same("otlp: weights of calls", f.read().count('"ubp.weight","value":{"intValue":"2"'), 10)


def live():
    """The same forms while tracing."""
    arg = f"{FIXTURES}/args_int"
    probes = ("-e", f"p:area {arg}:area w=%di:s32", "-e", f"r:back {arg}:area")
    for form in ("csv", "chrome", "perfetto", "pprof", "ctf"):
        run(UPROBE, f"--{form}", "-o", f"live.{form}", *probes, "--", arg)
    with open("live.csv", encoding="utf-8", newline="") as f:
        same("live: csv", [(r["event"], r["args.w"]) for r in csv.DictReader(f)], [("area", "3"), ("back", ""), ("area", "5"), ("back", ""), ("area", "-7"), ("back", "")])
    run(UPROBE, "--csv", "-o", "sampled.csv", "--sample", "2", *probes[:2], "--", arg)
    with open("sampled.csv", encoding="utf-8", newline="") as f:
        same("live: csv of samples", {r["weight"] for r in csv.DictReader(f)}, {"2"})
    with open("live.chrome", encoding="utf-8") as f:
        same("live: chrome", [e["args"]["call"]["w"] for e in json.load(f)["traceEvents"] if e["ph"] == "X"], [3, 5, -7])
    run(UPROBE, "--record=sampled.ubp", "--sample", "2", *probes, "--", arg)
    same("live: stats of sampled calls", json.loads(run(REPORT, "--stats", "--json", "sampled.ubp").stdout)["functions"][0]["calls"], 2)
    sampled()
    if has("protoc"):
        with open("live.perfetto", "rb") as f:
            same("live: perfetto", run("protoc", "--decode_raw", stdin=f).stdout.count('23: "area"'), 3)
    if has("go"):
        same("live: pprof", bool(re.search(r"^ *3 .* area$", run("go", "tool", "pprof", "-top", "-sample_index=hits", "live.pprof").stdout, re.M)), True)
    if has("babeltrace2"):
        same("live: ctf", len(run("babeltrace2", "live.ctf").stdout.splitlines()), 6)


def bad():
    """One clear line, and nothing written."""
    os.makedirs("full", exist_ok=True)
    with open("full/other", "w", encoding="utf-8"):
        pass
    for options, status, text in (
            (("--ctf",), 2, "--ctf writes a folder: give its name with -o"),
            (("--ctf", "-o", "full"), 1, "full is there, and has other files in it: it is left alone"),
            (("--ctf", "-o", "/nowhere/ctf"), 1, "cannot create /nowhere/ctf: No such file or directory"),
            (("--diff",), 2, "--diff is for --stats"),
            (("--stats", "--diff"), 2, "--diff takes two FILEs: the old one and the new one"),
            (("--stats", "--csv"), 2, "--stats has a form of its own: it excludes --csv"),
            (("--csv", "--json"), 2, "--json has a form of its own: it excludes --csv"),
            (("-o", FILE), 2, f"{FILE} is to be read: it is not written to"),
            ((f"--otlp=./{FILE}",), 2, f"./{FILE} is to be read: it is not written to"),
            (("-e", "nothing"), 1, "no event is called 'nothing'"),
            (("--filter", "nothing > 1"), 1, "Field not found"),
            (("--filter", "i > 1", "--filter", "i > 2"), 2, "more than one filter for all events"),
            (("--from", "soon"), 2, "--from takes seconds, as events have them, or +SECS behind the first event, not 'soon'"),
            (("--pid", "me"), 2, "--pid takes process ids, not 'me'"),
            (("--csv", "-H"), 2, "-H is for text: it excludes --csv")):
        done = report(*options, status=status)
        if text not in done.stderr or done.stdout:
            fail(f"{options}: {done.stderr}{done.stdout}")
    if not has("script"):
        return
    for form in ("--perfetto", "--pprof"):
        done = run("script", "-qec", f"{REPORT} {form} {FILE}", "/dev/null", status=2)
        if f"{form} is nothing for a terminal: write it to a file with -o" not in done.stdout:
            fail(done.stdout)


values()
nested()
threads()
stacks()
lost()
diff()
choice()
none()
hosts()
live()
bad()
if missing:
    print(f"not all could be tried without {', '.join(missing)}")
    sys.exit(77)
print("ok")
