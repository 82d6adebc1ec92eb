# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Calls of programs that trace fail: the other half of failat.c."""

import struct

from page import Page

FOR_EVER = 1 << 62


class FailAt(Page):
    """Which call of a program that traces is to fail: struct failat."""

    KINDS = ("memory", "read", "peek", "poke", "write", "ptrace", "wait", "other")
    COUNTS = 48
    FAILED = COUNTS + 8 * 4 * len(KINDS)

    def __init__(self):
        super().__init__("failat")

    def arm(self, phase, k, kinds, times=1, short=False):
        """The k-th call of these kinds, and those that follow, up to so many of them."""
        bits = sum(1 << self.KINDS.index(kind) for kind in kinds)
        self.clear()
        struct.pack_into("<5Q", self.page, 8, phase, k, times, bits, short)

    def count(self, phase, kind):
        at = self.COUNTS + 8 * (phase * len(self.KINDS) + self.KINDS.index(kind))
        return struct.unpack_from("<Q", self.page, at)[0]

    def failed(self):
        return struct.unpack_from("<Q", self.page, self.FAILED)[0]

    def last(self):
        return self.text(self.FAILED + 8, 64)
