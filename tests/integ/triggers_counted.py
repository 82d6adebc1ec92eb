#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Histograms of triggers that are counted in the target: the same to the byte as those made of records, for random triggers, with threads that
come and go, forks, children that are killed, handlers that interrupt; and at full rate, without --lossless, what the target noted itself.
--explain tells which way it is, and why."""

import os
import random
import re
import subprocess
import sys

FIXTURES, UPROBE = os.environ["FIXTURES"], os.environ["UPROBE"]
SEEDS = range(0, int(os.environ.get("TRIGGER_ROUNDS", "40")), 1 if os.environ.get("UBP_ALL") else 3)
TARGET = f"{FIXTURES}/tally"
LIMIT = 600
ARGS = "key=%di:s64 low=%di:u8 w=%di:s16 bits=%di:b5@2/16 text=+0(%si):string"
# Another trigger that never does anything: then the histogram is made of records.
ASIDE = "traceon if key == 0x7fffffff"


def fail(text):
    print(text)
    sys.exit(1)


def run(args, keys, rounds, cpus=None, target=TARGET):
    """The target's lines, and what is printed."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus or before)
    result = subprocess.run([UPROBE, "-o", "out", *args, "--", target, str(keys), str(rounds)], input=b"\n", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    os.sched_setaffinity(0, before)
    if result.returncode or result.stderr:
        fail(f"{args}: ends with {result.returncode}: {result.stderr.decode()}")
    with open("out", encoding="utf-8", errors="surrogateescape") as out:
        return result.stdout.decode(), out.read()


def explain(definition, *args):
    result = subprocess.run([UPROBE, "--explain", "-e", definition, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    said = [line for line in result.stdout.decode().splitlines() if line.startswith("  histogram: ")]
    return said[0][len("  histogram: "):] if said else None


def random_key(rng, with_cpu):
    name = rng.choice(["key", "low", "w", "bits", "text", "text", "common_pid", "common_flags"] + ["common_cpu", "cpu"] * with_cpu)
    if name == "text":
        return name
    scale = rng.choice(["", "", ".log2", f".buckets={rng.choice([1, 2, 7, 64, 1000])}", ".hex"])
    return name + ("" if scale == ".hex" and "cpu" in name else scale)


def random_filter(rng):
    parts = [rng.choice(["key > 3", "key != 5", "low & 6", "w < -2", "bits >= 7", "common_pid & 1", 'text == "/a/nam12"', 'text ~ "/a*"',
                         'text ~ "*1*"', 'text ~ "*7"', 'text != "0"', "key == -20 || low == 9", "!(w >= 10)"]) for _ in range(rng.randrange(1, 3))]
    return f" if {rng.choice([' && ', ' || ']).join(parts)}"


def random_trigger(rng, with_cpu):
    keys = list(dict.fromkeys(random_key(rng, with_cpu) for _ in range(rng.choice([1, 1, 2, 3]))))
    vals = [name + rng.choice(["", ".hex", ".percent", ".graph"]) for name in rng.sample(["key", "low", "w", "bits"], rng.randrange(3))]
    text = "hist:keys=" + ",".join(keys)
    if vals:
        text += ":vals=" + ",".join((["hitcount"] if rng.random() < 0.3 else []) + vals)
        text += rng.choice(["", "", ":nohitcount"])
    if rng.random() < 0.6:
        text += f":sort={re.split('[.]', rng.choice([k for k in keys if 'cpu' not in k] + ['hitcount']))[0]}{rng.choice(['', '.descending'])}"
    # Where there is no room for all keys, those that came first stay: threads that race for it need not race alike for two probes.
    return f"{text}:size=131072" + (random_filter(rng) if rng.random() < 0.5 else "")


def compare(what, out):
    """Both are printed: the one that was counted, and the one that was made of records."""
    mine, other = re.fullmatch(r"# t:counted\n(.*)\n# t:read\n(.*)", out, re.DOTALL).groups()
    if mine.rstrip("\n") == other.rstrip("\n"):
        return
    with open("mine", "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(mine)
    with open("other", "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(other)
    diff = subprocess.run(["diff", "mine", "other"], stdout=subprocess.PIPE, check=False).stdout.decode(errors="replace")
    fail(f"{what}: differ:\n{diff[:2000]}")


def check_random(seed):
    rng = random.Random(seed)
    with_cpu = rng.random() < 0.3
    trigger = random_trigger(rng, with_cpu)
    keys = rng.choice([60, 1000, 5000])
    counted, read = f"p:t/counted {TARGET}:counted {ARGS}", f"p:t/read {TARGET}:counted {ARGS}"
    own = ["--filter", "key != 1"] if rng.random() < 0.3 else []
    how = explain(counted, *own, "--trigger", trigger)
    if how not in ("counted in the target", "counted from its records: its filter is not compiled"):
        fail(f"{trigger}: {how}")
    if explain(read, *own, "--trigger", trigger, "--trigger", ASIDE) != "made of records: its event has several triggers":
        fail(f"{trigger}: is counted beside another trigger")
    args = ["--lossless", "--mode", rng.choice(["jump", "jump", "auto"]), "-e", counted, *own, "--trigger", trigger,
            "-e", read, *own, "--trigger", trigger, "--trigger", ASIDE]
    rounds = rng.choice([30, 300, 2000])
    if rng.random() < 0.1:
        args[2], rounds = "trap", 20
    _, out = run(args, keys, rounds, {0} if with_cpu else None)
    compare((seed, keys, args), out)
    return how == "counted in the target"


def noted_by(said, keys):
    lines = [line.split() for line in said.splitlines()]
    return {int(key) - keys // 2: int(n) for key, n in (line for line in lines if len(line) == 2 and line[0] != "ready") if int(n)}


def check_exact(keys, rounds):
    """At full rate, nobody waits for the reader, and nothing is lost."""
    said, out = run(["-e", f"p:t/counted {TARGET}:counted {ARGS}", "--trigger", "hist:keys=key:vals=key,low:sort=key:size=131072 if low != 9"], keys, rounds)
    want = {key: n for key, n in noted_by(said, keys).items() if key % 256 != 9}
    rows = re.findall(r"^\{ key: +(\d+) \} hitcount: +(\d+)  key: +(\d+)  low: +(\d+)$", out, re.MULTILINE)
    got = {}
    for key, n, total, low in rows:
        key = int(key) - (1 << 64) if int(key) >> 63 else int(key)
        got[key] = int(n)
        if int(total) != key * int(n) % (1 << 64) or int(low) != key % 256 * int(n):
            fail(f"the sums of {key} are wrong: {total} {low}")
    if got != want:
        differ = [(key, got.get(key), want.get(key)) for key in sorted(set(got) | set(want)) if got.get(key) != want.get(key)]
        fail(f"of {len(want)} keys {len(differ)} differ: (key, told, noted) {differ[:5]}")
    if not re.search(rf"Totals:\n    Hits: {sum(want.values())}\n    Entries: {len(want)}\n    Dropped: 0\n$", out):
        fail(f"the totals are {out[-100:]}")


def check_full(keys, rounds):
    """More keys than it has room for: all hits are told of, and so many keys."""
    said, out = run(["-e", f"p:t/counted {TARGET}:counted {ARGS}", "--trigger", "hist:keys=text:size=256"], keys, rounds)
    hits, entries, dropped = map(int, re.search(r"Hits: (\d+)\n    Entries: (\d+)\n    Dropped: (\d+)\n$", out).groups())
    if entries != 256 or hits + dropped != sum(noted_by(said, keys).values()):
        fail(f"{hits} hits, {entries} entries, {dropped} dropped of {sum(noted_by(said, keys).values())}")


def is_run(program):
    """Not every kernel runs programs of 32 bits."""
    try:
        return subprocess.run([program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode >= 0
    except OSError:
        return False


def check_i386():
    """All is counted from records there."""
    target = os.path.join(os.environ["UBP_BUILD"], "fixtures32", "tally")
    if not os.path.exists(target) or not is_run(target):
        print("left out: programs of 32 bits")
        return
    args = []
    for name, aside in ("counted", []), ("read", ["--trigger", ASIDE]):
        args += ["-e", f"p:t/{name} {target}:counted key=+4(%sp):s32 text=+0(+8(%sp)):string", "--trigger",
                 "hist:keys=text,common_pid,key.log2:vals=key:sort=text:size=131072 if key != 7", *aside]
    if explain(args[1], *args[2:4]) != "counted from its records: there is no code for that on this machine":
        fail(f"i386: {explain(args[1], *args[2:4])}")
    _, out = run(["--lossless", *args], 300, 500, target=target)
    compare(args, out)


def check_explain():
    plain = f"p:t/counted {TARGET}:counted {ARGS} other=+0(%si):string"
    for text, want in {
        "hist:keys=key:vals=low": "counted in the target",
        "hist:keys=text": "counted from its records: several strings are fetched",
        "hist:keys=key.buckets=8,common_pid if key > 3 && CPU == 0": "counted in the target",
        "hist:keys=common_pid.execname": "made of records: a key's first hit tells the thread's name",
        "hist:keys=common_timestamp": "made of records: a key is a time",
        "hist:keys=__probe_ip.hex": "made of records: a key is an address",
        "hist:keys=key:v=low": "made of records: it has variables or actions",
        "hist:keys=key:vals=low+w": "made of records: a value is computed",
        "hist:keys=key:pause": "made of records: it is paused",
        'hist:keys=key if comm == "tally"': "made of records: its filter asks for the thread's name",
        'hist:keys=key if text == "x"': "made of records: its filter looks at one of several strings",
        "hist:keys=key,low.log2,w.buckets=7:vals=key,low": "counted in the target",
        "hist:keys=text.buckets=4": "made of records: a string is scaled",
        "hist:keys=key:vals=text": "made of records: a value is no number among the arguments",
        "hist:name=both:keys=key": "counted in the target",
        "traceoff": None,
    }.items():
        if explain(plain, "--trigger", text) != want:
            fail(f"{text}: {explain(plain, '--trigger', text)}")
    shared = ["--trigger", "hist:name=both:keys=key"]
    if explain(plain, *shared, "-e", f"p:t/more {TARGET}:counted {ARGS}", *shared) != "made of records: other events share it":
        fail(f"a shared histogram: {explain(plain, *shared, '-e', f'p:t/more {TARGET}:counted {ARGS}', *shared)}")
    for args, want in [
        (["--mode", "trap"], "counted at its stops"),
        (["--max-rate", "1000"], "made of records: it is watched what probes cost"),
        (["--once"], "made of records: each probe has one event"),
        (["--stack", "fp"], "counted from its records: stacks are recorded"),
        (["--trigger", "hist:keys=low"], "made of records: its event has several triggers"),
        (["-e", f"p:t/more {TARGET}:counted", "--trigger", "disable_hist:t:counted"], "made of records: another event's trigger switches it"),
        (["-e", f"p:t/more {TARGET}:counted", "--trigger", "enable_event:t:more"], "counted in the target"),
    ]:
        before = [] if args[0] == "--trigger" or args[0] == "-e" else args
        behind = [] if before else args
        result = subprocess.run([UPROBE, *before, "--explain", "-e", plain, "--trigger", "hist:keys=key", *behind], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        said = re.findall("^  histogram: (.*)$", result.stdout.decode(), re.MULTILINE)
        if said[:1] != [want]:
            fail(f"{args}: {said}")


if os.uname().machine != "x86_64":
    print("targets count by themselves on x86-64 alone")
    sys.exit(77)
check_explain()
check_exact(1000, 20000)
check_exact(100000, 5000)
check_full(5000, 2000)
check_i386()
in_target = sum(check_random(seed) for seed in SEEDS)
print(f"{in_target} of {len(SEEDS)} counted in the target")
if not len(SEEDS) // 3 < in_target < len(SEEDS):
    fail("there are too few of one kind")
