# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Kill storm: uprobe dies by SIGKILL at any moment; every target runs on, and so do its
children. At random moments, and before each single call by which uprobe touches a target."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402
from torture import ARG1, ARG2, KillAt, Row, Storm, Target, fixture  # noqa: E402

VARIANTS = ("plain", "own-sigaction", "own-signal", "own-raw", "late-sigaction", "late-signal",
            "late-raw", "ignored", "altstack", "deep", "static", "musl", "blocked", "spawn",
            "throw", "let-go")
SHORT = ("plain", "own-sigaction", "late-raw", "ignored", "altstack", "deep", "blocked", "spawn", "let-go")


def musl():
    """storm_kill for another C library; None where there is none."""
    if not shutil.which("musl-gcc") or torture.is_32_bits():
        return None
    out = os.path.abspath("storm_kill_musl")
    if not os.path.exists(out):
        subprocess.run(["musl-gcc", "-O1", "-g", "-fno-inline", "-pthread", "-o", out,
                        os.path.join(torture.SRC, "fixtures/storm_kill.c")], check=True)
    return out


def program(variant):
    if variant == "throw":
        return [fixture("storm_throw")]
    if variant == "static":
        return [fixture("storm_kill_static"), "plain"]
    if variant == "musl":
        path = musl()
        return [path, "plain"] if path else None
    if variant == "let-go":
        return [fixture("storm_kill"), "own-sigaction"]
    return [fixture("storm_kill"), variant]


def libc_of(path):
    out = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return next(line.split()[2] for line in out.splitlines() if "libc.so" in line)


def definitions(variant, argv):
    f = argv[0]
    if variant == "throw":
        return [f"p:k/thrower {f}:thrower i={ARG1}:s64", f"r:k/thrower_ret {f}:thrower $retval",
                f"r:k/middle {f}:middle $retval"]
    if variant == "let-go":
        return [f"p:k/mix {f}:mix i={ARG1}:s64", f"p:k/leaf {f}:leaf i={ARG1}:s64",
                f"r:k/leaf_ret {f}:leaf $retval:s64", f"r:k/outer {f}:outer $retval:s64"]
    defs = [f"p:k/mix {f}:mix i={ARG1}:s64 s=+0({ARG2}):string", f"p:k/leaf {f}:leaf i={ARG1}:s64",
            f"r:k/leaf_ret {f}:leaf $retval:s64", f"r:k/outer {f}:outer $retval:s64",
            f"p:k/half {f}:half"]
    defs += [f"r:k/{s} {f}:{s} $retval:s64" for s in ("tail_a", "tail_b", "tail_c")]
    if variant == "deep":
        defs += [f"r:k/deep {f}:deep $retval:s64"]
    if variant == "spawn":
        libc = libc_of(f)
        defs += [f"p:k/{s} {libc}:{s}" for s in ("sigaction", "sigprocmask", "dup2", "execve")]
    return defs


def storm(options, variant, mode, what):
    argv = program(variant)
    row = Row(f"kill {variant}{what}", mode)
    if not argv:
        row.note = "skipped: needs musl-gcc, which builds for 64 bits"
        return row, None
    return row, Storm(row, lambda: Target(argv), definitions(variant, argv), [], options)


def set_again(variant):
    return (lambda target: target.ask("set")) if variant.startswith("late-") else None


def random_moments(table, options, variant, mode):
    row, s = storm(options, variant, mode, "")
    if s:
        many = 160 if mode in ("auto", "stay") else 40
        s.run(options.rounds or (many if options.full else 4), set_again(variant))
    table.add(row)


def single_calls(table, options, mode, variant="plain"):
    """Before the k-th call: each in attach and detach, some in hits, where processes are let go of, too. Short: a sample."""
    row, s = storm(options, variant, mode, " by call")
    attach, _, detach, _ = s.count_steps()
    step = 1 if options.full else max(1, attach // 4)
    s.run_steps(KillAt.ATTACH, range(1, attach + 1, step))
    s.run_steps(KillAt.HIT, range(1, 60, 1 if options.full else 19))
    step = 1 if options.full else max(1, detach // 4)
    s.run_steps(KillAt.DETACH, range(1, detach + 1, step))
    s.over()
    row.note = row.note or f"{attach} calls in attach, {detach} in detach"
    table.add(row)


def main():
    options = torture.parse(__doc__)
    torture.in_own_folder()
    table = torture.Table(options)
    for mode in options.modes:
        for variant in VARIANTS if options.full or options.only else SHORT:
            # Whoever is stopped at each hit is never let go of.
            if options.only in f"kill {variant}" and (variant != "let-go" or mode == "auto"):
                random_moments(table, options, variant, mode)
        if options.only in "kill plain by call" and not options.no_kill:
            single_calls(table, options, mode)
        is_long = options.full or options.only
        if is_long and options.only in "kill let-go by call" and not options.no_kill and mode == "auto":
            single_calls(table, options, mode, "let-go")
    table.done()


if __name__ == "__main__":
    main()
