# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Calls of programs that trace fail: the other half of failat.c."""

import mmap
import os
import struct

PRELOAD = os.path.join(os.environ["UBP_BUILD"], "tests/torture/failat.so")
FOR_EVER = 1 << 62


class FailAt:
    """The page shared with failat.c: which call of a program that traces is to fail."""

    ATTACH, HIT, DETACH = range(3)
    PHASES = ("attach", "hit", "detach")
    KINDS = ("memory", "read", "peek", "poke", "write", "ptrace", "wait", "other")

    def __init__(self):
        path = os.path.abspath("failat")
        with open(path, "wb") as f:
            f.write(bytes(4096))
        with open(path, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), 4096)
        self.env = {"LD_PRELOAD": PRELOAD, "UBP_FAILAT": path}

    def arm(self, phase, k, kinds, times=1, short=False):
        """The k-th call of these kinds, and those that follow, up to so many of them."""
        bits = sum(1 << self.KINDS.index(kind) for kind in kinds)
        self.page[:4096] = bytes(4096)
        struct.pack_into("<5Q", self.page, 8, phase, k, times, bits, short)

    def phase(self, phase):
        struct.pack_into("<Q", self.page, 0, phase)

    def count(self, phase, kind):
        at = 48 + 8 * (phase * len(self.KINDS) + self.KINDS.index(kind))
        return struct.unpack_from("<Q", self.page, at)[0]

    def failed(self):
        return struct.unpack_from("<Q", self.page, 48 + 8 * 4 * len(self.KINDS))[0]

    def last(self):
        at = 56 + 8 * 4 * len(self.KINDS)
        return self.page[at:at + 64].rstrip(b"\0").decode()
