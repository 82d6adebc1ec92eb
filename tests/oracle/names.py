# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Threads that change their names between hits, and within them: $comm and filters by name."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare, fixture, scaled  # noqa: E402


N = int(scaled(300))


def renames(entry, ret, **how):
    f = fixture("renames")
    # Names in front of lines are the kernel's last ones: those at the end.
    return compare([f"p:named {f}:named real=+0(%di):string i=%si:s64{entry}",
                    f"r:back {f}:renamed real=+0($retval):string{ret}"],
                   [f, str(N)], ignore_comm=True, **how)


if __name__ == "__main__":
    oracle.done([
        renames(" c=$comm", " c=$comm", recorded_there=False),
        renames("", "", filters={"named": 'COMM == "odd"', "back": 'comm ~ "f*"'},
                recorded_there=False),
        renames("", " c=$comm", filters={"named": f'comm != "odd" && i >= {N // 3}', "back": 'c == "odd"'}),
        renames(" c=$comm", "", filters={"named": f"i < {N // 6}", "back": 'comm ~ "*d*"'}),
    ])
