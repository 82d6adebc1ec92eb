# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""without.py WHAT... -- COMMAND: run a command to which something is forbidden (EPERM by a seccomp
filter): the name of a call below; "writing": to open for reading and writing at once; "landlock":
to write elsewhere than below the current folder, EACCES. Ends with 77 if that cannot be forbidden here."""
import ctypes
import errno
import os
import platform
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
CALLS, ARCH = {
    "x86_64": ({"open": 2, "openat": 257, "pwrite64": 18, "ptrace": 101, "process_vm_readv": 310,
                "process_vm_writev": 311}, 0xC000003E),
    "aarch64": ({"openat": 56, "pwrite64": 68, "ptrace": 117, "process_vm_readv": 270,
                 "process_vm_writev": 271}, 0xC00000B7),
}[platform.machine()]
OPENAT2 = 437
LOAD, EQUAL, AND, RETURN = 0x20, 0x15, 0x54, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000


def must(rc, what):
    if rc < 0:
        print(f"no {what} here: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)
    return rc


def seccomp(names):
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCH), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, 0)]
    for name in names:
        if name != "writing":
            code += [(EQUAL, 0, 1, CALLS[name]), (RETURN, 0, 0, ERROR | errno.EPERM)]
            continue
        for call, flags in (("open", 1), ("openat", 2)):
            if call in CALLS:
                code += [(EQUAL, 0, 5, CALLS[call]), (LOAD, 0, 0, 16 + 8 * flags), (AND, 0, 0, 3),
                         (EQUAL, 0, 1, os.O_RDWR), (RETURN, 0, 0, ERROR | errno.EPERM), (LOAD, 0, 0, 0)]
        # Its flags are out of a filter's sight.
        code += [(EQUAL, 0, 1, OPENAT2), (RETURN, 0, 0, ERROR | errno.ENOSYS)]
    code.append((RETURN, 0, 0, ALLOW))
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *i) for i in code))
    prog = struct.pack("@HP", len(code), ctypes.addressof(text))
    must(libc.prctl(22, 2, prog, 0, 0), "seccomp filters")


def landlock():
    write = struct.pack("=Q", 2)
    rules = must(libc.syscall(444, write, 8, 0), "landlock")
    for below in (".", "/dev"):
        must(libc.syscall(445, rules, 1, write + struct.pack("=i", os.open(below, os.O_PATH)), 0), "landlock")
    must(libc.syscall(446, rules, 0), "landlock")


split = sys.argv.index("--")
libc.prctl(38, 1, 0, 0, 0)
what = sys.argv[1:split]
if "landlock" in what:
    landlock()
seccomp([w for w in what if w != "landlock"])
os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
