# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Fixtures on the kernel's uprobes and on ubp: arguments, strings, returns, children."""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare, fixture  # noqa: E402


def args_int():
    f = fixture("args_int")
    second = oracle.instructions(f, "ret_u64")[1]
    return compare([
        f"p:area {f}:area w=%di:s32 h=%si:s32 %di %si:u8 %sp %ip $stack0 $comm",
        f"r:area_ret {f}:area $retval:s32 $retval",
        f"p:widths {f}:widths a=%di:s8 b=%si:u8 c=%dx:s16 d=%cx:u16 e=%r8:s32 f=%r9:u32 "
        "g=$stack1:s64 h=$stack2:x64 g2=+8($stack):s64 i=%di:x8 j=%dx:x16 k=%r8:x32",
        f"r:widths_ret {f}:widths%return $retval:u64 %ax %sp %ip",
        f"r:ret_s8 {f}:ret_s8 $retval:s8 $retval:u8 $retval:x8 $retval:char",
        f"r:ret_u16 {f}:ret_u16 $retval:u16 $retval:s16",
        f"r:ret_s32 {f}:ret_s32 $retval:s32 $retval:u32 b=$retval:b4@4/32",
        f"r:ret_u64 {f}:ret_u64 $retval:u64 $retval:s64 $retval:x64",
        f"p:inside {f}:ret_u64+{second} %di",
        f"p:twice {f}:area again=%di:s32",
        f"p:main {f}:main argc=%di:s32 argv0=+0(+0(%si)):string",
    ], [f], stays=("ret_s8", "ret_u16", "inside"))  # they are too short, and side by side


def strings():
    f = fixture("strings")
    return compare([
        f"p:greet {f}:greet s=+0(%di):string u=+0(%di):ustring c=+0(%di):char %di w=+0(%di):x32",
        f"r:greet_ret {f}:greet s=+0($retval):string c=+0($retval):char[4]",
        f"p:many {f}:many s=+0(%di):string[4] n=%si:s32",
        f"p:nested {f}:nested age=+0(%di):s32 initials=+4(%di):char[3] name=+0(+8(%di)):string "
        "friend=+0(+8(+16(%di))):string",
    ], [f], masks=[
        # A dereference through NULL: the kernel prints what an event before left there.
        (rb" friend=.*$", b""),
    ], loses_alone=True)  # one of several strings that has no end in the room for it


def digging():
    f = fixture("args_deep")
    return compare([
        f"p:deep {f}:deep n=+0(+16(%di)):string x=+0(+8(%di)):u8 s16=+2(+8(%di)):s16 "
        "a=+4(+8(%di)):s32[4] t=+32(+8(%di)):string next=+0(+16(+0(%di))):string "
        "names=+24(%di):string[3] l=+0(+8(+0(%di))):u8",
        f"p:eight {f}:eight %di %si %dx %cx %r8 %r9 $stack1 $stack2 $stack0 +16(%sp)",
        f"p:bits {f}:bits low=+0(%di):b3@0/32 mid=+0(%di):b5@3/32 high=+0(%di):b24@8/32 "
        "arr=+4(%di):u8[8] raw=+0(%di):x64",
        f"p:floats {f}:floats n=%di:s64 bp=%bp fl=%flags:x32 cs=%cs ss=%ss",
        f"p:holes_like {f}:deep bad=@0x10:u32 bad2=@0x10:string str=\\\"immediate\" num=\\42:u8",
    ], [f])


def holes():
    f = fixture("holes")
    return compare([
        f"p:peek {f}:peek p=%di s=+0(%di):string q=+0(%di):x64 d=+0(%di):x32 h=+0(%di):x16 "
        "b=+0(%di):u8[12] e=+0(%di):x32[3]",
    ], [f], at_least=11, recorded_there=False)  # each hit has something that cannot be read


def recursion():
    f = fixture("recursion")
    defs = [f"p:tail_a {f}:tail_a %di", f"p:tail_b {f}:tail_b %di", f"p:tail_c {f}:tail_c %di",
            f"r:tail_ar {f}:tail_a $retval", f"r:tail_br {f}:tail_b $retval",
            f"r:tail_cr {f}:tail_c $retval"]
    for name in ("down", "even", "odd", "jump_down", "many_returns", "in_handler"):
        defs.append(f"p:{name} {f}:{name} n=%di %sp")
        defs.append(f"r:{name}_ret {f}:{name} $retval %sp")
    # What a longjmp() has left is in the way of returns until the tracer comes, and it is over by then.
    return compare(defs, [f, "12"], loses_alone=True) & compare(defs, [f, "20"], loses_alone=True)


def at_rets():
    """A static program without symbols: returns are caught at ret instructions here."""
    symbols = oracle.Elf(fixture("recursion_static")).symbols
    with tempfile.TemporaryDirectory() as folder:
        f = os.path.join(folder, "stripped")
        subprocess.run(["strip", "-o", f, fixture("recursion_static")], check=True)
        defs = []
        # What is left by a longjmp is not in it: neither tells of that.
        for name in ("down", "even", "odd", "many_returns", "in_handler"):
            defs.append(f"p:{name} {f}:0x{symbols[name][0]:x} n=%di %sp %ip")
            # No word of the stack: the kernel's show its own addresses there.
            defs.append(f"r:{name}_ret {f}:0x{symbols[name][0]:x} $retval %sp %ip "
                        "s=$retval:s64")
        return compare(defs, [f, "12"], stays=True)  # static: how it makes processes is not known


def children(mode):
    f = fixture("fork_exec")
    # vfork's and CLONE_VM's children share memory and finish in any order with their parent.
    return compare([f"p:work {f}:work who=%di:s32", f"r:work_ret {f}:work $retval:s32"],
                   [f, mode], ignore_comm=True,
                   # A child with a thread pointer that others have, or few hits, is stopped.
                   recorded_there=mode == "fork")


def threads_of(name, *args):
    f = fixture(name)
    return compare([f"p:tick {f}:tick t=%di:s64 i=%si:s64", f"r:tick_ret {f}:tick $retval:s64"],
                   # Of hundreds that come and end at once some find no ring.
                   [f, *args], stays=name == "thread_churn")


def linked(name):
    f = fixture(name)
    return compare([f"p:area {f}:area i=%di:s32 s=+0(%si):string %ip",
                    f"r:area_ret {f}:area $retval:s32"], [f],
                   # How a static program makes processes is not known.
                   stays=name != "link_nonpie")


if __name__ == "__main__":
    oracle.done([
        args_int(), strings(), digging(), holes(), recursion(), at_rets(),
        *(children(m) for m in ("fork", "grandchild", "vfork", "spawn", "system", "clone_vm", "exec")),
        threads_of("threads", "4", "200"), threads_of("thread_churn", "100", "5"),
        *(linked(n) for n in ("link_static", "link_nonpie", "link_static_pie")),
    ])
