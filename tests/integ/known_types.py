# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Types of the C++, Rust and Go libraries by the names that people know, and numbers of 128 bits and complex
ones: what ubp prints beside what gdb does, of the same program at the same function, by each compiler with and without
optimisation. gdb is asked for what is inside of them."""

import json
import os
import shutil
import subprocess
import sys

FIXTURES = os.path.join(os.environ["UBP_SRC"], "fixtures")
UPROBE = os.environ["UPROBE"]

# (what ubp is asked, what gdb is): of the function's parameters.
CC = [
    ("all->name", "all->name._M_dataplus._M_p"),
    ("text", "text._M_dataplus._M_p"),
    ("all->name.size", "all->name._M_string_length"),
    ("view.size", "view._M_len"),
    ("view:string", "text view._M_str view._M_len"),
    ("all->view:string", "text all->view._M_str all->view._M_len"),
    ("all->view.size", "all->view._M_len"),
    ("all->list[2].y", "all->list._M_impl._M_start[2].y"),
    ("v[1]", "v._M_impl._M_start[1]"),
    ("v.data[3]", "v._M_impl._M_start[3]"),
    ("v:s32[4]", "*v._M_impl._M_start@4"),
    ("(*names)[1]", "names->_M_impl._M_start[1]._M_dataplus._M_p"),
    ("names->data[0].size", "names->_M_impl._M_start->_M_string_length"),
    ("all->some.has_value", "all->some._M_payload._M_engaged"),
    ("all->some.value", "all->some._M_payload._M_payload._M_value"),
    ("all->none.has_value", "all->none._M_payload._M_engaged"),
    ("o.has_value", "o._M_payload._M_engaged"),
    ("all->own->x", "((Inner *)all->own._M_t._M_t)->x"),
    ("(*all->own).y", "9"),
    ("all->shared->y", "all->shared._M_ptr->y"),
    ("all->three", "all->three._M_elems"),
    ("all->three[1]", "all->three._M_elems[1]"),
    ("all->letters", "(char *)all->letters._M_elems"),
    ("all->letters:string", "(char *)all->letters._M_elems"),
    ("all->wide.low", "low all->wide"),
    ("all->wide.high", "high all->wide"),
    ("all->natural.high", "high all->natural"),
    ("wide.low", "low wide"),
    ("wide.high", "high wide"),
    ("all->precise", "all->precise"),
    ("all->precise:f80", "all->precise"),
    ("all->exact[0]", "all->exact[0]"),
    ("all->exact[1]", "all->exact[1]"),
    ("precise", "precise"),
    ("all->z.real", "$_creal(all->z)"),
    ("all->z.imag", "$_cimag(all->z)"),
    ("all->f.imag", "$_cimag(all->f)"),
    ("z.real", "$_creal(z)"),
    ("z.imag", "$_cimag(z)"),
    ("all->as_rust:string", "(char *)all->as_rust->text"),
]
RUST = [
    ("text.len", "text.length"),
    ("text:string", "text text.data_ptr text.length"),
    ("inner.name:string", "is a name"),
    ("inner.part:string", "text (*inner).part.data_ptr (*inner).part.length"),
    ("string.len", "(*string).vec.len"),
    ("vec.len", "(*vec).len"),
    ("vec[2]", "30"),
    ("slice.len", "slice.length"),
    ("slice[1]", "slice.data_ptr[1]"),
    ("option.variant", "variant option"),
    ("inner.name.len", "(*inner).name.vec.len"),
    ("inner.part.len", "(*inner).part.length"),
    ("inner.list[2]", "65535"),
    ("inner.some.variant", "variant (*inner).some"),
    ("inner.some.Some.0", "-7"),
    ("inner.none.variant", "variant (*inner).none"),
    ("*inner.there.Some.0", "5"),
    ("inner.nowhere.variant", "variant (*inner).nowhere"),
    ("inner.result.variant", "variant (*inner).result"),
    ("inner.result.Ok.0", "200"),
    ("inner.wide.low", "6"),
    ("inner.wide.high", "3"),
    ("inner.pair.0", "-1"),
    ("*inner.own", "*(*inner).own"),
]
GO = [
    ("text.len", "text.len"),
    ("text:string", "text text.str text.len"),
    ("p.name:string", "text p->name.str p->name.len"),
    ("words[1]:string", "text words.array[1].str words.array[1].len"),
    ("v.len", "v.len"),
    ("v[1]", "v.array[1]"),
    ("p.list[1]", "p->list.array[1]"),
    ("p.name.len", "p->name.len"),
    ("p.x", "p->x"),
    ("words.len", "words.len"),
    ("words[1].len", "words.array[1].len"),
]
PROGRAMS = [
    ("g++", ["-std=gnu++17", "-g", "-O0"], "known_cc.cc", "look", CC),
    ("g++", ["-std=gnu++17", "-g", "-O2"], "known_cc.cc", "look", CC),
    ("clang++", ["-std=gnu++17", "-g", "-O2"], "known_cc.cc", "look", CC),
    ("rustc", ["-g", "-Copt-level=0"], "known_rs.rs", "look", RUST),
    ("rustc", ["-g", "-Copt-level=2"], "known_rs.rs", "look", RUST),
    ("go", ["build"], "known_go.go", "main.look", GO),
]
# A whole one prints as its parts.
WHOLE = {
    "known_cc.cc": ("view o wide z all->own all->as_go *all->as_rust all->as_std $params", "view_size view_data o_has_value o_value wide_low wide_high z_real z_imag own_get "
                    "as_go_str as_go_len as_go_cap as_rust_text as_rust_n as_std__M_ptr as_std_extra "
                    "all v_data v_end view_size_2 view_data_2 o_has_value_2 o_value_2 text wide_low_2 wide_high_2 z_real_2 z_imag_2 names precise"),
    "known_rs.rs": ("text *string *vec option slice inner.result", "text_len text_data string_len string_data vec_len vec_data option_variant option_Some_0 "
                    "slice_len slice_data result_variant result_Ok_0 result_Err_0"),
    "known_go.go": ("text v p:struct", "text_len text_data v_len v_data p_name_len p_name_data p_list_len p_list_data p_x"),
}
REFUSED = {
    "known_cc.cc": [("all->quad", "all->quad is a floating-point number of 128 bits, which no fetch arg can print"),
                    ("all->exact", "all->exact is an array of long doubles: choose one by [N]"),
                    ("text.sise", "did you mean 'size'"), ("wide.hig", "did you mean 'high'")],
    "known_rs.rs": [("text.lenn", "did you mean 'len'")],
    "known_go.go": [("text.lenn", "did you mean 'len'")],
}

GDB = r'''
import gdb, json, re
out = []
def plain(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_ARRAY:
        lo, hi = kind.range()
        return [plain(value[i]) for i in range(lo, hi + 1)]
    if kind.code == gdb.TYPE_CODE_FLT:
        return float(value)
    if kind.code == gdb.TYPE_CODE_BOOL:
        return "true" if value else "false"
    if kind.code == gdb.TYPE_CODE_PTR and kind.target().strip_typedefs().sizeof == 1:
        return value.string("latin-1")
    return int(value)
def half(which, text):
    """gdb computes nothing with 128 bits, but writes them."""
    value = gdb.parse_and_eval(text)
    bits = int(value.format_string(format="x"), 16)
    if which == "low":
        return bits & (1 << 64) - 1
    return (bits >> 64) - (1 << 64 if bits >> 127 and value.type.strip_typedefs().is_signed else 0)
def ask(text):
    try:
        if text.startswith("variant "):
            return re.search(r"::(\w+)[^:]*$", str(gdb.parse_and_eval(text[8:])).split("(")[0])[1]
        if text.startswith(("low ", "high ")):
            return half(*text.split())
        if text.startswith("is "):
            return text[3:]
        if text.startswith("text "):
            at, n = (gdb.parse_and_eval(t) for t in text[5:].rsplit(" ", 1))
            return at.string("latin-1", length=int(n)) if int(n) else ""
        return plain(gdb.parse_and_eval(text))
    except gdb.error as e:
        return {"error": str(e)}
class Place(gdb.Breakpoint):
    def stop(self):
        out.append([ask(text) for text in json.load(open("wanted.json"))])
        return False
gdb.execute("set pagination off")
gdb.execute("set print inferior-events off")
Place(FUNCTION, internal=True)
if FUNCTION == "main.look":
    gdb.execute("set language c") # "len" is a word of Go's
gdb.execute("run", to_string=True)
json.dump(out, open("gdb.json", "w"))
'''


def by_gdb(program, function, wanted):
    with open("wanted.json", "w", encoding="utf-8") as f:
        json.dump(wanted, f)
    with open("in_gdb.py", "w", encoding="utf-8") as f:
        f.write(GDB.replace("FUNCTION", repr(function)))
    p = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-load off", "-x", "in_gdb.py", program],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    try:
        with open("gdb.json", encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        sys.exit(f"{program}: gdb did not tell: {p.stdout} {p.stderr}")


def by_uprobe(program, function, args):
    p = subprocess.run([UPROBE, "--json", "--lossless", "-o", "events", f"p:./{program}:{function} {args}", "--",
                        f"./{program}"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if p.returncode:
        sys.exit(f"{program} {args}: uprobe ended with {p.returncode}: {p.stderr}")
    with open("events", encoding="utf-8") as f:
        return [json.loads(line)["args"] for line in f]


def has_value(program, function, variable):
    """What is optimised out cannot be asked for; that must be the reason."""
    p = subprocess.run([UPROBE, "--check", f"p:./{program}:{function} {variable}"], capture_output=True, text=True, check=False)
    if p.returncode and "optimised out" not in p.stderr and "part of a register" not in p.stderr:
        sys.exit(f"{program}: {variable}: {p.stderr}")
    return p.returncode == 0


def compare(program, function, table):
    asked = [(ours, theirs) for ours, theirs in table if has_value(program, function, ours)]
    if len(asked) < len(table) * 3 // 4:
        sys.exit(f"{program}: only {len(asked)} of {len(table)} have values")
    seen = by_gdb(program, function, [t for _, t in asked])
    events = by_uprobe(program, function, " ".join(f"v{i}={ours}" for i, (ours, _) in enumerate(asked)))
    if program == "god" and len(seen) > 2: # Go begins a function anew when its stack has grown
        seen = [seen[0], seen[-1]]
    if len(seen) != 2 or len(events) != 2:
        sys.exit(f"{program}: {len(seen)} hits by gdb, {len(events)} by uprobe")
    same = wrong = 0
    for answers, event in zip(seen, events):
        for i, ((ours, theirs), gdb) in enumerate(zip(asked, answers)):
            if isinstance(gdb, dict) and "optimized out" in gdb["error"]:
                continue
            if event[f"v{i}"] != gdb:
                print(f"{program}: {ours} is {event[f'v{i}']!r}, but {theirs} in gdb {gdb!r}")
                wrong += 1
            same += event[f"v{i}"] == gdb
    print(f"{program}: {same} same, {wrong} wrong")
    if wrong or same < len(asked):
        sys.exit(1)


def check_whole(program, function, source):
    args, names = WHOLE[source]
    event = by_uprobe(program, function, args)[0]
    if list(event) != names.split():
        sys.exit(f"{program}: {args}: {' '.join(event)}")


def check_refusals(program, function, source):
    for arg, text in REFUSED[source]:
        p = subprocess.run([UPROBE, "--check", f"p:./{program}:{function} {arg}"], capture_output=True, text=True, check=False)
        # The caret is below the argument.
        lines = p.stderr.split("\n")
        if not p.returncode or text not in p.stderr or \
                not lines[2].index("^") - lines[1].index(arg) in range(len(arg)):
            sys.exit(f"{program}: {arg}: not '{text}': {p.stderr}")


def main():
    if not shutil.which("gdb"):
        print("needs gdb")
        return 77
    missing = set()
    for compiler, flags, source, function, table in PROGRAMS:
        if not shutil.which(compiler):
            missing.add(compiler)
            continue
        program = compiler.replace("++", "xx") + flags[-1][-1]
        subprocess.run([compiler, *flags, "-o", program, os.path.join(FIXTURES, source)], check=True)
        compare(program, function, table)
        if flags[-1] in ("-O0", "-Copt-level=0", "build"): # all have values
            check_whole(program, function, source)
            check_refusals(program, function, source)
    if missing:
        print("the rest needs " + ", ".join(sorted(missing)))
        return 77
    return 0


sys.exit(main())
