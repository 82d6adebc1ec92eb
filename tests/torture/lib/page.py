# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""The page that a test shares with what it preloads into uprobe: tests/torture/preload.h."""

import mmap
import os
import struct


class Page:
    """It begins with the phase that counts now."""

    ATTACH, HIT, DETACH = range(3)
    PHASES = ("attach", "hit", "detach")

    def __init__(self, name, size=4096):
        """NAME.so, which finds the page's file by the variable UBP_NAME. With ENV a program has it."""
        path = os.path.abspath(name)
        with open(path, "wb") as f:
            f.write(bytes(size))
        with open(path, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), size)
        preload = os.path.join(os.environ["UBP_BUILD"], f"tests/torture/{name}.so")
        self.env = {"LD_PRELOAD": preload, f"UBP_{name.upper()}": path}

    def clear(self):
        self.page[:] = bytes(len(self.page))

    def phase(self, phase):
        struct.pack_into("<Q", self.page, 0, phase)

    def text(self, at, size):
        return self.page[at:at + size].rstrip(b"\0").decode()
