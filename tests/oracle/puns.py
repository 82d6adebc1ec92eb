# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Punned jumps: functions without room for a jump on the kernel's uprobes and on ubp, entry and return."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare, fixture  # noqa: E402

# Functions of two and four bytes, in front of others.
PROGRAM = """
import ctypes
c = ctypes.pythonapi
c.PyInterpreterState_Get.restype = ctypes.c_void_p
state = ctypes.c_void_p(c.PyInterpreterState_Get())
for i in range(50):
    c._Py_IncRef(ctypes.py_object(i + 1000)); c._PyInterpreterState_RequiresIDRef(state)
    c.PyObject_AsReadBuffer(ctypes.py_object(b"x" * i), ctypes.byref(ctypes.c_void_p()), ctypes.byref(ctypes.c_ssize_t()))
"""
NAMES = {"_Py_IncRef": "count=+0(%di):s64", "_PyInterpreterState_RequiresIDRef": "n=+64(%di):s32",
         "PyObject_AsReadBuffer": "count=+0(%di):s64 len=+16(%di):s64"}


def own():
    f = fixture("pun_jump")
    definitions = [f"p:{name} {f}:{name} a=%di:s64 b=%si:s64 sp=%sp" for name in ("copied", "one", "two", "nothing")]
    definitions += [f"r:{name}_ret {f}:{name} v=$retval:s64" for name in ("copied", "one", "two")]
    # What follows nothing(), which is a breakpoint then.
    more = [f"p:so_far {f}:so_far ip=%ip", f"p:nothing {f}:nothing a=%di:s64"]
    # A debugger's breakpoint could break nothing()'s jump.
    return compare(definitions, [f, "0", "300"], stays=("nothing",)) & compare(more, [f, "0", "300"], stays=("nothing",))


def python():
    path = os.path.realpath("/usr/bin/python3")
    symbols = oracle.Elf(path).symbols if os.path.exists(path) else {}
    definitions = [f"p:{n.strip('_')} {path}:{n} {args}" for n, args in NAMES.items() if n in symbols]
    if not definitions:
        return True
    return compare(definitions, [path, "-I", "-S", "-c", PROGRAM], title="python3")


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        oracle.skip("needs x86_64")
    oracle.done([own(), python()])
