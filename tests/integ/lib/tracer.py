# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""uprobe in the background."""

import os
import subprocess

UPROBE, USDT = os.environ["UPROBE"], os.environ["USDT"]


def start(*args, program=UPROBE, **how):
    """PROGRAM with these arguments, when its probes stand, or when it has ended: the process, and whether
    they do. HOW: as subprocess.Popen has it."""
    read_end, write_end = os.pipe()
    process = subprocess.Popen([program, "--ready-fd", str(write_end), *args], pass_fds=[write_end], **how)
    os.close(write_end)
    is_ready = bool(os.read(read_end, 6))
    os.close(read_end)
    return process, is_ready
