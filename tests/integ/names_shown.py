#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A target whose names and strings move cursors, turn the direction of writing and begin lines: none of
that is in anything that uprobe, usdt and docs/example.c, a user of the library, print, to a pipe or a terminal, and all of
the names is."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import termios

ARG1 = {"aarch64": "%x0"}.get(os.uname().machine, "%di")
UPROBE, USDT, FIXTURES = (os.environ[name] for name in ("UPROBE", "USDT", "FIXTURES"))
# One of each kind: ESC and other controls, DEL, a C1 control in UTF-8 and bare, bidi, ends of lines.
STRING = b"s\x1b[2J\rt\x7f\xc2\x9b3m\x9b\xe2\x80\xae\xd8\x9c\xe2\x80\xa8\xc2\x85\n forged-1 [000] ..... 1.0: greet: (0x0)"
SHOWN = (r"s\033[2J\015t\177\302\2333m\233\342\200\256\330\234\342\200\250\302\205\012"
         " forged-1 [000] ..... 1.0: greet: (0x0)")
# What the names of the fixtures' functions, variables, source files and probes become, of the same length.
HOSTILE = {b"greet": b"gr\x1bt\n", b"times": b"t\xc2\x9b\ns", b"hello.c": b"he\x1b\nl.c", b"argv": b"a\x1b\nv",
           b"twice": b"t\x1b\xc2\x9be", b"guarded": b"gu\xc2\x9b\xd8\x9cd"}
COMM = b"h\x1b[\n\xc2\x9bm"
UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def fail(text):
    sys.exit(f"FAIL: {text}")


def hostile(name, path):
    """A copy of a fixture with other names in its strings: symbols, debug information, notes."""
    with open(os.path.join(FIXTURES, name), "rb") as file:
        data = file.read()
    for good, bad in HOSTILE.items():
        assert len(good) == len(bad)
        data = re.sub(rb"(?<=[\0/])" + re.escape(good) + rb"(?=\0)", lambda _, bad=bad: bad, data)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o755)


def on_terminal(args, stdin, ready=None):
    """What is written to a terminal, by both streams. Colours of uprobe's own are text_shown.sh's."""
    main, side = pty.openpty()
    settings = termios.tcgetattr(side)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(side, termios.TCSANOW, settings)
    return written(args, stdin, main, side, ready)


def in_pipe(args, stdin, ready=None):
    """The same for a pipe."""
    main, side = os.pipe()
    return written(args, stdin, main, side, ready)


def written(args, stdin, main, side, ready):
    """What comes out at @main. @ready is called when that is told."""
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        with subprocess.Popen(args, stdin=file, stdout=side, stderr=side, env={**os.environ, "NO_COLOR": "1"}):
            os.close(side)
            text = read_all(main, ready)
    os.close(main)
    return text


def read_all(fd, ready):
    """Until the other side has closed it."""
    text = b""
    while select.select([fd], [], [], 60)[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
        if ready and b"ready\n" in text:
            ready()
            ready = None
    return text


def check(wanted, *args, stdin=b"go\n", n_lines=None):
    """All is text, in the lines that it has, and @wanted is in it."""
    return [check_text(run(args, stdin), wanted, f"{args} by {run.__name__}", n_lines, "--json" in args)
            for run in (in_pipe, on_terminal)]


def check_text(raw, wanted, what, n_lines=None, is_json=False):
    """The same of what was written."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        fail(f"{what}: what comes is no UTF-8: {raw!r}")
    unsafe = UNSAFE.search(text)
    if unsafe:
        fail(f"{what}: there is {unsafe.group()!r} in {text!r}")
    if not is_json:
        for line in text.splitlines():
            if "forged" in line and "\\012 forged" not in line:
                fail(f"{what}: a line is forged: {text!r}")
    for one in wanted:
        if one not in text:
            fail(f"{what}: no {one!r} in {text!r}")
    if n_lines is not None and len(text.splitlines()) != n_lines:
        fail(f"{what}: not {n_lines} lines: {text!r}")
    return text


def lists():
    """Names of functions, variables, probes, files."""
    check([r"gr\033t\012"], UPROBE, "-l", "./hello", "g*", n_lines=1)
    check([r"gr\033t\012  "], UPROBE, "--explain", "-l", "./hello", "g*", n_lines=1)
    check([r"he\033\012l.c:0>", r"(no source there: "], UPROBE, "--lines-of", "main", "./hello")
    check([r"a\033\012v"], UPROBE, "--vars", "main", "./hello")
    check([r"sema:gu\302\233\330\234d"], USDT, "-l", "./usdt")
    check([r"sema:gu\302\233\330\234d ./usdt"], USDT, "-L", "./usdt")
    check([r"/e\033vil/hello"], UPROBE, "-v", "--check", "--explain", "--definition", "p:./e\x1bvil/hello:main")


def messages():
    """The user's own words, and names that are near."""
    check([r"no\033[2J", "  p:./hello:no"], UPROBE, "p:./hello:no\x1b[2J")
    check([r"./no\302\233file\012x"], UPROBE, "-l", "./no\xc2\x9bfile\nx".encode("latin-1"))
    check([r"'\033'"], UPROBE, "-p", "\x1b", "p:./hello:main")
    check([r"gr\033t\012"], UPROBE, "p:./hello:grxtx")
    check([r"a=\100", r"\377"], UPROBE, "--check", "-e", r"p:a/b ./hello:main a=\100 b=\377")
    for run in in_pipe, on_terminal:
        lines = run((UPROBE, "-e", "p:a/b ./hello:main x\x1by=%foo"), b"").decode().splitlines()
        want = r"  p:a/b ./hello:main x\033y=%foo"
        if lines[1] != want or lines[2].index("^") not in (want.index("x\\"), want.index("%") + 1):
            fail(f"the caret is elsewhere: {lines}")


def offset_of_greet():
    """Where the function is whose name is hostile."""
    told = subprocess.run((UPROBE, "--check", "p:./hello:g*"), capture_output=True, check=True).stdout.decode()
    return "0x" + told.split(":0x")[1].strip()


def traces():
    """Strings, names of tasks, stacks, what is said at begin and end."""
    command = ("--", b"./" + COMM, STRING)
    comm = r"h\033[\012\302\233m"
    probe = f"p:./same:{offset_of_greet()}"
    string = f" a=+0({ARG1}):string c=+1({ARG1}):char n=$comm"
    at = f"g/e {os.getcwd()}/same:0x{probe.split('0x')[1]}"
    wanted = [f'a="{SHOWN}"', r"c='\033'", f'n="{comm}"', comm + "-"]
    check(wanted, UPROBE, probe + string, *command)
    check(wanted + [r" => gr\033t\012+0x0 ("], UPROBE, "-s", "--lines", "--stats", probe + string, *command)
    check([comm + ";", r";gr\033t\012 1"], UPROBE, "--folded", probe, *command)
    for text in check(["\\u009b3m"], UPROBE, "--json", "-s", probe + string, *command):
        event = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
        if event["args"]["n"] != COMM.decode() or event["stack"][0]["function"] != HOSTILE[b"greet"].decode():
            fail(f"JSON has other names: {event}")
    # Who wants the kernel's bytes has them.
    raw = in_pipe((UPROBE, "--strict", "-e", f"p:{at}{string}", *command), b"go\n")
    if b'a="' + STRING + b'"' not in raw or COMM + b"-" not in raw:
        fail(f"--strict: not as the kernel has it: {raw!r}")
    if UNSAFE.search(on_terminal((UPROBE, "--strict", "-e", f"p:{at}{string}",
                                  *command), b"go\n").decode()):
        fail("--strict: raw on a terminal")


def build_example():
    """docs/example.c, and the same with a strict session as ./strict; None where it cannot be built."""
    build, source = os.environ["UBP_BUILD"], os.environ["UBP_SRC"]
    if not shutil.which("gcc") or not shutil.which("pkg-config"):
        return None
    libs = subprocess.run(("pkg-config", "--libs", "capstone", "libdw", "libelf", "jansson", "liblzma", "libzstd", "libprotobuf-c", "zlib", "libunwind-ptrace"),
                          capture_output=True, check=True).stdout.decode().split()
    symbols = subprocess.run(("nm", f"{build}/libubp.a"), capture_output=True, check=False).stdout
    if b"__asan_" in symbols:
        libs.append("-fsanitize=address,undefined")
    with open(f"{source}/docs/example.c", encoding="utf-8") as file:
        text = file.read()
    strict = text.replace("opt.n_pids = 1;", "opt.n_pids = 1, opt.strict = true;").replace(
        "ubp_add(s, argv[2],", "ubp_add_events(s, argv[2], __builtin_strlen(argv[2]),")
    for name, code in ("example", text), ("strict", strict):
        subprocess.run(("gcc", f"-I{source}/engine", "-o", name, "-xc", "-", "-xnone", f"{build}/libubp.a", *libs, "-liberty",
                        "-pthread"), check=True, input=code.encode())
    return "./example"


def traced(run, example, probe):
    """What it prints of a target that goes on when it is ready."""
    with subprocess.Popen((b"./" + COMM, STRING), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        if target.stdout.readline() != b"ready\n":
            fail("the target is not ready")
        return run((example, str(target.pid), probe), b"", lambda: (target.stdin.write(b"go\n"), target.stdin.flush()))


def library():
    """A user of the library who prints what it gives: lines of events, errors. The reason, where none can be built."""
    example = build_example()
    if not example:
        return "docs/example.c cannot be built here"
    args = f"{offset_of_greet()} a=+0({ARG1}):string c=+1({ARG1}):char n=$comm"
    wanted = [f'a="{SHOWN}"', r"c='\033'", r'n="h\033[\012\302\233m"', r"h\033[\012\302\233m-"]
    for run in in_pipe, on_terminal:
        check_text(traced(run, example, f"p:./same:{args}"), wanted, f"{example} by {run.__name__}", n_lines=2)
    raw = traced(in_pipe, "./strict", f"p:g/e {os.getcwd()}/same:{args}")
    if b'a="' + STRING + b'" c=\'\x1b\' n="' + COMM + b'"' not in raw or COMM + b"-" not in raw:
        fail(f"a strict session: not as the kernel has it: {raw!r}")
    check([r"gr\033t\012"], example, str(os.getpid()), "p:./hello:grxtx")
    return None


def main():
    """All of it."""
    hostile("hello", "hello")
    hostile("usdt", "usdt")
    os.link("hello", COMM)
    os.link("hello", "same")
    os.mkdir("e\x1bvil")
    os.link("hello", "e\x1bvil/hello")
    lists()
    messages()
    traces()
    left_out = library()
    if left_out:
        print(left_out)
        sys.exit(77)


main()
