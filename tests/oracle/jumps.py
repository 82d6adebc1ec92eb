# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Jumps beside the kernel's uprobes, with filters: the same program twice, with entries and
returns, numbers and strings; what a filter lets through is the same, hit by hit."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import alone  # noqa: E402
import oracle  # noqa: E402
from oracle import fixture  # noqa: E402


def name_of(definition):
    return definition.split(" ")[0][2:]


def by_kernel(probes, argv):
    with oracle.Kernel() as k:
        k.define([oracle.resolve(d, k.group) for d, _ in probes])
        for d, text in probes:
            if text:
                oracle.write(f"{k.dir}/events/{k.group}/{name_of(d)}/filter", text)
        k.switch(True)
        try:
            out, rc = oracle.run([oracle.LAUNCH, *argv], oracle.environment(None), None, b"go\n")
        finally:
            k.switch(False)
        events, lost = oracle.parse(k.trace())
        return events, lost, out, rc


def by_ubp(probes, argv, is_alone):
    cmd = [oracle.UPROBE, "--strict", "--stats", "-o", "ubp.out", *(oracle.ALONE if is_alone else ["--mode", "jump", "--lossless"])]
    for d, text in probes:
        cmd += ["-e", oracle.resolve(d, oracle.GROUP)]
        if text:
            cmd += ["--filter", text]
    cmd += ["--", oracle.LAUNCH, *argv]
    out, rc = alone.run(cmd, oracle.environment(None), b"go\n", oracle.TIMEOUT) if is_alone else \
        oracle.run(cmd, oracle.environment(None), None, b"go\n")
    with open("ubp.out", "rb") as f:
        events, lost = oracle.parse(f.read())
    stats = [oracle.Stats(m) for m in oracle.STATS.finditer(out)]
    return events, lost, oracle.STATS_LINE.sub(b"", out), rc, stats


def compare(probes, argv, calls):
    """PROBES: (definition, filter or None). CALLS: each is hit so often, whatever it lets through. Traced, and while nobody traces it."""
    kernel = by_kernel(probes, argv)
    return all([compare_with(kernel, probes, argv, calls, is_alone) for is_alone in (False, True) if not is_alone or "alone" in oracle.MODES])


def compare_with(kernel, probes, argv, calls, is_alone):
    title = " ".join([os.path.basename(argv[0]), *argv[1:]])[:40] + (", alone" if is_alone else "")
    k_events, k_lost, k_out, k_rc = kernel
    events, lost, out, rc, stats = by_ubp(probes, argv, is_alone)
    bad = oracle.differences(k_events, events) + oracle.unordered(events)
    bad += oracle.why_no_jumps([oracle.resolve(d, "g") for d, _ in probes], stats)
    if (k_lost, k_out, k_rc) != (lost, out, rc):
        bad.append(f"lost, output, status: kernel {k_lost} {k_out!r} {k_rc}, ubp {lost} {out!r} {rc}")
    for (d, text), s in zip(probes, stats):
        n = sum(e.name == name_of(d) for e in k_events)
        if s.hits != calls or s.passed != n or s.jumps != 1 or s.stopped * 2 > calls:
            bad.append(f"{d} if {text}: {calls} calls, the kernel lets {n} through; hits={s.hits} "
                       f"passed={s.passed} jumps={s.jumps} stopped={s.stopped}")
        if text and not 0 < n < calls:
            bad.append(f"{d} if {text}: {n} of {calls} calls: it shows nothing")
    print(f"{'differs' if bad else 'equal'}: {title}: {len(k_events)} and {len(events)} events, "
          f"{sum(s.stopped for s in stats)} of {sum(s.hits for s in stats)} hits were stops")
    for b in bad[:10]:
        print("  " + b)
    return not bad


def numbers(n):
    f = fixture("threads")
    entry = [None, "i < 3", f"i >= {n - 2} || t == 77", "i & 1 && i > 4", "u8 == 9", "!(i != 5)"]
    exits = [None, "v > 10", "v == 3 || w == 4"]
    args = "t=%di:s64 i=%si:s64 u8=%si:u8 b=%si:b3@1/32 sp=%sp"
    probes = [(f"p:in{k} {f}:tick {args}", text) for k, text in enumerate(entry[:4])]
    probes += [(f"r:out{k} {f}:tick v=$retval:s64 w=$retval:u8", text) for k, text in enumerate(exits)]
    rest = [(f"p:in{k} {f}:tick {args}", text) for k, text in enumerate(entry[4:])]
    return compare(probes, [f, "1", str(n)], n) & compare(rest, [f, "1", str(n)], n)


def strings():
    f = fixture("hello")
    words = ["abc", "a longer word", "", "x" * 300, "caf\u00e9", "abd"] * 10
    args = "s=+0(%di):string c=+0(%di):u8 p=%di"
    probes = [(f"p:all {f}:greet {args}", None), (f"p:glob {f}:greet {args}", 's ~ "ab*"'),
              (f"p:same {f}:greet {args}", 's == "abc"'), (f"p:not {f}:greet {args}", 's != "abc" && c != 0'),
              (f"r:ret {f}:greet v=$retval:s32", None), (f"r:long {f}:greet v=$retval:s32", "v > 5")]
    return compare(probes, [f, *words], len(words))


def tail_calls(n):
    """Functions that are left by jumps: each return is told, the inner ones first."""
    f = fixture("tail_chain")
    if not os.path.exists(f):
        return True
    probes = [(f"{kind}:{kind}{name[-1]} {f}:{name} {args}", None)
              for name in ("chain_h", "chain_f", "chain_g")
              for kind, args in (("r", "v=$retval:s64"), ("p", "n=%di:s64"))]
    return compare(probes, [f, str(n), "1", "0", "plain"], n)


if __name__ == "__main__":
    oracle.done([numbers(200), strings(), tail_calls(600)])
