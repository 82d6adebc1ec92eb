# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# test-mounts
"""ubp-fs is killed at any moment while events of a busy program come and go: each time the folder answers ENOTCONN, the program runs on and calculates right,
and a new ubp-fs serves the same folder, with the same program's hits."""

import errno
import os
import random
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "oracle", "lib"))
import oracle  # noqa: E402

ROUNDS = 6 // int(os.environ.get("UBP_SLOWER", "1")) + 1
# s: of enabling and disabling once there are some in that time.
LATEST = 0.3
WAIT = 30
TOP = os.path.join(os.getcwd(), "tracing")


def fail(text):
    sys.exit("FAIL: " + text)


def eventually(what, text):
    until = time.monotonic() + WAIT
    while not what():
        if time.monotonic() > until:
            fail(text)


def write(name, text):
    with open(f"{TOP}/{name}", "a", encoding="ascii") as f:
        f.write(text)


def serve():
    server = subprocess.Popen([os.environ["UBP_FS"], "-f", TOP], stderr=subprocess.DEVNULL)
    eventually(lambda: server.poll() is not None or os.path.exists(TOP + "/README"), "it is not mounted")
    if server.poll() is not None:
        fail(f"ubp-fs does not start on what a killed one has left: {server.returncode}")
    return server


def change_until_dead(told):
    """Events come and go until the server is dead, of which each call tells."""
    try:
        while True:
            write("events/g/step/enable", "1")
            told.set()
            write("events/g/step/filter", "common_pid > 0")
            write("events/g/step/enable", "0")
    except OSError as e:
        told.errno = e.errno
        told.set()


def hits():
    with open(TOP + "/trace", encoding="utf-8", errors="replace") as f:
        return " step: (" in f.read()


def main():
    if not os.path.exists(os.environ["UBP_FS"]):
        oracle.skip("ubp-fs is not built: libfuse3 is missing")
    if not os.access("/dev/fuse", os.W_OK):
        oracle.skip("there is no /dev/fuse")
    path = os.path.join(os.getcwd(), "target")
    shutil.copy(os.path.join(os.environ["FIXTURES"], "busy"), path)
    place = f"{path}:{oracle.Elf(path).symbols['step'][0]:#x}"
    rng = random.Random(int(os.environ.get("SEED", "1")))
    os.mkdir(TOP)
    target = subprocess.Popen([path, "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if target.stdout.readline() != "ready\n":
        fail("the target is not ready")
    server = serve()
    try:
        for i in range(ROUNDS):
            write("uprobe_events", f"p:g/step {place}\n")
            told = threading.Event()
            thread = threading.Thread(target=change_until_dead, args=(told,))
            thread.start()
            # From the first moment of enabling on, and later.
            if i % 3:
                told.wait()
            time.sleep(rng.random() * LATEST)
            server.kill()
            server.wait()
            thread.join()
            if told.errno not in (errno.ENOTCONN, errno.ECONNABORTED):
                fail(f"a write to the dead tree: {errno.errorcode.get(told.errno)}")
            try:
                os.listdir(TOP)
                fail("a dead tree can be listed")
            except OSError as e:
                if e.errno != errno.ENOTCONN:
                    raise
            if target.poll() is not None:
                fail(f"round {i}: the target has ended: {target.returncode}")
            server = serve()
        write("uprobe_events", f"p:g/step {place}\n")
        write("events/g/step/enable", "1")
        eventually(hits, "no hit of the target is seen behind all that")
        write("events/g/step/enable", "0")
        server.terminate()
        if server.wait(WAIT):
            fail(f"ubp-fs ended with {server.returncode}")
        out, _ = target.communicate("go\n", WAIT)
        if target.returncode:
            fail(f"the target ended with {target.returncode}: {out}")
    finally:
        server.kill()
        server.wait()
        subprocess.run(["fusermount3", "-u", "-z", TOP], check=False, stderr=subprocess.DEVNULL)
        target.kill()


main()
