# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""All functions of a program and of its C library probed at once: python's own regression
tests and a bash script must do what they do alone."""

import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402
from torture import UPROBE, Row  # noqa: E402

SHORT = ("test_generators", "test_fork1")
FULL = SHORT + ("test_list", "test_dict", "test_struct", "test_thread", "test_re", "test_json",
                "test_exceptions", "test_gc", "test_threading", "test_subprocess", "test_signal", "test_faulthandler", "test_queue",
                "test_unicode", "test_asyncio.test_events")
HANGS = ("test_4_daemon_threads",)  # at times, alone too
LIMIT = 600  # s for one run


def libc_copy(exe):
    """A libc of our own, so that nobody else's probes are in it."""
    out = subprocess.run(["ldd", exe], capture_output=True, text=True, check=False).stdout
    m = re.search(r"libc\.so\.6 => (\S+)", out)
    return m and os.path.abspath(shutil.copy(m.group(1), "libc.so.6"))


def run(argv, env, before=()):
    try:
        p = subprocess.run([*before, *argv], env=env, stdin=subprocess.DEVNULL, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "does not end", b"", ""
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def difference(out, alone):
    """The first lines that are not the same, or the end."""
    for a, b in zip(out.split(b"\n"), alone.split(b"\n")):
        if a != b:
            return f"{a!r}, alone {b!r}"
    return f"it ends with {out[-100:]!r}, alone with {alone[-100:]!r}"


def compare(row, name, argv, defs, env, look_at_output):
    """Its exit status, and its output, are what they are without us."""
    row.rounds += 1
    alone = run(argv, env)
    if alone[0] == "does not end":
        row.note += f" {name} does not end alone"
        return
    rc, out, err = run(argv, env, [UPROBE, *torture.mode_options(row.mode), "--stats", "-o", "/dev/null",
                                   *(word for d in defs for word in ("-e", d)), "--"])
    row.clean += 1
    row.hits += sum(int(n) for n in re.findall(r" hits=(\d+)", err))
    places, jumps = len(re.findall(r" jumps=", err)), len(re.findall(r" jumps=[1-9]", err))
    if rc != alone[0] or (look_at_output and out != alone[1]):
        row.fail(f"{name}: ends with {rc}, alone with {alone[0]}: {difference(out, alone[1])}; {err[-300:]}")
    elif places < 3000 or (row.mode in ("auto", "stay") and jumps < places * 9 // 10):
        row.fail(f"{name}: {jumps} jumps for {places} functions")


def main():
    options = torture.parse(__doc__)
    torture.in_own_folder()
    table = torture.Table(options)
    python, bash = os.path.realpath("/usr/bin/python3"), os.path.realpath(shutil.which("bash"))
    libc = libc_copy(bash)
    if not libc:
        torture.skip("bash has no libc.so.6")
    env = dict(os.environ, LD_LIBRARY_PATH=os.getcwd(), PYTHONHASHSEED="1")
    of_libc = [f"p:c/f {libc}:*"]
    for mode in options.modes:
        if options.only in "bash":
            row = Row("everything bash", mode)
            script = os.path.join(torture.SRC, "tests/torture/programs/jobs.sh")
            compare(row, "jobs.sh", [bash, script], of_libc + [f"p:b/f {bash}:*"], env, True)
            table.add(row)
        row = Row("everything python", mode)
        names = [n for n in (FULL if options.full else SHORT)
                 if run([python, "-c", f"import test.{n}"], env)[0] == 0]
        if not names:
            row.note = f"{python} has no tests (libpython3.11-testsuite)"
        for name in names if options.only in "python" else ():
            skipped = [a for h in HANGS for a in ("-i", h)]
            compare(row, name, [python, "-m", "test", *skipped, name], of_libc + [f"p:p/f {python}:*"], env,
                    False)
        table.add(row)
    table.done()


if __name__ == "__main__":
    main()
