# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Pointers with a tag in their upper byte, in programs that told the kernel of it and in others."""

import os
import platform
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare, fixture  # noqa: E402


def pointers(*args):
    f = fixture("tagged")
    # Jumps leave these to the tracer, which can ask what the thread has told.
    return compare([f"p:work {f}:work t=%x0:x64 n=+0(%x0):s64 s=+0(+8(%x0)):string"], [f, *args],
                   recorded_there=False)


if __name__ == "__main__":
    if platform.machine() != "aarch64":
        print(f"needs aarch64, this is {platform.machine()}")
        sys.exit(77)
    oracle.done([pointers(), pointers("abi")])
