# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Notes that lie: what makes no sense is left out, with a word about it, or refused; what stands
beside is traced."""

import os
import re
import struct
import subprocess
import sys

USDT = os.environ["USDT"]
with open(os.path.join(os.environ["FIXTURES"], "usdt"), "rb") as f:
    GOOD = f.read()
NOTE = GOOD.index(b"stapsdt\0")
LOCATION, BASE, SEMAPHORE, PROVIDER = (NOTE + 8 + i for i in (0, 8, 16, 24))
ARM64 = os.uname().machine == "aarch64"
OPERANDS = re.search(rb"-4@[wx]0 8@x1\0" if ARM64 else rb"-4@%edi 8@%rsi\0", GOOD)
ARGS = OPERANDS.start()
ODD = rb"-9@x0" if ARM64 else b"-9@%edi"
NO_REGISTER = b"-4@zz" if ARM64 else b"-4@%zzz"


def word(value):
    return struct.pack("<Q", value)


# What is written where; what is said; what is traced then of guarded and far.
CASES = [
    (LOCATION, word(0x12345679), "guarded in .* is left out: there is no code at 0x12345679", "far"),
    (LOCATION, word(2**64 - 1), "is left out: there is no code at 0xffffffffffffffff", "far"),
    (SEMAPHORE, word(0x123456788), "is left out: its semaphore, at 0x123456788, is not in the data", "far"),
    (SEMAPHORE, word(2**64 - 2), "is left out: its semaphore", "far"),
    (BASE, word(0x10), "is left out: there is no code at", "far"),
    (PROVIDER, b"se\nma", None, "far"),
    (PROVIDER, b"other", None, "far"),
    (ARGS, NO_REGISTER, rf"arg1 of sema:guarded at 0x\w+ is left out: {NO_REGISTER.decode()}: ", "guarded far"),
    (ARGS, ODD, f"arg1 of .* is left out: {ODD.decode()}: ", "guarded far"),
    (ARGS, b"\x01\x02\x03", None, "far"),
    (NOTE - 8, struct.pack("<I", 0xffffffff), "no static probe 'sema:\\*' in .*: it has none at all", ""),
    (NOTE - 12, struct.pack("<I", 0xfffffff8), "no static probe", ""),
]


def check(at, what, said, traced):
    bytes_now = bytearray(GOOD)
    bytes_now[at:at + len(what)] = what
    with open("lies", "wb") as f:
        f.write(bytes_now)
    p = subprocess.run([USDT, "--check", "./lies:sema:*"], capture_output=True, text=True, check=False,
                       timeout=20)
    got = re.findall(r"^p:sema/(\w+) ", p.stdout, re.M)
    rest = subprocess.run([USDT, "-L", "./lies"], capture_output=True, check=False, timeout=20)
    good = (got == traced.split() and p.returncode == (0 if traced else 1) and
            len(p.stderr.splitlines()) == (0 if not said else 1 if traced else 3) and
            (not said or re.search(said, p.stderr)) and rest.returncode == 0)
    if not good:
        print(f"{what!r} at {at - NOTE}: {p.returncode}, {p.stdout}{p.stderr}, -L {rest.returncode}")
    return good


if __name__ == "__main__":
    results = [check(*case) for case in CASES]
    sys.exit(0 if all(results) else 1)
