# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""All functions of libc that a python3 program comes to, entries and returns: which ones p:libc:* tells of, and each of its hits, is what the
kernel's uprobes on these functions see. (On all of libc at once these would take minutes to be removed: UBP_ALL=1 takes all that the
program comes to, else it is a quarter of them.)"""

import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare  # noqa: E402

PROGRAM = r"""
import json, os, re, sys, zlib, struct, hashlib, locale, time
print("ready", flush=True)
sys.stdin.readline()
for i in range(30):
    text = json.dumps([i, i * 2.5, "a%d" % i, {"k": [None, True]}] * 3)
    json.loads(text); re.sub(r"(\w)-", r"\1", text); bytes(text, "utf-8").split(b",")
    "%.6g" % (i / 3); float("1.%d" % i); int("7" * 30); sorted(text.split())
    os.path.exists("/nonexistent"); os.getcwd(); os.environ.get("HOME"); locale.strxfrm("x")
for i in range(5):
    with open("/dev/null", "w") as f: f.write(text)
    os.listdir("/sys"); time.localtime(86400 * i); time.strftime("%Y", time.gmtime(0))
    zlib.decompress(zlib.compress(text.encode())); os.stat("/"); os.strerror(i)
print(len(text))
"""

# Where the kernel's return probe would change what they do, or where there is no return.
NO_RETURN = re.compile(r"setjmp|longjmp|vfork|clone|exit|abort|swapcontext|getcontext|_dl_|tls_get_addr|call_once|start_main|Unwind|catch|throw")

TELLS_IDS = re.compile(r"^syscall$|getpid|gettid|getppid")


def touched(libc, argv, env):
    """Names, as in the events of p:libc:*."""
    out, rc = oracle.run([oracle.UPROBE, "--lossless", "--mode", "jump", "-o", "all.out", f"p:{libc}:*", "--", oracle.LAUNCH, *argv],
                         oracle.environment(env), None, b"go\n")
    if rc:
        sys.exit(f"uprobe ended with {rc}: {out[-500:]!r}")
    with open("all.out", "rb") as f:
        return {e.name for e in oracle.parse(f.read())[0]}


if __name__ == "__main__":
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        oracle.skip("needs /usr/bin/python3")
    libc = oracle.private(oracle.mapped_library(python, "libc.so.6"), "libc.so.6")
    env = {"LD_LIBRARY_PATH": os.getcwd(), "PYTHONHASHSEED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [python, "-I", "-S", "-c", PROGRAM]
    elf = oracle.Elf(libc)
    names = sorted(n for n in touched(libc, argv, env) if n in elf.symbols and elf.symbols[n][1] == oracle.Elf.FUNC)
    print(f"{len(names)} functions: {' '.join(names)}")
    if len(names) < 60:
        sys.exit("it comes to few functions")
    if os.environ.get("UBP_ALL") != "1":
        names = names[random.Random(int(os.environ.get("UBP_SEED", "1"))).randrange(4)::4]
    entries = [f"p:{n} {libc}:{n}" for n in names]
    returns = [f"r:{n}_ret {libc}:{n}" + ("" if TELLS_IDS.search(n) else " v=$retval") for n in names if not NO_RETURN.search(n)]
    oracle.done([compare(entries + returns, argv, title="all of libc that is touched", env=env, at_least=1000,
                         masks=[(rb" v=0x7f\w+$", b" v=ADDRESS")],  # what is mapped comes behind what ubp has mapped
                         modes=[m for m in oracle.MODES if m in ("jump", "alone")])])
