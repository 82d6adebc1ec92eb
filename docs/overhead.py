#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""ubp-bench's JSON for docs/overhead.md.

  overhead.py data FILE.json               the chart's figures, for gnuplot
  overhead.py fill FILE.json PAGE.md       the tables, put between the page's marks:
                                           figures or coverage, whichever the file has
"""

import json
import sys



def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def modes_of(rows):
    return list(dict.fromkeys(u["name"] for r in rows for u in r["ubp"]))


def machine(data):
    m = data["machine"]
    return f"{m['cpu']}, {m['cpus']} CPUs, {m['hypervisor'] or 'no hypervisor'}, Linux {m['kernel'].split()[0]}"


def print_data(data):
    """A line for each row of one thread without a reader: its name, then ns of each side."""
    rows = [r for r in data["results"] if r["threads"] == 1 and not r["reader"]]
    firsts = list(dict.fromkeys(r["first"] for r in rows))
    # The usual functions first, then those measured in one case.
    firsts.sort(key=lambda x: -sum(r["first"] == x for r in rows))
    modes = modes_of(rows)
    print(f"# {machine(data)}")
    print("row", '"kernel uprobes"', *(f'"ubp --mode {x}"' for x in modes))
    for first in firsts:
        for r in rows:
            if r["first"] != first:
                continue
            ns = {u["name"]: u["total_ns"]["median"] for u in r["ubp"]}
            kernel = r["kernel"]["total_ns"]["median"] if r["kernel"] else "?"
            print(f'"{r["case"]}\\n{first}"', kernel, *(ns.get(x, "?") for x in modes))


def number(ns):
    return f"{ns:.1f}" if ns < 100 else f"{ns:.0f}"


def three(x):
    return f"{x:.{2 if x < 10 else 1 if x < 100 else 0}f}"


def ratio(r):
    """Ubp's over the kernel's: "7.90 (7.1-8.2)", "**1/27.9** (1/30.1-1/25.0)"."""
    if not r:
        return "-"
    if r["median"] > 1:
        return f"{three(r['median'])} ({three(r['min'])}-{three(r['max'])})"
    return f"**1/{three(1 / r['median'])}** (1/{three(1 / r['min'])}-1/{three(1 / r['max'])})"


def table(rows, modes, name, unit=1):
    head = ["", *name, "bare", "kernel"]
    for x in modes:
        head += [f"ubp {x}", "of the kernel's"]
    lines = ["| " + " | ".join(head[1:]) + " |", "|---" * (len(head) - 1) + "|"]
    for r in rows:
        cells = [str(r[x]) for x in name]
        text = number if unit == 1 else lambda ns: f"{ns / unit:.3f}"
        cells += [text(r["bare_ns"]["median"]), text(r["kernel"]["total_ns"]["median"]) if r["kernel"] else "-"]
        by = {u["name"]: u for u in r["ubp"]}
        for x in modes:
            cells += [text(by[x]["total_ns"]["median"]), ratio(by[x]["ratio"])] if x in by else ["-", "-"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def figures(data):
    s = data["settings"]
    m = data["machine"]
    out = [f"Measured {data['time'][:10]} with ubp {data['version']}: {machine(data)}, clock source "
           f"{m['clock_source']}; {s['rounds']} rounds of {s['hits']} calls, "
           f"{'callers pinned' if s['pinned'] else 'callers not pinned'}, kernel uprobes by {s['kernel']}.\n"]
    state = {True: [], False: []}
    for name, text in m["mitigations"].items():
        state[text.startswith("Mitigation")].append(name)
    out.append(f"Mitigations on: {', '.join(state[True]) or 'none'}; vulnerable: {', '.join(state[False]) or 'none'}.\n")
    modes = modes_of(data["results"])
    for title, threads, reader in (("One thread, no reader", False, False), ("Several threads", True, False),
                                   ("With a live reader beside", None, True)):
        rows = [r for r in data["results"] if r["reader"] == reader and
                (threads is None or (r["threads"] > 1) == threads)]
        if rows:
            out += [f"### {title}\n", table(rows, modes, ["case", "first"] + ["threads"] * (threads is not False))]
    lost = sum(f["lost"] for r in data["results"] for f in [*r["ubp"], *([r["kernel"]] if r["kernel"] else [])])
    out.append(f"Events lost, on all sides: {lost}.\n")
    return "\n".join(out)


def share(c, *names):
    n = sum(c[x] for x in names)
    return f"{n} ({100 * n / c['places']:.2f} %)" if c["places"] else "-"


def beside(c):
    jumps = c["jump_one"] + c["jump_several"]
    return f"{c['beside_kernel']} ({100 * c['beside_kernel'] / jumps:.2f} %)" if jumps else "-"


def coverage(data):
    lines = ["| file | function entries | by a jump | of these beside the kernel | by a breakpoint | no probe | static probes | by a jump |",
             "|---" * 8 + "|"]
    for f in data["coverage"]:
        e, u = f["entries"], f["usdt"]
        jump = ("jump_one", "jump_several")
        lines.append(f"| {f['file'].rsplit('/')[-1]} | {e['places']} | {share(e, *jump)} "
                     f"| {beside(e)} | {share(e, 'breakpoint')} "
                     f"| {share(e, 'refused')} | {u['places']} | {share(u, *jump)} |")
    return "\n".join(lines) + "\n"


def fill(data, page):
    what, make = ("coverage", coverage) if "coverage" in data else ("figures", figures)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    mark = f"<!-- {what}: make overhead -->\n"
    begin, end = text.index(mark) + len(mark), text.index(f"<!-- end of {what} -->\n")
    with open(page, "w", encoding="utf-8") as f:
        f.write(text[:begin] + "\n" + make(data) + "\n" + text[end:])


if __name__ == "__main__":
    if sys.argv[1:2] == ["data"] and len(sys.argv) == 3:
        print_data(load(sys.argv[2]))
    elif sys.argv[1:2] == ["fill"] and len(sys.argv) == 4:
        fill(load(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(__doc__)
