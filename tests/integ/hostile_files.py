#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Files that a target chose: without end, sparse, packed, devices, and in another root. What is read and kept of
them is bounded and told, and names of another root are never looked up in ours."""

import ctypes
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import zlib

UPROBE, FIXTURES = os.environ["UPROBE"], os.environ["FIXTURES"]
MIB = 1 << 20
ENV = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}


def fail(text):
    sys.exit(f"FAIL: {text}")


def tool(*args):
    """A tool of binutils; none: skip."""
    if not shutil.which(args[0]):
        print(f"needs {args[0]}")
        sys.exit(77)
    subprocess.run(args, check=True)


def uprobe(*args, status=1, memory=300 * MIB):
    """Runs, with that much address space beside what it has itself, and ends in time. Its output."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2048 * MIB + memory, 2048 * MIB + memory))
    p = subprocess.run((UPROBE,) + args, capture_output=True, text=True, timeout=60, check=False, env=ENV,
                       preexec_fn=limit)
    if p.returncode != status:
        fail(f"{args}: status {p.returncode}: {p.stderr}")
    return p.stdout + p.stderr


def sparse(path, size, begin=b""):
    """A file that costs nothing."""
    with open(path, "wb") as file:
        file.write(begin)
        try:
            file.truncate(size)
        except OSError:
            file.truncate(15 << 40)  # ext4 with 4 KiB


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


def sections(path):
    """name -> (place of its header, offset, size)"""
    with open(path, "rb") as file:
        data = file.read()
    shoff, = struct.unpack_from("<Q", data, 40)
    n, names = struct.unpack_from("<HH", data, 60)
    all_names = struct.unpack_from("<Q", data, shoff + 64 * names + 24)[0]
    found = {}
    for i in range(n):
        at = shoff + 64 * i
        start = all_names + struct.unpack_from("<I", data, at)[0]
        found[data[start:data.index(b"\0", start)].decode()] = at, *struct.unpack_from("<QQ", data, at + 24)
    return found


def put(path, at, *words):
    """64-bit words."""
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(struct.pack(f"<{len(words)}Q", *words))


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


def source():
    """Debug information names the source: a fifo, a device, a line without end; lines as DOS has them."""
    if not shutil.which("gcc"):
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


def traced(target):
    """What is said of a run with stacks."""
    ready, tell = os.pipe()
    with subprocess.Popen((UPROBE, "--stack=fp", "--mode=trap", "--ready-fd", str(tell), "-p", str(target.run.pid),
                           f"p:{FIXTURES}/stack_jit:callee+4"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          pass_fds=(tell,)) as p:
        os.close(tell)
        os.read(ready, 6)
        target.go()
        text = ""
        # At its end the program takes the file away.
        while text.count(" => main+") < 2:
            line = p.stdout.readline().decode()
            if not line:
                break
            text += line
        target.go()
        target.end()
        text += p.stdout.read().decode()
    os.close(ready)
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
    tool("cp", "ours/hello", "root" + folder)
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
    debuglink()
    debug_info()
    source()
    if os.uname().machine == "x86_64":
        perf_map()
    other_root()


main()
