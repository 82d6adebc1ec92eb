# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Programs that trace are killed before one of their calls: the other half of killat.c."""

import struct

from page import Page


class KillAt(Page):
    """Which call of a program that traces shall be its last: struct killat."""

    def __init__(self):
        super().__init__("killat")

    def arm(self, phase, k, freeze=0, only="", changes=False):
        """freeze: a process that is stopped just before; only: calls of this name count; changes: those
        count that change something, which is as good where it does not matter what uprobe knew."""
        self.clear()
        struct.pack_into("<QQ", self.page, 8, phase, k)
        struct.pack_into("<Q", self.page, 88, freeze)
        struct.pack_into("32sQ", self.page, 96, only.encode(), changes)

    def counts(self):
        return struct.unpack_from("<4Q", self.page, 24)

    def last(self):
        return self.text(56, 32)
