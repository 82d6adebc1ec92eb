# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Programs that trace are killed before one of their calls: the other half of killat.c."""

import mmap
import os
import struct

PRELOAD = os.path.join(os.environ["UBP_BUILD"], "tests/torture/killat.so")


class KillAt:
    """The page shared with killat.c: which call of a program that traces shall be its last."""

    ATTACH, HIT, DETACH = range(3)
    NAMES = ("attach", "hit", "detach")

    def __init__(self):
        path = os.path.abspath("killat")
        with open(path, "wb") as f:
            f.write(bytes(4096))
        with open(path, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), 4096)
        self.env = {"LD_PRELOAD": PRELOAD, "UBP_KILLAT": path}

    def arm(self, phase, k, freeze=0):
        """freeze: a process that is stopped just before."""
        self.page[:4096] = bytes(4096)
        struct.pack_into("<QQ", self.page, 8, phase, k)
        struct.pack_into("<Q", self.page, 88, freeze)

    def phase(self, phase):
        struct.pack_into("<Q", self.page, 0, phase)

    def counts(self):
        return struct.unpack_from("<4Q", self.page, 24)

    def last(self):
        return self.page[56:88].rstrip(b"\0").decode()
