# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""usdt -l and -L tell what readelf -n does, of all programs and libraries here that have static
probes: providers, names, locations, bases, semaphores and arguments, and these in words, too."""

import glob
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "oracle", "lib"))
import notes  # noqa: E402

USDT = os.environ["USDT"]
# Packages of Debian whose programs have some; what is installed is compared.
WHERE = ["/usr/bin/python3.*", "/usr/lib/postgresql/*/bin/postgres", "/usr/bin/php*",
         "/usr/lib/*/libruby*.so*", "/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libvirt.so.0",
         "/usr/sbin/libvirtd", "/usr/lib/jvm/*/lib/server/libjvm.so", "/usr/lib/*/libguestfs.so.0",
         "/usr/lib/*/sssd/libsss_ldap_common.so", "/usr/lib/gcc/*/*/cc1",
         os.environ["FIXTURES"] + "/usdt*"]
DETAILS = re.compile(r"^(?P<probe>\S+) (?P<path>/\S+)\n"
                     r" {4}location (?P<location>\S+), base (?P<base>\S+), semaphore (?P<sema>\S+)\n"
                     r"(?: {4}arguments (?P<args>.*)\n)?(?P<words>(?: {4}arg\d+ .*\n)*)", re.M)


def usdt(*args):
    return subprocess.run([USDT, *args], stdout=subprocess.PIPE, check=True, text=True).stdout


def words(file, note):
    """The argument lines that there should be; those that notes.py can't tell are None."""
    for i, operand in enumerate(note.operands, 1):
        known = re.fullmatch(r"-?\d+@(\$-?\d+|%\w+|[-\w+]*\(%\w+\)|-?\d+|[wx]\d+|\[[^]]*\])", operand)
        value = file.value(operand, note) if known else None
        yield f"    arg{i} {value[1]} {value[0]}" if value else None


def same_word(got, want):
    if want is None:
        return True
    # Offsets may be in hexadecimal.
    got, want = (re.sub(r"@\+(\w+)", lambda m: f"@+{int(m.group(1), 0)}", x) for x in (got, want))
    return got == want


def compare(path):
    file = notes.File(path)
    names = usdt("-l", path).split("\n")[:-1]
    out, bad = usdt("-L", path), []
    got = list(DETAILS.finditer(out))
    if names != sorted({n.probe for n in file.notes}, key=str.encode):
        bad.append(f"-l has other names: {names[:3]}...")
    if "".join(m.group(0) for m in got) != out:
        bad.append("-L has lines of another form")
    if len(got) != len(file.notes):
        bad.append(f"-L has {len(got)} locations, readelf {len(file.notes)}")
    n_words = 0
    for m, note in zip(got, file.notes):
        place = [int(m[k], 16) for k in ("location", "base", "sema")]
        if (m["probe"], m["args"] or "", place) != \
                (note.probe, note.arguments, [note.location, note.base, note.semaphore]):
            bad.append(f"{m.group(0)!r}, not {note}")
        lines = m["words"].split("\n")[:-1]
        wanted = list(words(file, note))
        n_words += len([w for w in wanted if w])
        # Operands of other machines, and those with blanks, are not split right by blanks.
        if len(lines) != len(wanted) or not all(map(same_word, lines, wanted)):
            bad.append(f"{note}: {lines}, not {wanted}")
    print(f"{'differs' if bad else 'equal'}: {path}: {len(file.notes)} locations, {len(names)} "
          f"names, {n_words} arguments")
    for b in bad[:5]:
        print("  " + b)
    return not bad


def candidates():
    seen = set()
    for pattern in WHERE:
        for path in sorted(glob.glob(pattern)):
            real = os.path.realpath(path)
            if not os.path.exists(real):
                continue
            with open(real, "rb") as f:
                is_elf = f.read(4) == b"\x7fELF"
            if is_elf and real not in seen and notes.read(real):
                seen.add(real)
                yield real


if __name__ == "__main__":
    files = list(candidates())
    results = [compare(path) for path in files]
    if len(files) < 3:
        sys.exit("not even the fixtures have static probes")
    sys.exit(0 if all(results) else 1)
