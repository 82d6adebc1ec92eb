# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Threads: many at once, born and dying, hot among idle ones, under signals."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare, fixture, scaled  # noqa: E402


def ticks(name, *args, extra=()):
    f = fixture(name)
    return compare([f"p:tick {f}:tick t=%di:s64 i=%si:s64 sp=%sp", f"r:tick_ret {f}:tick $retval:s64",
                    *extra], [f, *args], masks=[
        # Where a thread's stack lies depends on which stacks are free, so on timing.
        (rb" sp=0x[0-9a-f]+", b" sp=S"),
    ], stays=name == "thread_churn")  # of hundreds that come and end at once some find no ring


def many():
    f = fixture("many_threads")
    return compare([f"p:tick {f}:tick i=%di:s64", f"r:tick_ret {f}:tick $retval:s64"],
                   [f, "200", scaled(500)])


def start_routine():
    """The start of each thread's life, and its last function."""
    f = fixture("threads")
    second = oracle.instructions(f, "tick")[1]
    return compare([f"p:worker {f}:worker arg=%di:s64", f"r:worker_ret {f}:worker $retval:s64",
                    f"p:inner {f}:tick+{second} i=%si:s64"], [f, "8", scaled(50)])


if __name__ == "__main__":
    oracle.done([ticks("threads", "1", scaled(1000)), ticks("threads", "4", scaled(500)),
                 ticks("threads", "16", scaled(50)), ticks("thread_churn", scaled(300), "3"), many(),
                 start_routine()])
