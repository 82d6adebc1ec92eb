# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What looks as if a killed ubp had left it, forged by the target: it costs uprobe little memory and
processor time, whatever it claims. uprobe has the target's hits, or refuses it by one clear line; the target
lives, also when uprobe is killed, and the next one is as good as any."""

import os
import resource
import subprocess
import sys

UPROBE, FORGED = os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "forged")
WAIT = int(os.environ.get("TIMEOUT", "60"))
CPU_SECONDS = 5 * int(os.environ.get("UBP_SLOWER", "1"))
MORE_KIB = 96 << 10  # over that of a run on an honest target
DAMAGED = {"self": "areas that overlap", "pair": "areas that overlap", "overlap": "areas that overlap",
           "more": "more areas than there can be", "full": "a table without gaps",
           "collide": "no honest addresses"}
TAKEN = ["sparse", "large_tables", "endless_tables", "returns", "blocks"]
KILLED = ["sparse", "large_tables", "blocks"]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def attempt(way, base):
    """Returns KiB that uprobe had at most."""
    target = subprocess.Popen([FORGED, way], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if target.stdout.readline() != b"ready\n":
        sys.exit(f"{way}: the target did not get ready")
    with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
        args = [UPROBE, "-n", "200", "-p", str(target.pid), "-e", f"p:f/step {FORGED}:step", "-e", f"r:f/ret {FORGED}:step"]
        tracer = subprocess.Popen(args, preexec_fn=limit, stdout=out, stderr=err)
        _, status, used = os.wait4(tracer.pid, 0)
    text = open("err.txt", encoding="utf-8", errors="replace").read()
    status = os.waitstatus_to_exitcode(status)
    said = target.communicate(b"\n", timeout=WAIT)[0].decode()
    if target.returncode != 0 or not said.endswith(" steps\n"):
        sys.exit(f"{way}: the target ended with {target.returncode}: {text}")
    if status != (1 if way in DAMAGED else 0):
        sys.exit(f"{way}: uprobe ended with {status}: {text}")
    if way in DAMAGED and f": what an earlier ubp left is damaged: {DAMAGED[way]}\n" not in text:
        sys.exit(f"{way}: uprobe says: {text}")
    if base and used.ru_maxrss > base + MORE_KIB:
        sys.exit(f"{way}: {used.ru_maxrss} KiB, on an honest target {base}")
    print(f"{way}: {used.ru_maxrss} KiB, {used.ru_utime + used.ru_stime:.2f} s")
    return used.ru_maxrss


def kill_on(way):
    """What was taken over has a guard of ours, not the one that was forged."""
    target = subprocess.Popen([FORGED, way], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if target.stdout.readline() != b"ready\n":
        sys.exit(f"{way}: the target did not get ready")
    r, w = os.pipe()
    tracer = subprocess.Popen([UPROBE, "--mode", "trap", "--ready-fd", str(w), "-o", "/dev/null", "-p", str(target.pid),
                               "-e", f"p:f/step {FORGED}:step", "-e", f"r:f/ret {FORGED}:step"], pass_fds=[w])
    os.close(w)
    if os.read(r, 16) != b"ready\n":
        sys.exit(f"{way}: uprobe did not get ready")
    os.close(r)
    tracer.kill()
    tracer.wait()
    said = target.communicate(b"\n", timeout=WAIT)[0].decode()
    if target.returncode != 0 or not said.endswith(" steps\n"):
        sys.exit(f"{way}: the target ended with {target.returncode} when uprobe was killed")


def main():
    base = attempt("none", 0)
    for way in sys.argv[1:] or [*DAMAGED, *TAKEN]:
        attempt(way, base)
        if way in KILLED:
            kill_on(way)


main()
