# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Failures of uprobe's own calls: each fails once, or all of a kind from one on. The target
runs on with right results; what could not be put back is told, exit status 1, and the next
uprobe puts it right. Exit status 0 means that the target is as it was. Each call of a probed
function has its event, or is counted as lost or missed.

In the full form, of the calls that are come to by the same way (the same kind, the same return addresses
on the stack: a chain) the first and the last of each phase fail. What can differ between two calls of a chain is
the data that they are about, and that is what first and last are for: what a list begins and ends with. --every
has each call fail."""

import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import calls  # noqa: E402
import torture  # noqa: E402
from failat import FOR_EVER, FailAt, names  # noqa: E402
from torture import ARG1, ARG2, Broken, Row, Storm, Target, Uprobe, fixture  # noqa: E402

# What fails, and how: halves are those of reads and writes; of the rest another error.
ONCE = tuple((kind, short) for kind in FailAt.KINDS for short in (False, True)
             if not short or kind in ("read", "peek", "poke", "ptrace", "wait"))
# All of these fail from some call on.
FOR_GOOD = (("ptrace",), ("wait",), ("peek",), ("poke",), ("peek", "poke"), ("memory",), ("read",), ("other",))
# The short form: what the way out depends on most.
ONCE_SHORT = (("memory", False), ("peek", False), ("peek", True), ("poke", False),
              ("poke", True), ("ptrace", False), ("wait", False))
FOR_GOOD_SHORT = (("peek", "poke"), ("memory",))
PHASES = (FailAt.ATTACH, FailAt.HIT, FailAt.DETACH)
HITS = 60
FOR_GOOD_EACH = 20  # rounds of a phase in which all calls from one on fail
STUB_MIN = 64  # bytes
NOTES = 4  # sessions whose calls are noted: not each comes in each
ENDS = 4000  # events at either end of a trace that are looked at, but with --every
HIT_LIMIT = 0.1  # s until a call of the phase "hit" comes, if one does at all


def code_of(pid):
    """The code that the target maps from files, by address."""
    code = {}
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            part = line.split()
            if len(part) < 6 or "x" not in part[1] or not part[5].startswith("/"):
                continue
            start, end = (int(n, 16) for n in part[0].split("-"))
            mem.seek(start)
            code[start] = mem.read(end - start)
    return code


class Healed(Target):
    """A target whose code is compared, too."""

    def __init__(self, argv):
        super().__init__(argv)
        self.code = code_of(self.pid)

    def leave_stub(self):
        """A stub in the zeros behind some code stays: a thread may be in it."""
        now = code_of(self.pid)
        for start, was in self.code.items():
            slack = len(was.rstrip(b"\0"))
            if len(was) - slack >= STUB_MIN and now.get(start, was) != was:
                self.code[start] = was[:slack] + now[start][slack:]

    def check_clean(self):
        super().check_clean()
        now = code_of(self.pid)
        for start, was in self.code.items():
            if now.get(start) != was:
                at = next(i for i, b in enumerate(was) if now[start][i] != b)
                raise Broken(f"code at {start + at:#x} is {now[start][at:at + 5].hex()} after "
                             f"an end with status 0, was {was[at:at + 5].hex()}")


def definitions(f):
    return [f"p:k/mix {f}:mix i={ARG1}:s64 s=+0({ARG2}):string", f"p:k/leaf {f}:leaf i={ARG1}:s64",
            f"r:k/leaf_ret {f}:leaf i=$retval:s64", f"r:k/outer {f}:outer i=$retval:s64",
            f"p:k/half {f}:half"]


class Seen:
    """The calls of some sessions."""

    def __init__(self):
        self.most = {}  # (phase, kind): how many calls
        self.chains = {}  # (phase, kind, chain): how many calls, of each session that had any

    def ends(self, kinds):
        """First and last calls of all chains: (phase, k, chain)."""
        for (phase, kind, chain), counts in sorted(self.chains.items()):
            if kind in kinds:
                last = min(min(counts), HITS) if phase == FailAt.HIT else min(counts)
                for k in sorted({1, last}):
                    yield phase, k, chain


class FailStorm(Storm):
    """Rounds in which one thing fails, each followed by one in which nothing does if the target
    was not left as it was."""

    def __init__(self, row, make, defs, options):
        super().__init__(row, make, defs, ["--stats"], options)
        self.failat = FailAt()
        self.all_events = options.every
        self.stack = []  # by which the last call that failed was come to
        self.told = self.harmless = 0

    def session(self, phase):
        """One uprobe, from attach to end. Its return code."""
        u = Uprobe(self.target.pids(), self.defs, self.options, self.failat)
        ready = u.wait_ready()
        if ready:
            self.failat.phase(FailAt.HIT)
            self.target.begin_check()
            end = time.monotonic() + HIT_LIMIT
            while phase == FailAt.HIT and u.p.poll() is None and not self.failat.failed() and \
                    time.monotonic() < end:
                time.sleep(0.001)
            if self.row.mode != "auto":
                self.target.settle()  # each worker has gone round: there are events to be missing
            self.failat.phase(FailAt.DETACH)
        # Not to be told that it is ready is a failure, too.
        if u.p.poll() is None:
            u.interrupt()
        return u.wait(), u

    def good_end(self, rc, u):
        if rc == 0:
            self.target.check()
            self.target.check_clean()
            self.row.clean += 1
        elif rc != 1 and rc != 2:
            raise Broken(f"uprobe ended with {rc}: {u.said()}")
        elif not u.said():
            raise Broken("uprobe ended with 1 and said nothing")

    def check_events(self, kinds):
        """Of the workers. What could not be written is not there, and was told."""
        if "write" in kinds or not os.path.exists("out.txt"):
            return
        with open("uprobe.err", errors="replace") as f:
            said = f.read()
        pid = self.target.pids()[0]
        tids = [int(t) for t in os.listdir(f"/proc/{pid}/task") if int(t) != pid]
        wrong, n, lost = calls.check("out.txt", tids, None if self.all_events else ENDS)
        counted = lost + sum(int(k) for k in re.findall(r" (?:missed|too_big)=(\d+)", said)) + \
            sum(int(k) for k in re.findall(r": (\d+) hits? or new process", said)) + \
            sum(int(k) for k in re.findall(r": (\d+) hits? w", said))
        if wrong or n > counted:
            raise Broken(f"{wrong or f'{n} events are missing'}, {counted} are counted as such")

    def failing(self, phase, k, kinds, times, short, chain):
        name = f"{'+'.join(kinds)} {k} of {f'{chain:#x} in ' if chain else ''}{FailAt.PHASES[phase]}" \
            f"{' and all behind' if times > 1 else ''}{', other' if short else ''}"
        yield name
        self.failat.arm(phase, k, kinds, times, short, chain)
        self.stack = []
        rc, u = self.session(phase)
        self.stack = self.failat.stack()
        name += f" ({self.failat.last() or 'never came'}), uprobe ended with {rc}: {u.said()}"
        yield name
        self.row.kills += self.failat.failed() > 0
        self.good_end(rc, u)
        self.check_events(kinds)
        self.target.check()
        if rc == 0:
            self.harmless += 1
            return
        self.told += 1
        self.target.leave_stub()
        yield f"after {name}"
        self.failat.arm(0, 0, ())
        rc, u = self.session(FailAt.ATTACH)
        yield f"after {name}: the next said {u.said()}"
        if rc != 0:
            raise Broken(f"the next uprobe ended with {rc}: {u.said()}")
        self.good_end(rc, u)

    def one(self, phase, k, kinds, times=1, short=False, chain=0):
        if self.row.failures < self.stop:
            self.round(lambda _: self.failing(phase, k, kinds, times, short, chain), None)

    def broke(self, e, when):
        super().broke(e, f"{when}, from {names(self.stack) if self.stack else '?'}")

    def look(self, seen):
        """What calls there are when nothing fails."""
        self.failat.note_chains()
        self.renew()
        self.round(lambda _: self.nothing(), None)
        for kind in FailAt.KINDS:
            for phase in (FailAt.ATTACH, FailAt.DETACH):
                seen.most[phase, kind] = max(seen.most.get((phase, kind), 0),
                                             self.failat.count(phase, kind))
        for (kind, chain), counts in self.failat.chains().items():
            for phase in PHASES:
                if counts[phase]:
                    seen.chains.setdefault((phase, kind, chain), []).append(counts[phase])

    def nothing(self):
        yield "nothing fails"
        rc, u = self.session(FailAt.HIT)
        self.good_end(rc, u)
        self.check_events(())


def sample(n, at_most):
    """So many of 1..n, spread out, both ends among them."""
    if n <= at_most:
        return range(1, n + 1)
    if at_most == 1:
        return [random.randint(1, n)]
    return sorted({1 + i * (n - 1) // (at_most - 1) for i in range(at_most)})


def new_storm(row, options):
    path = fixture("storm_kill")
    return FailStorm(row, lambda: Healed([path, "plain"]), definitions(path), options)


def storm(table, options, mode, name, what, seen):
    row = Row(f"fail {name}", mode)
    if options.only in row.storm:
        s = new_storm(row, options)
        what(s, seen)
        s.over()
        row.note = f"{s.told} told, {s.harmless} overcome"
        table.add(row)


def count(table, options, mode):
    """How many calls there are, in a row of its own."""
    row = Row("fail nothing", mode)
    s = new_storm(row, options)
    seen = Seen()
    for _ in range(NOTES if options.full or options.every else 1):
        s.look(seen)
    s.over()
    row.note = ", ".join(f"{kind} {seen.most[FailAt.ATTACH, kind]}+{seen.most[FailAt.DETACH, kind]}"
                         f" of {sum(of == kind for _, of, _ in seen.chains)}"
                         for kind in FailAt.KINDS)
    table.add(row)
    return seen


def spread(seen, kinds, most):
    """So many calls of each phase, spread out."""
    for phase in PHASES:
        n = HITS if phase == FailAt.HIT else sum(seen.most[phase, kind] for kind in kinds)
        for k in sample(n, min(n, most) if most else n):
            yield phase, k, 0


def some(options, seen, kinds, full):
    """Which calls are to fail: (phase, k, chain), 0: of all chains. @full: so many in the full form, or None."""
    if options.most or not options.full:
        ks = spread(seen, kinds, options.most or 1)
    elif full or options.every:
        ks = spread(seen, kinds, full)
    else:
        ks = seen.ends(kinds)
    part, parts = options.part
    return list(ks)[part - 1::parts]


def once(kind, short, options):
    def run(s, seen):
        for phase, k, chain in some(options, seen, (kind,), None):
            s.one(phase, k, (kind,), 1, short, chain)
    return run


def for_good(kinds, options):
    def run(s, seen):
        for phase, k, _ in some(options, seen, kinds, FOR_GOOD_EACH):
            s.one(phase, k, kinds, FOR_EVER)
    return run


def part_of(text):
    part, parts = (int(n) for n in text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError(text)
    return part, parts


def more_options(p):
    p.add_argument("--every", action="store_true", help="with --full: each call, not two of each chain")
    p.add_argument("--most", type=int, help="so many calls of a kind in each phase")
    p.add_argument("--part", type=part_of, default=(1, 1), metavar="I/N",
                   help="the I-th of N parts of them: the full form takes long")


def main():
    options = torture.parse(__doc__, more_options)
    torture.in_own_folder()
    table = torture.Table(options)
    all_kinds = options.full or options.most
    # The short form has some of the storms, others each time.
    ones = ONCE if all_kinds else random.sample(ONCE_SHORT, 4)
    for_goods = FOR_GOOD if all_kinds else random.sample(FOR_GOOD_SHORT, 1)
    if options.full and not options.mode:
        options.modes = ("auto", "trap")
    for mode in options.modes:
        seen = count(table, options, mode)
        for kind, short in ones:
            storm(table, options, mode, f"{kind}{' other' if short else ''} once",
                  once(kind, short, options), seen)
        for kinds in for_goods:
            storm(table, options, mode, f"{'+'.join(kinds)} for good",
                  for_good(kinds, options), seen)
    table.done()


if __name__ == "__main__":
    main()
