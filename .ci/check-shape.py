#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The shape of the code: what stays small stays readable.

check-shape.py [--list] reads engine/, arch/ and cli/ and fails where

    circle    files of one folder include each other in a circle (X.c, X.h and X_priv.h are one)
    struct    a structure has more than 30 members
    names     a header has more than 40 names: functions, types, macros
    function  a function has more than 60 lines; or their median is above 12
    file      a file has more than 600 lines
    head      a .c file has neither a header of its own nor a comment that says what it is for
    held      code outside engine/trace asks by hand whether a thread is still there, keeps it in its stop, or counts who
              keeps an address space: engine/trace/{held,hold,members}.h do that (held_lasts(), held_keep(), hold_scope,
              space_keep())
    link      code asks where an instruction set's calls leave return addresses (ubp_arch.return_in, arch_reg.link) outside
              arch/ and the tables of operations for that, RETURN_TABLES
    part      a file looks into a part of what is known of an address space (engine/space/NAME_part.h) that is not among the
              part's owners, PARTS: it includes the header, or touches members

What is older than the rule is in .ci/shape.allowed, a line "RULE NAME NUMBER" for each: no number may grow, and
an entry that is no longer needed fails as well, so the list gets shorter only. --list prints it as it would be today.
"""

import os
import re
import statistics
import sys

LIMITS = {"struct": 30, "names": 40, "function": 60, "file": 600}
MEDIAN = 12
ASKS_LINK = re.compile(r"\b(?:arch_has_link|return_in|RETURN_IN_[A-Z]+|reg\.link)\b")
BY_HAND = re.compile(r"\btracer_has ?\(|\bn_execs\b|->held =(?!=)|\brefs ?(?:\+\+|--|[-+]=)")
RETURN_TABLES = {"engine/returns/" + f for f in ("ops.h", "ops.c", "in_stack.c", "in_register.c", "in_register_unwind.c")}
RETURN_TABLES.add("engine/stack/frame_return.c")
# The member of struct plant_space by which a part is reached, its header, and the files that own it. Those that own none of
# it ask by functions. engine/space/space.c makes all parts.
PARTS = {
    "guard": ("guard", ("engine/plant/guard.c", "engine/plant/guard_state.c")),
    "ret": ("return", ("engine/returns/",)),
    "hijack": ("hijack", ("engine/returns/",)),
    "watch": ("watch", ("engine/plant/watch.c",)),
    "jump": ("jump", ("engine/plant/hop.c", "engine/plant/jump", "engine/plant/led_out.c", "engine/plant/mirror.c", "engine/plant/pun.c", "engine/plant/renew.c", "engine/plant/upgrade.c", "engine/space/site_jump.c")),
    "ring": ("ring", ("engine/plant/rings.c", "engine/plant/ring_ranges.c", "engine/plant/rings_size.c", "engine/plant/claims.c")),
    "semaphore": ("semaphore", ("engine/plant/semaphore.c",)),
    "mapped": ("mapped", ("engine/stack/maps_now.c",)),
}
PARTS_MADE_IN = "engine/space/space.c"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def sources():
    for top in ("engine", "arch", "cli"):
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(folder, name)


def plain(text):
    """The same lines without comments, and without what is in quotes."""

    def blank(m):
        s = m[0]
        if s[0] in "\"'":
            return s[0] + s[0]
        return "\n" * s.count("\n") or " "

    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def closing(text, at):
    """Where the brace that opens at @at is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def members(body):
    """Those of a structure: what is in unions and structures without a name of their own counts, too."""
    n, at = 0, 0
    while True:
        brace, end = body.find("{", at), body.find(";", at)
        if end < 0:
            return n
        if 0 <= brace < end:
            close = closing(body, brace)
            end = body.find(";", close)
            declared = body[close + 1:end].strip()
            n += members(body[brace + 1:close]) if not declared else 1
        else:
            inside = re.sub(r"\([^()]*\)|\[[^]]*\]", "", body[at:end])
            n += inside.count(",") + 1
        at = end + 1


def structs(path, text):
    for m in re.finditer(r"^(?:static |const )*(?:struct|union) (\w+) ?\{", text, re.M):
        yield "struct", f"{path}:{m[1]}", members(text[m.end():closing(text, m.end() - 1)])


def names(path, text):
    found = set(re.findall(r"^# *define (\w+)", text, re.M))
    found -= {n for n in found if n.endswith("_H")}
    text = re.sub(r"^#(?:.*\\\n)*.*", "", text, flags=re.M)
    for_cxx = re.search(r'^extern "" \{', text, re.M)  # no body
    if for_cxx:
        text = text[:for_cxx.start()] + text[for_cxx.end():closing(text, for_cxx.end() - 1)]
    while True:  # bodies
        shorter = re.sub(r"\{[^{}]*\}", "@", text)
        if shorter == text:
            break
        text = shorter
    found |= set(re.findall(r"^(?:struct|union|enum) (\w+) ?@", text, re.M))
    found |= set(re.findall(r"\btypedef [^;]*?(\w+)(?:\([^;]*\))?;", text))
    found |= set(re.findall(r"^(?!typedef|\s)[^;@=]*?\b(\w+) ?\(", text, re.M))
    found |= set(re.findall(r"^extern [^;(]*?(\w+)(?:\[[^;]*)?;", text, re.M))
    return [("names", path, len(found))]


def functions(path, text):
    for m in re.finditer(r"^\{$", text, re.M):
        before = text[:m.start()].rstrip()
        name = re.findall(r"(\w+)\(", before[max(before.rfind("\n}"), before.rfind(";"), before.rfind("\n\n"), 0):])
        lines = text[m.start():closing(text, m.start())].count("\n") - 1
        if name and before.endswith(")"):
            yield "function", f"{path}:{name[0]}", lines


def touches(path, raw, text):
    """How often @path looks into each part that it does not own."""
    header = re.fullmatch(r"engine/space/(\w+)_part\.h", path)
    if header and header[1] not in (name for name, _ in PARTS.values()):
        yield "part", f"{path}:nobody's", 1
    if path == PARTS_MADE_IN:
        return
    for member, (name, owners) in PARTS.items():
        if path.startswith(owners):
            continue
        n = len(re.findall(r"\b(?:ps|plant|owner|from|to|of_parent)->%s->" % member, text))
        n += len(re.findall(r'^#include "engine/space/%s_part\.h"' % name, raw, re.M))
        yield "part", f"{path}:{member}", n


def circles(includes):
    """The groups of files, headers taken together with their sources, that include each other."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(includes.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            group = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(group) > 1:
                found.append(sorted(group))

    for v in sorted(includes):
        if v not in index:
            visit(v)
    return found


def look():
    found, lengths, includes = [], [], {}
    files = list(sources())
    for path in files:
        with open(path, encoding="utf-8") as f:
            raw = f.read()
        text = plain(raw)
        stem = os.path.splitext(path)[0].removesuffix("_priv")
        folder = os.path.dirname(path)
        used = re.findall(r'^#include "((?:engine|arch|cli)/[^"]*?)(?:_priv)?\.h"', raw, re.M)
        includes.setdefault(stem, set()).update(u for u in used if os.path.dirname(u) == folder and u != stem)
        found += structs(path, text)
        found.append(("file", path, raw.count("\n")))
        found += touches(path, raw, text)
        if not path.startswith("arch/") and path not in RETURN_TABLES:
            found.append(("link", path, len(ASKS_LINK.findall(text))))
        if not path.startswith("engine/trace/"):
            found.append(("held", path, len(BY_HAND.findall(text))))
        if path.endswith(".h"):
            found += names(path, text)
            continue
        mine = list(functions(path, text))
        lengths += [n for _, _, n in mine]
        found += mine
        head = re.sub(r"^(/\* (SPDX|Copyright).*\n)+", "", raw).lstrip()
        if stem + ".h" not in files and not head.startswith("/*"):
            found.append(("head", path, 1))
    bad = [(rule, name, n) for rule, name, n in found if n > LIMITS.get(rule, 0)]
    bad += [("circle", "+".join(os.path.basename(s) for s in group) + f"@{os.path.dirname(group[0])}", len(group))
            for group in circles(includes)]
    return sorted(bad), lengths


def compare(bad, allowed):
    """Lines that say what is wrong."""
    said = []
    for key, n in sorted(bad.items()):
        if key not in allowed:
            said.append(f"{key[0]}: {key[1]}: {n}, at most {LIMITS.get(key[0], 0)}")
        elif n > allowed[key]:
            said.append(f"{key[0]}: {key[1]}: {n}, it was {allowed[key]}")
    for key, n in sorted(allowed.items()):
        if bad.get(key, 0) < n:
            said.append(f"{key[0]}: {key[1]} is {bad.get(key, 0)} now: .ci/shape.allowed has {n} (check-shape.py --list)")
    return said


def main():
    os.chdir(ROOT)
    bad, lengths = look()
    median = statistics.median(lengths)
    if "--list" in sys.argv[1:]:
        for rule, name, n in bad:
            print(rule, name, n)
        return 0
    allowed = {}
    with open(".ci/shape.allowed", encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                rule, name, n = line.split()
                allowed[rule, name] = int(n)
    said = compare({(rule, name): n for rule, name, n in bad}, allowed)
    if median > MEDIAN:
        said.append(f"function: half of them have more than {median} lines, at most {MEDIAN}")
    for line in said:
        print(f"shape: {line}", file=sys.stderr)
    return 1 if said else 0


sys.exit(main())
