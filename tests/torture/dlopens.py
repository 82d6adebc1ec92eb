# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Loader storm: a probed library comes and goes hundreds of times a second, in several threads, while uprobe comes, goes and
is killed."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402


def definitions(f):
    plugin = os.path.join(os.path.dirname(f), "dlopen_plugin")
    return torture.usual(f) + [f"p:s/work {plugin}:plugin_work x={torture.ARG1}:s32 text=+0({torture.ARG2}):string",
                               f"r:s/work_ret {plugin}:plugin_work $retval:s32"]


if __name__ == "__main__":
    torture.fixture_storms(__doc__, [("dlopens", "storm_dlopen", definitions)], 200, 20)
