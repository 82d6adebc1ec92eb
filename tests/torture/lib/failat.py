# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Calls of programs that trace fail: the other half of failat.c."""

import os
import struct
import subprocess

from page import Page

FOR_EVER = 1 << 62


class FailAt(Page):
    """Which call of a program that traces is to fail: struct failat."""

    KINDS = ("memory", "read", "peek", "poke", "write", "ptrace", "wait", "other")
    COUNTS = 64
    FAILED = COUNTS + 8 * 4 * len(KINDS)
    LAST = FAILED + 8
    WHERE, FRAMES = LAST + 64, 32
    STOOD = WHERE + 8 * FRAMES + 8
    CHAINS, N_CHAINS = STOOD + 8 * 4, 4096
    CHAIN = struct.Struct(f"<6Q{FRAMES}Q")

    def __init__(self):
        super().__init__("failat", self.CHAINS + self.CHAIN.size * self.N_CHAINS)

    def arm(self, phase, k, kinds, times=1, short=False, chain=0):
        """The k-th call of these kinds, or of this chain, and those that follow, up to so many of them."""
        bits = sum(1 << self.KINDS.index(kind) for kind in kinds)
        self.clear()
        struct.pack_into("<6Q", self.page, 8, phase, k, times, bits, short, chain)

    def note_chains(self):
        """Nothing fails."""
        self.clear()
        struct.pack_into("<Q", self.page, 56, 1)

    def chains(self):
        """What was noted: {(kind, chain): calls in each phase}."""
        return {key: counts for key, counts, _ in self.noted()}

    def noted(self):
        for i in range(self.N_CHAINS):
            key, kind, *more = self.CHAIN.unpack_from(self.page, self.CHAINS + self.CHAIN.size * i)
            if key:
                yield (self.KINDS[kind], key), more[:4], [at for at in more[4:] if at]

    def find(self, phase, kind, *functions):
        """Of the chains that were noted those of calls of this kind which come by all these functions."""
        return [chain for (of, chain), counts, stack in self.noted()
                if of == kind and counts[phase] and all(f" {f} " in f" {names(stack)}" for f in functions)]

    def stack(self):
        """Addresses in the program by which the call that failed was come to, innermost first."""
        return [at for at in struct.unpack_from(f"<{self.FRAMES}Q", self.page, self.WHERE) if at]

    def count(self, phase, kind):
        at = self.COUNTS + 8 * (phase * len(self.KINDS) + self.KINDS.index(kind))
        return struct.unpack_from("<Q", self.page, at)[0]

    def failed(self):
        return struct.unpack_from("<Q", self.page, self.FAILED)[0]

    def stood(self, phase):
        """The most calls, but for waits, that were made while one thread stood still that had been asked to stop."""
        return struct.unpack_from("<Q", self.page, self.STOOD + 8 * phase)[0]

    def last(self):
        return self.text(self.LAST, 64)


def names(stack):
    # The program itself: make check-stay has another in front of it.
    program = os.path.join(os.environ["UBP_BUILD"], "uprobe")
    said = subprocess.run(["addr2line", "-fsie", program, *(hex(at - 1) for at in stack)],
                          stdout=subprocess.PIPE, text=True, check=False).stdout.split("\n")
    return " < ".join(f"{name} {place}" for name, place in zip(said[::2], said[1::2]))
