# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Definitions as tests have them for 64-bit programs, for the same programs built for 32 bits:
arguments are on the stack in place of registers. What the default type (64 bits) was, is that of
a word; so is a type of 64 bits, for a long has 32, but where SECOND says that there are such:
at how many bytes the second argument is, behind a first one of 64 bits.

As a program: on_stack.py UPROBE ARG... runs that with the definitions among ARG translated.
"""

import os
import re
import sys

WORDS = {"di": 4, "si": 8, "dx": 12, "cx": 16, "r8": 20, "r9": 24}
REGISTER = r"%(di|si|dx|cx|r8|r9)"


def translate(definition, second=None):
    words = dict(WORDS, si=second or WORDS["si"])
    if not re.search(REGISTER + r"\b|\$retval:", definition):
        return definition
    definition = re.sub("=" + REGISTER + r"(?=$|\s)", lambda m: f"=+{words[m[1]]}(%sp):x32",
                        definition)
    if not second:
        definition = re.sub(r":([sux])64\b", r":\g<1>32", definition)
    return re.sub(REGISTER + r"\b", lambda m: f"+{words[m[1]]}(%sp)", definition)


def main():
    args = sys.argv[1:]
    own = args.index("--") if "--" in args else len(args)
    second = int(os.environ.get("SECOND") or 0)
    os.execv(args[0], args[:1] + [translate(a, second) for a in args[1:own]] + args[own:])


if __name__ == "__main__":
    main()
