# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Exec storm: a program executes itself from any of its threads, again and again, while
uprobe comes, goes and is killed."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402


def definitions(f):
    return torture.usual(f) + [f"r:s/deep {f}:deep $retval:s64"]


if __name__ == "__main__":
    torture.fixture_storms(__doc__, [("execs", "storm_exec", definitions)], 200, 20)
