#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A flight recorder of python3: what came before a sleep that took too long, and in so many milliseconds behind it, and nothing else."""

import json
import os
import subprocess
import sys

UPROBE, AFTER_NS = os.environ["UPROBE"], 40_000_000
# Numbered calls of libc, when each was begun and over, with a long sleep among short ones.
SCRIPT = """
import os, time
for i in range(300):
    if i in (100, 250):
        time.sleep(0.03)
    begun = time.monotonic_ns()
    try:
        os.rmdir(f"/no/such/{i}")
    except OSError:
        pass
    print(i, begun, time.monotonic_ns())
    time.sleep(0.001)
"""


def fail(text):
    print(text)
    sys.exit(1)


def run(*args):
    """The script's calls, number: (begun, over); the events that were told."""
    result = subprocess.run([UPROBE, "--json", "--lossless", "-o", "out", "-e", "p:call libc:rmdir path=+0(%di):string",
                             "-e", "r:slept libc:clock_nanosleep ns=$duration:u64", *args, "--", sys.executable, "-c", SCRIPT],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
    if result.returncode:
        fail(f"{args}: ends with {result.returncode}: {result.stderr.decode()}")
    calls = {int(i): (int(begun), int(over)) for i, begun, over in map(str.split, result.stdout.decode().splitlines())}
    with open("out", encoding="utf-8") as out:
        events = [json.loads(line) for line in out]
    for event in events:
        event["ns"] = round(event["time"] * 1e9)
    return calls, events


def numbers(events):
    return [int(event["args"]["path"].rsplit("/", 1)[1]) for event in events if event["event"] == "call"]


calls, events = run("--trigger", "snapshot if ns > 25ms")
told, slow = numbers(events), [event for event in events if event["event"] == "slept" and event["args"]["ns"] > 25_000_000]
if not slow or told != list(range(len(told))) or len(told) < 100 or events[-1] != slow[-1]:
    fail(f"without --snapshot-after: {len(slow)} were slow, calls {told}, the last is {events[-1:]}")

calls, events = run("--trigger", "snapshot:1 if ns > 25ms", "--snapshot-after=40")
told = numbers(events)
end = next(event["ns"] for event in events if event["event"] == "slept" and event["args"]["ns"] > 25_000_000) + AFTER_NS
if told != list(range(len(told))) or not 0 < len(told) < 300:
    fail(f"calls are told that are not one behind the other from the first on, or all: {told}")
if events[-1]["ns"] > end:
    fail(f"the last event came {events[-1]['ns'] - end} ns too late")
# The clocks are compared by way of a decimal fraction: 1 us is enough for that, and for a call that is on its way.
if calls[len(told)][1] < end - 1000:
    fail(f"call {len(told)} was over {end - calls[len(told)][1]} ns before the end, and is not told")

# Each short sleep is one, too, long before the time behind the one before is over.
calls, events = run("--trigger", "snapshot if ns > 500us", "--snapshot-after=40")
if numbers(events) != list(range(300)):
    fail(f"one snapshot behind the other: calls {numbers(events)}")

_, events = run("--trigger", "snapshot if ns > 10s", "--snapshot-after=40")
if events:
    fail(f"nothing was slow, and {len(events)} events are told")
