# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Where events are written to: --rotate, --append, files that are renamed meanwhile (SIGHUP), pipes, and files that take no more."""

import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from recordings import FIXTURES, REPORT, THREADS, TICK, UPROBE, WAIT, Target, Tracing, fail, run, ticks, wait_until  # noqa: E402

N = 150000
MIB = 1 << 20


def files(name):
    return sorted(f for f in os.listdir() if f == name or f.startswith(name + "."))


def record(name, *options, rounds=N, threads=2, status=0, **how):
    return run(UPROBE, "--lossless", "--record", name, *options, "-e", TICK, "--", THREADS, str(threads), str(rounds), status=status, **how)


def check_all(what, numbers, lost, rounds=N, threads=2):
    if lost or len(numbers) != threads:
        fail(f"{what}: {lost} lost, {len(numbers)} threads")
    for thread, got in numbers.items():
        if got != list(range(rounds)):
            fail(f"{what}: thread {thread} has {len(got)} events, not {rounds}, or not in order")


# --- several files -----------------------------------------------------------------------------------

def rotates():
    """Each file is whole; together they have all; of an earlier run's none is overwritten but for N."""
    done = record("rotated", "--rotate", "8M")
    names = files("rotated")
    if names != ["rotated", "rotated.1", "rotated.2"] or any(os.path.getsize(f) > 8 * MIB for f in names):
        fail(f"--rotate 8M: {names} {[os.path.getsize(f) for f in names]}")
    if f"{2 * N} events" not in done.stderr or "if all files are given" not in done.stderr:
        fail(done.stderr)
    for name in names:
        info = run(REPORT, "--info", name)
        if ", 0 lost" not in info.stdout or info.stderr:
            fail(f"{name}: {info.stdout}{info.stderr}")
        if not run(REPORT, name).stdout:
            fail(f"{name} has no events by itself")
    check_all("rotated", *ticks(*names))
    record("rotated", "--rotate", "8M,4", rounds=10)
    if files("rotated") != ["rotated", "rotated.1", "rotated.2", "rotated.3"]:
        fail(f"a second run: {files('rotated')}")
    with open("rotated.7", "w", encoding="utf-8") as f:
        f.write("mine")
    if "prints what the files that were kept have" not in record("rotated", "--rotate", "8M,2", rounds=10).stderr:
        fail("it says that all can be printed")
    if files("rotated") != ["rotated", "rotated.7", "rotated.8"]:
        fail(f"--rotate 8M,2: {files('rotated')}")
    check_all("the one before", *ticks("rotated.8"), rounds=10)


def appends():
    record("appended", rounds=100)
    with open("appended", "rb") as f:
        first = f.read()
    record("appended", "--append", rounds=200)
    with open("appended", "rb") as f:
        if not f.read().startswith(first):
            fail("--append: what was there is another")
    numbers, lost = ticks("appended")
    if lost or {t: len(i) for t, i in numbers.items()} != {0: 300, 1: 300}:
        fail(f"--append: {lost} {[len(i) for i in numbers.values()]}")
    # What a killed one has left.
    os.truncate("appended", len(first) - 20)
    record("appended", "--append", rounds=300)
    told = json.loads(run(REPORT, "--stats", "--json", "appended").stdout)["events"]
    if len(told) != 1:
        fail(f"an event of several recordings is several: {told}")
    done = run(REPORT, "--json", "appended")
    if done.stdout.count('"event":"tick"') != 800 or "did not end as it should" not in done.stderr:
        fail(f"behind what is torn: {done.stdout.count('tick')} {done.stderr}")
    with open("text", "w", encoding="utf-8") as f:
        f.write("mine\n")
    if "text is there, and no recording: it is left alone" not in record("text", "--append", status=1).stderr:
        fail("--append to text")
    run(UPROBE, "-o", "text", "--append", "-e", TICK, "--", THREADS, "1", "3")
    with open("text", encoding="utf-8") as f:
        lines = f.read().splitlines()
    if lines[0] != "mine" or len(lines) != 4:
        fail(f"-o --append: {lines}")


def reopens():
    """As logrotate does: renamed, then SIGHUP. Nothing is lost in between."""
    for to in ("-o", "--record"):
        target = Target(1, 100000000, 500)
        with Tracing("--lossless", to, "log", "--append", "-p", str(target.pid), "-e", TICK) as p:
            target.go()
            wait_until("log is there", lambda: os.path.exists("log") and os.path.getsize("log"))
            for i in (1, 2):
                size = os.path.getsize("log")
                wait_until("log grows", lambda: os.path.getsize("log") > size + 1000)  # noqa: B023
                os.rename("log", f"log.{i}")
                p.send_signal(signal.SIGHUP)
                wait_until("log is there again", lambda: os.path.exists("log") and os.path.getsize("log"))
            time.sleep(0.05)
            p.send_signal(signal.SIGINT)
            _, told = p.communicate(timeout=WAIT)
        target.kill()
        if p.returncode != 0:
            fail(f"{to} and SIGHUP: ended with {p.returncode}: {told}")
        parts = [part_of(to, f) for f in ("log.1", "log.2", "log")]
        got = [i for part in parts for i in part]
        if not all(parts) or got != list(range(len(got))):
            fail(f"{to} and SIGHUP: {[len(part) for part in parts]}, not all, or not in order")
        for f in files("log"):
            os.unlink(f)


def part_of(to, name):
    if to == "--record":
        return ticks(name)[0].get(0, [])
    with open(name, encoding="utf-8") as f:
        return [int(line.split("i=")[1]) for line in f if "i=" in line]


def has_hosts():
    """Of several hosts: each event says whose it is."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-u", "true"], check=False).returncode:
        print("hosts were not tried: there is no namespace for their names")
        return
    for host in ("one", "two"):
        run("unshare", "-u", "sh", "-c", f'hostname {host} && exec "$@"', "sh", UPROBE, "--record", f"of.{host}", "-e", TICK, "--", THREADS, "1", "3")
    for options, here in (((), ["one: "] * 3 + ["two: "] * 3), (("--json",), ['"host":"one"'] * 3 + ['"host":"two"'] * 3)):
        lines = run(REPORT, *options, "of.two", "of.one").stdout.splitlines()
        if len(lines) != len(here) or not all(word in line for word, line in zip(here, lines)):
            fail(f"hosts {options}: {lines}")
    if "1 recording is given twice: events count twice" not in run(REPORT, "of.one", "./of.one").stderr:
        fail("a file that is given twice is not told of")
    if "host" in run(REPORT, "--json", "of.one").stdout:
        fail("a host is told where there is but one")
    if "recorded on one" not in run(REPORT, "--info", "of.two", "of.one").stdout:
        fail("--info of two")
    shifted = run(REPORT, "--align=-1000", "of.one", "of.two").stdout.splitlines()
    if [line[:4] for line in shifted] != ["two:"] * 3 + ["one:"] * 3:
        fail(f"--align=-1000: {shifted}")
    for argv, text in ((["--align=1,2", "of.one", "of.two"], "--align has seconds for each FILE but the first: 1 of them, not 2"),
                       (["--align=x", "of.one", "of.two"], "--align takes seconds, one for each FILE but the first, not 'x'"),
                       (["--align=1", "of.one"], "0 of them, not 1")):
        if text not in run(REPORT, *argv, status=2).stderr:
            fail(f"{argv}")


# --- what takes no more ------------------------------------------------------------------------------

def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, 3 * MIB))


def fails_clearly():
    """One clear line, status 1, the command unharmed; what is in the file can be read."""
    for name, how, why in (("/dev/full", {}, "No space left on device"), ("limited", {"preexec_fn": limit_files}, "File too large")):
        done = record(name, status=1, **how)
        if done.stderr.strip() != f"uprobe: error: cannot write {name}: {why}" or (name != "/dev/full" and "sum " not in done.stdout):
            fail(f"{name}: {done.stdout} {done.stderr}")
    later = run(REPORT, "limited")
    if "did not end as it should" not in later.stderr or len(later.stdout.splitlines()) < 10000:
        fail(f"limited: {len(later.stdout.splitlines())} {later.stderr}")


def goes_into_a_pipe():
    os.mkfifo("pipe")
    got = []

    def reader():
        with open("pipe", "rb") as f:
            got.append(f.read())

    thread = threading.Thread(target=reader)
    thread.start()
    record("pipe", rounds=20000)
    thread.join()
    with open("from_pipe", "wb") as f:
        f.write(got[0])
    check_all("a pipe", *ticks("from_pipe"), rounds=20000)
    # A reader that goes.
    thread = threading.Thread(target=lambda: open("pipe", "rb").close())
    thread.start()
    done = record("pipe", status=1)
    thread.join()
    if done.stderr.strip() != "uprobe: error: cannot write pipe: Broken pipe" or not stat.S_ISFIFO(os.stat("pipe").st_mode):
        fail(f"a pipe whose reader goes: {done.stderr}")
    for option in (["--rotate", "8M"], ["--append"]):
        thread = threading.Thread(target=lambda: open("pipe", "rb").close())
        thread.start()
        done = record("pipe", *option, status=1)
        thread.join()
        if "pipe is no regular file: it cannot be appended to or rotated" not in done.stderr:
            fail(f"a pipe with {option}: {done.stderr}")


def is_killed():
    """At any moment: the target goes on, and what is in the file is read."""
    seed = random.randrange(1 << 30)
    moments = random.Random(seed)
    target = Target(2, 1000000000, 50)
    target.go()
    n = 0
    for i in range(8):
        tracing = Tracing("--lossless", "--record", "killed", "-p", str(target.pid), "-e", TICK) if i % 2 else None
        process = tracing.process if tracing else subprocess.Popen(
            [UPROBE, "--lossless", "--record", "killed", "-p", str(target.pid), "-e", TICK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with process as p:
            time.sleep(moments.random() * 0.4)
            p.kill()
        if os.path.exists("killed") and os.path.getsize("killed") >= 32:
            done = run(REPORT, "killed")
            n += bool(done.stdout)
            if "did not end as it should" not in done.stderr or "damaged" in done.stderr:
                fail(f"seed {seed}: {done.stderr}")
    if not n:
        fail(f"seed {seed}: nothing was recorded in any round")
    if target.process.poll() is not None:
        fail(f"seed {seed}: the target has ended, with {target.process.returncode}")
    target.kill()


def is_taken():
    """Two at a time."""
    target = Target(1, 1)
    with Tracing("--record", "taken", "-p", str(target.pid), "-e", TICK):
        for option in ([], ["--append"], ["--rotate", "8M"]):
            if "another process is recording to taken" not in record("taken", *option, status=1).stderr:
                fail(f"two at a time {option}")
    target.kill()


def bad():
    program = f"p:{FIXTURES}/args_int:area"
    for argv, text in (
            (["--rotate", "8M", program], "--compress, --max-size and --rotate are for --record"),
            (["--record", "x", "--rotate", "1M", program], "--rotate takes bytes, from 8MiB, and how many files are kept, as 100MiB,5, not '1M'"),
            (["--record", "x", "--rotate", "8M,0", program], "not '8M,0'"),
            (["--record", "x", "--rotate", "8M,", program], "not '8M,'"),
            (["--record", "x", "--rotate", "8s", program], "not '8s'"),
            (["--record", "x", "--rotate", "8M", "--max-size", "9M", program], "--rotate goes on in another file: it excludes --max-size"),
            (["--append", program], "--append is for a file, of -o or --record")):
        done = run(UPROBE, *argv, status=2)
        if text not in done.stderr:
            fail(f"{argv}: {done.stderr}")


for case in (bad, rotates, appends, reopens, has_hosts, fails_clearly, goes_into_a_pipe, is_taken, is_killed):
    case()
print("ok")
