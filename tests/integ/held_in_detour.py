# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""A thread is stopped in the middle of what a hit runs through, and uprobe goes: what the thread stands in, and what
that leads to in other areas, is there still when it goes on. Where that is: in the code that replaced return addresses
lead to, and in the detour of a function, which is in another area."""

import os
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
import tracer  # noqa: E402

ROOM = os.path.join(os.environ["FIXTURES"], "room")
WAIT = int(os.environ.get("TIMEOUT", "60"))
CALLS = 3000000  # of step() by onward(), more of them at once than uprobe needs to see for a jump
# arch/guard.h: struct guard_head, struct guard_data.
MAGIC, HEAD_LEN, HEAD_DATA, DATA_RETURN = b"UB-GUARD", 16, 48, 128
TABLE, RETURN_CODE = 0x1000, 960
# In the code that returns lead to: lea (%rdx,%r11),%r11; mov 16(%r11),%rax; and $7,%rax; jne; jmp *16(%r11), which is .back
# of struct guard_hijack.
FIND = [bytes.fromhex(insn) for insn in ("4e8d1c1a", "498b4310", "4883e007", "0f85", "41ff6310")]
DISPLACEMENT = 4  # of that jne


class Target:
    def __init__(self):
        self.p = subprocess.Popen([ROOM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.p.pid
        self.known = [], 0
        self.hears("ready")

    def hears(self, want):
        line = self.p.stdout.readline().decode().strip()
        if line != want:
            sys.exit(f"the target says {line!r}, its status is {self.p.wait(WAIT)}")

    def says(self, line):
        self.p.stdin.write(line.encode() + b"\n")
        self.p.stdin.flush()

    def maps(self):
        with open(f"/proc/{self.pid}/maps") as f:
            for line in f:
                part = line.split(None, 5)
                yield *(int(end, 16) for end in part[0].split("-")), part[1], part[5:]

    def read(self, at, n):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as f:
            f.seek(at)
            return f.read(n)

    def word(self, at):
        return struct.unpack("<Q", self.read(at, 8))[0]

    def areas(self):
        """Start and end of each, the first one first, and where return addresses lead to. Once that is known it
        stays so, until uprobe goes."""
        if len(self.known[0]) < 2 or not self.known[1]:
            self.known = self.look_for_areas()
        return self.known

    def look_for_areas(self):
        found = []
        for start, end, mode, path in self.maps():
            if mode == "r-xp" and not path and self.word(start) == struct.unpack("<Q", MAGIC)[0]:
                data = self.word(start + HEAD_DATA)
                found.append((not data, start, start + self.word(start + HEAD_LEN), data))
        found.sort()
        data = found[0][3] if found else 0
        return [area[1:3] for area in found], data and self.word(data + DATA_RETURN)

    def stop(self):
        """Where it stands."""
        os.kill(self.pid, signal.SIGSTOP)
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            with open(f"/proc/{self.pid}/stat") as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
            with open(f"/proc/{self.pid}/syscall") as f:
                said = f.read().split()
            if state in "tT" and said[0] != "running":
                return int(said[-1], 16)
        sys.exit("the target does not stop")


def on_the_way(target, pc):
    """It looks for its entry in the table of replaced return addresses, and jumps where that says next. Which of these
    instructions a stop is seen at differs from processor to processor."""
    areas, returns = target.areas()
    if len(areas) < 2 or not returns or not returns < pc < returns + RETURN_CODE:
        return False
    code = target.read(returns, RETURN_CODE)
    at = code.find(b"".join(FIND[:4]))
    end = at + sum(map(len, FIND[:4])) + DISPLACEMENT
    if at < 0 or not code[end:].startswith(FIND[4]):
        sys.exit("the code that returns lead to is another one")
    return pc <= returns + end


def in_detour(target, pc):
    areas, _ = target.areas()
    return any(start + TABLE <= pc < end for start, end in areas[1:])


def stop_where(target, where):
    """Until it is: it is there often."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        target.says(f"onward {CALLS}")
        for _ in range(2000):
            pc = target.stop()
            if where(target, pc):
                return pc
            os.kill(target.pid, signal.SIGCONT)
            os.sched_yield()
        target.hears("done")
    sys.exit(f"it is never {where.__name__}: nothing is shown by this")


def libc_of(target):
    return next(path[0].strip() for _, _, _, path in target.maps() if path and "libc.so" in path[0])


def held(where):
    target = Target()
    # The first area is near the C library, the detour of step() near the program.
    p, is_ready = tracer.start("-p", str(target.pid), "-o", "out.txt", "-e", f"p:h/first {libc_of(target)}:abort",
                               *PROBES[where], stderr=subprocess.PIPE)
    if not is_ready:
        sys.exit(f"uprobe does not get ready: {p.communicate(timeout=WAIT)[1].decode()}")
    pc = stop_where(target, where)
    p.send_signal(signal.SIGINT)
    err = p.communicate(timeout=WAIT)[1].decode()
    if p.returncode != 0:
        sys.exit(f"uprobe ended with {p.returncode}: {err}")
    stays = target.stop() == pc  # or it was stopped for something else
    os.kill(target.pid, signal.SIGCONT)
    target.hears("done")
    target.says("call 1000")
    target.hears("done")
    target.p.stdin.close()
    target.hears("ended")
    if target.p.wait(WAIT) != 0:
        sys.exit(f"{where.__name__}: the target's status is {target.p.returncode}")
    return stays


# Of a function that was entered by a jump from another one that has to come back, the way home is by that code.
PROBES = {in_detour: ("-e", f"r:h/step {ROOM}:step"),
          on_the_way: ("-e", f"r:h/step {ROOM}:step", "-e", f"r:h/onward {ROOM}:onward")}
if os.uname().machine != "x86_64":
    print("knows the code of x86-64 only")
    sys.exit(77)
for at in (on_the_way, in_detour):
    if not any(held(at) for _ in range(5)):
        sys.exit(f"{at.__name__}: the target has gone on each time: nothing is shown by this")
