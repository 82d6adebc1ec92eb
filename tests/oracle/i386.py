# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""32-bit programs on the kernel's uprobes and on ubp: what both read the same way."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare  # noqa: E402

FOLDER = os.path.join(os.environ["UBP_BUILD"], "fixtures32")


def fixture(name):
    return os.path.join(FOLDER, name)


def args_int():
    f = fixture("args_int")
    second = oracle.instructions(f, "ret_u64")[1]
    return compare([
        f"p:area {f}:area w=+4(%sp):s32 h=+8(%sp):s32 %sp %ip %bp $comm",
        f"r:area_ret {f}:area $retval:s32 $retval %sp",
        f"p:widths {f}:widths a=+4(%sp):s8 b=+8(%sp):u8 c=+12(%sp):s16 d=+16(%sp):u16 "
        "e=+20(%sp):s32 f=+24(%sp):u32 g=+28($stack):x64 all=+4(%sp):x32[8]",
        f"r:ret_s8 {f}:ret_s8 $retval:s8 $retval:u8 $retval:x8",
        f"r:ret_s32 {f}:ret_s32 $retval:s32 $retval:u32 b=$retval:b4@4/32",
        f"r:ret_u64 {f}:ret_u64 $retval:u64 $retval:s64 %ax %dx",
        f"p:inside {f}:ret_u64+{second} a=+4(%sp):u32",
        f"p:main {f}:main argc=+4(%sp):s32 %r8 %r15 cs=%cs",
    ], [f])


def recursion():
    f = fixture("recursion")
    defs = []
    for name in ("tail_a", "tail_b", "tail_c", "down", "even", "odd", "jump_down", "many_returns"):
        defs.append(f"p:{name} {f}:{name} n=+4(%sp):s32 %sp")
        defs.append(f"r:{name}_ret {f}:{name} $retval:s32 %sp")
    # Returns of tail calls, and behind a longjmp(), take a tracer.
    return compare(defs, [f, "12"], loses_alone=True)


def children(mode):
    f = fixture("fork_exec")
    return compare([f"p:work {f}:work who=+4(%sp):s32", f"r:work_ret {f}:work $retval:s32"],
                   [f, mode], ignore_comm=True,
                   # A child with a thread pointer that others have, or few hits, is stopped.
                   recorded_there=mode == "fork")


def threads(*args):
    f = fixture("threads")
    return compare([f"p:tick {f}:tick t=+4(%sp):s32 i=+8(%sp):s32 w=+4(%sp):x64",
                    # Arguments on stacks that come while nobody traces it are lost until the tracer has come.
                    f"r:tick_ret {f}:tick $retval:s32"], [f, *args], stays=args[0] != "1")


def main():
    if not os.access(fixture("insns"), os.X_OK):
        oracle.skip("gcc cannot build for 32 bits (gcc-12-multilib)")
    if not oracle.is_run(fixture("exit_code"), "exit"):
        oracle.skip("this kernel runs no 32-bit programs")
    oracle.done([args_int(), recursion(), threads("1", "1000"), threads("4", "300"),
                 children("fork"), children("vfork"), children("spawn")])


main()
