# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Signal storm: while probes are hit, uprobe comes, goes and is killed, no signal is lost,
doubled or out of order, and no system call is cut short."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402

if __name__ == "__main__":
    torture.fixture_storms(__doc__, [("signals", "storm_signals", torture.usual)], 200, 20)
