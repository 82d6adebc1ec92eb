# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--tui on a terminal of tmux: the table, its keys, its end; and what it excludes."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time

UPROBE, FIXTURES = os.environ["UPROBE"], os.environ["FIXTURES"]
WAIT = int(os.environ.get("TIMEOUT", "60"))
ARG1 = "%x0" if os.uname().machine == "aarch64" else "%di"
N_THREADS, N_ROUNDS = 2, 1000


def fail(why):
    sys.exit(f"tui.py: {why}")


class Terminal:
    """A server of its own for each, so that nobody else's is met, nor one that is just ending."""

    n_made = 0

    def __init__(self, command, locale):
        Terminal.n_made += 1
        self.tmux = ["tmux", "-S", os.path.abspath(f"tmux{Terminal.n_made}.sock"), "-f", "/dev/null"]
        shell = f"{shlex.join(command)}; echo status $?; exec sleep 600"
        self.run("new-session", "-d", "-x", "110", "-y", "24", shell, env={**os.environ, "LC_ALL": locale})

    def run(self, *args, env=None):
        return subprocess.run([*self.tmux, *args], check=True, capture_output=True, text=True, env=env, timeout=WAIT).stdout

    def screen(self):
        return self.run("capture-pane", "-p")

    def until(self, pattern):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            text = self.screen()
            if re.search(pattern, text, re.M):
                return text
            time.sleep(0.05)
        return fail(f"'{pattern}' is never shown:\n{self.screen()}")

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def close(self):
        self.run("kill-server")


def target():
    process = subprocess.Popen([f"{FIXTURES}/threads", str(N_THREADS), str(N_ROUNDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process.stdout.readline() != "ready\n":
        fail("the fixture is not ready")
    return process


def traced(process, locale="C.UTF-8"):
    program = f"{FIXTURES}/threads"
    return Terminal([UPROBE, "--tui", "--lossless", "-p", str(process.pid), "-e", f"p:tick {program}:tick i={ARG1}:s64", "-e", f"r:tick_ret {program}:tick"],
                    locale)


def counts_all():
    process = target()
    terminal = traced(process)
    shown = terminal.until(r"^EVENT +HITS/S +HITS")
    if not re.search(r"^tick +0 +0", shown, re.M):
        fail(f"a function without a hit is not shown:\n{shown}")
    process.stdin.write("go\n")
    process.stdin.flush()
    shown = terminal.until(rf"^tick +\S+ +{2 * N_THREADS * N_ROUNDS} ")
    if not re.search(r" [0-9.]+ (ns|us|ms) .*[\u2581-\u2588]", shown):
        fail(f"there are no latencies:\n{shown}")
    process.communicate("end\n", timeout=WAIT)
    shown = terminal.until(r"^status 0")
    if not re.search(rf"^tick .* {2 * N_THREADS * N_ROUNDS} ", shown, re.M):
        fail(f"the table does not stay:\n{shown}")
    terminal.close()


def tells_losses():
    process = subprocess.Popen([f"{FIXTURES}/threads", str(N_THREADS), "100000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    terminal = Terminal([UPROBE, "--tui", "--buffer-size=16", "-p", str(process.pid), f"p:tick {FIXTURES}/threads:tick"], "C")
    terminal.until(r"^tick +0 +0")
    process.communicate("go\nend\n", timeout=WAIT)
    shown = terminal.until(r"^status 0")
    hits = re.search(r"^tick +\S*[1-9]\S* +(\d+)", shown, re.M)
    lost = re.search(r"^(\d+) events were lost", shown, re.M)
    if not hits or not lost or int(hits[1]) + int(lost[1]) != N_THREADS * 100000:
        fail(f"what was lost is not told:\n{shown}")
    terminal.close()


def obeys_keys():
    process = target()
    terminal = traced(process, locale="C")
    terminal.until(r"by hits/s")
    terminal.keys("s")
    terminal.until(r"by hits ")
    terminal.keys("p")
    terminal.until(r"PAUSED")
    terminal.run("resize-window", "-x", "60", "-y", "12")
    terminal.keys("p")
    terminal.until(r"^ubp +\d+\.\d s(?!.*PAUSED)")
    terminal.keys("q")
    shown = terminal.until(r"^status 0")
    if re.search(r"[^\x00-\x7f]", shown):
        fail(f"another locale has no such characters:\n{shown}")
    terminal.close()
    process.communicate("go\nend\n", timeout=WAIT)


def makes_no_sense():
    for args in (["-o", "x"], ["--json"], ["--csv"], ["--record", "x"], ["--count"], ["--strict"], []):
        done = subprocess.run([UPROBE, "--tui", *args, "p:libc:malloc"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=WAIT)
        if done.returncode != 2 or "--tui " not in done.stderr or "--csv" in args and "excludes --csv" not in done.stderr:
            fail(f"{args}: {done.returncode} {done.stderr}")


def main():
    makes_no_sense()
    if not shutil.which("tmux"):
        print("tmux is not there")
        sys.exit(77)
    counts_all()
    tells_losses()
    obeys_keys()
    print("ok")


main()
