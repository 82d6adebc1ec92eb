# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Static probes of python3.11 and of PostgreSQL under pgbench: the arguments that usdt prints are
those that the kernel prints for definitions that were translated by hand from what readelf tells
(lib/notes.py), with the semaphore as reference counter. One after the other, never both at one
address."""

import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import notes  # noqa: E402
import oracle  # noqa: E402

USDT = os.environ["USDT"]
MODES = ("trap", "jump")


class Probes:
    """Those of a file that are to be traced, with the arguments that are strings."""

    def __init__(self, path, provider, strings, names=None):
        self.file = notes.File(path)
        self.path, self.provider, self.strings = path, provider, strings
        self.notes = [n for n in self.file.notes
                      if n.provider == provider and (names is None or n.name in names)]

    def by_kernel(self, group):
        """Definitions, an event for each location; and which of them is which probe's."""
        defs, probe_of = [], {}
        for i, note in enumerate(self.notes):
            event = f"{note.name}__at{i}"
            args = self.file.arguments(note, self.strings.get(note.name, ()))
            defs.append(f"p:{group}/{event} {' '.join([self.file.place(note), *args])}")
            probe_of[event] = note.name
        return defs, probe_of

    def by_usdt(self):
        """Options, a probe for all locations of a name."""
        words = []
        for name in dict.fromkeys(n.name for n in self.notes):
            n_args = max(len(n.operands) for n in self.notes if n.name == name)
            strings = self.strings.get(name, ())
            args = [f"arg{i}:string" if i in strings else f"arg{i}" for i in range(1, n_args + 1)]
            words += ["-e", " ".join([f"{self.path}:{self.provider}:{name}",
                                      *(args if strings else [])])]
        return words


def without_number(events):
    """usdt numbers events of one name whose arguments have other types."""
    for e in events:
        e.name = re.sub(r"(?<=\w)_\d+$", "", e.name)
    return events


def named(events, probe_of):
    for e in events:
        e.name = probe_of[e.name]
    return events


def equal(title, kernel, ubp, at_least, masks=(), jumps=None):
    bad = oracle.differences(kernel, ubp, masks, ignore_comm=True)
    if len(kernel) < at_least:
        bad.append(f"only {len(kernel)} events: this shows nothing")
    print(f"{'differs' if bad else 'equal'}: {title}: {len(kernel)} and {len(ubp)} events of "
          f"{len({e.name for e in kernel})} probes{'' if jumps is None else f', {jumps} without a stop'}")
    for b in bad[:5]:
        print("  " + b)
    return not bad


def unstopped(out):
    """Hits for which nobody was stopped, by --stats."""
    return sum(int(m.group(1)) - int(m.group(2))
               for m in re.finditer(rb"^usdt: stats: \S+ \S+/\S+ hits=(\d+) .*stopped=(\d+)", out, re.M))


# --- python3.11 ------------------------------------------------------------------

PROGRAM = r"""
import gc, sys
class A:
    def __init__(self, n): self.me, self.n = self, n
    def __getattr__(self, name): return name
def deep(n): return deep(n - 1) + 1 if n else 0
def gen(n):
    for i in range(n): yield i
for i in range(40):
    a = A(i); deep(i % 7); list(gen(3)); sorted([3, 1, 2], key=lambda x: -x)
    list(map(lambda x: x + 1, range(3)))
    if i % 9 == 0: gc.collect(i % 3)
import colorsys, chunk
sys.audit("ubp.test", 1, "two")
print(deep(9))
"""


def python():
    path = "/usr/bin/python3.11"
    if not os.path.exists(path):
        print(f"left out: no {path}")
        return []
    path = oracle.private(path)
    probes = Probes(path, "python", {
        "function__entry": (1, 2), "function__return": (1, 2), "line": (1, 2), "audit": (1,),
        "import__find__load__start": (1,), "import__find__load__done": (1,)})
    argv = [oracle.LAUNCH, path, "-I", "-S", "-B", "-W", "ignore", "-c", PROGRAM]
    env = oracle.environment({"PYTHONHASHSEED": "1", "PYTHONHOME": "/usr"})
    with oracle.Kernel() as k:
        defs, probe_of = probes.by_kernel(k.group)
        k.define(defs)
        k.switch(True)
        try:
            k_out, k_rc = oracle.run(argv, env, None, b"")
        finally:
            k.switch(False)
        events, _ = oracle.parse(k.trace())
    kernel, results = named(events, probe_of), []
    for mode in MODES:
        out, rc = oracle.run([USDT, "--mode", mode, "--lossless", "--stats", "-o", "ubp.out",
                              *probes.by_usdt(), "--", *argv], env, None, b"")
        with open("ubp.out", "rb") as f:
            ubp = without_number(oracle.parse(f.read())[0])
        jumps = unstopped(out)
        good = equal(f"python3.11, {mode}", kernel, ubp, 1000, jumps=jumps)
        out = re.sub(rb"usdt: stats: [^\n]*\n", b"", out)
        if (k_rc, k_out) != (rc, out) or (jumps == 0) != (mode == "trap"):
            print(f"  {k_rc} {k_out!r}, {rc} {out!r}, {jumps} hits without a stop")
            good = False
        results.append(good)
    return results


# --- PostgreSQL -------------------------------------------------------------------

# What a backend does by the statements alone, not by the time that it takes.
STATEMENTS = ("transaction__start", "transaction__commit", "transaction__abort", "query__start",
              "query__done", "query__parse__start", "query__parse__done", "query__rewrite__start",
              "query__rewrite__done", "query__plan__start", "query__plan__done",
              "query__execute__start", "query__execute__done", "statement__status", "sort__start",
              "sort__done", "smgr__md__write__done", "buffer__read__start", "buffer__read__done",
              "lock__wait__start")
STRINGS = {"query__start": (1,), "query__done": (1,), "query__parse__start": (1,),
           "query__parse__done": (1,), "query__rewrite__start": (1,), "query__rewrite__done": (1,),
           "statement__status": (1,)}
QUIET = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off", "-c", "jit=off",
         "-c", "checkpoint_timeout=1d", "-c", "max_parallel_workers=0", "-c",
         "bgwriter_lru_maxpages=0", "-c", "max_wal_size=10GB", "-c", "track_counts=off"]


class Cluster:
    """A server on a fresh copy of the same data, each time."""

    def __init__(self):
        # The client alone has that folder, too.
        bins = os.path.dirname(max(glob.glob("/usr/lib/postgresql/*/bin/postgres"), default=""))
        self.home = f"/tmp/ubp_usdt_{os.getpid()}"
        self.who = {}
        if not bins or os.getuid():
            self.bin = None
            return
        user = next(u for u in pwd.getpwall() if u.pw_name in ("postgres", "nobody"))
        self.who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.bin = bins
        os.mkdir(self.home)
        os.chown(self.home, user.pw_uid, user.pw_gid)
        self.postgres = f"{self.home}/postgres"
        shutil.copy(f"{bins}/postgres", self.postgres)
        self.env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGHOST": self.home, "PGUSER": "bench",
                    "PGDATABASE": "postgres", "HOME": self.home}
        self.server = None

    def run(self, program, *args):
        return subprocess.run([f"{self.bin}/{program}", *args], env=self.env, cwd=self.home,
                              check=True, capture_output=True, timeout=oracle.TIMEOUT, **self.who)

    def prepare(self):
        self.run("initdb", "-D", f"{self.home}/template", "-U", "bench", "-A", "trust", "-N")
        shutil.copytree(f"{self.home}/template", f"{self.home}/data", symlinks=True)
        self.own(f"{self.home}/data")
        self.start()
        self.run("pgbench", "-i", "-q", "-s", "1")
        self.run("psql", "-qc", "create role books superuser login; checkpoint")
        self.stop()
        shutil.rmtree(f"{self.home}/template")
        os.rename(f"{self.home}/data", f"{self.home}/template")

    def own(self, top):
        for folder, _, files in os.walk(top):
            for name in [folder, *(os.path.join(folder, f) for f in files)]:
                os.chown(name, self.who["user"], self.who["group"])

    def start(self):
        with open(f"{self.home}/log", "ab") as log:
            self.server = subprocess.Popen(
                [oracle.LAUNCH, self.postgres, "-D", f"{self.home}/data", "-k", self.home, *QUIET],
                env=self.env, cwd=self.home, stdout=log, stderr=log, **self.who)
        deadline = time.monotonic() + oracle.TIMEOUT
        # pg_isready waits for an answer; where nobody listens yet it does not.
        while subprocess.run([f"{self.bin}/pg_isready", "-q"], env=self.env, check=False).returncode:
            if self.server.poll() is not None or time.monotonic() > deadline:
                with open(f"{self.home}/log", encoding="utf-8") as f:
                    raise RuntimeError(f"no server: {f.read()[-500:]}")

    def renew(self):
        shutil.rmtree(f"{self.home}/data", ignore_errors=True)
        shutil.copytree(f"{self.home}/template", f"{self.home}/data", symlinks=True)
        self.own(f"{self.home}/data")
        self.start()

    def stop(self):
        if self.server:
            self.server.send_signal(signal.SIGINT)
            self.server.wait(oracle.TIMEOUT)
            self.server = None

    def bench(self):
        self.run("pgbench", "-n", "-c", "1", "-t", "40", "--random-seed=7")

    def remove(self):
        if self.bin:
            if self.server:
                self.server.kill()
                self.server.wait()
            shutil.rmtree(self.home, ignore_errors=True)


def of_clients(events):
    """Those of backends that served pgbench. Each counts its transactions on from where the last
    one that had its place came to, so these numbers are told from the first one on."""
    tids, first = {e.tid for e in events if b"pgbench_" in e.text}, {}
    mine = [e for e in events if e.tid in tids]
    for e in mine:
        if e.name.startswith("transaction__"):
            head, number = e.text.split(b"arg1=")
            base = first.setdefault(e.tid, int(number))
            e.text = b"%barg1=first+%d" % (head, int(number) - base)
    return mine


def postgres():
    cluster = Cluster()
    if not cluster.bin:
        print("left out: no PostgreSQL, or not root")
        return []
    try:
        cluster.prepare()
        return compare_postgres(cluster)
    finally:
        cluster.remove()


def compare_postgres(cluster):
    probes = Probes(cluster.postgres, "postgresql", STRINGS, STATEMENTS)
    cluster.renew()
    with oracle.Kernel() as k:
        defs, probe_of = probes.by_kernel(k.group)
        k.define(defs)
        k.switch(True)
        try:
            cluster.bench()
        finally:
            k.switch(False)
        kernel = of_clients(named(oracle.parse(k.trace())[0], probe_of))
    cluster.stop()
    results = []
    for mode in MODES:
        cluster.renew()
        read_fd, write_fd = os.pipe()
        tracer = subprocess.Popen([USDT, "--mode", mode, "--lossless", "--stats", "--ready-fd",
                                   str(write_fd), "-o", "ubp.out", *probes.by_usdt()],
                                  stderr=subprocess.PIPE, pass_fds=[write_fd])
        os.close(write_fd)
        if os.read(read_fd, 6) != b"ready\n":
            raise RuntimeError(f"usdt does not get ready: {tracer.communicate()[1]!r}")
        os.close(read_fd)
        cluster.bench()
        tracer.send_signal(signal.SIGINT)
        said = tracer.communicate(timeout=oracle.TIMEOUT)[1]
        cluster.stop()
        with open("ubp.out", "rb") as f:
            ubp = of_clients(without_number(oracle.parse(f.read())[0]))
        jumps = unstopped(said)
        good = equal(f"PostgreSQL, {mode}", kernel, ubp, 1000, jumps=jumps)
        if tracer.returncode or (jumps == 0) != (mode == "trap"):
            print(f"  status {tracer.returncode}, {jumps} hits without a stop: {said[-500:]!r}")
            good = False
        results.append(good)
    return results


if __name__ == "__main__":
    oracle.mount_tracefs()
    done = python() + postgres()
    if not done:
        oracle.skip("neither python3.11 nor PostgreSQL is here")
    oracle.done(done)
