# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Variables at a place: what ubp prints must be what gdb prints, for C, C++ and Rust, by each
compiler, at each level of optimisation, in DWARF 4 and 5 (at each level one of them, with UBP_ALL=1
both); and where gdb says <optimized out>, ubp must say so before it plants anything.

The fixtures say what is to be seen where: behind "place:" stand a name and variables.
"""

import json
import os
import re
import shutil
import subprocess
import sys

SRC = os.environ["UBP_SRC"]
FIXTURES = os.path.join(SRC, "fixtures")
VARS_AT = os.path.join(os.environ["TOOLS"], "vars_at")
UPROBE = os.environ["UPROBE"]
HITS = 2

# What may be had by gdb alone: these are said, not guessed.
CANNOT = re.compile(
    r"This part of it is optimised out|is computed|computed from memory|value that it had at the entry|frame, which is not made yet|"
    r"lies in several pieces|part of its value|part of a register|points to what is optimised|"
    r"not in memory here|virtual base|which no fetch arg can print|is no single value|"
    r"array of no single values|in the middle of")

# Of what is computed these are fetch args, whichever compiler computes them.
MUST = {"eighth", "triple", "less", "low", "rest", "middle", "is_below", "is_odd"}


def places(source):
    """{name: (line, [variable])}: of the lines with "place:"; "place-below:" is of the next
    line of code, "and:" goes on."""
    found, pending = {}, None
    with open(source, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = re.search(r"(place|place-below|and): ([^*]+(?:\*(?!/)[^*]*)*)", line)
            if m:
                words = m.group(2).split()
                if m.group(1) == "and":
                    pending[1].extend(words)
                else:
                    pending = found[words[0]] = [number, words[1:]]
                    continue_here = m.group(1) == "place"
            elif pending and not continue_here:
                pending[0] = number
                continue_here = True
    return found


GDB = r'''
import gdb, json
table = json.load(open("places.json"))
out = []

def plain(value):
    kind = value.type.strip_typedefs()
    code = kind.code
    if value.is_optimized_out:
        return None
    if code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return plain(value.referenced_value())
    if code == gdb.TYPE_CODE_ARRAY:
        lo, hi = kind.range()
        of = kind.target().strip_typedefs()
        if of.sizeof == 1 and of.name == "char":
            return {"text": bytes(int(value[i]) & 255 for i in range(lo, hi + 1)).split(b"\0")[0].decode("latin-1")}
        return [plain(value[i]) for i in range(lo, hi + 1)]
    if code == gdb.TYPE_CODE_FLT:
        return float(value) if kind.sizeof in (4, 8) or kind.name == "long double" else {"refuse": 1}
    if code == gdb.TYPE_CODE_ENUM:
        return {"name": str(value), "value": int(value)}
    if code == gdb.TYPE_CODE_BOOL:
        return {"name": "true" if int(value) else "false", "value": int(value)}
    if code in (gdb.TYPE_CODE_PTR,):
        return {"pointer": int(value) != 0}
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_COMPLEX):
        return {"refuse": 1}
    if kind.sizeof == 1 and kind.name == "char":
        return {"char": int(value) & 255}
    return int(value)

def evaluate(text):
    if "==" in text: # what gdb has no way to say
        return {"value": text.split("==")[1]}
    name, _, form = text.rpartition(":") if ":" in text.replace("::", "") else (text, "", "")
    # Rust's tuples, and its slices by an element.
    if table["language"] == "rust":
        import re
        name = re.sub(r"^slice\[(\d+)\]", r"slice.data_ptr[\1]", name)
    try:
        value = gdb.parse_and_eval(name)
        if form == "string":
            if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
                value = value.referenced_value()
            if value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
                value = value["_M_dataplus"]["_M_p"]
            if value.is_optimized_out:
                return None
            return {"text": value.string("latin-1")}
        value.fetch_lazy()
        return plain(value)
    except gdb.error as e:
        if "optimized out" in str(e):
            return None
        return {"error": str(e)}

class Place(gdb.Breakpoint):
    def __init__(self, name, pc, base, variables):
        super().__init__("*0x%x" % pc, internal=True)
        self.what, self.pc, self.base, self.variables, self.hits = name, pc, base, variables, 0
    def stop(self):
        self.hits += 1
        if self.hits <= table["hits"]:
            out.append({"place": self.what, "pc": self.pc - self.base, "hit": self.hits,
                        "values": {v: evaluate(v) for v in self.variables}})
        return False

gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set print inferior-events off")
static = {}
for name, (line, variables) in table["places"].items():
    try:
        static[name] = [s.pc for s in gdb.decode_line("%s:%d" % (table["source"], line))[1] or () if 0 <= s.line - line <= 2]
    except gdb.error:
        static[name] = []
gdb.execute("set language c")
main = int(gdb.parse_and_eval("(long)&main"))
gdb.execute("starti", to_string=True)
base = int(gdb.parse_and_eval("(long)&main")) - main
for name, pcs in static.items():
    for pc in pcs:
        Place(name, pc + base, base, table["places"][name][1])
for name, variables in table["entries"].items():
    try:
        pc = int(gdb.parse_and_eval("(long)&%s" % name))
    except gdb.error:
        continue
    Place("entry of " + name, pc, base, variables)
gdb.execute("set language auto")
gdb.execute("continue", to_string=True)
json.dump(out, open("gdb.json", "w"))
'''


def by_gdb(program, source, language, table, at_entry):
    with open("places.json", "w", encoding="utf-8") as f:
        json.dump({"source": os.path.basename(source), "language": language, "places": table,
                   "entries": at_entry, "hits": HITS}, f)
    with open("in_gdb.py", "w", encoding="utf-8") as f:
        f.write(GDB)
    if os.path.exists("gdb.json"):
        os.unlink("gdb.json")
    p = subprocess.run(["gdb", "-nx", "-batch", "-x", "in_gdb.py", program],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if not os.path.exists("gdb.json"):
        sys.exit(f"gdb did not tell: {p.stdout} {p.stderr}")
    with open("gdb.json", encoding="utf-8") as f:
        return json.load(f)


def resolve(program, pc, variables):
    names = [v.split("==")[0] for v in variables]
    p = subprocess.run([VARS_AT, program, hex(pc)] + names, capture_output=True, text=True,
                       check=False)
    lines = p.stdout.split("\n")[:-1]
    if p.returncode != 0 or len(lines) != len(variables):
        sys.exit(f"vars_at {program} {pc:#x}: {p.returncode} {p.stdout} {p.stderr}")
    return dict(zip(variables, lines))


def foffset(program, vaddr):
    out = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True)
    for m in re.finditer(r"^ +LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", out.stdout, re.M):
        off, start, size = (int(x, 16) for x in m.groups())
        if start <= vaddr < start + size:
            return vaddr - start + off
    sys.exit(f"{vaddr:#x} is not in {program}")


def by_uprobe(program, wanted):
    """[(pc, hit)] -> {variable: text}."""
    lines = []
    for n, (pc, variables) in enumerate(wanted.items()):
        args = " ".join(f"v{i}={definition}" for i, definition in enumerate(variables.values()))
        lines.append(f"p:v/p{n} {program}:{foffset(program, pc):#x} {args}")
    with open("definitions", "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    p = subprocess.run([UPROBE, "--lossless", "-o", "events", "-f", "definitions", "--", program],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if p.returncode != 0:
        sys.exit(f"uprobe ended with {p.returncode}: {p.stderr}\n" + "\n".join(lines))
    found, hits = {}, {}
    pcs = list(wanted)
    with open("events", encoding="latin-1") as f:
        for line in f:
            m = re.search(r" p(\d+): \(0x\w+\)(.*)$", line)
            if not m:
                continue
            pc = pcs[int(m.group(1))]
            hits[pc] = hits.get(pc, 0) + 1
            values = re.findall(r" v(\d+)=(\"[^\"]*\"|'.'|\{[^}]*\}|\([^)]*\)|[^ ]*)", m.group(2))
            names = list(wanted[pc])
            found[pc, hits[pc]] = {names[int(i)]: text for i, text in values}
    return found


def number(text):
    return float(text) if re.search(r"[.einf]", text) and not text.startswith("0x") else int(text, 0)


def same(gdb, text):
    """Is @text, as uprobe prints it, what gdb's value is?"""
    if isinstance(gdb, list):
        parts = text.strip("{}").split(",")
        return len(parts) == len(gdb) and all(same(g, t) for g, t in zip(gdb, parts))
    if isinstance(gdb, dict):
        if "text" in gdb:
            return text == f'"{gdb["text"]}"'
        if "char" in gdb:
            return text in (f"'{chr(gdb['char'])}'", str(gdb["char"]))
        if "value" in gdb and len(gdb) == 1:
            return text == gdb["value"]
        if "pointer" in gdb:
            return (int(text, 16) != 0) == gdb["pointer"]
        if "name" in gdb:
            plain = re.sub(r"[() ]|\w+::", "", gdb["name"])
            return text.replace(" ", "").strip("()") in (plain, str(gdb["value"]))
        return False
    if isinstance(gdb, float):
        return abs(float(text) - gdb) <= 1e-5 * max(1.0, abs(gdb))
    try:
        return number(text) == gdb
    except ValueError:
        return False


class Count:
    same = gone = refused = wrong = 0


def check(program, source, language, at_entry, count):
    table = places(source)
    seen = by_gdb(program, source, language, table, at_entry)
    if not seen:
        sys.exit(f"{program}: gdb stopped nowhere")
    resolved, wanted = {}, {}
    for hit in seen:
        pc = hit["pc"]
        if pc in resolved:
            continue
        resolved[pc] = resolve(program, pc, list(hit["values"]))
        wanted[pc] = {v: r.split("\t")[0] for v, r in resolved[pc].items()
                      if not re.match(r"E[A-Z]+ \d", r)}
    events = by_uprobe(program, {pc: w for pc, w in wanted.items() if w})
    for hit in seen:
        for variable, value in hit["values"].items():
            answer = resolved[hit["pc"]][variable]
            where = f"{program} {hit['place']} {hit['pc']:#x} {variable}"
            if isinstance(value, dict) and "error" in value:
                if "Cannot access memory" in value["error"]: # read all the same: zero, (fault)
                    continue
                if not answer.startswith("E"):
                    print(f"{where}: {answer}, but gdb: {value['error']}")
                    count.wrong += 1
                continue
            if variable not in wanted[hit["pc"]]:
                told = isinstance(value, dict) and list(value) == ["value"]
                if (value is None or told) and answer.startswith("ENODATA"):
                    count.gone += 1
                elif value is not None and CANNOT.search(answer) and variable not in MUST:
                    count.refused += 1
                elif value is None and CANNOT.search(answer):
                    count.gone += 1
                else:
                    print(f"{where}: {answer}, but gdb: {value}")
                    count.wrong += 1
                continue
            text = events.get((hit["pc"], hit["hit"]), {}).get(variable)
            if text is None or value is None or not same(value, text):
                print(f"{where}: {text} ({answer}), but gdb: {value}")
                count.wrong += 1
            else:
                count.same += 1


def builds():
    for n, (compiler, source) in enumerate((("gcc", "vars_c.c"), ("clang", "vars_c.c"), ("g++", "vars_cc.cc"),
                                            ("clang++", "vars_cc.cc"))):
        for level in "0123":
            for dwarf in "45" if os.environ.get("UBP_ALL") else "45"[(int(level) + n // 2) % 2]:
                program = os.path.abspath(f"{compiler}-O{level}-dwarf{dwarf}".replace("++", "xx"))
                yield (compiler, source, level, program,
                       [f"-O{level}", "-g", f"-gdwarf-{dwarf}", "-w", "-pthread"])
    for level in "023":
        program = os.path.abspath(f"rustc-O{level}")
        yield ("rustc", "vars_rs.rs", level, program, [f"-Copt-level={level}", "-g", "-Awarnings"])


# What is to be seen at a function's entry, too; a volatile parameter is stored only behind it.
ENTRIES = {"vars_c.c": {"integers", "others", "by_value", "rows", "globals"}}
STORED_LATER = {"cv"}


def entries(source, level):
    """Without optimisation all parameters are stored only behind the entry."""
    if level == "0":
        return {}
    return {name: [v for v in variables if v not in STORED_LATER]
            for name, (_, variables) in places(os.path.join(FIXTURES, source)).items()
            if name in ENTRIES.get(source, ())}


def main():
    missing = [c for c in ("gdb", "gcc", "clang", "readelf") if not shutil.which(c)]
    if missing:
        print("needs " + ", ".join(missing))
        sys.exit(77)
    wrong = 0
    total = Count()
    missing = set()
    for compiler, source, level, program, flags in builds():
        if not shutil.which(compiler):
            missing.add(compiler)
            continue
        if len(sys.argv) > 1 and sys.argv[1] not in program:
            continue
        path = os.path.join(FIXTURES, source)
        subprocess.run([compiler, *flags, "-o", program, path], check=True)
        count = Count()
        check(program, path, "rust" if compiler == "rustc" else "c", entries(source, level), count)
        print(f"{os.path.basename(program)}: {count.same} same, {count.gone} optimised out, "
              f"{count.refused} that only gdb has, {count.wrong} wrong")
        if count.same == 0:
            sys.exit(f"{program}: nothing was compared")
        if level == "0" and compiler != "rustc" and count.gone:
            wrong += count.gone
            print(f"{program}: at -O0 nothing is optimised out")
        wrong += count.wrong
        total.same += count.same
        total.refused += count.refused
    if wrong or total.refused * 10 > total.same:
        sys.exit(f"{wrong} wrong, {total.refused} refused beside {total.same} that are the same")
    if missing:
        print("the rest needs " + ", ".join(sorted(missing)))
        sys.exit(77)


if __name__ == "__main__":
    main()
