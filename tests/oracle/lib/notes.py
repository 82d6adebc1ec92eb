# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Static probes as readelf tells them, and their arguments translated by hand into the
kernel's fetch args: what usdt does, made a second time and independently of it."""

import os
import re
import subprocess

import oracle


class Note:
    """One location: provider, name, location, base, semaphore (numbers), arguments (text)."""

    def __init__(self, fields):
        self.provider, self.name = fields["Provider"], fields["Name"]
        place = re.fullmatch(r"(0x[0-9a-f]+), Base: (0x[0-9a-f]+), Semaphore: (0x[0-9a-f]+)",
                             fields["Location"])
        self.location, self.base, self.semaphore = (int(x, 16) for x in place.groups())
        self.arguments = fields.get("Arguments", "")

    @property
    def operands(self):
        """Of arm64 they may have blanks in brackets."""
        return re.findall(r"(?:\[[^]]*\]|\S)+", self.arguments)

    @property
    def probe(self):
        return f"{self.provider}:{self.name}"

    def __repr__(self):
        return (f"{self.probe} {self.location:#x} {self.base:#x} {self.semaphore:#x} "
                f"[{self.arguments}]")


def read(path):
    """All of a file, in its order."""
    out = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, check=True,
                         stderr=subprocess.DEVNULL, text=True, errors="replace").stdout
    notes = []
    for block in re.split(r"^  stapsdt .*\n", out, flags=re.M)[1:]:
        fields = {}
        for line in block.splitlines():
            m = re.match(r" {4}(\w+): (.*)", line)
            if not m:
                break
            fields[m.group(1)] = m.group(2).rstrip()
        notes.append(Note(fields))
    return notes


REGISTERS = {}
for _name in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp"):
    for _as in ("r" + _name, "e" + _name, _name):
        REGISTERS[_as] = _name
    REGISTERS[_name[0] + "l" if _name[1] == "x" else _name + "l"] = _name
for _i in range(8, 16):
    for _as in ("", "d", "w", "b"):
        REGISTERS[f"r{_i}{_as}"] = f"r{_i}"


class File:
    """Offsets and symbols of one file, for translations."""

    def __init__(self, path):
        self.path, self.elf = path, oracle.Elf(path)
        self.notes = read(path)
        out = subprocess.run(["readelf", "-sW", path], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
        self.objects = {m.group(2): int(m.group(1), 16) for m in re.finditer(
            r"^ *\d+: ([0-9a-f]+) +\d+ OBJECT +\w+ +\w+ +\d+ (\w+)", out, re.M)}

    def value(self, operand, note):
        """"-4@%edi" -> ("%di", "s32"); None: the kernel has no words for it."""
        size, what = operand.split("@")
        kind = ("s" if size[0] == "-" else "u") + str(8 * abs(int(size)))
        if os.uname().machine == "aarch64":
            return self.arm64_value(what, kind)
        if what[0] == "$":
            return "\\" + what[1:], kind
        if what[0] == "%":
            return ("%" + REGISTERS[what[1:]], kind) if what[1:] in REGISTERS else None
        m = re.fullmatch(r"(-?(?:0|[1-9]\d*))?\(%(\w+)\)", what)
        if m and m.group(2) in REGISTERS:
            return f"{int(m.group(1) or 0):+d}(%{REGISTERS[m.group(2)]})", kind
        m = re.fullmatch(r"(?:(-?\d+)\+)?(\w+)\(%rip\)", what)
        if not m or m.group(2) not in self.objects:
            return None
        # Counted from where the segment of the probe would be at its start.
        away = self.objects[m.group(2)] + int(m.group(1) or 0) - note.location
        return f"@+{self.elf.offset_of(note.location) + away}", kind

    def arm64_value(self, what, kind):
        """"w0", "[sp, 43]", "7"."""
        if re.fullmatch(r"-?\d+", what):
            return "\\" + what, kind
        if re.fullmatch(r"[wx]\d+", what):
            return "%x" + what[1:], kind
        m = re.fullmatch(r"\[(x\d+|sp)(?:, (-?\d+))?\]", what)
        return (f"{int(m.group(2) or 0):+d}(%{m.group(1)})", kind) if m else None

    def place(self, note):
        ref = f"(0x{self.elf.offset_of(note.semaphore):x})" if note.semaphore else ""
        return f"{self.path}:0x{self.elf.offset_of(note.location):x}{ref}"

    def arguments(self, note, as_strings=()):
        """All of them, those with a number (from 1) in AS_STRINGS as what they point to."""
        words = []
        for i, operand in enumerate(note.operands, 1):
            value, kind = self.value(operand, note)
            if i in as_strings:
                value, kind = f"+0({value})", "string"
            words.append(f"arg{i}={value}:{kind}")
        return words
