# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Live changes: clients come and go and change a session's probes at random while redis, PostgreSQL, a JVM, python and Go work. No
request fails, no answer is wrong, each change is carried out, and a target that was changed for long has no more mappings than before.
Some sessions are killed in the middle of it."""

import os
import random
import re
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import postgres  # noqa: E402
import programs  # noqa: E402
import servers  # noqa: E402
import torture  # noqa: E402
from torture import ANSWER, ARG1, Broken, Row, Uprobe  # noqa: E402

CLIENTS = 3
MORE_MAPPINGS = 24  # as many may come with what is probed for the first time


class Clients:
    """Threads that run uprobe --session again and again. Each has events of its own."""

    def __init__(self, name, places):
        self.name, self.places = name, places
        self.stop = threading.Event()
        self.over = threading.Event()  # the session was killed: clients may find nobody
        self.failures = []
        self.n_changes = 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i, random.randrange(1 << 30)))
                        for i in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def ask(self, *args):
        done = subprocess.run([torture.UPROBE, "--session", self.name, *args], capture_output=True, text=True,
                              timeout=ANSWER, check=False)
        if self.over.is_set():
            return
        if done.returncode:
            self.failures.append(f"{' '.join(args)} ended with {done.returncode}: {done.stderr.strip()}")
            self.stop.set()
        with self.lock:
            self.n_changes += 1

    def run(self, number, seed):
        chance = random.Random(seed)
        mine = []
        n = 0
        try:
            while not self.stop.is_set():
                n += 1
                self.change(chance, mine, f"c{number}_{n}")
            for event in mine:
                self.ask("--remove", event)
        except subprocess.TimeoutExpired as e:
            self.failures.append(f"no answer: {e.cmd}")

    def change(self, chance, mine, event):
        what = chance.choice(("add", "add", "add", "remove", "remove", "enable", "disable", "filter", "look")) if mine else "add"
        if what == "add" and len(mine) < 12:
            events = [f"{event}_{i}" for i in range(chance.randrange(1, 4))]
            self.ask(*(x for e in events for x in ("--add", self.definition(chance, e))))
            mine += events
        elif what in ("add", "remove"):
            self.ask("--remove", mine.pop(chance.randrange(len(mine))))
        elif what == "filter":
            self.ask("--filter", chance.choice(("a & 1", "a > 100", "0", "a != 7")), chance.choice(mine))
        elif what == "look":
            self.ask(chance.choice(("-l", "--stats")))
        else:
            self.ask(f"--{what}", chance.choice(mine))

    def definition(self, chance, event):
        path, function = chance.choice(self.places)
        return chance.choice((f"p:{event} {path}:{function} a={ARG1}:u64 b=+0({ARG1}):u8",
                              f"p:{event} {path}:{function} a={ARG1}:s64",
                              f"r:{event} {path}:{function} a=$retval:s64"))

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join()
        if self.failures:
            raise Broken(self.failures[0])


def mappings(pids):
    n = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps") as f:
                n += sum("(deleted)" in line or line.endswith(" 0 \n") and " r-xp " in line for line in f)
        except OSError:
            pass
    return n


def changed_for(seconds, target, clients, row):
    """The target's areas do not become more and more: counted in the third quarter, and at the end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end - seconds / 2 and not clients.stop.is_set():
        target.check()
    before = mappings([target.pids()[0]])
    while time.monotonic() < end and not clients.stop.is_set():
        target.check()
    after = mappings([target.pids()[0]])
    row.most = max(row.most, after - before)
    if after > before + MORE_MAPPINGS:
        raise Broken(f"{before} mappings of ours became {after}")


def one_round(row, target, places, options, seconds, kills):
    name = f"torture{os.getpid()}"
    session = Uprobe(target.pids(), [f"p:first {places[0][0]}:{places[0][1]} a={ARG1}:u64"],
                     ["--session", name, *torture.mode_options(row.mode), *options])
    if not session.wait_ready():
        rc, said = session.wait(), session.said()
        if not target.excuses(said):
            raise Broken(f"uprobe ended with {rc}: {said}")
        row.refused += 1
        return
    clients = Clients(name, places)
    try:
        changed_for(seconds * (random.random() if kills else 1), target, clients, row)
        if kills:
            clients.over.set()
            target.desert()
            session.kill()
    finally:
        clients.stop.set()
        for t in clients.threads:
            t.join()
        row.changes += clients.n_changes
    clients.end()
    if not kills:
        clients.ask("--end")
    rc = session.wait()
    if kills:
        row.kills += 1
        target.kills += 1
    elif rc:
        raise Broken(f"uprobe ended with {rc}: {session.said()}")
    else:
        row.clean += 1
    target.check()
    if not kills:
        target.check_clean()


def rounds(row, make, places, options, n, seconds, o):
    target = None
    row.changes = row.most = 0
    for i in range(n):
        row.rounds += 1
        kills = not o.no_kill and i % 3 == 1
        try:
            target = target or make()
            one_round(row, target, places, options, seconds, kills)
        except Broken as e:
            row.fail(f"{row.storm} mode {row.mode}, round {i}{', to be killed' if kills else ''}: {e}")
            if target:
                target.destroy()
            target = None
        row.hits += Uprobe.hits()
    try:
        if target:
            target.end()
    except Broken as e:
        row.fail(f"{row.storm} mode {row.mode}, end of the target: {e}")
    row.note = f"{row.changes} changes, {row.most} mappings more at most"


def functions(path, like, n=200):
    """Some of its functions, the same ones each time."""
    said = subprocess.run([torture.UPROBE, "-l", path], capture_output=True, text=True, check=True).stdout.split()
    names = sorted({x for x in said if re.fullmatch(like, x)})
    return [(path, x) for x in random.sample(names, min(n, len(names)))]


def of_redis():
    if not all(map(servers.which, ("redis-server", "redis-benchmark"))):
        return None
    path = os.path.realpath(servers.which("redis-server"))
    return servers.Redis, [(path, "processCommand"), *functions(path, "(call|lookup|addReply|dict|sds|string|set|get|incr|list|quicklist|zmalloc)[A-Za-z]*")], []


def of_postgres():
    if not postgres.BIN:
        return None
    path = os.path.realpath(f"{postgres.BIN}/postgres")
    return (lambda: postgres.Postgres(os.path.abspath("pg")),
            [(path, "standard_ExecutorRun"), *functions(path, "(heap|Exec|LWLock|Buffer|Mem|pg_|list|bms)[A-Za-z_]*")], ["--follow"])


def of_program(make):
    def parts():
        what = make()
        if not what:
            return None
        argv, _ = what
        first = programs.Program(argv, None)
        want, libc = first.want, programs.libc_of(first.pid)
        first.end()
        exe = os.path.realpath(argv[0])
        some = functions(libc, "(malloc|free|mem[a-z]*|str[a-z]*|read|write|pthread_mutex_[a-z]*)") if libc else []
        if make in (programs.python, programs.bash):
            some = functions(exe, "(Py|_Py|execute|expand|find|hash)[A-Za-z_]*") + some
        if make is programs.go:
            some = [(exe, f"main.{x}") for x in ("add", "grow", "unit")] + some
        return lambda: programs.Program(argv, want), some, []
    return parts


def main():
    o = torture.parse(__doc__, lambda p: p.add_argument("--seconds", type=float, help="of each round"))
    torture.in_own_folder()
    os.chmod(".", 0o755)
    table = torture.Table(o)
    for name, parts, is_short in (("redis", of_redis, True), ("python", of_program(programs.python), True),
                                  ("postgres", of_postgres, False), ("java", of_program(programs.java), False),
                                  ("go", of_program(programs.go), False)):
        what = parts() if o.only in name and (is_short or o.full or o.only) else None
        for mode in o.modes if what else ():
            if mode == "step":
                continue
            row = Row(f"changes {name}", mode)
            rounds(row, *what, o.rounds or (6 if o.full else 2), o.seconds or (30 if o.full else 2), o)
            table.add(row)
    if not table.rows:
        torture.skip("none of the programs is there (make torture-deps)")
    table.done()


if __name__ == "__main__":
    main()
