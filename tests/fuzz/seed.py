#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Write first inputs for the fuzzers: seed.py FOLDER. From the corpus of the kernel's
answers, from this machine's maps and loader's cache, and from small ELF files."""

import json
import os
import struct
import subprocess
import sys

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


class Out:
    def __init__(self, folder):
        self.folder = folder

    def put(self, name, key, data):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"seed-{key}"), "wb") as f:
            f.write(data)


def rows(name):
    with open(os.path.join(SRC, "tests/corpus", name), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


# Fetch args of extended grammar.
EXTENDED = ["%di+%si*8-16", "a=%si*4:s8", "+8(%di+%si*2+0x10):f64[3]", "%xmm15:f64 %xmm0:f32",
            "-8(%fs_base):x64 %gs_base", "+0(%di):sb5@3/16[2]", "+0(+8(%dx+%cx)):string"]


def definitions(out):
    for row in rows("definitions.jsonl"):
        text = row.get("def") or row.get("write") or ""
        if not isinstance(text, str) or len(text) > 600:
            continue
        data = text.replace("@BIN@", "/x").encode("utf-8", "surrogateescape")
        for how in (0, 1):
            out.put("definition", f"{row['id']}-{how}", bytes([how]) + data)
    short = ["p:bash:readline", "r:libc:fopen file=$retval", "bash:readline+4", "p:a/b c:0x10 x=%di",
             "libc:puts%return", "p:/bin/x:f@V +0(%di):string"]
    short += [f"p:e /x:0x10 {arg}" for arg in EXTENDED]
    for i, text in enumerate(short):
        out.put("definition", f"short{i}", b"\x04" + text.encode())
        out.put("definition", f"all{i}", b"\x02" + text.encode() + b"\np:x /y:0x1\n-:x\0-:y")


def filters(out):
    for row in rows("filters.jsonl"):
        text = row.get("filter", "")
        if len(text) < 400:
            head = bytes([0]) + struct.pack("<QQB", 1, 2, 0x41) + b"hello\0"
            out.put("filter", row["id"], head + text.encode("utf-8", "surrogateescape"))
    for i, text in enumerate(["f64 > 1.5", "f32 == -0.25e3 || f64 != .1", "e == GREEN && e & BLUE"]):
        head = bytes([3]) + struct.pack("<dQB", 1.5, 2, 0x41) + b"hello\0"
        out.put("filter", f"extended{i}", head + text.encode())


def values(out):
    for row in rows("values.jsonl"):
        args = row.get("args", "")
        if len(args) < 300:
            memory = bytes([0]) + b"\xff" * 8 + b"\x41\x01\x00" * 21 + b"text\0" + struct.pack("<Q", 0x7f0000000010)
            out.put("fetch", row["id"], args.encode() + b"\0" + memory)
            out.put("detour", row["id"], args.encode() + b"\0" + b"CPU >= 0 && COMM ~ \"lab*\"\0" + memory)


def extended_values(out):
    memory = bytes([0]) + b"\xff" * 8 + b"\x41\x01\x00" * 21 + struct.pack("<dfd", 1.5, -0.1, float("nan"))
    for i, arg in enumerate(EXTENDED):
        out.put("fetch", f"extended{i}", arg.encode() + b"\0" + memory)
        out.put("detour", f"extended{i}", arg.encode() + b"\0" + b"arg1 > 1.5 || arg1 == 3\0" + memory)


def static_probes(out):
    probes = ["python:gc__start", "p:al x:p:n arg1:string arg2", "p:g/ /a:b/c:p:n x=+8(+0(arg1)):u32 $comm",
              "p:*[x]:n? arg1:u8[4] arg1:b4@2/8 %ax", "r:a:b", "a:b arg3:f64 arg4:x16 arg99 =arg1"]
    notes = ["8@%rax -4@-16(%rbp) 2@$-5 1@%ah", "8f@%xmm0 4f@(%rdi,%rsi,8) 8@main+4(%rip)",
             "-8@%fs:16(%rax) 4@x(,%rbx,2) 8@nonsense 4@%dil", "", "4@8(%rip) -1@%r8b"]
    for i, probe in enumerate(probes):
        for j, note in enumerate(notes):
            out.put("usdt", f"{i}-{j}", f"{probe}\0{note}\0arg1 == 1 && x == \"arg2\" || arg3 & 1".encode())


def instructions(out):
    import re
    with open(os.path.join(SRC, "tests/unit/test_x86_slot.c"), encoding="utf-8") as f:
        text = f.read()
    codes = sorted(set(re.findall(r'"((?:[0-9a-f]{2}){1,15})"', text)))
    for i, code in enumerate(codes):
        out.put("insn", f"{i}", struct.pack("<QQ", 0x401000, 0x7f0000000000) + bytes.fromhex(code) + b"\x90" * 4)


def records(out):
    for probe in range(7):
        for kind in (0, 1):
            head = bytes([probe, kind, 2]) + b"\1\0\0\0" * 3 + struct.pack("<QQQQ", 1, 0x401000, 0, 3) + b"comm".ljust(15, b"\0")
            data = struct.pack("<III", 5 << 16 | 40, 3 << 16 | 45, 0) * 3 + "a\u00e9\\\"\n\0".encode() * 3
            out.put("record", f"{probe}-{kind}", head + data)


def maps(out):
    with open("/proc/self/maps", "rb") as f:
        out.put("maps", "self", f.read()[-3000:])
    odd = (b"1000-2000 r-xp 00000000 08:01 7     /a\\012b (deleted)\n"
           b"2000-3000 rw-p 00000000 00:00 0     [heap]\n"
           b"7000-9000 rwxs fff00000 fd:ffff 18446744073709551615 /a b  c\n"
           b"7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0  [stack]\n")
    out.put("maps", "odd", odd)


def ldcache(out):
    strings = b"libc.so.6\0/lib/libc.so.6\0"
    base = 48 + 24
    body = b"glibc-ld.so.cache1.1" + struct.pack("<II5I", 1, len(strings), 2, 0, 0, 0, 0)
    body += struct.pack("<iIIIQ", 0x303, base, base + 10, 0, 0) + strings
    out.put("ldcache", "new", body)
    old = b"ld.so-1.7.0\0" + struct.pack("<I", 1) + struct.pack("<iII", 3, 0, 0)
    out.put("ldcache", "old", old + b"\0" * (-len(old) % 8) + body)


ELF_SOURCES = {
    "lib": ("-shared -fPIC", "__asm__(\".symver f1,f@V1\\n.symver f2,f@@V2\");\n"
            "int f1(void); int f2(void); int f1(void){return 1;} int f2(void){return 2;}\n"
            "static int g(void){return 3;} static int (*r(void))(void){return g;}\n"
            "int i(void) __attribute__((ifunc(\"r\"))); int h(void); int h(void){return i();}\n"),
    "exe": ("-static", "void _start(void); static int f(int a){return a*a;}\n"
            "void _start(void){ for(;;) __asm__ volatile(\"\" :: \"r\"(f(3))); }\n"),
    "m32": ("-m32 -shared -fPIC", "int f(void); int f(void){return 2;}\n"),
}


def elves(out):
    folder = os.path.join(out.folder, "tmp")
    os.makedirs(folder, exist_ok=True)
    source, script, binary = (os.path.join(folder, n) for n in ("a.c", "v.map", "a.out"))
    with open(script, "w", encoding="utf-8") as f:
        f.write("V1 { global: f; h; local: *; }; V2 { global: f; } V1;\n")
    for key, (flags, text) in ELF_SOURCES.items():
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        command = ["gcc", "-O1", "-nostdlib", "-Wl,-z,noseparate-code,-z,max-page-size=4096", *flags.split(), "-o", binary, source]
        if key == "lib":
            command.append(f"-Wl,--version-script={script}")
        if subprocess.run(command, check=False).returncode != 0:
            continue
        for strip in (None, "--strip-debug", "--strip-all"):
            if strip:
                subprocess.run(["strip", strip, binary], check=True)
            with open(binary, "rb") as f:
                out.put("elf", f"{key}{strip or ''}", f.read())
    for name in (source, script, binary):
        if os.path.exists(name):
            os.unlink(name)
    os.rmdir(folder)


def operands(out):
    import re
    with open(os.path.join(SRC, "tests/unit/test_operand.c"), encoding="utf-8") as f:
        text = f.read()
    machine, found = 0, [set(), set(), set()]
    for line in text.splitlines():
        m = re.match(r"static const struct (?:good|bad) (\w+?)_(?:good|bad)", line)
        if m:
            machine = ["x86_64", "i386", "arm64"].index(m.group(1))
        m = re.match(r'\t\{ "((?:[^"\\]|\\.)*)",', line)
        if m and "EM_" not in line:
            found[machine].add(m.group(1).encode().decode("unicode_escape").encode("latin-1"))
    for machine, texts in enumerate(found):
        texts = sorted(texts)
        for i in range(0, len(texts), 8):
            head = bytes([machine | (i // 8 & 1) << 2]) + struct.pack("<Q", 0x404040)
            out.put("operand", f"{machine}-{i // 8}", head + b" ".join(texts[i:i + 8]))


def note(word, order, args, align=4, provider=b"p", name=b"n"):
    desc = struct.pack(order + 3 * word, 0x100, 0x100, 0x180) + b"\0".join((provider, name, args)) + b"\0"
    head = struct.pack(order + "III", 8, len(desc), 3) + b"stapsdt\0"
    return head + b"\0" * (-len(head) % align) + desc + b"\0" * (-len(desc) % align)


def notes(out):
    args = (b"", b"8@%rax -4@-8(%rbp)", b"4@x(%rip) 4@%fs:y@tpoff 4@z@GOTOFF(%ebx)")
    for how in range(64):
        word, order = "I" if how & 1 else "Q", ">" if how & 2 else "<"
        good = b"".join(note(word, order, a, 8 if how & 16 else 4) for a in args)
        out.put("notes", f"{how}", bytes([how]) + good)
    good = note("Q", "<", args[1])
    for i, lie in enumerate((1 << 32, 1 << 63, 1, len(good) - 1, 0xffffffffffffffff, 0x70000000)):
        for how in (64, 68):
            out.put("notes", f"lie{i}-{how}", bytes([how]) + struct.pack("<Q", lie) + good)
    for i, (namesz, descsz) in enumerate(((0xffffffff, 8), (8, 0xffffffff), (8, 0xfffffff4),
                                          (0, 0), (8, 24), (8, 27), (9, 40))):
        out.put("notes", f"size{i}", b"\0" + struct.pack("<III", namesz, descsz, 3) + good[12:])
    out.put("notes", "endless", b"\0" + good.replace(b"(%rbp)\0", b"(%rbp)x"))


VARIABLES = r"""
enum e { A, B = 4 };
struct s { int a; unsigned b : 3, c : 7; struct s *next; union { long u; char text[8]; }; enum e e; short m[2][3]; };
static struct s file_static;
__attribute__((noinline)) static long f(struct s *p, const char *q, struct s by, double d, _Bool ok)
{
    struct s local = by;
    struct { int x, y; } pair = { p->a, by.a };
    local.next = p;
    __asm__ volatile("" :: "g"(&local) : "memory");
    file_static.a += pair.x;
    return local.a + q[1] + (long)d + ok + pair.y;
}
void *memcpy(char *to, const char *from, long n) { while (n--) to[n] = from[n]; return to; }
void *memset(char *to, int c, long n) { while (n--) to[n] = c; return to; }
void _start(void);
void _start(void) { struct s s = { 1 }; for (;;) __asm__ volatile("" :: "r"(f(&s, "ab", s, 2.5, 1))); }
"""


def variables(out):
    """A variable and a type, then a program with debug information."""
    texts = [b"p->next->b\0x32\0", b"by.m[1][2]\0string\0", b"file_static.text\0char\0", b"&local.u\0u8[4]\0"]
    folder = os.path.join(out.folder, "tmp")
    os.makedirs(folder, exist_ok=True)
    source, binary = (os.path.join(folder, n) for n in ("a.c", "a.out"))
    with open(source, "w", encoding="utf-8") as f:
        f.write(VARIABLES)
    for i, (compiler, level, dwarf) in enumerate((("gcc", 0, 5), ("gcc", 2, 4), ("clang", 0, 4), ("clang", 2, 5))):
        subprocess.run([compiler, f"-O{level}", "-g", f"-gdwarf-{dwarf}", "-nostdlib", "-static", "-w",
                        "-Wl,-z,noseparate-code,-z,max-page-size=4096,--build-id=none", "-o", binary, source], check=True)
        with open(binary, "rb") as f:
            out.put("dwarf_vars", f"{compiler}{level}", texts[i] + f.read())
    for name in (source, binary):
        os.unlink(name)
    os.rmdir(folder)


def frames(out):
    """Call frame information of one CIE and one FDE over all code: what compilers write, a PLT
    entry's expression, a signal frame's, rules by registers and values."""
    def entry(body):
        body += bytes(-len(body) % 4)
        return struct.pack("<I", len(body)) + body

    expr = bytes([0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22])
    saved = b"".join(bytes([0x10, r, 3, 0x77, 0xf0 - r, 1]) for r in range(17))
    programs = {
        "plain": [b"", bytes([0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7, 8, 0xc6])],
        "states": [b"", bytes([0x41, 0x0e, 16, 0x83, 2, 0x0a, 0x42, 0x0e, 8, 0x0b, 2, 9, 0x0e, 24])],
        "plt": [b"", bytes([0x0e, 16, 0x46, 0x0e, 24, 0x4a]) + expr],
        "signal": [b"S", bytes([0x0f, 4, 0x77, 0xa0, 1, 6]) + saved],
        "rules": [b"", bytes([7, 16, 8, 3, 9, 3, 6, 0x14, 6, 2, 0x16, 3, 2, 0x76, 0, 0x11, 12, 0x7e])],
        "branch": [b"", bytes([0x16, 16, 9, 0x77, 0, 0x12, 0x28, 1, 0, 0x96, 0x19, 0x96])],
        "loop": [b"", bytes([0x16, 16, 5, 0x31, 0x2f, 0xfd, 0xff, 0x96])],
        "large": [b"", bytes([5, 0xff, 0xff, 0xff, 0x7f, 1])],
    }
    for key, (letter, program) in programs.items():
        for debug in (0, 1):
            cie_id = b"\xff\xff\xff\xff" if debug else bytes(4)
            cie = entry(cie_id + b"\1zR" + letter + bytes([0, 1, 0x78, 16, 1, 3, 0x0c, 7, 8, 0x90, 1]))
            back = 0 if debug else len(cie) + 4
            fde = entry(struct.pack("<III", back, 0, 0x10000) + b"\0" + program)
            stack = b"".join(struct.pack("<H", n * 7) for n in range(40))
            out.put("unwind", f"{key}{debug}", bytes([debug, 8]) + stack + cie + fde + bytes(4 - 4 * debug))


def leftovers(out):
    """Pages 16 to 31 an area, 32 its data, behind it tables; 200 to 215 another area, 220 a file's code."""
    maps = bytes([0x00, 15, 0x01, 127, 0x80, 15, 0x42, 15] + [7, 0] * 8)
    page = lambda n: struct.pack("<H", n)  # noqa: E731

    def head(at, then, returns, odd=0):
        return b"\0" + page(at) + bytes([9, 15, odd, odd, odd]) + page(then) + bytes([odd if then else 0, odd]) + page(returns) + bytes([0, odd])

    site = b"\1" + page(16) + (0x4000).to_bytes(3, "little") + b"\3" + page(220) + b"\0\0" + page(5)
    block = b"\2" + page(16) + page(0x5000 // 64) + b"\1" + page(220) + b"\x40" + page(512) + b"\0" + page(64) + b"\5\5\x60"
    free = b"\2" + page(16) + page(0x6000 // 64) + b"\0" + page(220) + b"\x80" + page(512) + b"\0" + page(64) + b"\5\5\x61"
    returns = b"\4" + page(33) + page(120) + b"\x10" + page(16) + page(0)
    hijacks = b"\5" + page(64) + page(130) + b"\4" + page(28) + b"\0" + b"\1" * 5
    data = b"\6\0" + page(64) + b"\0\2\0" + page(28) + b"\0\0\4\0" + (page(32) + b"\1\0\0\0") * 4 + page(32)
    code = b"\3" + page(220) + b"\0" + b"\0\0\0" + b"\0"
    whole = maps + head(16, 0, 33) + site + block + free + returns + hijacks + data + code
    out.put("leftover", "whole", whole)
    out.put("leftover", "two", maps + head(200, 0, 0) + head(16, 200, 33) + data + site)
    out.put("leftover", "self", maps + head(16, 16, 33) + data + site)
    out.put("leftover", "odd", maps + head(16, 0, 33, 254) + bytes([128] * 8) + data + returns)
    out.put("leftover", "full", maps + head(16, 0, 33) + (b"\1" + page(16) + b"\0\x40\0\xff" + page(220) + b"\0\0" + page(0)) * 2)


def main():
    out = Out(sys.argv[1])
    for make in (definitions, filters, values, extended_values, instructions, records, maps, ldcache, elves,
                 operands, notes, static_probes, variables, frames, leftovers):
        make(out)


main()
