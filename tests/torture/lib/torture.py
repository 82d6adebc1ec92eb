# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What the storms share: targets that check themselves, uprobes that are killed, a table.

A storm attaches uprobe to a living target again and again and ends it, by SIGKILL at some
moment or in the regular way. After each end the target is asked ("check", fixtures/storm.h)
whether all is right and answers when each of its threads has done another whole round. A
target that died, answered wrongly or did not answer is a failure; a new one takes its place.

Nothing waits by sleeping, except that the delay before a kill is the point.
"""

import argparse
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from killat import KillAt

sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests/integ/lib"))
from on_stack import translate  # noqa: E402

UPROBE = os.environ["UPROBE"]
FIXTURES = os.environ["FIXTURES"]
BUILD = os.environ["UBP_BUILD"]
SRC = os.environ["UBP_SRC"]
ANSWER = int(os.environ.get("TORTURE_ANSWER", "120"))  # s for one answer, in case that none comes at all
# stay: as auto, and nobody is let go of.
MODES = ("auto", "stay", "trap", "step")


def mode_options(mode):
    return ["--mode", "auto", "--stay"] if mode == "stay" else ["--mode", mode]

# Where functions find their first two arguments.
ARG1, ARG2 = {"aarch64": ("%x0", "%x1")}.get(os.uname().machine, ("%di", "%si"))


def skip(reason):
    print(reason)
    sys.exit(77)


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            skip(f"needs {p}")


def fixture(name):
    return os.path.join(FIXTURES, name)


def use_32_bits():
    """Targets are 32-bit programs from here on."""
    global FIXTURES
    FIXTURES = os.path.join(BUILD, "fixtures32")
    exit_code = fixture("exit_code")
    if not os.access(exit_code, os.X_OK):
        skip("gcc cannot build for 32 bits (gcc-12-multilib)")
    try:
        runs = subprocess.run([exit_code, "exit"], check=False).returncode == 0
    except OSError:
        runs = False
    if not runs:
        skip("this kernel runs no 32-bit programs")


def is_32_bits():
    return os.path.basename(FIXTURES) == "fixtures32"


def signal_name(n):
    try:
        return signal.Signals(n).name
    except ValueError:
        return f"signal {n}"


def ending(status):
    """A wait status (as os.waitpid gives it) in words."""
    if os.WIFSIGNALED(status):
        return f"killed by {signal_name(os.WTERMSIG(status))}"
    return f"exit({os.WEXITSTATUS(status)})"


def tail(path, n=3):
    """Its first lines and its last, as one."""
    with open(path, errors="replace") as f:
        lines = [line.strip() for line in f]
    if len(lines) > 2 * n:
        lines[n:-n] = ["..."]
    return " | ".join(lines)


class Broken(Exception):
    """The target is not what it would be without us. documented: in a way that the manual
    owns up to."""

    def __init__(self, how, documented=False):
        super().__init__(how)
        self.documented = documented


class Pipe:
    """Lines from a descriptor, each with a time limit."""

    def __init__(self, fd, process=None):
        self.fd = fd
        self.rest = b""
        # Children of a dead target may keep its output open: look at the target, too.
        self.pidfd = os.pidfd_open(process) if process else None

    def line(self, timeout):
        """The next line; None: none came; "": the end."""
        end = time.monotonic() + timeout
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            fds = [self.fd, self.pidfd] if self.pidfd else [self.fd]
            able = select.select(fds, [], [], max(0, left))[0]
            if not able:
                return None
            more = os.read(self.fd, 65536) if self.fd in able else b""
            if not more:
                return ""
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace")

    def close(self):
        os.close(self.fd)
        if self.pidfd:
            os.close(self.pidfd)


class Target:
    """A program from fixtures/ that speaks the language of storm.h, in a group of its own."""

    number = 0

    def __init__(self, argv, documented=None):
        Target.number += 1
        self.argv = argv
        self.documented = documented or (lambda status: False)
        self.log = os.path.abspath(f"target{Target.number}.log")
        self.status = None
        with open(self.log, "wb") as log:
            self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=log, start_new_session=True, bufsize=0)
        self.pid = self.p.pid
        self.out = Pipe(os.dup(self.p.stdout.fileno()), self.pid)
        self.p.stdout.close()
        self.kills = self.owed = 0
        self.deserted = False  # alive when this round's uprobe went
        if self.out.line(ANSWER) != "ready":
            self.destroy()
            raise Broken(f"{argv}: not ready: {tail(self.log)}")
        self.quiet = self.quiet_state()

    def say(self, word):
        try:
            self.p.stdin.write(word.encode() + b"\n")
        except BrokenPipeError:
            pass

    def begin_check(self):
        """Give it something to do; the answer is taken before the next one."""
        self.say("check")
        self.owed += 1

    def ask(self, word, timeout=ANSWER):
        """Send it, and want the answers."""
        self.say(word)
        self.owed += 1
        self.settle(timeout)

    def settle(self, timeout=ANSWER):
        """What it owes: then it has done what it was given."""
        while self.owed:
            answer = self.out.line(timeout)
            if answer is None:
                raise Broken(f"does not answer: {self.where()}")
            if answer == "":
                raise self.death()
            self.good(answer)
            self.owed -= 1

    def desert(self):
        """uprobe is about to go. What has happened by now is not of its going."""
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
        if self.status is None and os.waitid(os.P_PID, self.pid, ended) is None:
            self.deserted = True

    def excuses(self, said):
        """Is it right that uprobe said this instead of getting ready?"""
        return False

    def wait_alone(self, seconds):
        """Until nobody traces it, or for so long: who executes or forks all the time is traced most of the time."""
        end = time.monotonic() + seconds
        while self.field("TracerPid") not in ("0", None) and time.monotonic() < end:
            time.sleep(0.001)
        return self.field("TracerPid") == "0"

    def good(self, answer):
        if not answer.startswith("ok"):
            raise Broken(f"says '{answer}'")

    def death(self):
        """It closed its output: how did it end?"""
        status = self.reap()
        how = "closed its output, but lives" if status is None else ending(status)
        said = tail(self.log)
        return Broken(how + (f": {said}" if said else ""),
                      status is not None and self.documented(status))

    def reap(self):
        end = time.monotonic() + ANSWER
        while self.status is None and time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
                self.p.returncode = 0
                return status
            time.sleep(0.001)  # there is no wait with a time limit
        return self.status

    def where(self):
        """What its threads are doing, for a report."""
        seen = {}
        for tid in self.tids():
            try:
                with open(f"/proc/{self.pid}/task/{tid}/stat") as f:
                    state = f.read().rsplit(")", 1)[1].split()[0]
                with open(f"/proc/{self.pid}/task/{tid}/wchan") as f:
                    wchan = f.read() or "-"
            except OSError:
                continue
            key = f"{state} {wchan} traced={self.field('TracerPid', tid) not in ('0', None)}"
            seen[key] = seen.get(key, 0) + 1
        return ", ".join(f"{n} x {k}" for k, n in sorted(seen.items()))

    def pids(self):
        return [self.pid]

    def tids(self):
        try:
            return sorted(int(t) for t in os.listdir(f"/proc/{self.pid}/task"))
        except OSError:
            return []

    def field(self, name, tid=None):
        try:
            with open(f"/proc/{self.pid}/task/{tid or self.pid}/status") as f:
                for line in f:
                    if line.startswith(name + ":"):
                        return line.split(None, 1)[1].strip()
        except OSError:
            pass
        return None

    def state(self):
        """What a clean end must leave as it was."""
        names = ("TracerPid", "SigBlk", "SigIgn", "SigCgt", "Cpus_allowed")
        state = {name: self.field(name) for name in names}
        for name in ("SigPnd", "ShdPnd"):  # others may be the target's own
            state[f"SIGTRAP in {name}"] = int(self.field(name) or "0", 16) & 1 << 4
        return state

    def quiet_state(self):
        """The same, while it does nothing that changes it for a moment."""
        return self.state()

    def check(self):
        self.ask("check")

    def check_clean(self):
        """After a uprobe that ended as it should: nothing is to be seen of it."""
        end = time.monotonic() + 2
        while True:  # a C library may block signals for a moment
            now = self.quiet_state()
            if now == self.quiet:
                return
            if time.monotonic() > end:
                break
        for name, was in self.quiet.items():
            if now[name] != was:
                raise Broken(f"{name} is {now[name]} after a clean end, was {was}")

    def end(self):
        """It stops; it must have been right to the last."""
        self.check()
        self.say("end")
        status = self.reap()
        said = tail(self.log)
        self.destroy()
        if status is None:
            raise Broken("does not end")
        if status:
            raise Broken(f"in the end {ending(status)}: {said}", self.documented(status))

    def destroy(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.reap()
        self.p.stdin.close()
        self.out.close()
        if os.path.exists(self.log):
            os.unlink(self.log)


class Server:
    """A program of several processes with load on it: what Target is for a fixture. A kind
    of server says how to start(), pids() and stop() it, and how to check() it."""

    def __init__(self):
        self.kills = 0
        self.start()

    def begin_check(self):
        """There is load all the time."""

    def desert(self):
        """Nothing depends on it here."""

    def excuses(self, said):
        """One of its processes ended between pids() and the attach."""
        m = re.search("no process ([0-9]+)|process ([0-9]+) is a zombie", said)
        return m and int(m.group(1) or m.group(2)) not in self.pids()

    def check_clean(self):
        for pid in self.pids():
            for tid in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{tid}/status") as f:
                    by = re.search(r"^TracerPid:\s*(\d+)", f.read(), re.M).group(1)
                if by != "0":
                    raise Broken(f"thread {tid} of {pid} is traced by {by} after a clean end")

    def end(self):
        try:
            self.check()
            self.stop()
        finally:
            self.destroy()


    def wait_alone(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not all(map(self.is_alone, self.pids())):
            time.sleep(0.001)
        return all(map(self.is_alone, self.pids()))

    @staticmethod
    def is_alone(pid):
        try:
            with open(f"/proc/{pid}/status") as f:
                return "TracerPid:\t0\n" in f.read()
        except OSError:
            return True


class Load:
    """A benchmark run again and again; good(output) says whether nothing failed."""

    def __init__(self, argv, good, **popen):
        self.argv, self.good, self.popen = argv, good, popen
        self.runs = 0
        self.log = os.path.abspath("load.log")
        self.p = None
        self.begin()

    def begin(self):
        with open(self.log, "wb") as log:
            self.p = subprocess.Popen(self.argv, stdout=log, stderr=log,
                                      stdin=subprocess.DEVNULL, start_new_session=True,
                                      **self.popen)

    def look(self):
        """One that has ended must have ended well; another takes its place."""
        if self.p.poll() is None:
            return
        self.over()
        self.begin()

    def over(self):
        try:
            # After a kill each breakpoint that is left is a signal: thirty times as long as usual.
            rc = self.p.wait(3 * ANSWER)
        except subprocess.TimeoutExpired:
            raise Broken(f"{self.argv[0]} does not end") from None
        with open(self.log, errors="replace") as f:
            said = f.read()
        if rc or not self.good(said):
            raise Broken(f"{self.argv[0]} ended with {rc}: {tail(self.log, 6)}")
        self.runs += 1

    def destroy(self):
        if self.p.poll() is None:
            os.killpg(self.p.pid, signal.SIGKILL)
            self.p.wait()


class Uprobe:
    """One run of uprobe. It is killed, or stopped, or left to be destroyed."""

    sessions = set()

    def __init__(self, pids, defs, options=(), killat=None):
        env = dict(os.environ)
        if killat:
            env.update(killat.env)
        r, w = os.pipe()
        argv = [UPROBE, "--ready-fd", str(w), "-o", "out.txt", *options]
        if pids:
            argv += ["-p", ",".join(map(str, pids))]
        for d in defs:
            argv += ["-e", translate(d) if is_32_bits() else d]
        if os.path.exists("out.txt"):
            os.unlink("out.txt")
        with open("uprobe.err", "wb") as err:
            self.p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=err, env=env,
                                      stdin=subprocess.DEVNULL, pass_fds=[w],
                                      start_new_session=True)
        os.close(w)
        Uprobe.sessions.add(self.p.pid)
        self.ready = Pipe(r)

    def wait_ready(self):
        """True: it has planted. False: it ended, or was killed, before."""
        line = self.ready.line(ANSWER)
        if line is None:
            raise Broken("uprobe does not get ready")
        return line == "ready"

    def kill(self):
        self.p.kill()

    def interrupt(self):
        self.p.send_signal(signal.SIGINT)

    def wait(self):
        """Its end: a return code as subprocess has it."""
        if self.ready:
            self.ready.close()
            self.ready = None
        try:
            return self.p.wait(ANSWER)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            raise Broken("uprobe does not end") from None

    def said(self):
        return tail("uprobe.err", 4)

    @staticmethod
    def hits():
        try:
            with open("out.txt", "rb") as f:
                return max(0, f.read().count(b"\n"))
        except OSError:
            return 0

    @classmethod
    def left_behind(cls):
        """Helpers of uprobes that have ended, by session."""
        left = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as f:
                    name, rest = f.read().rsplit(")", 1)
            except OSError:
                continue
            if int(rest.split()[3]) in cls.sessions and rest.split()[0] != "Z":
                left.append(f"{pid} {name.split('(', 1)[1]}")
        return left


COLUMNS = ("storm", "mode", "rounds", "kills", "clean", "hits", "documented", "failures")


class Row:
    """A line of the table, and what is behind its failures."""

    def __init__(self, storm, mode):
        self.storm, self.mode = storm, mode
        self.rounds = self.kills = self.clean = self.hits = self.documented = 0
        self.alone = 0  # rounds in which nobody traced the target for a while
        self.note = ""
        self.reports = []
        self.refused = 0  # attaches that gave up with an excuse of the target's

    @property
    def failures(self):
        return len(self.reports)

    def fail(self, report):
        self.reports.append(report)

    def cells(self):
        return [str(getattr(self, c)) for c in COLUMNS]


class Table:
    def __init__(self, options):
        self.rows = []
        self.options = options
        self.began = time.monotonic()

    def add(self, row):
        if row.refused:
            row.note += f"{', ' if row.note else ''}{row.refused} attaches refused"
        if row.alone:
            row.note += f"{', ' if row.note else ''}{row.alone} times let go of"
        self.rows.append(row)
        if self.options.json:
            with open(self.options.json, "a") as f:
                json.dump({**{c: getattr(row, c) for c in COLUMNS},
                           "note": row.note, "reports": row.reports}, f)
                f.write("\n")
        self.show([COLUMNS] if len(self.rows) == 1 else [])
        self.show([row.cells()], row.note)
        for report in row.reports[:self.options.reports]:
            print(f"    FAILED: {report}")
        if row.failures > self.options.reports:
            print(f"    and {row.failures - self.options.reports} more")
        sys.stdout.flush()

    @staticmethod
    def show(rows, note=""):
        for r in rows:
            print(f"{r[0]:<28} {r[1]:<5}" + "".join(f" {c:>10}" for c in r[2:]) +
                  (f"  {note}" if note else ""))

    def done(self):
        """The last word, and the exit status."""
        failed = sum(r.failures for r in self.rows)
        left = Uprobe.left_behind()
        if left:
            print(f"FAILED: left behind by uprobe: {', '.join(left)}")
        print(f"{sum(r.kills for r in self.rows)} kills, "
              f"{sum(r.hits for r in self.rows)} hits seen, "
              f"{sum(r.documented for r in self.rows)} documented, {failed} failures, "
              f"{time.monotonic() - self.began:.0f} s, seed {self.options.seed}")
        sys.exit(1 if failed or left else 0)


def parse(description, add=None):
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--full", action="store_true", help="as many rounds as `make torture` does")
    p.add_argument("--mode", choices=(*MODES, "all"), help="uprobe's --mode, or stay: auto with --stay (short form: auto)")
    p.add_argument("--rounds", type=int, help="so many in each row of the table")
    p.add_argument("--only", default="", help="rows whose name has this in it")
    p.add_argument("--seed", type=int, default=None, help="of the random moments")
    p.add_argument("--reports", type=int, default=5, help="failures shown for a row")
    p.add_argument("--stop", type=int, default=25, help="failures that end a row")
    p.add_argument("--no-kill", action="store_true", help="clean ends only")
    p.add_argument("--bits", type=int, choices=(32, 64), default=64, help="of the targets")
    p.add_argument("--json", help="append the rows to this file")
    p.add_argument("--follow", action="store_true", help="uprobe follows the targets' children")
    if add:
        add(p)
    o = p.parse_args()
    if o.seed is None:
        o.seed = random.randrange(1 << 30) if o.full else 1
    if o.bits == 32:
        use_32_bits()
    all_modes = o.mode == "all" or (o.full and not o.mode)
    o.modes = MODES if all_modes else (o.mode or "auto",)
    random.seed(o.seed)
    return o


class Storm:
    """Rounds of uprobe on targets of one kind."""

    def __init__(self, row, make, defs, options, o):
        self.row = row
        self.make = make
        self.defs = defs
        self.options = [*mode_options(row.mode), *options]
        if o.follow:
            row.storm += " follow"
            self.options += ["--follow"]
        # Whoever is stopped at each hit is never let go of.
        self.lets_go = row.mode == "auto"
        self.stop = o.stop
        self.kills = not o.no_kill
        self.target = None
        self.ready_s = self.detach_s = 0.05
        self.refused = 0  # one after the other
        self.killat = None

    # --- rounds ---

    PATIENCE = 5  # so many attaches may be refused one after the other

    def run(self, rounds, after_ready=None, clean_every=6, fresh_every=10):
        """Random moments. @after_ready(target): when planted, in each round that gets there."""
        self.measure()
        for i in range(rounds):
            if self.row.failures >= self.stop:
                self.row.note = f"given up after {i} rounds"
                break
            if i % fresh_every == 0:
                self.renew()
            clean = i % clean_every == clean_every - 1 or not self.kills
            self.round(self.clean_round if clean else self.killed_round, after_ready)
        self.over()

    def run_steps(self, phase, ks):
        """Killed before the k-th call, on a new target and then once more on the same."""
        self.killat = self.killat or KillAt()
        for k in ks:
            if self.row.failures >= self.stop:
                self.row.note = f"given up at k={k}"
                return
            self.renew()
            for what in ("new", "the same"):
                self.round(lambda _, w=what: self.step_round(phase, k, w), None)

    def count_steps(self):
        """How many calls there are in attach and detach, with these definitions."""
        self.killat = self.killat or KillAt()
        self.renew()
        self.killat.arm(0, 0)
        self.round(lambda _: self.step_round(0, 0, "new"), None)
        return self.killat.counts()

    def round(self, how, arg):
        self.row.rounds += 1
        moment = "?"
        try:
            if not self.target:
                self.target = self.make()
            moment = "killed while the target starts"
            for moment in how(arg):
                pass
            self.target.check()
        except Broken as e:
            self.broke(e, f"round {self.row.rounds}, {moment}")
            if self.target:
                self.target.destroy()
            self.target = None
        self.row.hits += Uprobe.hits()

    def clean_round(self, after_ready):
        yield "attaching"
        early = random.random() < 0.5
        if early:
            self.target.begin_check()
        u = self.start()
        if not self.ready(u):
            return
        yield "attached"
        if not early:
            self.target.begin_check()
        if after_ready:
            after_ready(self.target)
        if self.lets_go and random.random() < 0.8:
            yield "attached, and to be let go of"
            self.alone()
            self.target.check()
            yield "attached, and let go of"
        time.sleep(random.uniform(0, 0.01))
        yield from self.stop_cleanly(u)

    def stop_cleanly(self, u):
        yield "detaching (clean)"
        self.target.desert()
        u.interrupt()
        rc = u.wait()
        if rc != 0:
            raise Broken(f"uprobe ended with {rc}: {u.said()}")
        self.row.clean += 1
        self.target.check()
        yield f"detached (clean, after {self.target.kills} kills)"
        self.target.check_clean()

    def killed_round(self, after_ready):
        moment = random.choices(("attach", "hit", "detach"), (45, 30, 25))[0]
        yield "attaching"
        if moment == "attach" and random.random() < 0.5:
            self.target.begin_check()
        u = self.start()
        if moment == "attach":
            delay = random.uniform(0, self.ready_s * 1.2)
        elif not self.ready(u):
            return
        else:
            yield "attached"
            if after_ready:
                after_ready(self.target)
            if self.lets_go and random.random() < 0.7:
                yield "attached, and to be let go of"
                self.alone()
            self.target.begin_check()
            delay = random.uniform(0, 0.015 if moment == "hit" else self.detach_s * 1.2)
        if moment == "detach":
            self.target.desert()
            u.interrupt()
        yield f"killed {delay * 1e3:.1f} ms into {moment}"
        time.sleep(delay)
        self.target.desert()
        u.kill()
        self.killed(u)

    def step_round(self, phase, k, what):
        name = f"killed before call {k} of {KillAt.PHASES[phase]} ({what} target)"
        yield name
        self.killat.arm(phase, k)
        u = self.start(self.killat)
        if self.ready(u):
            self.killat.phase(KillAt.HIT)
            if phase == KillAt.HIT:
                self.until_dead(u)
            if u.p.poll() is None:
                self.killat.phase(KillAt.DETACH)
                u.interrupt()
        yield f"{name}, {self.killat.last()}"
        self.killed(u)
        yield f"{name}, {self.killat.last()}"

    def until_dead(self, u):
        """Its k-th call in hits comes if the target makes hits at all."""
        try:
            u.p.wait(5)
        except subprocess.TimeoutExpired:
            pass

    # --- parts ---

    def alone(self):
        self.row.alone += self.target.wait_alone(0.5)

    def start(self, killat=None):
        self.target.deserted = killat is not None  # it goes when it pleases
        return Uprobe(self.target.pids(), self.defs, self.options, killat)

    def ready(self, u):
        """False: it was killed by itself before. Anything else must not happen."""
        if u.wait_ready():
            self.refused = 0
            return True
        rc = u.wait()
        if rc != -signal.SIGKILL:
            self.gave_up(rc, u)
        return False

    def gave_up(self, rc, u):
        """uprobe ended before it was ready. The target's fault, or its own?"""
        said = u.said()
        if self.target.excuses(said):
            self.refused += 1
            self.row.refused += 1
            self.target.deserted = True
            if self.refused <= self.PATIENCE:
                return
        self.target.check()
        raise Broken(f"uprobe ended with {rc}: {said}")

    def broke(self, e, when):
        if e.documented:
            self.row.documented += 1
        else:
            self.row.fail(f"{self.row.storm} mode {self.row.mode}, {when}: {e}")

    def killed(self, u):
        rc = u.wait()
        if rc == -signal.SIGKILL:
            self.row.kills += 1
            self.target.kills += 1
        elif rc != 0:
            self.gave_up(rc, u)
        else:
            self.row.clean += 1

    def measure(self):
        """How long uprobe takes to attach and to detach, so that kills meet all of it."""
        try:
            self.target = self.target or self.make()
            began = time.monotonic()
            u = self.start()
            if not self.ready(u):
                return
            self.ready_s = time.monotonic() - began
            began = time.monotonic()
            for _ in self.stop_cleanly(u):
                pass
            self.detach_s = time.monotonic() - began
        except Broken as e:
            self.broke(e, "first clean run")
            if self.target:
                self.target.destroy()
            self.target = None

    def renew(self):
        """Another target; the one so far must have a good end."""
        if self.target:
            self.over()
        try:
            self.target = self.make()
        except Broken as e:
            self.broke(e, "start of a target")

    def over(self):
        target, self.target = self.target, None
        if not target:
            return
        try:
            target.end()
        except Broken as e:
            self.broke(e, f"end of the target after {target.kills} kills")


def usual(f):
    """Entry and return probes on the functions of storm.h."""
    return [f"p:s/mix {f}:mix i={ARG1}:s64 s=+0({ARG2}):string", f"p:s/leaf {f}:leaf i={ARG1}:s64",
            f"r:s/leaf_ret {f}:leaf $retval:s64", f"r:s/outer {f}:outer $retval:s64",
            f"p:s/half {f}:half"]


def fixture_storms(description, storms, full, short, kind=Target):
    """Random rounds on each (name, fixture, definitions of its path, options of uprobe that only mode auto has). Does not return."""
    options = parse(description)
    in_own_folder()
    table = Table(options)
    for mode in options.modes:
        for name, program, definitions, *extra in storms:
            if extra and (mode != "auto" or options.only not in name):
                continue
            path = fixture(program)
            row = Row(name, mode)
            many = full if mode in ("auto", "stay") else full // 4
            Storm(row, lambda p=path: kind([p]), definitions(path), extra, options).run(
                options.rounds or (many if options.full else short))
            table.add(row)
    table.done()


def in_own_folder():
    """Many files are written: where memory backs them if that can be had."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    import tempfile
    folder = tempfile.mkdtemp(prefix="ubp-torture-", dir=base)
    here = os.getcwd()
    os.chdir(folder)
    import atexit

    def leave():
        os.chdir(here)
        shutil.rmtree(folder, ignore_errors=True)
    atexit.register(leave)
