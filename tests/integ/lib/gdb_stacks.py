# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# For gdb -x: run the program to $AT, $N times, and write each stack to $OUT: addresses,
# innermost first, a line each. Only frames that are on the stack: inlined functions and callers
# that left by a jump have none.

import os

import gdb

for command in ("set pagination off", "set confirm off", "set breakpoint pending on",
                "set backtrace past-main on", "set debuginfod enabled off",
                "handle all nostop noprint pass", "handle SIGTRAP stop", "set width 0"):
    gdb.execute(command)
gdb.execute("break " + os.environ["AT"])
gdb.execute("run")
with open(os.environ["OUT"], "w") as out:
    for n in range(int(os.environ["N"])):
        if not gdb.selected_thread():
            break
        frame, stack = gdb.newest_frame(), []
        while frame:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                stack.append(f"{frame.pc():x}")
            frame = frame.older()
        out.write(" ".join(stack) + "\n")
        gdb.execute("continue")
