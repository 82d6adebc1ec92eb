# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Exec storm: a program executes itself from any of its threads, again and again, while
uprobe comes, goes and is killed."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402


REFUSED = ("thread [0-9]+ has ended", "no thread of process [0-9]+ could be stopped",
           "process [0-9]+ has no memory", "no process [0-9]+", "process [0-9]+ is a zombie",
           "no permission to trace process [0-9]+",
           "in the root of process [0-9]+: No such file or directory")


class Executes(torture.Target):
    def __init__(self, argv):
        super().__init__(argv, self.left_bare)

    def left_bare(self, status):
        """The image found the guard in SIGTRAP's action: uprobe went before the C library
        was there. Not so if uprobe stays."""
        return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 97 and self.deserted

    def excuses(self, said):
        """For a moment of execve() the process has no leader, or one that has ended."""
        return re.search("error: .*(?:" + "|".join(REFUSED) + ")", said)

    def quiet_state(self):
        """Not in the middle of execve() or pthread_create()."""
        self.ask("hold")
        state = self.state()
        self.ask("on")
        return state


def definitions(f):
    return torture.usual(f) + [f"r:s/deep {f}:deep $retval:s64"]


if __name__ == "__main__":
    torture.fixture_storms(__doc__, [("execs", "storm_exec", definitions)], 200, 20, Executes)
