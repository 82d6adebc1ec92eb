# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Fork storm: children made in all ways hit probes, while uprobe comes, goes and is killed."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402

if __name__ == "__main__":
    torture.fixture_storms(__doc__, [("forks", "storm_forks", torture.usual)], 200, 20)
