# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""libc's string and memory functions under a python3 program, entry and return."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare  # noqa: E402

PROGRAM = r"""
import ctypes, locale, os, sys, time
c = ctypes.CDLL(None)
print("ready", flush=True)
sys.stdin.readline()
text = [("word %d " % i) * (i % 7) for i in range(200)]
data = "".join(text).encode()
for i in range(60):
    c.strtol(b"%d" % (i * 31), None, 10); c.atoi(b"77"); c.strdup(b"copy me")
    c.strtok(ctypes.create_string_buffer(b"a,b,,c"), b",")
    c.strcoll(b"abc", b"abd"); c.strerror(i); c.getenv(b"HOME"); c.strsep
    c.qsort; c.abs(-i); c.labs(-i); c.ffs(i); c.toupper(97 + i % 26); c.isalpha(i)
    c.memfrob(ctypes.create_string_buffer(b"secret"), 6); c.strfry
    c.a64l(b"zz"); c.l64a(i); c.hcreate; c.swab(b"abcd", ctypes.create_string_buffer(8), 4)
    c.setenv(b"K%d" % (i % 3), b"v", 1); c.rand_r(ctypes.byref(ctypes.c_uint(i)))
    c.strndup(b"only three", 3); c.stpncpy; c.strxfrm(None, b"x", 0)
    c.inet_addr(b"10.0.0.%d" % i)
    bytes(data[i:i + 50]).find(b"rd"); data.count(b"w"); sorted(text, key=len)
for i in range(20):
    with open("/dev/null", "wb") as f: f.write(data)
    os.path.exists("/nonexistent/%d" % i); os.getcwd(); "%.6g" % (i / 3); float("1.%d" % i)
print(hash(len(data)), len(b"".join([data] * 20)))
"""

# (name, arguments); which of them a libc has, and which are IFUNCs, is looked up.
ENTRY = {
    "malloc": "n=%di:u64", "free": "p=%di", "calloc": "n=%di:u64 size=%si:u64",
    "realloc": "p=%di n=%si:u64", "strtol": "s=+0(%di):string base=%dx:s32",
    "atoi": "s=+0(%di):string", "strdup": "s=+0(%di):string",
    "strndup": "s=+0(%di):string n=%si:u64", "strtok": "s=+0(%di):string by=+0(%si):string",
    "strcoll": "a=+0(%di):string b=+0(%si):string", "strerror": "e=%di:s32",
    "strerror_l": "e=%di:s32", "getenv": "name=+0(%di):string", "setenv":
    "name=+0(%di):string value=+0(%si):string over=%dx:s32", "abs": "%di:s32", "labs": "%di:s64",
    "ffs": "%di:s32", "toupper": "%di:s32", "isalpha": "%di:s32", "memfrob": "s=+0(%di):u8[6] n=%si",
    "a64l": "s=+0(%di):string", "l64a": "%di:s64", "swab": "from=+0(%di):u8[4] n=%dx:s64",
    "rand_r": "seed=+0(%di):u32", "strxfrm": "s=+0(%si):string", "inet_addr": "s=+0(%di):string",
    "inet_aton": "s=+0(%di):string", "strtok_r": "by=+0(%si):string", "qsort": "n=%si:u64",
    "open64": "path=+0(%di):string flags=%si:x32", "close": "fd=%di:s32",
    "read": "fd=%di:s32 n=%dx:u64", "write": "fd=%di:s32 n=%dx:u64", "lseek64": "off=%si:s64",
    "getcwd": "n=%si:u64", "strtod": "s=+0(%di):string", "memmem": "nn=%cx:u64",
}
# malloc's own callers and the loader's lines hold pointers; addresses are equal in both runs.

if __name__ == "__main__":
    python = next((p for p in ("/usr/bin/python3",) if os.path.exists(p)), None)
    if not python:
        oracle.skip("needs /usr/bin/python3")
    libc = oracle.private(oracle.mapped_library(python, "libc.so.6"), "libc.so.6")
    elf = oracle.Elf(libc)
    names = [n for n in ENTRY if n in elf.symbols and elf.symbols[n][1] == oracle.Elf.FUNC]
    print(f"{len(names)} functions of libc: {' '.join(names)}")
    env = {"LD_LIBRARY_PATH": os.getcwd(), "PYTHONHASHSEED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [python, "-I", "-S", "-c", PROGRAM]

    def entries(some):
        return [f"p:{n} {libc}:{n} {ENTRY[n]}" for n in some]

    def returns(some):
        return [f"r:{n}_ret {libc}:{n} $retval" for n in some]

    quiet = [n for n in names if n not in ("malloc", "free", "calloc", "realloc")]
    oracle.done([
        compare(entries(quiet), argv, title="libc entries", env=env, at_least=1000),
        compare(returns(quiet), argv, title="libc returns", env=env, at_least=1000),
        compare(entries(["malloc", "free"]) + returns(["malloc"]), argv, title="malloc and free",
                env=env, at_least=5000),
        # It waits in read(), mostly entered before its jump stood: a return that only a tracer sees.
        compare(entries(names) + returns(names), argv, title="libc, all", env=env, at_least=5000, stays=True),
    ])
