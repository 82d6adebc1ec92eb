# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Programs of other languages' runtimes: what they compute while uprobe comes, goes and is
killed must be what they compute undisturbed."""

import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402
from torture import Broken, Row, Storm, Target  # noqa: E402

PROGRAMS = os.path.join(torture.SRC, "tests/torture/programs")


class Program(Target):
    """Answers each check with a digest, the same each time."""

    def __init__(self, argv, want):
        self.want = want
        super().__init__(argv, lambda status: False)
        self.check()  # what it loads and sets up lazily is there then
        self.quiet = self.state()

    def good(self, answer):
        self.want = self.want or answer
        if answer != self.want:
            raise Broken(f"says '{answer}', undisturbed it says '{self.want}'")


def libc_of(pid):
    with open(f"/proc/{pid}/maps") as f:
        m = re.search(r" (/\S*/libc\.so\.6|/\S*/libc-\S+\.so)$", f.read(), re.M)
    return m.group(1) if m else None


def python():
    exe = os.path.realpath("/usr/bin/python3")
    if os.path.exists(exe):
        return [exe, f"{PROGRAMS}/work.py"], [f"p:s/attr {exe}:PyObject_GetAttr",
                                              f"r:s/long {exe}:PyLong_FromLong $retval",
                                              f"r:s/new {exe}:PyUnicode_New"]
    return None


def node():
    exe = shutil.which("node")
    return exe and ([exe, f"{PROGRAMS}/work.js"], [])


def java():
    if not shutil.which("javac"):
        return None
    subprocess.run(["javac", "-d", ".", f"{PROGRAMS}/Work.java"], check=True)
    # All heap and code is touched early: the machine is shared.
    return [shutil.which("java"), "-Xmx64m", "-XX:+UseSerialGC", "-cp", ".", "Work"], []


def entries_and_returns(path, *patterns):
    """Thousands of functions, whose returns are caught at ret instructions, of which most get jumps."""
    return [f"{kind}:s/{kind}{i} {path}:{pattern}" for kind in "pr" for i, pattern in enumerate(patterns)]


def node_returns():
    what = node()
    return what and (what[0], entries_and_returns(os.path.realpath(what[0][0]), "*Handle*", "*String*", "*EVP*", "*sha256*", "OPENSSL*", "*Scope*"))


def java_returns():
    what = java()
    library = what and os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(what[0][0]))), "lib/server/libjvm.so")
    if not what or not os.path.exists(library):
        return None
    return what[0], entries_and_returns(library, "*Handle*", "*Mutex*", "*Klass*", "*Symbol*", "*Interpreter*", "*lock*", "*Thread*")


def is_long(name):
    return name.endswith(" returns")


def go():
    if not shutil.which("go"):
        return None
    exe = os.path.abspath("work_go")
    env = dict(os.environ, GOCACHE=os.path.join(torture.BUILD, "go-cache"), HOME=os.getcwd(), GOFLAGS="-mod=mod")
    if not os.path.exists(exe):
        subprocess.run(["go", "build", "-o", exe, f"{PROGRAMS}/work.go"], check=True, env=env)
    return [exe], [f"p:s/add {exe}:main.add", f"p:s/grow {exe}:main.grow",
                   f"p:s/unit {exe}:main.unit"]


def bash():
    exe = os.path.realpath(shutil.which("bash"))
    return [exe, f"{PROGRAMS}/work.sh"], [f"p:s/cmd {exe}:execute_command",
                                          f"r:s/child {exe}:make_child $retval",
                                          f"r:s/malloc {exe}:xmalloc $retval",
                                          f"p:s/var {exe}:find_variable n=+0({torture.ARG1}):string"]


def main():
    options = torture.parse(__doc__)
    torture.in_own_folder()
    table = torture.Table(options)
    for name, make in (("python", python), ("node", node), ("java", java), ("go", go),
                       ("bash", bash), ("node returns", node_returns), ("java returns", java_returns)):
        # The long ones where they are asked for; and not where each hit is a stop.
        wanted = options.only in name and (not is_long(name) or options.full or is_long(options.only))
        what = make() if wanted else None
        for mode in options.modes if what else ():
            if is_long(name) and mode not in ("auto", "stay"):
                continue
            argv, defs = what
            row = Row(f"programs {name}", mode)
            undisturbed = Program(argv, None)
            want, libc = undisturbed.want, libc_of(undisturbed.pid)
            undisturbed.check()
            undisturbed.end()
            if libc and name != "bash" and not is_long(name):
                defs = defs + [f"p:s/malloc {libc}:malloc n={torture.ARG1}:u64", f"p:s/write {libc}:write",
                               f"r:s/read {libc}:read $retval:s64"]
            Storm(row, lambda a=argv, w=want: Program(a, w), defs, [], options).run(
                options.rounds or (60 if options.full and not is_long(name) else 8), fresh_every=20,
                # Jumps come to ret instructions when these have been hit.
                after_ready=Program.check if is_long(name) else None)
            table.add(row)
    if not table.rows:
        torture.skip("none of the programs is there")
    table.done()


if __name__ == "__main__":
    main()
