# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Processes of other pid namespaces are let go of, too. Threads that come then know their ids in there alone, and each line has the id
that /proc has here, and the thread's name. So have children's, also of a namespace further below, and a uprobe that is stopped or killed
meanwhile changes nothing. The first process of a namespace that crashes dies at once. As root and as an ordinary user."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"))
from let_go import FIXTURES, UPROBE, WAIT, Target, Trace, fail, until  # noqa: E402

NAME = "let_go_ns"
PROBE = ("--json", "-e", f"p:{FIXTURES}/{NAME}:called a=%di:s64")
PLAIN, LIKE_DOCKER = ("unshare", "-pf"), ("unshare", "-Urpfmn", "--mount-proc")


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return f.read()


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int(f.read().split()[0])


class Lost(Exception):
    """The machine was so busy that uprobe did not look in time who has claimed a ring: what is lost is counted."""


TARGETS = []


def again(scenario, *args):
    """That is not to be so each time."""
    for _ in range(5):
        try:
            return scenario(*args)
        except Lost as lost:
            print(f"{scenario.__name__}{args}: {lost}")
            for target in TARGETS:
                os.kill(target.first, signal.SIGKILL)
                target.p.wait(timeout=WAIT)
        finally:
            TARGETS.clear()
    return fail(f"{scenario.__name__}{args}: each time something is lost")


class Boxed(Target):
    """The first process of a pid namespace, the child of what made that."""

    def __init__(self, box, name=NAME, *args):
        super().__init__(name, *box)
        self.first = child_of(self.p.pid) if box else self.p.pid
        TARGETS.append(self)
        self.seen = {}

    @property
    def pid(self):
        return self.first

    def see(self, pid=None):
        """Who is there by now: ids and names of threads, by what they know themselves by."""
        pid = pid or self.pid
        for tid in os.listdir(f"/proc/{pid}/task"):
            try:
                text = status_of(f"{pid}/task/{tid}")
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended since
            own = int(re.search(r"NSpid:.*\t(\d+)\n", text).group(1))
            self.seen[(pid, own)] = int(tid)

    def is_alone(self, pid):
        return "TracerPid:\t0\n" in status_of(pid)

    def end(self):
        self.p.stdin.close()
        if self.p.wait(timeout=WAIT) != 0:
            fail(f"the target ended with {self.p.returncode}")


def events(trace):
    all_of_them = [json.loads(line) for line in trace.out.splitlines() if line.startswith("{")]
    return [e for e in all_of_them if "args" in e]


def check(trace, target, n_calls, tells_names=True):
    """Each line has the right id and name, and none is missing. How many lines each thread has. @tells_names: of those who have
    ended, too."""
    n, tids = {}, {}
    for e in events(trace):
        key = e["pid"], e["args"]["a"]
        n[key] = n.get(key, 0) + 1
        if e["task"] != f"own{key[1]}" and (tells_names or key in target.seen):
            fail(f"not its name: {e}")
        if tids.setdefault(key, e["tid"]) != e["tid"] or target.seen.get(key, e["tid"]) != e["tid"]:
            fail(f"not its id, {target.seen.get(key)}: {e}")
    if len(set(tids.values())) != len(tids):
        fail(f"two threads with one id: {tids}")
    lost = int(trace.stat("ring_lost"))
    if sum(n.values()) + lost != n_calls:
        fail(f"{sum(n.values())} calls of {n_calls}\n{trace.err}\n{trace.out}")
    if lost:
        raise Lost(f"{lost} of {n_calls}")
    for key in target.seen:
        if n.get(key, 0) == 0:
            fail(f"{key}, which is {target.seen[key]} here, called unseen\n{trace.out}")
    return n


def threads_come(box, *args):
    target = Boxed(box)
    target.ask("stand 3")
    trace = Trace(target, *args, *PROBE, lets_go=not args)
    target.ask("call 2")
    target.ask("stand 20")
    target.ask("brief 30")
    if not args and target.tracer():
        fail("somebody traces it again")
    target.ask("leave")
    target.ask("stand 5")
    own = set(map(int, re.findall(r"own(\d+)", " ".join(names(target)))))
    for key, tid in list(target.seen.items()):
        if key[1] not in own:
            del target.seen[key]
    trace.end()
    # A thread that is traced from its birth has a ring before it has its name.
    n = check(trace, target, 2 + 40 + 30 + 10, not args)
    if not args and trace.stat("let_go") != "1":
        fail(f"let go:\n{trace.err}")
    target.ask("leave")
    target.end()
    return sorted(n.values())


def names(target):
    """Names of those that are there, which are seen."""
    target.see()
    for tid in os.listdir(f"/proc/{target.pid}/task"):
        with open(f"/proc/{target.pid}/task/{tid}/comm", encoding="ascii") as f:
            yield f.read()


def follows(box, how="fork"):
    """A child in the same namespace, or in one below; both are let go of, and have threads then."""
    target = Boxed(box)
    trace = Trace(target, "--follow", *PROBE, lets_go=bool(box))
    target.ask("call 1")
    target.ask(how)
    child = child_of(target.pid)
    for round in range(3):
        if round:
            until("mother and child are let go of", lambda: target.is_alone(target.pid) and target.is_alone(child))
        target.ask("child call 1")
        target.ask("child stand 4")
        target.ask("child brief 5")
        if how == "fork":
            target.ask("stand 4")
    target.see()
    target.see(child)
    trace.end()
    check(trace, target, 1 + 1 + 3 * (1 + 8 + 5 + (8 if how == "fork" else 0)), False)
    target.ask("over")
    target.end()


def uprobe_is_stopped(box):
    """Nobody looks who claims: they wait for a moment, and go on. Who is there yet when it looks is known."""
    target = Boxed(box)
    trace = Trace(target, *PROBE)
    target.ask("call 1")
    trace.p.send_signal(signal.SIGSTOP)
    until("uprobe is stopped", lambda: "State:\tT" in status_of(trace.p.pid))
    target.ask("stand 20")
    target.ask("brief 5")
    target.see()
    trace.p.send_signal(signal.SIGCONT)
    target.ask("stand 1")
    target.see()
    trace.end()
    lost = int(trace.stat("ring_lost"))
    if lost > 5:
        fail(f"more is lost than those who ended:\n{trace.err}")
    trace.err = trace.err.replace(f"ring_lost={lost}", "ring_lost=0").replace(f"lost={lost}", "lost=0")
    check(trace, target, 1 + 40 + 5 + 2 - lost)
    target.ask("leave")
    target.end()


def uprobe_is_killed(box):
    target = Boxed(box)
    for _ in range(3):
        trace = Trace(target, *PROBE)
        target.ask("brief 20")
        target.p.stdin.write("brief 300\n")
        target.ask("stand 10", "done")
        trace.p.kill()
        trace.p.communicate()
        target.expect("done")
        target.ask("brief 3")
        target.ask("leave")
    trace = Trace(target, *PROBE)
    target.ask("stand 5")
    target.see()
    target.ask("brief 5")
    del target.seen[target.pid, 1]
    trace.end()
    check(trace, target, 15)
    target.ask("leave")
    target.end()


def crashes(box):
    """What it has done last is read, and it is its own fault that ends it."""
    target = Boxed(box)
    trace = Trace(target, *PROBE)
    target.ask("call 3")
    target.ask("stand 4")
    target.see()
    target.p.stdin.write("crash\n")
    if target.p.wait(timeout=WAIT) not in (-signal.SIGSEGV, 128 + signal.SIGSEGV):
        fail(f"it ended with {target.p.returncode}")
    trace.end(signal=None)
    check(trace, target, 3 + 8)
    if "is let go" in trace.err:
        fail(f"it had to be let go of: {trace.err}")


class Init(Target):
    """Another, whose mother tells how it ended."""

    def __init__(self, how, n):
        self.p = subprocess.Popen([os.path.join(FIXTURES, "init_dies"), how, n], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.first = int(self.p.stdout.readline().split()[1])

    @property
    def pid(self):
        return self.first

    def ends(self):
        end = self.p.communicate("go\n", timeout=WAIT)[0]
        if self.p.returncode:
            fail(f"its mother ended with {self.p.returncode}")
        return end


def dies_as_it_does(how, n):
    want = Init(how, n).ends()
    target = Init(how, n)
    trace = Trace(target, "-e", f"p:{FIXTURES}/init_dies:called a=%di:s64")
    got = target.ends()
    if got != want:
        fail(f"{how}, {n} threads: '{got}', untraced '{want}'")
    calls = trace.end(signal=None)
    lost = int(trace.stat("ring_lost"))
    if lost and len(calls) + lost == 3:
        raise Lost(f"{lost} of 3")
    # A filter that it sets is a reason to be traced again.
    if calls != [1, 2, 3] or (how != "sys" and "is let go" in trace.err):
        fail(f"{how}, {n} threads: {trace.out}\n{trace.err}")


def as_another_user():
    """All this once more, by a copy that an ordinary user can read."""
    ids = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
    if os.getuid() or not shutil.which("setpriv") or subprocess.run([*ids, *LIKE_DOCKER, "true"], check=False).returncode:
        print("not tried as an ordinary user")
        return
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        for name in (NAME, "init_dies"):
            shutil.copy(os.path.join(FIXTURES, name), top)
        there = os.path.join(top, "tests", "integ")
        shutil.copytree(os.path.join(os.environ["UBP_SRC"], "tests", "integ", "lib"), os.path.join(there, "lib"))
        script = shutil.copy(__file__, there)
        env = dict(os.environ, FIXTURES=top, UBP_SRC=top, UPROBE=shutil.copy(UPROBE, top), UBP_AS_USER="1")
        done = subprocess.run([*ids, sys.executable, script], env=env, cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            fail(f"as an ordinary user: {done.stdout}{done.stderr}")


def can(*box):
    return subprocess.run([*box, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


boxes = [box for box in (PLAIN, LIKE_DOCKER) if can(*box)]
if not boxes:
    print("skipped: no pid namespaces here")
    sys.exit(77)
for box in boxes:
    if again(threads_come, box) != again(threads_come, box, "--stay"):
        fail("not as while it is traced")
    again(follows, box)
    again(uprobe_is_stopped, box)
    again(uprobe_is_killed, box)
    again(crashes, box)
if can(*PLAIN):
    again(follows, (), "unshare")
# The kernel sends these alike, whoever's the process is.
hows = ("segv", "blocked", "bus", "fpe", "ill", "int3", "sys", "abort", "handler", "trap")
for how in hows if "UBP_AS_USER" not in os.environ or os.environ.get("UBP_ALL") else ("segv", "sys"):
    for n in ("0", "2"):
        again(dies_as_it_does, how, n)
if "UBP_AS_USER" not in os.environ and not FIXTURES.endswith("32"):
    as_another_user()
print("ok")
