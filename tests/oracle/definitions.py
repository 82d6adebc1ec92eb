# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Random definitions, written to the running kernel and to our parser: same result,
same message, same caret, same listing. SEED and N in the environment choose the run.

Nothing is ever enabled. All files have a name of this run in them, and only probes on
these files are deleted again, and those that a run left that was killed."""

import ctypes
import os
import random
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "tool"))
from spec_client import Client  # noqa: E402

TRACEFS = "/sys/kernel/tracing"
# The kernel makes a name of that of the file up to the first '_': so two runs have no name in common.
TOKEN = f"ubpd{os.getpid()}"
BATCH = 40       # probes that may stand at one time
SHOWN = 20       # differences that are printed


def skip(reason):
    print(reason)
    sys.exit(77)


# --- the kernel ------------------------------------------------------------------------

class Kernel:
    ENTRY = re.compile(rb"\[ *(\d+\.\d+)\] (\w+): error: ([^\n]*)\n  Command: ([^\n]*)\n( *)\^\n")

    def __init__(self):
        if not os.path.exists(TRACEFS + "/uprobe_events"):
            libc = ctypes.CDLL(None, use_errno=True)
            libc.mount(b"tracefs", TRACEFS.encode(), b"tracefs", 0, None)
        try:
            # No O_TRUNC: that would delete every event there is.
            self.fd = os.open(TRACEFS + "/uprobe_events", os.O_WRONLY | os.O_APPEND)
        except OSError as e:
            skip(f"no uprobe_events that can be written: {e}")
        self.forget_killed_runs()
        self.seen = set(self.log())

    def forget_killed_runs(self):
        with open(TRACEFS + "/uprobe_events", "rb") as f:
            left = re.findall(rb"^[pr](:\S+) .*/1?ubpd_?(\d+)", f.read(), re.M)
        for event in {event for event, pid in left if not os.path.exists(f"/proc/{int(pid)}")}:
            os.write(self.fd, b"-" + event)

    def log(self):
        with open(TRACEFS + "/error_log", "rb") as f:
            return self.ENTRY.findall(f.read())

    def lines_once(self):
        with open(TRACEFS + "/uprobe_events", "rb") as f:
            return [x for x in f.read().split(b"\n") if TOKEN.encode() in x]

    def lines(self):
        """The list is read a page at a time: where others take an event out in between, one of ours is passed over."""
        lines, before = self.lines_once(), None
        while lines != before:
            lines, before = self.lines_once(), lines
        return lines

    def write(self, data):
        """(errno, (message, command, caret) or None), as the kernel answers one write."""
        try:
            os.write(self.fd, data)
            return 0, None
        except OSError as e:
            code = e.errno
        # Others may write to the log too: take what is new and shows one of our lines.
        log = self.log()
        commands = [joined(line) for line in data.split(b"\n")]
        new = [x for x in log if x not in self.seen and x[3] in commands]
        self.seen = set(log)
        if not new:
            return code, None
        _, _, message, command, blanks = new[-1]
        return code, (message, command, len(blanks) - len("  Command: "))


def joined(line):
    return b" ".join(x for x in re.split(rb"[\t-\r \xa0]+", line.split(b"#")[0]) if x)


# --- definitions -----------------------------------------------------------------------

class Generator:
    REGS = ("ax bx cx dx si di bp sp r8 r9 r10 r11 r12 r13 r14 r15 ip flags cs ss orig_ax "
            "rax eax x0 AX dil").split() + [""]
    TYPES = ("u8 u16 u32 u64 s8 s16 s32 s64 x8 x16 x32 x64 char string ustring symbol symstr "
             "b1@0/8 b4@4/8 b8@1/8 b12@4/16 b32@32/64 b0@0/8 b0x8@010/0x20 b4@/8 b4/8 b4@0/9 "
             "bx/8 b4@-0/8 b4@0+/8 b18446744073709551615@2/8 U8 u7").split() + [""]
    NUMBERS = ("0 1 8 16 0x10 0X1f 017 08 0x +8 ++8 -8 --8 +-8 -+8 1a 00 0b1 4095 0x7fffffff "
               "0x80000000 0xffffffff 0x100000008 0x7fffffffffffffff 0x8000000000000000 "
               "9223372036854775808 -9223372036854775808 -9223372036854775809 "
               "18446744073709551615 18446744073709551616 18446744073709551616x").split() + [""]

    def __init__(self, rng, files):
        self.rng, self.files = rng, files

    def one(self, *options):
        return self.rng.choice(options)

    def maybe(self, chance, text):
        return text if self.rng.random() < chance else ""

    def number(self):
        if self.rng.random() < 0.85:
            return str(self.rng.choice([0, 1, 8, 0x10, 64, 4096]))
        return self.rng.choice(self.NUMBERS)

    def offset(self):
        if self.rng.random() < 0.9:
            return hex(self.rng.choice([0x100, 0x110, 0x120]))
        return self.number()

    def place(self):
        path = self.rng.choice(self.files if self.rng.random() < 0.12 else self.files[:7])
        if self.rng.random() < 0.5:
            path = self.files[0]
        ref = self.one("", "", "", "", "", "(0)", "(0x40)", "(" + self.number() + ")", "(1", "(1)x")
        ret = self.one("", "", "", "", "%return", "%return", "%ret", "%", "%return%return")
        text = self.one(ret + ref, ret + ref, ret + ref, ref + ret)
        if self.rng.random() < 0.75:
            text = self.one("", "", "%return")
        return path + self.maybe(0.98, ":") + self.offset() + text

    def names(self):
        event = TOKEN + self.one("_e", "_f", f"_{self.rng.randrange(100)}", f"_{self.rng.randrange(100)}")
        group = TOKEN
        if self.rng.random() < 0.06:
            event = self.one("", "1x", "a-b", "a.b", "é", "x" * 63, "x" * 64, "_", "a/b")
        if self.rng.random() < 0.06:
            group = self.one("", "1g", "-g", "g" * 63, "g" * 64, "a+b")
        return self.one(f"{group}/{event}", f"{group}/{event}", f"{group}/{event}",
                        f"{group}.{event}", event, f"{group}/", "")

    def first(self):
        letter = self.one("p", "r")
        if self.rng.random() < 0.05:
            letter = self.one("P", "q", "", "pp", "r10", "p10")
        return letter + self.maybe(0.9, ":" + self.names())

    def deref(self, depth):
        return (self.one("+", "+", "-") + self.maybe(0.2, "u") + self.number() +
                self.maybe(0.97, "(") + self.expr(depth + 1) + self.maybe(0.97, ")") +
                self.maybe(0.03, self.one("x", "[4]", ")", "(")))

    def expr(self, depth=0):
        if self.rng.random() < (0.35 if depth == 0 else 0.5) and depth < 16:
            return self.deref(depth)
        kind = self.rng.randrange(12)
        if kind < 5:
            return "%" + (self.one("di", "si", "ax") if self.rng.random() < 0.8 else
                          self.rng.choice(self.REGS))
        if kind < 8:
            return "$" + self.one("stack", "stack0", "stack7", "retval", "comm", "COMM", "retvalx",
                                  "stack" + self.number(), "arg" + self.number(), "foo", "stackx", "")
        if kind == 8:
            return "@" + self.one("", "+", "-") + self.number()
        if kind == 9:
            return "\\" + self.one("", "+", "-") + self.number()
        if kind == 10:
            return "\\\"" + self.one("x", "", "a\"b", "x:y", "a=b") + self.maybe(0.9, "\"")
        return self.one("", "(", "foo", "_x", "*", "é", "=", "(x)%di")

    def deep(self):
        depth = self.rng.randrange(8, 17)
        base = self.one("%di", "@1", "@+1", "\\1", "$stack")
        return "+0(" * depth + base + ")" * depth

    def type(self):
        if self.rng.random() < 0.5:
            return ""
        text = ":" + (self.rng.choice(self.TYPES) if self.rng.random() < 0.3 else
                      self.one("u8", "u32", "string", "ustring", "x64", "char"))
        if self.rng.random() < 0.25:
            text += "[" + self.one("1", "2", "4", "64", "65", self.number()) + self.maybe(0.95, "]")
            text += self.maybe(0.05, "x")
        return text

    def arg(self):
        chance = self.rng.random()
        if chance < 0.4:
            return self.one("", "", f"a{self.rng.randrange(50)}=") + self.one(
                "%di", "%si:u8", "+8(%sp):s32", "+0(+8(%di)):string", "@0x1000:u16[4]", "$stack2", "$comm",
                "+u0(%di):ustring[3]", "\\7:x8", "@+64:b3@2/16", "+0(%si):b1@7/8[2]", "\\\"text\"")
        if chance < 0.8:
            name = self.one("a", "b", "c", "x1") + "="
        else:
            name = self.one("", "", "", "arg2=", "=", "1a=", "a-b=", "n" * 32 + "=", "n" * 33 + "=",
                            "common_pid=", "common_foo=", "__probe_ip=", "COMM=")
        body = (self.deep() if self.rng.random() < 0.05 else self.expr()) + self.type()
        return name + body + self.maybe(0.02, "0" * self.rng.randrange(70))

    def big(self):
        """Args about as large as an event may be."""
        size = self.one("u64[64]", "string[64]", "u32[64]", "u8[64]")
        n = 3072 // {"u64[64]": 512, "u8[64]": 64}.get(size, 256) + self.one(-1, 0, 0, 1)
        args = [f"+0(%di):{size}"] * n + self.one([], ["%di:u8"], ["%di"])
        return " ".join(args)

    def define(self):
        kind = self.rng.random()
        if kind < 0.02:
            args = [self.big()]
        elif kind < 0.04:
            args = ["%di"] * self.rng.randrange(125, 132)
        else:
            args = [self.arg() for _ in range(self.one(0, 0, 1, 1, 1, 2, 3))]
        words = [self.first(), self.place()] + args
        return self.one(" ", " ", " ", "\t", "  ").join(words)

    def delete(self, lines):
        if lines and self.rng.random() < 0.7:
            words = self.rng.choice(lines).decode("utf-8", "surrogateescape").split(" ")
            words[0] = "-" + words[0][1:]
            text = " ".join(words[:self.rng.randrange(1, len(words) + 1)])
            return text + self.maybe(0.1, self.one("0", " x=%di"))
        return self.one(f"-:{TOKEN}/{TOKEN}_e", f"-:{TOKEN}_f", f"-:{TOKEN}/", f"-{TOKEN}", f"-:x{TOKEN}",
                        f"-:/{TOKEN}_e", f"-:{TOKEN}.{TOKEN}_e", f" -:{TOKEN}_e")

    def mutate(self, data):
        data = bytearray(data)
        for _ in range(self.one(1, 1, 2, 4)):
            at = self.rng.randrange(len(data) + 1)
            kind = self.rng.randrange(4)
            if kind == 0 and at < len(data):
                del data[at]
            elif kind == 1 and at < len(data):
                data[at] = self.rng.randrange(256)
            elif kind == 2:
                data[at:at] = bytes([self.rng.choice(b"():=+-@%$\\\"/[]#\n\0 \xa0ub0x.,")])
            else:
                end = at + self.rng.randrange(8)
                data[at:at] = data[at:end]
        return bytes(data)

    def write(self, lines):
        """The data of one write, and never one that deletes what is not ours."""
        texts = [self.delete(lines) if self.rng.random() < 0.08 else self.define()
                 for _ in range(self.one(1, 1, 1, 1, 1, 1, 2, 3))]
        data = ("\n".join(texts) + self.maybe(0.5, "\n")).encode("utf-8", "surrogateescape")
        if self.rng.random() < 0.12:
            data = self.mutate(data)
        for line in data.split(b"\n"):
            if line.startswith(b"-") and TOKEN.encode() not in joined(line).split(b" ")[0]:
                return b""
        return data


# --- comparing -------------------------------------------------------------------------

def raw(text):
    return text.encode("utf-8", "surrogateescape")


def compare(data, kernel, client, messages):
    """Write to both and yield what differs. Collects the kernel's messages."""
    code, logged = kernel.write(data)
    messages.add(logged[0] if logged else os.strerror(code).encode())
    ours = client.write(data)
    if ours["rc"] != -code:
        yield f"result {ours['rc']} ({ours.get('text')}), kernel {-code} {logged}"
    mine = None
    if "caret" in ours:
        mine = (raw(ours["text"]), raw(ours["command"]), int(ours["caret"]))
    if mine != logged:
        yield f"error {mine}, kernel {logged}"
    lines = kernel.lines()
    if [raw(x) for x in ours["lines"]] != lines:
        yield f"listing {ours['lines']}, kernel {lines}"


def clean(kernel, client):
    """Delete what stands, probe by probe; and compare what deleting answers."""
    for line in kernel.lines():
        words = line.split(b" ")
        data = b"-" + words[0][1:] + b" " + words[1]
        code, _ = kernel.write(data)
        # An earlier line may have taken it along: same place, other args.
        if client.write(data)["rc"] != -code:
            yield f"deleting with {data}: kernel {-code}"
    client.clear()
    if kernel.lines():
        yield f"left over: {kernel.lines()}"


def make_files():
    here = os.getcwd()
    for name in (f"{TOKEN}a", f"{TOKEN}b-x.y", f"{TOKEN}:c", f"1{TOKEN}+=,d"):
        with open(name, "wb") as f:
            f.write(b"x")
    os.symlink(f"{TOKEN}a", f"{TOKEN}link")
    os.mkdir(f"{TOKEN}dir")
    return [f"{here}/{TOKEN}a", f"{here}/{TOKEN}b-x.y", f"{here}/{TOKEN}:c", f"{here}/1{TOKEN}+=,d",
            f"{here}/{TOKEN}link", f"./{TOKEN}a", f"{TOKEN}a", f"{here}/{TOKEN}dir",
            f"{here}/{TOKEN}none", f"{here}/{TOKEN}a/x", "/dev/null", ":", "/"]


def check_version(kernel, path):
    """The grammar grows from version to version: leave other kernels alone."""
    tries = [(f"p:{TOKEN}/e {path}:0 " + "%di " * 129, b"Too many arguments are specified"),
             (f"p:{TOKEN}/{'x' * 64} {path}:0", b"Event name is too long"),
             (f"p:{TOKEN}/e {path}:0 @0x{'0' * 60}1", b"Argument expression is too long"),
             (f"p:{TOKEN}/e {path}:0 $foo", b"Invalid $-variable specified"),
             (f"p:{TOKEN}/e {path}:0 (x)%di", b"BTF is not available or not supported"),
             (f"p:{TOKEN}/e {path}:0 " + "+0(%di):u64[64] " * 7, b"Event too big (too many fields?)")]
    for text, message in tries:
        _, logged = kernel.write(text.encode())
        if not logged or logged[0] != message:
            list(clean(kernel, Client(["-s"])))
            skip(f"this kernel ({os.uname().release}) has another grammar: "
                 f"{message.decode()!r} was expected, not {logged}")


def main():
    seed = int(os.environ.get("SEED") or time.time_ns() % 1000000)
    n = int(os.environ.get("N") or 20000)
    print(f"SEED={seed} N={n}")
    files = make_files()
    kernel = Kernel()
    check_version(kernel, files[0])
    client = Client(["-s"])
    generator = Generator(random.Random(seed), files)
    failed = accepted = 0
    messages = set()
    try:
        for i in range(n):
            lines = kernel.lines()
            if len(lines) >= BATCH:
                for difference in clean(kernel, client):
                    failed += 1
                    print(difference)
                lines = []
            data = generator.write(lines)
            differences = list(compare(data, kernel, client, messages))
            after = kernel.lines()
            accepted += len(after) > len(lines)
            failed += bool(differences)
            if differences and failed <= SHOWN:
                print(f"{i}: {data!r}")
                print("\n".join("    " + x for x in differences))
    finally:
        failed += len(list(clean(kernel, client)))
    client.close()
    print(f"{n} writes, {accepted} that added probes, {len(messages)} kinds of answer, "
          f"{failed} with another answer than the kernel's")
    return 1 if failed or accepted < n // 20 or len(messages) < min(n // 60, 40) else 0


sys.exit(main())
