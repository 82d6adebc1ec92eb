# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Thread storm: hundreds of threads a second are born and die, while uprobe comes, goes and
is killed."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402


def definitions(f):
    return torture.usual(f) + [f"p:s/leaves {f}:leaves", f"r:s/leaves_ret {f}:leaves",
                               f"r:s/lives_ret {f}:lives $retval"]


if __name__ == "__main__":
    # Once more with bells where a C library makes threads, all signals blocked.
    torture.fixture_storms(__doc__, [("threads", "storm_threads", definitions),
                                     ("threads asked", "storm_threads", definitions, "--follow")], 200, 20)
