# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""ptrace(2), for tests that trace a target themselves."""

import ctypes
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, data=0):
    """DATA: a signal, options, or an address. A failure ends the test."""
    if libc.ptrace(request, pid, None, data) < 0:
        sys.exit(f"ptrace({request}): {os.strerror(ctypes.get_errno())}")
