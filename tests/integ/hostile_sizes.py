#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Small files that a target chose, and that become gigabytes: packed names, tables that lie over each other, names that
are shared, ranges without end, and files that somebody else serves. Each is refused with one line, and costs little."""

import ctypes
import lzma
import os
import shutil
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from hostile import FIXTURES, MIB, UPROBE, fail, has, interrupted, put, sections, tell_missing, tool, uprobe, used  # noqa: E402


def refused(want, memory, seconds, *args, program=UPROBE):
    """It says so once, and takes no more than that: MiB, and seconds of the processor."""
    text, mib, cpu = used(*args, program=program)
    if text.count(want) != 1 or text.count("error:") != 1:
        fail(f"{args}: {want} is not told: {text}")
    if mib > memory or cpu > seconds:
        fail(f"{args}: takes {mib} MiB and {cpu} s: {text}")


def zeros_as_xz(n):
    """xz that begins with that many times 2 MiB of zeros, and ends nowhere: one piece of it, again and again."""
    packed = lzma.compress(bytes(5 * MIB), lzma.FORMAT_XZ, lzma.CHECK_NONE)
    first = at = 12 + 4 * (packed[12] + 1)
    pieces = []
    for _ in range(2):
        size = (6 if packed[at] >= 0xc0 else 5) + struct.unpack_from(">H", packed, at + 3)[0] + 1
        pieces.append(packed[at:at + size])
        at += size
    return packed[:first] + pieces[0] + pieces[1] * n


def packed_names():
    """.gnu_debugdata that becomes 8 GiB: by what is packed in how little, and by what all of it may be."""
    bomb = zeros_as_xz(4096)
    tool("strip", "-s", "-o", "stripped", f"{FIXTURES}/hello")
    # With more bytes behind it more could be sound.
    for more, memory in (0, 200), (10 * MIB, 700):
        with open("packed", "wb") as file:
            file.write(bomb + bytes(more))
        tool("objcopy", "--add-section", ".gnu_debugdata=packed", "stripped", "prog")
        refused(".gnu_debugdata of ./prog is too large", memory, 20, "--check", "p:./prog:nosuch")
    # Its code can be traced all the same.
    uprobe("--check", f"p:./prog:0x{sections(FIXTURES + '/hello')['.text'][1]:x}", status=0)


# Units that all have the same list of ranges.
RANGES = """
	.globl main
main:	ret
	.section .debug_abbrev,"",@progbits
	.byte 1,0x11,0,0x55,0x17,0,0
	.byte 0
	.section .debug_ranges,"",@progbits
.Lranges:
	.set at,1
	.rept 5000
	.quad at,at+1
	.set at,at+1
	.endr
	.quad 0,0
	.section .debug_info,"",@progbits
	.rept UNITS
	.long 12
	.value 4
	.long .debug_abbrev
	.byte 8,1
	.long .Lranges
	.endr
	.section .note.GNU-stack,"",@progbits
"""


def ranges():
    """A unit of 16 bytes has 5000 ranges of code."""
    if not has("gcc"):
        return
    # libelf keeps what it reads; the ranges are kept as 24 bytes each, and doubled.
    subprocess.run(("gcc", "-x", "assembler", "-", "-o", "prog"), text=True, check=True,
                   input=RANGES.replace("UNITS", "20000"))
    refused("more than 8388608 code ranges of units", 500, 20, "--lines-of", "main", "./prog")
    interrupted("--lines-of", "main", "./prog")


def with_symbols(path, name, n, program=f"{FIXTURES}/hello", binding=1):
    """A program with so many functions of that name, global ones."""
    shutil.copy(program, path)
    found = sections(path)
    code = next(i for i, each in enumerate(found) if each == ".text")
    with open(path, "r+b") as file:
        at_names = file.seek(0, os.SEEK_END)
        file.write(b"\0" + name + b"\0")
        at = file.tell()
        file.write(bytes(24) + struct.pack("<IBBHQQ", 1, binding << 4 | 2, 0, code, found[".text"][1], 1) * n)
    put(path, found[".symtab"][0] + 24, at, 24 * (n + 1))
    put(path, found[".strtab"][0] + 24, at_names, len(name) + 2)


# Each S_ stands for all of what was before it: 111 bytes become 34,757.
DOUBLED = "_Z1f1XIiiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_ES_IS5_S5_ES_IS6_S6_ES_IS7_S7_ES_IS8_S8_ES_IS9_S9_E"


def shared_names():
    """A million symbols have one name, of which each would have a copy; and names that become long for people."""
    with_symbols("prog", b"a" * 4000 + b"@V", 1 << 20)
    refused("the names of its symbols take more than 64 MiB", 300, 20, "--check", "p:./prog:nosuch")
    with_symbols("prog", DOUBLED.encode(), 1 << 18)
    refused("of which not all names were read: demangled they take more than ", 500, 60, "--check", "p:./prog:ns::nosuch")
    interrupted("--check", "p:./prog:ns::nosuch")


def sources():
    """Many functions of one file have one name, and no unit says that it is theirs."""
    if not has("gcc"):
        return
    subprocess.run(("gcc", "-x", "assembler", "-", "-o", "units"), text=True, check=True,
                   input=RANGES.replace("UNITS", "1500").replace("at,1\n", "at,0x100000\n"))
    with_symbols("prog", b"same", 1 << 16, program="units", binding=0)
    refused("the sources of the functions of ./prog take too long to find: more than 10 seconds", 500, 20,
            "--check", "p:./prog:same@file.c")
    interrupted("--check", "p:./prog:same@file.c")


def with_sections(path, n, kind, flags, size):
    """hello with more sections, all in one place that is not there on the disk."""
    with open(f"{FIXTURES}/hello", "rb") as file:
        data = bytearray(file.read())
    shoff, = struct.unpack_from("<Q", data, 40)
    n_old, = struct.unpack_from("<H", data, 60)
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<H", data, 60, n_old + n)
    data += data[shoff:shoff + 64 * n_old]
    data += struct.pack("<IIQQQQIIQQ", 0, kind, flags, 0, MIB, size, 0, 0, 4, 0) * n
    with open(path, "wb") as file:
        file.write(data)
        file.truncate(MIB + size)


def one_over_the_other():
    """A hundred notes or tables that lie in the same place: each would be read."""
    with_sections("prog", 100, 7, 2, 60 * MIB)
    for name in "uprobe", "usdt":
        program = os.environ[name.upper()]
        refused("./prog: notes and links of 6000 MiB: nothing of it is read", 100, 5, "-l", "./prog", program=program)
    with_sections("prog", 100, 4, 2, 600 * MIB)
    refused("./prog: tables of 60000 MiB: nothing of it is read", 100, 5, "-l", "./prog")
    shutil.copy(f"{FIXTURES}/hello", "prog")
    with open("prog", "r+b") as file:
        data = bytearray(file.read())
        phoff, = struct.unpack_from("<Q", data, 32)
        n, = struct.unpack_from("<H", data, 56)
        for i in range(n):
            kind, = struct.unpack_from("<I", data, phoff + 56 * i)
            if kind not in (1, 2, 3, 6):
                struct.pack_into("<IIQQQQQQ", data, phoff + 56 * i, 4, 4, MIB, 0, 0, 60 * MIB, 60 * MIB, 4)
        file.seek(0)
        file.write(data)
        file.truncate(61 * MIB)
    refused(" MiB: nothing of it is read", 100, 5, "-l", "./prog")


# Serves files by FUSE, and runs the command of its arguments, which sees them. What was read is told at its end. Files: the
# name is how many MiB it has; behind the bytes of argv[1] are zeros, and "slow" ends to answer after some.
SERVER = r"""
import ctypes, os, signal, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
folder = os.path.abspath("served")
if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x44000, None) or libc.mount(
        b"served", folder.encode(), b"fuse.served", 6, f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
with open(sys.argv[1], "rb") as file:
    begin = file.read()
zeros = bytes(1 << 20)
nodes, n_read = {1: ("", 0)}, 0

def attr(node):
    size = nodes[node][1]
    return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, 0o40755 if node == 1 else 0o100755, 1, 0, 0, 0, 4096, 0)

def answer(opcode, node, body):
    global n_read
    if opcode == 26:
        return struct.pack("<IIIIHHIIHHI7I", 7, 31, 1 << 17, 0, 0, 0, 4096, 1, 0, 0, 0, *[0] * 7)
    if opcode == 1:
        name = body[:-1].decode()
        mib = name.split(".")[0]
        if not mib.isdigit():
            return -2
        nodes[len(nodes) + 1] = name, int(mib) << 20
        return struct.pack("<4Q2I", len(nodes), 0, 3600, 3600, 0, 0) + attr(len(nodes))
    if opcode == 3:
        return struct.pack("<QII", 3600, 0, 0) + attr(node)
    if opcode in (14, 27):
        return struct.pack("<QII", 0, 0, 0)
    if opcode == 15:
        offset, size = struct.unpack_from("<QI", body, 8)
        if "slow" in nodes[node][0] and offset >= 1 << 20:
            return None
        n_read += size
        part = begin[offset:offset + size]
        return part + zeros[:size - len(part)]
    return None if opcode in (2, 36, 42) else 0 if opcode in (18, 25, 29) else -38

def serve():
    while True:
        try:
            data = os.read(fd, 1 << 17)
        except OSError:
            return
        _, opcode, unique, node = struct.unpack_from("<IIQQ", data)
        said = answer(opcode, node, data[40:])
        if said is None:
            continue
        rc, said = (said, b"") if isinstance(said, int) else (0, said)
        try:
            os.writev(fd, [struct.pack("<IiQ", 16 + len(said), rc, unique), said])
        except OSError:
            pass

def ended(*_):
    print(n_read, flush=True)
    os._exit(0)

signal.signal(signal.SIGTERM, ended)
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=True)
p.stdout.readline()
print(p.pid, flush=True)
serve()
"""


class Served:
    """A target that sees such files."""

    def __enter__(self):
        os.makedirs("served", exist_ok=True)
        self.run = subprocess.Popen((sys.executable, "-c", SERVER, f"{FIXTURES}/hello"), stdout=subprocess.PIPE, text=True)
        self.pid = int(self.run.stdout.readline())
        return self

    def probe(self, name):
        """A definition for such a file."""
        return f"p:x{name.replace('.', '_')} {os.path.abspath('served')}/{name}:greet"

    def __exit__(self, *_):
        os.kill(self.pid, 9)
        self.run.terminate()
        self.run.wait()


def served():
    """Files of which the kernel says nothing before somebody has answered: they are copied, up to a size, and all together."""
    if not has("/dev/fuse"):
        return
    with Served() as target:
        pid = str(target.pid)
        text = uprobe("--check", "-p", pid, "-e", target.probe("3"), status=0)
        if "/served/3:0x" not in text:
            fail(f"a file that is served: {text}")
        refused("it is larger than 256 MiB, on a file system that others serve", 100, 5, "--check", "-p", pid, target.probe("257"))
        refused("its file system does not answer", 100, 5, "--check", "-p", pid, target.probe("4.slow"))
        target.run.terminate()
        read = int(target.run.stdout.read())
        # The large one not at all, the slow one at its beginning, and what the kernel reads ahead.
        if not 3 * MIB <= read <= 8 * MIB:
            fail(f"{read} bytes are read of what is served")
    with Served() as target:
        args = [arg for i in range(44) for arg in ("-e", target.probe(f"24.{i}"))]
        text = used("--check", "-p", str(target.pid), *args)[0]
        # Where others want the processor, too, one may be late.
        late = "its file system does not answer" in text
        if not late and text.count("and such files are read into memory: 1024 MiB of them are open") != 1:
            fail(f"1056 MiB of copies: {text}")


def main():
    """All of it."""
    if os.getuid() or ctypes.sizeof(ctypes.c_void_p) < 8:
        print("needs root, and 64 bits")
        sys.exit(77)
    if not has("objcopy"):
        print("needs objcopy")
        sys.exit(77)
    packed_names()
    one_over_the_other()
    shared_names()
    ranges()
    sources()
    served()
    tell_missing()


main()
