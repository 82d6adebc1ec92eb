# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Return probes of the kernel's and of ubp on functions that are left by jumps to others: both
replace the return address, and what each finds there may be the other's. Whoever comes first or
goes first, is killed or not, with a thread in the innermost function or with none, the program
computes what it computes; the kernel sees each return, and ubp each, or counts it as missed."""

import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
import together  # noqa: E402
from together import bad, fail  # noqa: E402

NAMES = ["last", "via", "over", "odd", "ping", "pong", "deep", "thru", "leap"]
TAIL = {"via", "over", "odd", "ping", "pong", "thru"}


def returns(numbers):
    """How often each function returns if it is called with these numbers."""
    n = len(numbers)
    odd = sum(x & 1 for x in numbers)
    return {"last": 4 * n + odd, "thru": n, "via": 2 * n, "over": n, "odd": n,
            "ping": sum(x // 2 + 1 for x in numbers), "pong": sum((x + 1) // 2 for x in numbers),
            "deep": sum((x & 3) + 1 for x in numbers), "leap": 0}


class Target(together.Target):
    def calls(self, n=9):
        numbers = self.numbers(n)
        for x in numbers:
            self.tell(f"call {x}", "ok")
        return list(numbers)

    def stay(self):
        self.tell(f"stay {self.numbers(1)[0]}", "inside")

    def go(self):
        self.tell("go", "ok")


def definition(group, path, name):
    return oracle.resolve(f"r:{name} {path}:{name} n=$retval", group)


def start_ubp(target, names, options):
    words = [word for name in names for word in ("-e", definition("ubp", target.path, name))]
    return together.Ubp(target, [*options, *words])


def new_kernel(target, names):
    return together.Kernel([definition(oracle.GROUP, target.path, n) for n in names])


def count(events):
    return {name: sum(e.name == name for e in events) for name in NAMES}


def check_kernel(events, numbers, names):
    got, want = count(events), returns(numbers)
    for name in names:
        if got[name] != want[name]:
            fail(f"kernel: {name}: {got[name]} returns of {want[name]}")


def check_ubp(events, stats, numbers, names, by_kernel):
    """NUMBERS: all that it saw. BY_KERNEL: where the kernel's stood meanwhile."""
    got, want = count(events), returns(numbers)
    for s in stats:
        if s.name == "leap":
            continue
        if got[s.name] + s.missed != want[s.name]:
            fail(f"ubp: {s.name}: {got[s.name]} returns and {s.missed} missed, of {want[s.name]}")
        if s.missed and (not by_kernel or s.missed != s.missed_kernel):
            fail(f"ubp: {s.name}: {s.missed} missed, {s.missed_kernel} of them by the kernel's")
        if s.missed and s.name not in TAIL and not TAIL & set(names) - set(by_kernel):
            fail(f"ubp: {s.name} is not left by a jump, but {s.missed} are missed")
    if len(stats) != len(names):
        fail(f"statistics of {len(stats)} probes")


# --- the orders --------------------------------------------------------------


def kernel_first(target, ours, theirs, options):
    kernel = new_kernel(target, theirs)
    kernel.switch(True)
    seen = target.calls()
    ubp = start_ubp(target, ours, options)
    both = target.calls()
    events, stats = ubp.end()
    seen += both + target.calls()
    check_kernel(kernel.end(), seen, theirs)
    target.calls()
    check_ubp(events, stats, both, ours, theirs)


def ubp_first(target, ours, theirs, options):
    ubp, kernel = start_ubp(target, ours, options), new_kernel(target, theirs)
    seen, both = target.calls(), []
    for _ in range(2):
        kernel.switch(True)
        both += target.calls()
        kernel.switch(False)
        seen += target.calls()
    kernel.switch(True)
    both += target.calls()
    events, stats = ubp.end()
    alone = target.calls()
    check_kernel(kernel.end(), both + alone, theirs)
    target.calls()
    check_ubp(events, stats, seen + both, ours, theirs)


def inside(target, ours, theirs, options):
    """Each comes and goes while a thread is in last()."""
    kernel = new_kernel(target, theirs)
    for sig in signal.SIGINT, signal.SIGKILL:
        for kernel_comes, kernel_goes in (True, False), (True, True), (False, True):
            if kernel_comes:
                kernel.switch(True)
            ubp = start_ubp(target, ours, options)
            target.calls(2)
            target.stay()
            if not kernel_comes:
                kernel.switch(True)
            if kernel_goes:
                kernel.switch(False)
                target.go()
                target.calls(2)
                ubp.end(sig)
            else:
                ubp.end(sig)
                target.go()
                target.calls(2)
            kernel.switch(False)
            target.calls(2)
            kernel.switch(True)
            target.stay()
            ubp = start_ubp(target, ours, options)
            target.go()
            target.calls(2)
            ubp.end(sig)
            kernel.switch(False)
            target.calls(2)
    kernel.end()


SETS = [(NAMES, NAMES), (NAMES, ["last"]), (["via", "ping"], NAMES), (NAMES, ["via", "pong"]),
        (["over"], ["over", "last"]), (["over", "last"], ["last"]), (["last", "pong"], NAMES)]


def run(path, options, n_sets, n_inside):
    for at, (ours, theirs) in enumerate(SETS[:n_sets]):
        for order in [kernel_first, ubp_first, inside][: 2 + (at < n_inside)]:
            target = Target(path)
            together.attempt(f"{path[-40:]} {' '.join(options)} {order.__name__}, ubp on {','.join(ours)}, "
                             f"the kernel on {','.join(theirs)}",
                             target, lambda: order(target, ours, theirs, options))


if __name__ == "__main__":
    oracle.mount_tracefs()
    if not os.path.exists(oracle.fixture("beside_tail")):
        oracle.skip("its functions are x86's code")
    # All of it where there is time.
    LONG = len(SETS) if os.environ.get("UBP_LONG") else 0
    TRAP = ["--mode", "trap", "--beside-kernel"]
    run(oracle.fixture("beside_tail"), [], len(SETS), LONG or 2)
    run(oracle.fixture("beside_tail"), TRAP, LONG or 3, LONG or 2)
    if together.fixture32("beside_tail"):
        run(together.fixture32("beside_tail"), [], LONG or 3, LONG or 1)
    else:
        print("  (no 32-bit programs here)")
    sys.exit(1 if bad else 0)
