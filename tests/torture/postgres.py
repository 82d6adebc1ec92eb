# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""PostgreSQL under pgbench while uprobe comes, goes and is killed: no transaction fails, and
in the end the books balance."""

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
import torture  # noqa: E402
from torture import ANSWER, Broken, Load, Row, Server, Storm, tail  # noqa: E402

BIN = os.path.dirname(max(glob.glob("/usr/lib/postgresql/*/bin/postgres"), default=""))
BOOKS = ("select (select sum(abalance) from pgbench_accounts), (select sum(bbalance) from "
         "pgbench_branches), (select sum(tbalance) from pgbench_tellers), (select "
         "coalesce(sum(delta), 0) from pgbench_history)")


def ordinary_user():
    """The server refuses to run as root."""
    if os.getuid():
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
            return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        except KeyError:
            pass
    torture.skip("needs a user postgres or nobody")
    return None


class Postgres(Server):
    def __init__(self, home):
        self.home = home
        self.who = ordinary_user()
        self.env = dict(os.environ, PGHOST=home, PGDATABASE="postgres", PGUSER="bench", LC_ALL="C")
        self.p = None
        super().__init__()

    def run(self, program, *args):
        try:
            return subprocess.run([f"{BIN}/{program}", *args], env=self.env, check=True, text=True,
                                  cwd=self.home, timeout=8 * ANSWER, capture_output=True,
                                  **self.who).stdout
        except subprocess.SubprocessError as e:
            self.look_at_log()
            raise Broken(f"{program}: {e.stderr or e}: {tail(self.log)}") from None

    def look_at_log(self):
        with open(self.log, errors="replace") as f:
            bad = [line.strip() for line in f if "terminated by signal" in line or "PANIC" in line]
        if bad:
            raise Broken(f"postgres: {bad[0]}")

    def start(self):
        shutil.rmtree(self.home, ignore_errors=True)
        os.mkdir(self.home)
        if self.who:
            os.chown(self.home, self.who["user"], self.who["group"])
        self.log = f"{self.home}/log"
        open(self.log, "w").close()
        self.run("initdb", "-D", f"{self.home}/data", "-U", "bench", "-A", "trust", "-N")
        with open(self.log, "wb") as log:
            self.p = subprocess.Popen([f"{BIN}/postgres", "-D", f"{self.home}/data", "-k",
                                       self.home, "-c", "listen_addresses=", "-c", "fsync=off"],
                                      env=self.env, stdout=log, stderr=log, cwd=self.home,
                                      **self.who)
        self.wait_up()
        self.run("pgbench", "-i", "-q", "-s", "2")
        self.run("psql", "-c", "create role books superuser login")
        self.load = Load([f"{BIN}/pgbench", "-n", "-c", "4", "-j", "2", "-t", "2000"], self.good,
                         env=self.env, cwd=self.home, **self.who)

    def wait_up(self):
        for _ in range(ANSWER):
            if subprocess.run([f"{BIN}/pg_isready", "-q", "-t", "1"], env=self.env,
                              check=False).returncode == 0:
                return
            if self.p.poll() is not None:
                break
            time.sleep(0.1)
        raise Broken(f"postgres does not start: {tail(self.log)}")

    @staticmethod
    def good(said):
        return "transactions actually processed: 8000/8000" in said and \
            re.search(r"failed transactions: 0 ", said)

    def pids(self):
        """The server and what it has forked by now, but for our own short visits; what it
        forks later is followed."""
        pids = [self.p.pid]
        with open(f"/proc/{self.p.pid}/task/{self.p.pid}/children") as f:
            children = f.read().split()
        for pid in children:
            try:
                with open(f"/proc/{pid}/cmdline") as f:
                    if f.read().startswith(("postgres: bench ", "postgres: walwriter")):
                        pids.append(int(pid))
            except OSError:
                pass
        return pids

    def check(self):
        if self.p.poll() is not None:
            raise Broken(f"postgres ended with {self.p.returncode}: {tail(self.log)}")
        self.look_at_log()
        self.load.look()
        self.balance()

    def balance(self):
        sums = self.run("psql", "-U", "books", "-Atc", BOOKS).strip().split("|")
        if len(set(sums)) != 1:
            raise Broken(f"the books do not balance: {sums}")

    def stop(self):
        self.load.over()
        self.balance()
        self.p.terminate()
        rc = self.p.wait(ANSWER)
        if rc:
            raise Broken(f"postgres ended with {rc}: {tail(self.log)}")

    def destroy(self):
        self.load.destroy()
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGQUIT)  # at once, the children too
            try:
                self.p.wait(ANSWER)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()


def all_functions(path):
    """Each of which can be a jump, or at least a breakpoint."""
    out = subprocess.run([torture.UPROBE, "-l", path], capture_output=True, text=True,
                         check=True).stdout
    names = {re.sub(r"\W", "_", n)[:60]: n for n in out.split()}
    return [f"p:a/{event} {path}:{n}" for event, n in sorted(names.items())]


def main():
    options = torture.parse(__doc__)
    if not BIN:
        torture.skip("needs PostgreSQL (make torture-deps)")
    torture.in_own_folder()
    os.chmod(".", 0o755)
    f = os.path.realpath(f"{BIN}/postgres")
    defs = [f"p:s/run {f}:standard_ExecutorRun", f"r:s/run_ret {f}:standard_ExecutorRun",
            f"p:s/update {f}:heap_update", f"r:s/update_ret {f}:heap_update $retval:s32",
            f"r:s/xlog {f}:XLogInsert $retval", f"p:s/lock {f}:LWLockAcquire"]
    table = torture.Table(options)
    for mode in options.modes:
        for name, what in (("pgbench", defs), ("everything", all_functions(f))):
            # All functions of programs: everything.py has them in its short form.
            if options.only not in name or (name == "everything" and not (options.full or options.only)):
                continue
            row = Row(f"postgres {name}", mode)
            # A multiple of three: the last one is clean, so the load can end at its usual pace.
            Storm(row, lambda: Postgres(os.path.abspath("pg")), what, [], options).run(
                options.rounds or (60 if options.full else 3), clean_every=3, fresh_every=100)
            table.add(row)
    table.done()


if __name__ == "__main__":
    main()
