# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--record and ubp-report: what was recorded and then printed is what is printed at once; nothing is lost that is not told; files that end too early."""

import collections
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from recordings import FIXTURES, REPORT, UPROBE, USDT, WAIT, fail, run  # noqa: E402

FILE = "record.ubp"


def record(*argv, by=UPROBE, words="\n\n"):
    if os.path.exists(FILE):
        os.unlink(FILE)
    return run(by, "--record", FILE, *argv, words=words)


def report(*options, status=0):
    return run(REPORT, *options, FILE, status=status)


# --- the same as at once -------------------------------------------------------------------------

MASKS = ((r"-\d+ +\[\d+\] \S+ +\d+\.\d+:", "-PID [CPU] TIME:"), (r'"(time|pid|tid|cpu)":[\d.]+', r'"\1":0'), (r'"(ip|ret_ip|func)":"0x\w+"', r'"\1":0'),
         (r"\(0x\w+( <- 0x\w+)?\)", "(ADDR)"), (r"=> <\w+>", "=> <ADDR>"), (r"\b0x[0-9a-f]{6,}", "POINTER"))


def masked(text):
    for pattern, by in MASKS:
        text = re.sub(pattern, by, text)
    return text.splitlines()


def same_as_at_once(name, options, command, by=UPROBE, forms=((), ("--json",)), packed=(), words="\n\n"):
    """Of a program that does the same each time. setarch: at the same addresses, but what is masked may be others."""
    command = ["--", "setarch", "-R", *command]
    record(*packed, *options, *command, by=by, words=words)
    for form in forms:
        run(by, "-o", "once.txt", *form, *options, *command, words=words)
        with open("once.txt", encoding="utf-8", errors="surrogateescape") as f:
            once = masked(f.read())
        later = masked(report(*form).stdout)
        if once != later or not once:
            differ = next((pair for pair in zip(once, later) if pair[0] != pair[1]), None)
            fail(f"{name} {form}: {len(once)} lines at once, {len(later)} later; the first that differ: {differ}")


def each_kind():
    arg, ret = f"{FIXTURES}/args_int", f"{FIXTURES}/strings"
    for mode in ("auto", "jump", "trap"):
        same_as_at_once(mode, ["--mode", mode, "-e", f"p:area {arg}:area w=%di:s32 h=%si:s32 arg3=%si:x8", "-e", f"r:grp/back {arg}:area ret=$retval:s32",
                               "-e", f"p:{arg}:widths a=%di:s8 b=%si:b4@2/8 c=+0(%sp):u8[4] d=$comm"], [arg])
    same_as_at_once("strings", ["-e", f"p:{ret}:* s=+0(%di):string"], [ret])
    same_as_at_once("a filter", ["--mode", "jump", "-e", f"p:{arg}:area w=%di:s32", "--filter", "w > 3"], [arg])
    same_as_at_once("stacks", ["-s", "-e", f"p:{arg}:area"], [arg], forms=((), ("--json",), ("--folded",)))
    same_as_at_once("stacks by frame pointers", ["--stack", "fp", "--mode", "jump", "-e", f"p:{arg}:area"], [arg])
    same_as_at_once("packed", ["-e", f"p:{arg}:area w=%di:s32"], [arg], packed=["--compress"])
    same_as_at_once("packed well", ["-e", f"p:{arg}:area w=%di:s32"], [arg], packed=["--compress=19"])
    same_as_at_once("strict", ["--strict", "-e", f"p:u/s {ret}:0x{offset_of(ret, 'greet'):x} s=+0(%di):string"], [ret], forms=((),))


def what_is_left_out():
    """Sampled, with their weights; by triggers and --once, which have looked at events before."""
    threads, tick = f"{FIXTURES}/threads", ["--lossless", "-e", f"p:{FIXTURES}/threads:tick t=%di:s64 i=%si:s64"]
    forms = ((), ("--json",), ("--folded",))
    for mode in ("jump", "trap"):
        for sample in ("10", "i:500"):
            same_as_at_once(f"a sample of {sample}, {mode}", ["--mode", mode, "--stack", "fp", "--sample", sample, *tick], [threads, "1", "1000"], forms=forms)
    if '"weight":500' not in report("--json").stdout:
        fail("weights are not recorded")
    for options in (["--trigger", "traceoff if i == 700"], ["--once"]):
        same_as_at_once(f"{options}", [*tick, *options], [threads, "1", "1000"], forms=((), ("--json",)))
    done = record(*tick, "--trigger", "hist:keys=i.buckets=100 if t == 0", "-e", f"r:{threads}:tick", "--", threads, "1", "1000")
    if done.stdout.count("hitcount:        100") != 10 or len(report().stdout.splitlines()) != 1000:
        fail(f"a histogram beside a recording: {done.stdout} {done.stderr}")


def offset_of(path, symbol):
    """In a file whose code is mapped as it lies there."""
    symbols = run("nm", path).stdout
    names = re.findall(r"^([0-9a-f]+) [Tt] (\w+)$", symbols, re.M)
    vaddr = dict((name, int(at, 16)) for at, name in names).get(symbol)
    if vaddr is None:
        fail(f"{path} has no {symbol}")
    for line in run("readelf", "-lW", path).stdout.splitlines():
        load = re.match(r"\s+LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", line)
        if load:
            offset, start, size = (int(x, 16) for x in load.groups())
            if start <= vaddr < start + size:
                return vaddr - start + offset
    return fail(f"{symbol} is in no segment")


def static_probes():
    same_as_at_once("usdt", ["-e", f"{FIXTURES}/usdt_forms:*:*"], [f"{FIXTURES}/usdt_forms"], by=USDT)


# --- all of it -------------------------------------------------------------------------------------

N_THREADS, N_ROUNDS = 8, 4000


def keeps_all(*options):
    """Each thread's events are all there, in its order; and all of them in order of time."""
    program = f"{FIXTURES}/threads"
    done = record("--lossless", *options, "-e", f"p:{program}:tick t=%di:s64 i=%si:s64", "-e", f"r:{program}:tick", "--", program, str(N_THREADS), str(N_ROUNDS))
    events = [json.loads(line) for line in report("--json").stdout.splitlines()]
    numbers, names = collections.defaultdict(list), collections.Counter()
    time_before = 0.0
    for e in events:
        names[e["type"]] += 1
        if e["type"] == "p":
            numbers[e["args"]["t"]].append(e["args"]["i"])
        if e["time"] < time_before:
            fail(f"{e} comes behind {time_before}")
        time_before = e["time"]
    if names != {"p": N_THREADS * N_ROUNDS, "r": N_THREADS * N_ROUNDS}:
        fail(f"{options}: {names} of {N_THREADS * N_ROUNDS} each\n{done.stderr}")
    for thread, got in numbers.items():
        if got != list(range(N_ROUNDS)):
            fail(f"{options}: the events of thread {thread} are not all there, or not in order")
    if f"{2 * N_THREADS * N_ROUNDS} events" not in done.stderr:
        fail(f"not told how many there are: {done.stderr}")
    if f"{2 * N_THREADS * N_ROUNDS} events, 0 lost" not in report("--info").stdout:
        fail(report("--info").stdout)


def waits_for_half_a_ring():
    """A thread whose ring of 64 KiB is full, some 1170 records, stops once for many of them."""
    hits = 100000
    done = run(UPROBE, "--lossless", "--record", "waited.ubp", "--buffer-size", "64", "--stats", "-e", f"p:{FIXTURES}/threads:tick t=%di:s64 i=%si:s64", "--",
               f"{FIXTURES}/threads", "1", str(hits))
    counts = {k: int(v) for k, v in re.findall(r" (passed|lost|stopped)=(\d+)", done.stderr.split("/tick ")[-1].split("\n")[0])}
    if counts["passed"] != hits or counts["lost"] or not 0 < counts["stopped"] < hits / 300:
        fail(f"a full ring: {counts}")


def tells_what_is_lost():
    """Without --lossless: what is in the file and what it says was lost are all hits."""
    program = f"{FIXTURES}/threads"
    record("--mode", "jump", "--buffer-size", "16", "-e", f"p:{program}:tick t=%di:s64 i=%si:s64", "--", program, "2", "200000")
    n = lost = 0
    for line in report("--json").stdout.splitlines():
        e = json.loads(line)
        lost += e.get("lost", 0)
        n += "event" in e
    if n + lost != 400000 or not lost:
        fail(f"{n} events and {lost} lost are not 400000")
    if f"{n} events, {lost} lost" not in report("--info").stdout:
        fail(report("--info").stdout)


# --- files that end too early ----------------------------------------------------------------------

def is_killed():
    """What was there is read; that there is no end is told."""
    program = f"{FIXTURES}/threads"
    if os.path.exists(FILE):
        os.unlink(FILE)
    with subprocess.Popen([UPROBE, "--lossless", "--record", FILE, "-e", f"p:{program}:tick t=%di:s64 i=%si:s64", "--", program, "2", "100000000"],
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        p.stdin.write(b"\n")
        p.stdin.flush()
        end = time.monotonic() + WAIT
        while not (os.path.exists(FILE) and os.path.getsize(FILE) > 5 << 20):
            if time.monotonic() > end or p.poll() is not None:
                fail(f"nothing was recorded ({p.poll()})")
            time.sleep(0.01)
        children = run("pgrep", "-P", str(p.pid)).stdout.split()
        p.send_signal(signal.SIGKILL)
        p.wait()
    for pid in children:
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                if f.read().strip() == "threads":
                    os.kill(int(pid), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass
    done = report()
    if "recording did not end as it should" not in done.stderr or len(done.stdout.splitlines()) < 25000:
        fail(f"{len(done.stdout.splitlines())} lines\n{done.stderr}")


def blocks(data):
    """Where each begins, its bytes, and its kind."""
    at = 32
    while at < len(data):
        magic, kind, _, stored = struct.unpack_from("<4sHHI", data, at)
        if magic != b"blk\0":
            fail(f"no block at {at}")
        length = 32 + (stored + 7) // 8 * 8
        yield at, length, kind
        at += length


def is_damaged():
    """What is in the file, and what is not, is told by --info, too; a block that stands there twice counts once."""
    program, n = f"{FIXTURES}/threads", 30000
    record("--lossless", "-e", f"p:{program}:tick t=%di:s64 i=%si:s64", "--", program, "2", str(n))
    with open(FILE, "rb") as f:
        data = f.read()
    whole = report().stdout
    looks = [(at, length) for at, length, kind in blocks(data) if kind == 3]
    at, length = looks[len(looks) // 2]
    first = looks[0][0]
    middle, end, block = at + length // 2, at + length, data[at:at + length]
    for what, damaged, text in (
            ("a bit", data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:], f"the file is damaged: {length} bytes cannot be read, 1 blocks are missing"),
            ("a gap", data[:at] + data[end:], "the file is damaged: 0 bytes cannot be read, 1 blocks are missing"),
            ("other bytes", data[:at] + b"\xff" * 5000 + data[at:], "the file is damaged: 5000 bytes cannot be read, 0 blocks are missing"),
            ("a copy", data[:end] + data[at:], "1 block stands in the file once more"),
            ("copies", data[:first] + block + data[first:] + block, "2 blocks stand in the file once more")):
        with open(FILE, "wb") as f:
            f.write(damaged)
        status = 0 if "stand" in text else 1
        # The bytes of a block are read when its records are.
        told = what != "a bit"
        info, later = report("--info", status=status * told), report(status=status)
        if (text in info.stderr) != told or text not in later.stderr or f"{2 * n} events, 0 lost" not in info.stdout:
            fail(f"{what}: {info.stdout}{info.stderr}{later.stderr}")
        lines = later.stdout.splitlines()
        if status == 0 and (len(lines) != 2 * n or (what == "a copy" and later.stdout != whole)):
            fail(f"{what}: {len(lines)} of {2 * n} lines")
        if what == "other bytes" and later.stdout != whole:
            fail(f"{what}: not all that is whole is read")


def disk_is_full():
    """One clear line, status 1; the command is unharmed; what is in the file is read."""
    if os.geteuid() != 0:
        return
    program = f"{FIXTURES}/threads"
    with tempfile.TemporaryDirectory() as where:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "nodev", where], check=False).returncode:
            print("a full disk was not tried: there is no tmpfs to be had")
            return
        try:
            done = run(UPROBE, "--lossless", "--record", f"{where}/r", "-e", f"p:{program}:tick t=%di:s64 i=%si:s64", "--", program, "2", "200000", status=1)
            if done.stderr.strip() != f"uprobe: error: cannot write {where}/r: No space left on device" or not re.fullmatch(r"ready\nsum \d+\s*", done.stdout):
                fail(f"a full disk: {done.stdout} {done.stderr}")
            later = run(REPORT, f"{where}/r")
            if "did not end as it should" not in later.stderr or len(later.stdout.splitlines()) < 10000:
                fail(f"a full disk: {len(later.stdout.splitlines())} lines, {later.stderr}")
        finally:
            subprocess.run(["umount", where], check=True)


def has_a_limit():
    program = f"{FIXTURES}/threads"
    record("--lossless", "--max-size", "12MiB", "-e", f"p:{program}:tick t=%di:s64 i=%si:s64", "--", program, "2", "2000000")
    size = os.path.getsize(FILE)
    if not 6 << 20 < size <= 12 << 20:
        fail(f"--max-size 12MiB: the file has {size} bytes")
    if " 0 lost" not in report("--info").stdout or len(report().stdout.splitlines()) < 80000:
        fail("not all is there that fits")


# --- bad input ---------------------------------------------------------------------------------------

def bad():
    program = f"{FIXTURES}/args_int"
    definition = f"p:{program}:area"
    for argv, status, text in (
            ([UPROBE, "--record", "x", "--json", definition], 2, "--record keeps events, which ubp-report prints: it excludes forms of output, as --json"),
            ([UPROBE, "--record", "x", "--count", definition], 2, "hits that are counted are no events: --count, --hist and --sum leave nothing to --record"),
            ([UPROBE, "--record", "x", "--synthetic", "s int a", definition], 2, "--record excludes --synthetic"),
            ([UPROBE, "--record", "x", "-n", "3", definition], 2, "it excludes -n"),
            ([UPROBE, "--compress", definition], 2, "--compress, --max-size and --rotate are for --record"),
            ([UPROBE, "--record", "x", "--compress=20", definition], 2, "--compress takes a level from 1 to 19, not '20'"),
            ([UPROBE, "--record", "x", "--max-size", "1x", definition], 2, "--max-size takes bytes, from 8MiB, as 100MiB or 2GiB, not '1x'"),
            ([UPROBE, "--record", "/nowhere/x", definition], 1, "cannot create /nowhere/x: No such file or directory"),
            ([UPROBE, "--record", program, definition], 1, f"{program} is there, and no recording: it is left alone"),
            ([REPORT], 2, "no file is given"),
            ([REPORT, "nowhere"], 1, "cannot open nowhere: No such file or directory"),
            ([REPORT, program], 1, f"{program} is no recording"),
            ([REPORT, "/dev/null"], 1, "/dev/null is no regular file"),
            ([REPORT, "--json", "-H", FILE], 2, "-H is for text: it excludes --json")):
        done = run(*argv, status=status)
        if text not in done.stderr or (status == 1 and done.stderr.count("\n") != 1):
            fail(f"{argv}: {done.stderr}")
    record(definition, "--", program)
    with open(FILE, "r+b") as f:
        f.seek(8)
        f.write(b"\x09")
    if "has version 9 of the format: this program reads version 1" not in report(status=1).stderr:
        fail("another version is not told")


each_kind()
what_is_left_out()
static_probes()
for how in ((), ("--mode", "trap"), ("--compress",), ("--buffer-size", "16")):
    keeps_all(*how)
waits_for_half_a_ring()
tells_what_is_lost()
is_killed()
is_damaged()
disk_is_full()
has_a_limit()
bad()
print("ok")
