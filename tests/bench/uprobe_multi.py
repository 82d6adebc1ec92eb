#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Many functions of one running program, by one call to the kernel (uprobe_multi: a BPF link) and by ubp, in turns.

uprobe_multi.py [UPROBE [N...]], as root: N functions (500 1000 2000) of a program that is made for this. Prints a table, in ms, medians of ROUNDS
(5), with the ratio of ubp's to the kernel's in each round's median. The kernel's program does nothing. Of ubp the time until it says that it
has planted (--ready-fd), that until it has ended behind SIGINT, and how long it had the processor until it was ready."""

import ctypes
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

UPROBE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/uprobe")
SIZES = [int(n) for n in sys.argv[2:]] or [500, 1000, 2000]
ROUNDS = int(os.environ.get("ROUNDS", "5"))

SYS_BPF = 321
PROG_LOAD, LINK_CREATE = 5, 28
PROG_TYPE_KPROBE, TRACE_UPROBE_MULTI = 2, 48
libc = ctypes.CDLL(None, use_errno=True)


def bpf(cmd, attr):
    buf = ctypes.create_string_buffer(attr, 160)
    fd = libc.syscall(SYS_BPF, cmd, buf, len(attr))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def load_program():
    code = struct.pack("<BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0)  # return 0
    insns, text = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQII16sII", PROG_TYPE_KPROBE, 2, ctypes.addressof(insns), ctypes.addressof(text), 0, 0, 0, 0, 0,
                       b"nothing", 0, TRACE_UPROBE_MULTI)
    return bpf(PROG_LOAD, attr)


def attach(program, path, offsets, pid):
    name = ctypes.create_string_buffer(path.encode())
    table = (ctypes.c_uint64 * len(offsets))(*offsets)
    return bpf(LINK_CREATE, struct.pack("<IIIIQQQQIII", program, 0, TRACE_UPROBE_MULTI, 0, ctypes.addressof(name), ctypes.addressof(table),
                                        0, 0, len(offsets), 0, pid))


def make(folder, n):
    with open(f"{folder}/many.c", "w", encoding="utf-8") as f:
        f.writelines(f"__attribute__((noipa)) int f{i}(int a) {{ return a * {i + 3} + {i}; }}\n" for i in range(n))
        f.write("#include <stdio.h>\nint main(void) { puts(\"ready\"); fflush(stdout); while (getchar() != EOF) f1(1); return 0; }\n")
    subprocess.run(["gcc", "-O1", "-fcf-protection", "-o", f"many{n}", "many.c"], cwd=folder, check=True)
    return f"{folder}/many{n}"


def offsets_of(path):
    """The program is linked so that its code has the same place in the file and in memory."""
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0], 16) for line in out.splitlines() if line.split()[-1][0] == "f" and line.split()[-1][1:].isdigit()]


def is_changed(path, offsets, pid):
    """Stands something else there than in the file, in all of them?"""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        base = min(int(line.split("-")[0], 16) for line in f if line.rstrip().endswith(path))
    with open(f"/proc/{pid}/mem", "rb", 0) as mem, open(path, "rb") as file:
        return all(os.pread(mem.fileno(), 1, base + o) != os.pread(file.fileno(), 1, o) for o in offsets)


def by_kernel(program, path, offsets, pid):
    begin = time.perf_counter()
    link = attach(program, path, offsets, pid)
    attached = time.perf_counter()
    if not is_changed(path, offsets, pid):
        sys.exit("the kernel has planted nothing")
    ending = time.perf_counter()
    os.close(link)
    return [1000 * (attached - begin), 1000 * (time.perf_counter() - ending)]


def by_ubp(path, pid):
    ready, write = os.pipe()
    begin = time.perf_counter()
    p = subprocess.Popen([UPROBE, "--ready-fd", str(write), "-o", "/dev/null", "-p", str(pid), f"p:{path}:f[0-9]*"], pass_fds=[write],
                         stderr=subprocess.PIPE)
    os.close(write)
    if os.read(ready, 16) != b"ready\n":
        sys.exit(p.communicate()[1].decode())
    attached = time.perf_counter()
    os.close(ready)
    with open(f"/proc/{p.pid}/stat", encoding="utf-8") as f:
        stat = f.read().rsplit(")", 1)[1].split()
    cpu = 1000 * (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    ending = time.perf_counter()
    p.send_signal(signal.SIGINT)
    p.communicate()
    return [1000 * (attached - begin), 1000 * (time.perf_counter() - ending), cpu]


def row(program, folder, n):
    path = make(folder, n)
    offsets = offsets_of(path)
    target = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    kernel, ubp = [], []
    for _ in range(ROUNDS):
        kernel.append(by_kernel(program, path, offsets, target.pid))
        ubp.append(by_ubp(path, target.pid))
    target.stdin.close()
    if target.wait() or len(offsets) != n:
        sys.exit(f"{path} ended with {target.returncode}; {len(offsets)} functions")
    (k_in, k_out), (u_in, u_out, cpu) = ([statistics.median(x) for x in zip(*side)] for side in (kernel, ubp))
    print(f"| {n} | {k_in:.1f} | {u_in:.1f} | {u_in / k_in:.2f} | {k_out:.1f} | {u_out:.1f} | {u_out / k_out:.2f} | {cpu:.0f} |", flush=True)


def main():
    try:
        program = load_program()
    except OSError as e:
        sys.exit(f"this kernel loads no program for uprobe_multi: {e}")
    print("| functions | kernel in | ubp in | ratio | kernel out | ubp out | ratio | ubp's CPU |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="multi-") as folder:
        for n in SIZES:
            row(program, folder, n)


if __name__ == "__main__":
    main()
