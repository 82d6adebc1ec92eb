# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Sessions of an ordinary user: their folder is that user's alone, or there are none; nobody else is answered, but root, not even who can open the socket."""

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

FIXTURES = os.environ["FIXTURES"]
WAIT = int(os.environ.get("TIMEOUT", "60"))
USER, OTHER = 65534, 65533
NAME = "mine"
ARG = "%x0" if os.uname().machine == "aarch64" else "%di"


def fail(why):
    sys.exit(f"session_user.py: {why}")


def skip(why):
    print(why)
    sys.exit(77)


def expect(got, want, what):
    if got != want:
        fail(f"{what}: {got!r} in place of {want!r}")


class Place:
    """Where that user has programs, targets, and a folder for what runs."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="ubp.", dir="/tmp")
        os.chmod(self.top, 0o755)
        self.targets = os.path.join(self.top, "targets")
        os.mkdir(self.targets)
        for program, folder in (("UPROBE", self.top), ("USDT", self.top), (f"{FIXTURES}/let_go", self.targets), (f"{FIXTURES}/usdt", self.targets)):
            shutil.copy(os.environ.get(program, program), folder)
        self.run = os.path.join(self.top, "run")
        os.mkdir(self.run, 0o700)
        os.chown(self.run, USER, USER)
        self.folder = os.path.join(self.run, "ubp")
        self.socket = os.path.join(self.folder, NAME)

    def how(self, user=USER, runtime=None):
        env = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"}
        if runtime != "":
            env["XDG_RUNTIME_DIR"] = runtime or self.run
        return {"user": user, "group": user, "extra_groups": [], "env": env, "cwd": self.top, "text": True}

    def do(self, program, *args, status=0, **how):
        """(what was printed, what was said)."""
        done = subprocess.run([f"{self.top}/{program}", *args], capture_output=True, timeout=WAIT, check=False, stdin=subprocess.DEVNULL, **self.how(**how))
        if done.returncode != status:
            fail(f"{program} {args}: ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr


class Target:
    def __init__(self, place, name):
        self.p = subprocess.Popen([f"{place.targets}/{name}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1, **place.how())
        expect(self.p.stdout.readline().strip(), "ready", name)

    def say(self, line):
        self.p.stdin.write(line + "\n")
        return self.p.stdout.readline().strip()

    def end(self):
        self.p.stdin.close()
        expect(self.p.wait(timeout=WAIT), 0, "the target's end")


class Trace:
    """A session of PROGRAM's, which has begun, with its output in a pipe."""

    def __init__(self, place, program, *args, name=NAME, **how):
        read_end, write_end = os.pipe()
        self.p = subprocess.Popen([f"{place.top}/{program}", "--ready-fd", str(write_end), *(["--session", name] if name else []), *args],
                                  pass_fds=[write_end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **place.how(**how))
        os.close(write_end)
        if os.read(read_end, 6) != b"ready\n":
            fail(f"{program} {args} did not begin: {self.p.communicate()[1]}")
        os.close(read_end)

    def end(self):
        """What it printed."""
        out, err = self.p.communicate(timeout=WAIT)
        expect((self.p.returncode, err), (0, ""), "the session's end")
        return out


def check_own(place, target):
    """The folder is made, for its user alone; commands of that user ask and change the session."""
    trace = Trace(place, "uprobe", "-p", str(target.p.pid))
    st = os.stat(place.folder)
    expect((stat.S_IMODE(st.st_mode), st.st_uid), (0o700, USER), "the folder")
    expect(os.stat(place.socket).st_uid, USER, "the socket's owner")
    place.do("uprobe", "--session", NAME, "--add", f"p:d/called {place.targets}/let_go:called a={ARG}:s64")
    expect(target.say("call 2 5"), "done", "two calls")
    if f"{NAME}: uprobe {trace.p.pid}" not in place.do("uprobe", "--list-sessions")[0]:
        fail("it is not listed")
    place.do("uprobe", "--session", NAME, "--end")
    expect(re.findall(r" a=(-?\d+)", trace.end()), ["5", "6"], "events")
    expect(os.listdir(place.folder), [], "what is left")


def check_usdt(place):
    """The same by usdt: each of the commands asks sessions of either."""
    target = Target(place, "usdt")
    trace = Trace(place, "usdt", "-p", str(target.p.pid), f"{place.targets}/usdt:sema:guarded")
    if "guarded=0" in target.say("go"):
        fail("the semaphore is not raised")
    far = place.do("usdt", "--session", NAME, "--add", f"{place.targets}/usdt:sema:far")[0]
    if not re.fullmatch(r"on   p:\S*far \S+.*\n", far):
        fail(f"usdt --add printed {far!r}")
    listed = place.do("uprobe", "--session", NAME, "-l")[0]
    expect([re.search(r"guarded|far", x)[0] for x in listed.splitlines()], ["guarded", "far"], "a list")
    place.do("usdt", "--session", NAME, "--disable", "guarded")
    target.say("go")
    _, err = place.do("usdt", "--session", NAME, "--remove", "nobody", status=1)
    expect(err, "usdt: error: there is no event 'nobody'\n", "what is not there")
    place.do("usdt", "--session", NAME, "--end")
    expect(re.findall(r": (guarded|far): ", trace.end()), ["guarded", "far"], "events of static probes")
    target.end()


def ask_by_socket(path):
    """All that is answered; who is not trusted is hung up on, before or behind what is asked."""
    got = b""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(WAIT)
        s.connect(path)
        try:
            s.sendall(b"list\0.\0")
            s.shutdown(socket.SHUT_WR)
            while more := s.recv(4096):
                got += more
        except (BrokenPipeError, ConnectionResetError):
            pass
    return got


def heard(place, user):
    """What is answered to who asks for the list by the socket itself, as USER; None: that user cannot open it."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            os.write(write_end, ask_by_socket(place.socket))
            status = 0
        except PermissionError:
            status = 13
        finally:
            os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as f:
        got = f.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, 13):
        fail(f"user {user} cannot ask")
    return None if status == 13 else got


def check_others(place, target):
    """Who can open the socket, as nobody but root can make possible, is not answered if it is another user."""
    trace = Trace(place, "uprobe", "-p", str(target.p.pid), "-e", f"p:d/called {place.targets}/let_go:called a={ARG}:s64")
    expect(heard(place, OTHER), None, "the answer to who cannot open the socket")
    for path, mode in ((place.run, 0o755), (place.folder, 0o755), (place.socket, 0o777)):
        os.chmod(path, mode)
    expect(heard(place, OTHER), b"", "the answer to another user")
    for user in (USER, 0):
        if not heard(place, user).startswith(b"0\0on   p:d/called "):
            fail(f"the answer to user {user}: {heard(place, user)}")
    # The command has the folder for what it is not any more.
    _, err = place.do("uprobe", "--session", NAME, "-l", status=1)
    expect(err, f"uprobe: error: {place.folder}: is not yours alone (owner, or mode 0700)\n", "a folder that others can read")
    expect(target.say("call 1 3"), "done", "a call")
    os.chmod(place.folder, 0o700)
    os.chmod(place.run, 0o700)
    place.do("uprobe", "--session", NAME, "--end")
    expect(re.findall(r" a=(-?\d+)", trace.end()), ["3"], "events")


def refuses(place, target, said, **how):
    for args in (["--session", NAME, "-p", str(target.p.pid)], ["--session", NAME, "-l"], ["--list-sessions"]):
        _, err = place.do("uprobe", *args, status=1, **how)
        if not re.fullmatch(f"uprobe: error: {said}\n", err):
            fail(f"{args}: said {err!r}, not {said!r}")


def check_folders(place, target):
    """What is no folder of that user's alone is refused, and nothing is made in it, or of it; a trace without a name goes on without a place."""
    foreign = os.path.join(place.top, "foreign")
    os.mkdir(foreign)
    os.chown(foreign, USER, USER)
    os.chmod(foreign, 0o700)
    alone = r"\S+/run/ubp: is not yours alone \(owner, or mode 0700\)"

    def folder(owner, group, mode):
        os.mkdir(place.folder)
        os.chown(place.folder, owner, group)
        os.chmod(place.folder, mode)

    for make, said in ((lambda: folder(OTHER, USER, 0o777), alone), (lambda: folder(0, 0, 0o755), alone), (lambda: folder(OTHER, OTHER, 0o700), r"\S+/run/ubp: Permission denied"),
                       (lambda: folder(USER, USER, 0o770), alone),
                       (lambda: folder(USER, USER, 0o720), alone), (lambda: folder(USER, USER, 0o702), alone), (lambda: folder(USER, OTHER, 0o740), alone),
                       (lambda: os.symlink(foreign, place.folder), r"\S+/run/ubp: (Not a directory|Too many levels of symbolic links)"),
                       (lambda: os.mknod(place.folder), r"\S+/run/ubp: Not a directory")):
        if os.path.isdir(place.folder):
            os.rmdir(place.folder)
        make()
        was = os.lstat(place.folder)
        refuses(place, target, said)
        now = os.lstat(place.folder)
        expect((now.st_mode, now.st_uid, now.st_ino), (was.st_mode, was.st_uid, was.st_ino), "the folder")
        expect(os.listdir(foreign) + (os.listdir(place.folder) if os.path.isdir(place.folder) else []), [], "what was made there")
        trace = Trace(place, "uprobe", "-p", str(target.p.pid), "-n", "1", "-e", f"p:d/called {place.targets}/let_go:called a={ARG}:s64", name=None)
        expect(target.say("call 1 8"), "done", "a call")
        expect(re.findall(r" a=(-?\d+)", trace.end()), ["8"], "events of a trace that has no name")
        if not os.path.isdir(place.folder) or os.path.islink(place.folder):
            os.unlink(place.folder)
    for runtime in ("", "run", "."):
        refuses(place, target, "XDG_RUNTIME_DIR is not set: sessions have no place", runtime=runtime)
    for args, status, said in ((["-p", str(target.p.pid)], 1, "/nowhere/ubp: No such file or directory\n"), (["-l"], 1, f"there is no session '{NAME}'\n")):
        expect(place.do("uprobe", "--session", NAME, *args, status=status, runtime="/nowhere")[1], "uprobe: error: " + said, "a folder that is not there")
    expect(place.do("uprobe", "--list-sessions", runtime="/nowhere"), ("", ""), "sessions of a folder that is not there")


def main():
    if os.geteuid() != 0:
        skip("needs root, who can be other users")
    yama = "/proc/sys/kernel/yama/ptrace_scope"
    if os.path.exists(yama) and open(yama, encoding="ascii").read().strip() != "0":
        skip("kernel.yama.ptrace_scope is not 0: users cannot trace what runs")
    place = Place()
    try:
        if subprocess.run([f"{place.top}/uprobe", "--version"], capture_output=True, check=False, **place.how()).returncode != 0:
            skip("another user cannot run programs here")
        target = Target(place, "let_go")
        check_own(place, target)
        check_usdt(place)
        check_others(place, target)
        os.rmdir(place.folder)
        check_folders(place, target)
        target.end()
    finally:
        shutil.rmtree(place.top)


main()
