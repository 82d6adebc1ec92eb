#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Random event triggers: generate.py SEED COUNT prints COUNT rows in the form of tests/corpus/triggers.jsonl, without answers. A row follows
from SEED and its number alone. record.py has a kernel answer them."""

import json
import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from texts import Texts, chance  # noqa: E402
from worlds import World  # noqa: E402

ROWS_OF_WORLD = 8


class Row:
    def __init__(self, rnd, world):
        self.rnd, self.world = rnd, world
        self.texts = Texts(rnd, world)
        self.steps = []

    def event(self):
        return self.rnd.choice(self.world.events)

    def write(self, file, text, event=None):
        step = {"write": file, "text": text}
        if event:
            step["event"] = event
        self.steps.append(step)

    def trigger(self, event, text, broken=0.12):
        if chance(self.rnd, broken):
            # An operator that ends a filter is refused by some versions alone (docs/differences.md).
            text = re.sub(r"(&&|\|\|)[\s!(]*$", "", self.texts.mutated(text))
        else:
            self.texts.written.append((event, text))
        if len(text.encode()) < 4096:
            self.write("trigger", text, event.path)

    def run(self):
        self.steps.append({"run": self.world.parts})

    def synthetic(self, name=None, broken=0.06, enable=0.9):
        text = self.texts.synthetic(name)
        self.write("synthetic_events", self.texts.mutated(text) if chance(self.rnd, broken) else text)
        if chance(self.rnd, enable):
            self.write(f"events/synthetic/{text.split()[0]}/enable", "1")

    def control(self):
        """Something about what was written before."""
        rnd = self.rnd
        if not self.texts.written:
            return
        event, text = rnd.choice(self.texts.written)
        head, mark, tail = text.partition(" if ")
        r = rnd.random()
        if r < 0.15:
            text = "!@LISTED@"      # what the trigger file lists last
        elif r < 0.4:
            text = "!" + text
        elif r < 0.75:
            text = f"{head}:{rnd.choice(('pause', 'cont', 'clear', 'continue', 'pause:clear'))}{mark}{tail}"
        elif r < 0.85:
            text = ("!" if chance(rnd, 0.5) else "") + head
        elif r < 0.95:
            self.write(f"events/{event.path}/enable", rnd.choice("101"))
            return
        else:
            self.write(f"events/{event.path}/filter", self.texts.filter(event) if chance(rnd, 0.8) else "0")
            return
        self.write("trigger", text, event.path)

    def truncate(self):
        self.steps.append({"write": "trigger", "text": "", "trunc": True, "event": self.event().path})


def histograms(row):
    for _ in range(row.rnd.choice((1, 1, 2, 3))):
        event = row.event()
        row.trigger(event, row.texts.histogram(event))


def controlled(row):
    histograms(row)
    if chance(row.rnd, 0.5):
        row.trigger(row.event(), row.texts.plain(row.event()))
    row.run()
    for _ in range(row.rnd.choice((1, 2, 3))):
        row.control()
    if chance(row.rnd, 0.1):
        row.truncate()


def crossed(row):
    """Variables of one event, an action of another."""
    rnd, texts = row.rnd, row.texts
    for name in ("syn_a", "syn_b")[:rnd.choice((1, 1, 1, 2))]:
        row.synthetic(name)
    first, last = row.world.events[0], row.world.events[-1]
    keys = list(texts.common_keys)
    both = [n for n in first.args if last.args.get(n) == first.args[n]]
    if chance(rnd, 0.2) and both:
        keys.append(rnd.choice(both))
    row.trigger(first, texts.histogram(first, keys, [texts.variable(first) for _ in range(rnd.choice((1, 1, 2)))]), 0.05)
    own = [texts.variable(last)] if chance(rnd, 0.6) else []
    handlers = [f"onmatch({first.full}).{texts.synth_call(last, first)}"] if chance(rnd, 0.7) else []
    if not handlers or chance(rnd, 0.3):
        handlers.append(texts.handler(last, [n for n, _ in own]))
    row.trigger(last, texts.histogram(last, keys, own, handlers), 0.08)
    if chance(rnd, 0.25):
        name = rnd.choice(list(texts.synths))
        field = rnd.choice(texts.synths[name])[1]
        row.write("trigger", f"hist:keys={field}{rnd.choice(('', ':vals=' + field, ':sort=' + field, '.hex'))}", "synthetic/" + name)


def tracked(row):
    """onmax and onchange of one event."""
    rnd, texts, event = row.rnd, row.texts, row.event()
    if chance(rnd, 0.5):
        row.synthetic()
    own = [texts.variable(event)]
    handlers = []
    for _ in range(rnd.choice((1, 1, 2))):
        kind = rnd.choice(("onmax", "onchange"))
        handlers.append(f"{kind}(${own[0][0]}).{texts.action(event, kind)}")
    row.trigger(event, texts.histogram(event, None, own, handlers))


def plain(row):
    for event in row.world.events:
        if chance(row.rnd, 0.5):
            row.write(f"events/{event.path}/enable", "1")
    for _ in range(row.rnd.choice((1, 2, 3, 4))):
        event = row.event()
        row.trigger(event, row.texts.plain(event))
    if chance(row.rnd, 0.4):
        histograms(row)


def definitions(row):
    for _ in range(row.rnd.choice((1, 2, 3))):
        row.synthetic(None, 0.4, 0.3)
    if chance(row.rnd, 0.3):
        row.write("synthetic_events", "!" + row.rnd.choice(list(row.texts.synths)))


def broken(row):
    """One good text, broken in several ways."""
    event = row.event()
    texts = [row.texts.histogram(event) for _ in range(2)] + [row.texts.plain(event)]
    for _ in range(row.rnd.choice((3, 4, 5))):
        row.trigger(event, row.rnd.choice(texts), 0.95)


KINDS = {"hist": (histograms, 30), "ctl": (controlled, 18), "cross": (crossed, 28), "track": (tracked, 12), "plain": (plain, 12),
         "syndef": (definitions, 4), "broken": (broken, 10)}


def layout(world, step):
    """What the keys of a histogram look like in memory."""
    event = next((e for e in world.events if e.path == step.get("event")), None)
    match = re.search(r"keys?=([^: ]*)", step["text"])
    if not event or not match:
        return None
    return tuple("s" if event.args.get(k.split(".")[0]) == "string" else "t" if "stacktrace" in k else "n" for k in match[1].split(","))


def marks(row):
    """What the recorder and the test have to know of a row: see the corpus."""
    texts = [s["text"] for s in row.steps if "text" in s]
    ret = {}
    whole = "\n".join(texts)
    if "common_timestamp" in whole:
        ret["volatile"], ret["order"] = "pid", "time"
    pids = re.sub(r"keys?=common_pid(?=[:, ]|\.execname|$)", "", whole, flags=re.M)
    if "common_pid" in pids:
        ret["volatile"] = "pid"
    if "common_pid" in whole:
        ret["order"] = "pid"
    # A string as a number is the address of a buffer; the first word of a stack is one of the kernel's code.
    strings = {n for e in row.world.events for n in e.strings()} | {"comm"}
    values = re.findall(r"(?:vals?|values)=([^: ]*)", whole)
    strings |= set(re.findall(r"char\[\w*\] (\w+)", whole))
    if any(name in re.split(r"\W", v) for v in values for name in strings):
        ret["undefined"] = "a string as a number"
    if re.search(rf"\b({'|'.join(strings)})\.(log2|bucket)|stacktrace[-.+*/]|[-+*/][\w.]*stacktrace", whole):
        ret["undefined"] = "a string or a stack as a number"
    addresses = "|".join([*strings, "execname", "stacktrace"])
    for name in re.findall(r"on(?:max|change)\(\$?([^).:]+)", whole):
        if re.search(rf"[:,]{re.escape(name)}=[^:,]*({addresses}|\$)", whole):
            ret["undefined"] = "a string is watched"
    if re.search(r"save\([^)]*stacktrace", whole):
        ret["undefined"] = "a stack is saved"
    if re.search(r"common_(flags|preempt_count)", whole):
        ret["undefined"] = "flags of the kernel"
    # Of a string that cannot be read the kernel takes what lies there.
    if "str" in row.world.parts and re.search(r"on(match|max|change)\(|\bif\b.*\"|/filter", whole + repr(row.steps)):
        ret["undefined"] = "strings that cannot be read"
    layouts = {layout(row.world, s) for s in row.steps if s.get("write") == "trigger" and "hist" in s["text"]}
    layouts.discard(None)
    if len(layouts) > 1 and re.search(r"\$|onmatch", whole):
        ret["undefined"] = "keys of several layouts and variables"
    return ret


def make(seed, number):
    world = World(random.Random(f"{seed} {number // ROWS_OF_WORLD}"))
    rnd = random.Random(f"{seed} {number} row")
    row = Row(rnd, world)
    kind = rnd.choices(list(KINDS), [w for _, w in KINDS.values()])[0]
    KINDS[kind][0](row)
    row.run()
    return {"id": f"{seed}-{number}", "cat": "r" + kind, "defs": world.definitions, "steps": row.steps, "events": [e.path for e in world.events],
            "masks": [], **marks(row)}


def main():
    seed, count = sys.argv[1], int(sys.argv[2])
    for number in range(count):
        print(json.dumps(make(seed, number)))


if __name__ == "__main__":
    main()
