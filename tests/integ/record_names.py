# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What was mapped is in a recording, with build-ids: stacks through a program without symbols get names later, from a file, or from debug
information, of the same build-id. One of another build is passed over."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from recordings import REPORT, UPROBE, fail, run  # noqa: E402

FILE = "names.ubp"
PROGRAM = os.path.abspath("program")
SOURCE = """
#define FUNCTION(name, does) static __attribute__((noinline)) long name(long n) { __asm__ volatile("" : "+r"(n)); return does + 1; }
FUNCTION(called, n)
FUNCTION(outer, called(n))
int main(void) { return outer(BUILD) == 0; }
"""


def build(out, number):
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-Wl,--build-id", f"-DBUILD={number}", "-xc", "-", "-o", out], input=SOURCE, text=True, check=True)


def stack():
    """Of the one event: what stands for each entry in our program, as (name, or address in the file)."""
    out = run(REPORT, FILE).stdout
    found = re.findall(rf" => (\w+)\S* \({PROGRAM}(?:\+0x\w+)?\)\n", out)
    if len(found) < 3:
        fail(f"no stack in {out}")
    return found[:3]


def expect(names, what):
    got = stack()
    if (got != names) if names else any(not x.startswith("0x") for x in got):
        fail(f"{what}: {got}")


def main():
    if not shutil.which("gcc"):
        print("needs gcc")
        sys.exit(77)
    build("whole", 1)
    build("other", 2)
    subprocess.run(["strip", "-o", PROGRAM, "whole"], check=True)
    symbols = subprocess.run(["nm", "whole"], capture_output=True, text=True, check=True).stdout
    at = re.search(r"^(\w+) t called$", symbols, re.M).group(1)
    run(UPROBE, "--record", FILE, "--stack", "unwind", "-e", f"p:called {PROGRAM}:0x{at}", "--", PROGRAM)
    names = ["called", "outer", "main"]
    expect(None, "stripped")
    shutil.copy("whole", "new")
    os.rename("new", PROGRAM)
    expect(names, "the whole file")
    os.rename("other", PROGRAM)
    expect(None, "another build")
    os.unlink(PROGRAM)
    expect(None, "no file")
    # Separate debug information, by .gnu_debuglink.
    subprocess.run(["objcopy", "--only-keep-debug", "whole", "whole.debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=whole.debug", "whole", PROGRAM], check=True)
    expect(names, "debug information beside it")
    # Addresses alone were asked for.
    run(UPROBE, "--record", FILE, "--stack-raw", "--stack", "unwind", "-e", f"p:called {PROGRAM}:0x{at}", "--", PROGRAM)
    if "called+" in run(REPORT, FILE).stdout:
        fail("--stack-raw has names")


if __name__ == "__main__":
    main()
