#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Files that a target chose: without end, sparse, packed, devices, and in another root. What is read and kept of
them is bounded and told, and names of another root are never looked up in ours."""

import ctypes
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402
from hostile import (ENV, FIXTURES, MIB, UPROBE, fail, has, interrupted, put, sections, sparse, tell_missing,  # noqa: E402
                     ticks, tool, uprobe)


def with_link(path, name, crc=1234):
    """hello without names, that says they are in @name."""
    tool("objcopy", "--strip-debug", "--remove-section", ".note.gnu.build-id", f"{FIXTURES}/hello", path)
    with open("link", "wb") as file:
        text = name.encode() + b"\0"
        file.write(text + b"\0" * (-len(text) % 4) + struct.pack("<I", crc))
    tool("objcopy", "--add-section", ".gnu_debuglink=link", path)


def debuglink():
    """A link to what cannot be read to its end, or must not be opened."""
    os.mkdir("link.d")
    with_link("link.d/hello", "huge.debug")
    with open(f"{FIXTURES}/hello", "rb") as file:
        head = file.read()
    sparse("link.d/huge.debug", 4 << 40, head)
    text = uprobe("--vars", "main", "link.d/hello")
    if "huge.debug is too large for its checksum to be made" not in text:
        fail(f"a debuglink to 4 TB: {text}")
    for make in os.mkfifo, lambda path: os.symlink("/dev/zero", path), os.mkdir:
        os.unlink("link.d/huge.debug")
        make("link.d/huge.debug")
        text = uprobe("--vars", "main", "link.d/hello")
        if "no huge.debug near it" not in text:
            fail(f"a debuglink to what is no file: {text}")
        if os.path.isdir("link.d/huge.debug"):
            break


def with_debug_info(path, packed, size):
    """hello with a compressed .debug_info of these bytes, which says that it becomes @size."""
    shutil.copy(f"{FIXTURES}/hello", path)
    with open("packed", "wb") as file:
        file.write(struct.pack("<IIQQ", 1, 0, size, 1) + packed)
    tool("objcopy", "--update-section", ".debug_info=packed", path)
    at, _, _ = sections(path)[".debug_info"]
    put(path, at + 8, 0x800)  # SHF_COMPRESSED


def debug_info():
    """Packed a thousand times, more than memory, and sparse."""
    zeros = zlib.compress(bytes(256 * MIB), 9)
    with_debug_info("bomb", zeros, 256 * MIB)
    text = uprobe("--vars", "main", "./bomb")
    if not re.search(r"\.debug_info says that \d+ bytes of it become 268435456: the debug information is not read", text):
        fail(f"packed debug information: {text}")
    with_debug_info("bomb", zeros, 1 << 45)
    text = uprobe("--vars", "main", "./bomb")
    if "its debug information takes more than" not in text:
        fail(f"packed debug information: {text}")
    # Its functions can be traced all the same.
    uprobe("--check", "p:./bomb:greet", status=0)
    shutil.copy(f"{FIXTURES}/hello", "sparse")
    end = os.path.getsize("sparse")
    os.truncate("sparse", 1 << 43)
    all_sections = sections(f"{FIXTURES}/hello")
    put("sparse", all_sections[".debug_info"][0] + 24, end, 1 << 42)
    text = uprobe("--vars", "main", "./sparse")
    if "its debug information takes more than" not in text:
        fail(f"sparse debug information: {text}")
    for name in ".note.gnu.build-id", ".shstrtab":
        shutil.copy(f"{FIXTURES}/hello", "sparse")
        os.truncate("sparse", 1 << 43)
        offset = all_sections[name][1]
        put("sparse", all_sections[name][0] + 24, offset, 1 << 35)
        text = uprobe("-l", "./sparse")
        if "nothing of it is read" not in text:
            fail(f"{name} without end: {text}")


# A unit; what stands for DIES are lexical blocks. Blocks 2 say where their sibling is, blocks 3 do not, and 4 have nothing in them; 5
# have so many attributes, none of which takes a byte. 6 are functions without anything, 7 variables,
# 8 types with what is in them, 9 a function with its name and code.
UNIT = """
	.globl main
	.type main,@function
main:	ret
.Lend:	.size main,.-main
	.section .debug_abbrev,"",@progbits
	.byte 1,0x11,1,0x13,5,0x11,1,0x12,7,0,0
	.byte 2,0x0b,1,0x01,0x13,0,0
	.byte 3,0x0b,1,0,0
	.byte 4,0x0b,0,0,0
	.byte 5,0x0b,0
	.fill FLAGS,2,0x193f
	.byte 0,0
	.byte 6,0x2e,0,0,0
	.byte 7,0x34,0,0x03,8,0x02,0x18,0,0
	.byte 8,0x15,1,0,0
	.byte 9,0x2e,1,0x03,8,0x11,1,0x12,7,0,0
	.byte 0
	.section .debug_info,"",@progbits
.Lunit:	.long .Lunit_end-.Lbegin
.Lbegin: .value 4
	.long .debug_abbrev
	.byte 8,1
	.value 12
	.quad main, .Lend-main
DIES
	.byte 0
.Lunit_end:
	.section .note.GNU-stack,"",@progbits
"""


def with_unit(dies, flags=0):
    """prog, with these DIEs."""
    subprocess.run(("gcc", "-x", "assembler", "-", "-o", "prog"), text=True, check=True,
                   input=UNIT.replace("DIES", dies).replace("FLAGS", str(flags)))


def disorder():
    """DIEs that lead back into each other, and those inside each other: there is an end to them, and it is told."""
    if not has("gcc"):
        return
    # Each is walked over once as what is in the one before, and once as what follows it: 2 to the 60.
    back = "".join(f".L{i}: .byte 2\n.long .L{i + 1}-.Lunit\n" for i in range(60)) + ".L60: .byte 0\n" + ".byte 0\n" * 60
    # libdw goes over all of them for each that they are in.
    deep = ".fill 120,1,3\n.fill 16<<20,1,4\n.fill 120,1,0\n"
    for dies, want in ((back, "its entries are not in order"), (deep, "takes too long to read")):
        with_unit(dies)
        text = uprobe("--vars", "main", "./prog")
        if want not in text or text.count("\n") > 2:
            fail(f"{want}: {text}")
    interrupted("--vars", "main", "./prog")
    interrupted("p:./prog:main x=nosuch")


# Types of a million members with a million attributes each: libdw goes over all of them in one call, which takes hours.
HOURS = ".byte 8\n.fill 1<<20,1,5\n.byte 0\n", 1 << 20
TOO_LONG = "uprobe: error: the debug information of ./prog takes too long to read: more than 5 seconds, as no sound file of its size does\n"


def one_call():
    """A call of libdw's without end is left to itself: by the limit, and by INT and TERM."""
    if not has("gcc"):
        return
    with_unit(*HOURS)
    # Each takes its 5 seconds.
    ways = ("--vars", "main", "./prog"), ("--lines-of", "main", "./prog"), ("p:./prog:main x=nosuch",)
    for args in ways if os.environ.get("UBP_ALL") else ways[:1]:
        text = uprobe(*args, limit=600)
        if text != TOO_LONG:
            fail(f"a call without end: {args}: {text}")
    interrupted("--vars", "main", "./prog")


def variables():
    """A function of many variables, of which each hides others of its name: the clock runs there, too."""
    if not has("gcc"):
        return
    some = "".join(f'.byte 7\n.asciz "a_variable_{i}"\n.byte 1,0x50\n' for i in range(1 << 18))
    with_unit('.byte 9\n.asciz "main"\n.quad main, .Lend-main\n' + some + ".byte 0\n")
    text = uprobe("--vars", "main", "./prog", limit=600)
    if text != TOO_LONG:
        fail(f"many variables: {text}")


def functions():
    """More functions in a unit than any program has."""
    if not has("gcc"):
        return
    with_unit(".fill 9<<20,1,6\n")
    text = uprobe("--vars", "main", "./prog", limit=600)
    if "a unit with more than 8388608 functions" not in text:
        fail(f"9 million functions: {text}")


# Says that it is ready, and calls a function when it is told to.
CALLER = """
#include <stdio.h>
__attribute__((noinline)) int called(int c) { return c + 1; }
int main(void)
{
	puts("ready");
	fflush(stdout);
	int c = called(getchar());
	return getchar() == EOF && c == '\\n' + 1 ? 0 : 1;
}
"""


def names_without_end():
    """Names and lines for a stack: INT and TERM end that at once, and without them the file is left alone by itself."""
    if not has("gcc"):
        return
    with open("caller.c", "w", encoding="ascii") as file:
        file.write(CALLER)
    unit = UNIT[UNIT.index("\t.section .debug_abbrev"):].replace("main, .Lend-main", "called, 64")
    with open("unit.s", "w", encoding="ascii") as file:
        file.write(unit.replace("DIES", HOURS[0]).replace("FLAGS", str(HOURS[1])))
    subprocess.run(("gcc", "-O1", "-no-pie", "caller.c", "unit.s", "-o", "caller"), check=True)
    for number in signal.SIGINT, signal.SIGTERM, None:
        with subprocess.Popen("./caller", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
            if target.stdout.readline() != b"ready\n":
                fail("caller does not get ready")
            with tracer.start("-s", "--stack=fp", "--lines", "--mode=trap", "-p", str(target.pid), "p:./caller:called",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)[0] as p:
                used = ticks(p.pid)
                target.stdin.write(b"\n")
                target.stdin.flush()
                want = "ended while names in "
                if number:
                    while ticks(p.pid) < used + 20 and p.poll() is None:
                        pass
                    p.send_signal(number)
                else:
                    want = " takes too long to read: more than 5 seconds"
                    text = read_until(p, "", " => ", 1)
                    p.terminate()
                said = p.communicate(timeout=600)[0].decode() + ("" if number else text)
            if p.returncode or said.count(want) != 1 or not re.search(r" called: .*\n.* <user stack trace>\n =>", said):
                fail(f"names without end, signal {number}: {p.returncode} {said}")
            target.stdin.close()
            if target.wait(60):
                fail(f"after that the target ends with {target.returncode}")


# A function with many scopes, of which none covers any code, and many lines. Each row of its line table is looked for in all of them.
SCOPES = """
	.file 1 "scopes.c"
	.globl main
	.type main,@function
main:
	.set line,1
	.rept ROWS
	.loc 1 line
	nop
	.set line,line+1
	.endr
	ret
.Lend:	.size main,.-main
	.section .debug_abbrev,"",@progbits
	.byte 1,0x11,1,0x13,5,0x11,1,0x12,7,0x10,0x17,0,0
	.byte 2,0x2e,1,0x03,8,0x11,1,0x12,7,0x3a,0x0b,0x3b,0x0b,0,0
	.byte 3,0x0b,0,0,0
	.byte 0
	.section .debug_info,"",@progbits
	.long .Lunit_end-.Lbegin
.Lbegin: .value 4
	.long .debug_abbrev
	.byte 8,1
	.value 12
	.quad main, .Lend-main
	.long .Ltable
	.byte 2
	.asciz "main"
	.quad main, .Lend-main
	.byte 1,1
	.fill SCOPES,1,3
	.byte 0,0
.Lunit_end:
	.section .debug_line,"",@progbits
.Ltable:
	.section .note.GNU-stack,"",@progbits
"""


def lines():
    """Line tables: rows that are looked for in many scopes, and a table without end for one unit."""
    if not has("gcc"):
        return
    subprocess.run(("gcc", "-x", "assembler", "-", "-o", "prog"),
                   input=SCOPES.replace("ROWS", "20000").replace("SCOPES", str(1 << 20)), text=True, check=True)
    text = uprobe("--lines-of", "main", "./prog")
    if "takes too long to read" not in text or text.count("\n") > 2:
        fail(f"rows times scopes: {text}")
    interrupted("--lines-of", "main", "./prog")
    subprocess.run(("gcc", "-g", "-x", "c", "-", "-o", "prog"), input="int main(int c)\n{\n\treturn c;\n}\n", text=True, check=True)
    at, offset, size = sections("prog")[".debug_line"]
    with open("prog", "rb") as file:
        file.seek(offset)
        table = file.read(size)
    # Rows of a byte each; a table that is no table; one whose operations are not what they should be, and hide rows.
    header = table[:12 + struct.unpack_from("<I", table, 8)[0]]
    for body in (b"\x4b" * (4 << 20), bytes(33 << 20), b"\0\x7f\x01" + b"\x4b" * (4 << 20), b"\0\x80\x01" + b"\x4b" * (4 << 20)):
        with open("prog", "r+b") as file:
            end = file.seek(0, os.SEEK_END)
            file.write(struct.pack("<I", len(header) - 4 + len(body)) + header[4:] + body)
        put("prog", at + 24, end, len(header) + len(body))
        for args in ("--lines-of", "main", "./prog"), ("--check", "p:./prog:main:2"):
            text = uprobe(*args)
            if "has a line table of more than 3000000 rows for one unit: it is not read" not in text or text.count("\n") > 3:
                fail(f"a line table of {len(body)} bytes: {args}: {text}")
    # Its functions can be traced all the same.
    uprobe("--check", "p:./prog:main", status=0)


def frames_of_variables():
    """Where a variable is on the frame, call frame information tells: not if there are gigabytes of it."""
    if not has("gcc"):
        return
    subprocess.run(("gcc", "-g", "-O0", "-x", "c", "-", "-o", "prog"), input="int main(int c)\n{\n\treturn c;\n}\n", text=True,
                   check=True)
    uprobe("--check", "p:./prog:main:2 c", status=0)
    at, end = sections("prog")[".eh_frame"][0], os.path.getsize("prog")
    os.truncate("prog", 1 << 40)
    put("prog", at + 24, end, 900 << 20)
    text = uprobe("--check", "p:./prog:main:2 c")
    if "more than 64 MiB of call frame information" not in text:
        fail(f"900 MB of call frame information: {text}")


def reads(process, path, more):
    """Until it has the file open, and has had the processor for so many ticks more."""
    is_open, until = False, 0
    while process.poll() is None:
        used = ticks(process.pid)
        if is_open and used >= until:
            return
        if not is_open:
            for fd in os.listdir(f"/proc/{process.pid}/fd"):
                try:
                    is_open = is_open or os.readlink(f"/proc/{process.pid}/fd/{fd}") == path
                except OSError:
                    pass
            until = used + more


def symbols():
    """A program with millions of symbols, which are read in order to plant in it: INT and TERM end that, and it is told."""
    shutil.copy(f"{FIXTURES}/hello", "symbols")
    text, names = sections("symbols")[".symtab"], sections("symbols")[".strtab"]
    with open("symbols", "r+b") as file:
        end = file.seek(0, os.SEEK_END)
        name = file.write(b"\0some\0")
        some = b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, i, 1) for i in range(1 << 16))
        begin = file.tell()
        for _ in range(128):
            file.write(some)
    put("symbols", text[0] + 24, begin, 128 * len(some))
    put("symbols", names[0] + 24, end, name)
    with subprocess.Popen("./symbols", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        if target.stdout.readline() != b"ready\n":
            fail("hello does not get ready")
        for number in signal.SIGINT, signal.SIGTERM:
            with subprocess.Popen((UPROBE, "-p", str(target.pid), "r:libc:puts"), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, env=ENV, text=True) as p:
                reads(p, os.path.abspath("symbols"), 5)
                p.send_signal(number)
                said = p.stderr.read()
            if p.returncode != 1 or not re.fullmatch(r"uprobe: error: ended while \S*/symbols was read, before all probes were planted\n", said):
                fail(f"{number} while symbols are read: {p.returncode} {said}")
        target.communicate(b"go\n")
        if target.returncode:
            fail(f"after that the target ends with {target.returncode}")


def source():
    """Debug information names the source: a fifo, a device, a line without end; lines as DOS has them."""
    if not has("gcc"):
        return
    os.mkfifo("fifo.c")
    sparse("endless.c", 60 << 30)
    with open("dos.c", "wb") as file:
        file.write(b"int main(void)\r\n{\r\n\treturn 0;\r\n}\r\n")
    for name, want in (("fifo.c", "(no source there: "), ("/dev/zero", "(no source there: "), ("endless.c", "      0  \n"),
                       ("dos.c", "      0  int main(void)\n         {\n      2  \treturn 0;\n")):
        text = f'# 1 "{os.path.abspath(name)}"\nint main(void)\n{{\n\treturn 0;\n}}\n'
        subprocess.run(("gcc", "-g", "-O0", "-x", "c", "-", "-o", "prog"), input=text, text=True, check=True)
        if want not in uprobe("--lines-of", "main", "./prog", status=0):
            fail(f"--lines-of with {name}: {uprobe('--lines-of', 'main', './prog', status=0)!r}")


def call_frames():
    """Call frame information that takes long is not read at a hit, which others wait behind; the stack is found without."""
    if not has("gcc"):
        return
    text = "int main(void)\n{\n\treturn 0;\n}\n"
    for options, section, want in ((("-fno-asynchronous-unwind-tables",), ".debug_frame", "its debug information takes more than 64 MiB"),
                                   ((), ".eh_frame", "its .eh_frame has more than 64 MiB")):
        subprocess.run(("gcc", "-g", "-O0", *options, "-x", "c", "-", "-o", "prog"), input=text, text=True, check=True)
        with open("frames", "wb") as file:
            file.write(bytes(16))
        if section not in sections("prog"):
            tool("objcopy", "--add-section", f"{section}=frames", "prog")
        at, end = sections("prog")[section][0], os.path.getsize("prog")
        os.truncate("prog", 1 << 40)
        put("prog", at + 24, end, 2 << 30)
        said = uprobe("--stack=cfi", "--mode=trap", "p:./prog:main", "--", "./prog", status=0)
        if said.count(want) != 1 or not re.search(r"prog-\d+ .* main: ", said) or "=> " not in said:
            fail(f"{section} of 2 GB: {said}")


class Target:
    """A program that made code, and says what it likes of it."""

    def __init__(self, *args):
        self.run = subprocess.Popen(args + (f"{FIXTURES}/stack_jit", "1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.run.stdout.readline() != b"ready\n":
            fail("stack_jit does not get ready")

    def go(self):
        """A line for each of its two steps."""
        self.run.stdin.write(b"go\n")
        self.run.stdin.flush()

    def end(self):
        """It ends well."""
        self.run.stdin.close()
        if self.run.wait(60) != 0:
            fail("stack_jit ended badly")


def perf_map():
    """/tmp/perf-PID.map is 60 GB without a newline."""
    target = Target()
    path = f"/tmp/perf-{target.run.pid}.map"
    try:
        sparse(path, 60 << 30, b"1000 10 early\n")
        text = traced(target)
        if text.count(f"perf-{target.run.pid}.map of process {target.run.pid} has a line of more than 65536 bytes: the rest of it "
                      "is not read") != 1:
            fail(f"60 GB without a newline: {text}")
    finally:
        if os.path.exists(path):
            os.unlink(path)


# Its program's /tmp becomes a file system that never answers, once the program is ready. The last argument is the program.
SILENT = """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x44000, None):
    sys.exit(os.strerror(ctypes.get_errno()))
p = subprocess.Popen(sys.argv[1:], stdin=0, stdout=subprocess.PIPE)
p.stdout.readline()
if libc.mount(b"silent", b"/tmp", b"fuse.silent", 6, f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
print(p.pid, flush=True)
p.wait()
"""


def silent_names():
    """Names are looked up on a file system that never answers: hits go on, another target's too, and the end comes."""
    if not has("/dev/fuse"):
        return
    other = Target()
    with subprocess.Popen((sys.executable, "-c", SILENT, f"{FIXTURES}/stack_jit", "1"), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as run:
        pid = int(run.stdout.readline())
        with tracer_of_stacks(pid, other.run.pid) as p:
            text = ""
            for each, tid in (run, pid), (other.run, other.run.pid):
                each.stdin.write(b"go\n")
                each.stdin.flush()
                text = read_until(p, text, f"-{tid} ", 2)
            p.terminate()
            text += p.stdout.read().decode()
            if p.wait(30) != 0 or not all(text.count(f"-{tid} ") >= 2 for tid in (pid, other.run.pid)):
                fail(f"names that never answer: {text}")
        text = uprobe("-p", str(pid), "p:/tmp/folder/prog:main")
        if "its file system does not answer" not in text:
            fail(f"a name that never answers: {text}")
        os.kill(pid, 9)
        other.go()
        other.end()


def tracer_of_stacks(*pids):
    """uprobe on these stack_jit; all that it says comes from its output."""
    return tracer.start("--stack=fp", "--mode=trap", "-p", ",".join(map(str, pids)), f"p:{FIXTURES}/stack_jit:callee+4",
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)[0]


def read_until(process, text, what, n):
    """@text and what it says until @what is in there @n times, or its end."""
    while text.count(what) < n:
        line = process.stdout.readline().decode()
        if not line:
            break
        text += line
    return text


def traced(target):
    """What is said of a run with stacks."""
    with tracer_of_stacks(target.run.pid) as p:
        target.go()
        # At its end the program takes the file away.
        text = read_until(p, "", " => main+", 2)
        target.go()
        target.end()
        text += p.stdout.read().decode()
    if text.count(": callee_0x4: ") != 2 or p.returncode:
        fail(f"status {p.returncode}: {text}")
    return text


def other_root():
    """A program in a root of its own: names in it mean nothing in ours."""
    os.makedirs("root/opt")
    os.mkdir("ours")
    folder = os.getcwd() + "/ours"
    shutil.copy(f"{FIXTURES}/hello", "ours/real.debug")
    with open("ours/real.debug", "rb") as file:
        crc = zlib.crc32(file.read())
    with_link("ours/hello", "real.debug", crc)
    # Here it is found ...
    if "Available variables at main" not in uprobe("--vars", "main", "ours/hello", status=0):
        fail("the debug file beside is not found")
    # ... and not by a program of another root that has the same path there.
    os.makedirs("root" + folder)
    shutil.copy("ours/hello", "root" + folder)
    for lib in re.findall(r"(/\S+) \(0x", subprocess.run(("ldd", "ours/hello"), capture_output=True, text=True, check=True).stdout):
        os.makedirs("root" + os.path.dirname(lib), exist_ok=True)
        shutil.copy(lib, "root" + lib)
    with subprocess.Popen(("chroot", "root", folder + "/hello"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        if p.stdout.readline() != b"ready\n":
            fail("hello does not get ready")
        text = uprobe("-p", str(p.pid), f"p:{folder}/hello:greet times")
        if "no real.debug near it" not in text:
            fail(f"in another root: {text}")
        # An absolute link there leads to what is there, and a "..", too.
        shutil.copy("ours/real.debug", "root/opt/real.debug")
        for to in "/opt/real.debug", "../" * 20 + "opt/real.debug":
            os.symlink(to, "root" + folder + "/real.debug")
            uprobe("--check", "-p", str(p.pid), f"p:{folder}/hello:greet times", status=0)
            os.unlink("root" + folder + "/real.debug")
        os.symlink(folder + "/../ours/real.debug", "root" + folder + "/real.debug")
        uprobe("--check", "-p", str(p.pid), f"p:{folder}/hello:greet times")
        p.communicate(b"go\n")


def main():
    """All of it."""
    if os.getuid() or ctypes.sizeof(ctypes.c_void_p) < 8:
        print("needs root, and 64 bits")
        sys.exit(77)
    if not has("objcopy"):
        print("needs objcopy")
        sys.exit(77)
    debuglink()
    debug_info()
    disorder()
    one_call()
    if os.environ.get("UBP_ALL"):
        variables()
        functions()
    names_without_end()
    lines()
    frames_of_variables()
    call_frames()
    symbols()
    source()
    if os.uname().machine == "x86_64":
        perf_map()
        silent_names()
    other_root()
    tell_missing()


main()
