# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Fork storm: children made in all ways hit probes, while uprobe comes, goes and is killed."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402


class Forks(torture.Target):
    def __init__(self, argv):
        super().__init__(argv, self.left_sharer)

    def left_sharer(self, status):
        """SIGTRAP ended a child in the target's memory: uprobe was killed before it had put
        the guard among the child's signal actions, too. Not so once it is ready."""
        return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 97 and not self.attached


if __name__ == "__main__":
    torture.fixture_storms(__doc__, [("forks", "storm_forks", torture.usual)], 200, 20,
                           Forks)
