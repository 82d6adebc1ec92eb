# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--session: a trace that others change while it runs. Each hit that had to be told is, and no other; what is asked in vain says so, and changes nothing."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys

UPROBE, REPORT, FIXTURES = (os.environ[x] for x in ("UPROBE", "UBP_REPORT", "FIXTURES"))
WAIT = int(os.environ.get("TIMEOUT", "60"))
TARGET = os.path.join(FIXTURES, "let_go")
ARG = "%x0" if os.uname().machine == "aarch64" else "%di"
CALLED = f"p:{TARGET}:called a={ARG}:s64"
NAME = f"test{os.getpid()}"
PLACE = "/run/ubp"


def fail(why):
    sys.exit(f"session.py: {why}")


class Target:
    def __init__(self):
        self.p = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")

    def expect(self, answer):
        got = self.p.stdout.readline().strip()
        if got != answer:
            fail(f"the target said '{got}' in place of '{answer}' (status {self.p.poll()})")

    def call(self, n, start):
        self.p.stdin.write(f"call {n} {start}\n")
        self.expect("done")

    def end(self):
        self.p.stdin.close()
        if self.p.wait(timeout=WAIT) != 0:
            fail(f"the target ended with {self.p.returncode}")


class Trace:
    """uprobe, which has begun, with its output in a file."""

    def __init__(self, *args, name=NAME):
        read_end, write_end = os.pipe()
        with open("out.txt", "wb") as out, open("err.txt", "wb") as err:
            self.p = subprocess.Popen([UPROBE, "--ready-fd", str(write_end), *(["--session", name] if name else []), *args],
                                      pass_fds=[write_end], stdout=out, stderr=err)
        os.close(write_end)
        if os.read(read_end, 6) != b"ready\n":
            fail(f"uprobe did not begin: {read('err.txt')}")
        os.close(read_end)

    def wait(self, status=0):
        if self.p.wait(timeout=WAIT) != status:
            fail(f"uprobe ended with {self.p.returncode}: {read('err.txt')}")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def values(path="out.txt"):
    return [int(x) for x in re.findall(r" a=(-?\d+)", read(path))]


def ask(*args, name=NAME, status=0, cwd=None):
    """(what was printed, what was said)."""
    done = subprocess.run([UPROBE, "--session", name, *args], capture_output=True, text=True, timeout=WAIT, check=False, cwd=cwd)
    if done.returncode != status:
        fail(f"{args}: ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def expect(got, want, what):
    if got != want:
        fail(f"{what}: {got!r} in place of {want!r}")


def check_changes(target):
    trace = Trace("-p", str(target.p.pid))
    target.call(3, 0)
    added, _ = ask("--add", CALLED)
    if not re.fullmatch(r"on   p:\S+/called \S+:0x[0-9a-f]+ a=" + ARG + r":s64\n", added):
        fail(f"--add printed {added!r}")
    target.call(2, 100)
    ask("--disable", "called")
    target.call(2, 200)
    expect(ask("-l")[0], added.replace("on  ", "off ", 1), "a list")
    ask("--enable")
    ask("--filter", "a > 301", "cal*")
    target.call(4, 300)
    expect(ask("-l")[0], added.rstrip("\n") + " if a > 301\n", "a list")
    ask("--filter", "0", "called")
    target.call(1, 400)
    said = ask("--stats")[0]
    if not re.search(r"^uprobe: stats: \S+ \S+/called hits=7 passed=5 ", said, re.M) or "stats: processes=1 " not in said:
        fail(f"--stats said {said}")
    ask("--remove", "uprobes:called" if "/called" not in added else added.split()[1][2:])
    target.call(1, 500)
    expect(ask("-l")[0], "", "a list")
    # From another folder, by a relative path.
    ask("--add", f"p:again ./{os.path.basename(TARGET)}:called a={ARG}:s64", "--filter", "a == 601", cwd=FIXTURES)
    target.call(2, 600)
    ask("--end")
    trace.wait()
    expect(values(), [100, 101, 302, 303, 400, 601], "events")
    if os.path.exists(f"{PLACE}/{NAME}"):
        fail("its socket is there still")


def check_refusals(target):
    trace = Trace("-e", f"p:s/first {TARGET}:called a={ARG}:s64", "-p", str(target.p.pid))
    before = ask("-l")[0]
    for args, said in ((["--add", f"p:{TARGET}:nowhere"], "nowhere"),
                       (["--add", CALLED, "--add", f"p:{TARGET}:nowhere"], "nowhere"),
                       (["--add", CALLED, "--filter", "b == 1"], "b"),
                       (["--remove", "nobody"], "error: there is no event 'nobody'"),
                       (["--disable", "nobody"], "error: there is no event 'nobody'"),
                       (["--disable", "frist"], "error: there is no event 'frist'; did you mean 'first'?"),
                       (["--remove", "s:frist"], "error: there is no event 's:frist'; did you mean 'first'?"),
                       (["--filter", "a ==", "first"], "error"),
                       (["--add", "p:s/many " + "x" * 100000] * 11, "error: --add takes 2000 definitions and 1048576 bytes"),
                       (["--add", CALLED] * 2001, "error: --add takes 2000 definitions and 1048576 bytes")):
        out, err = ask(*args, status=1)
        if out or said not in err or not err.startswith("uprobe: error: "):
            fail(f"{args}: {out}{err}")
        expect(ask("-l")[0], before, f"the list behind {args}")
    for args, said in ((["--filter", "a == 1", "--add", CALLED], "a filter comes after the definition"), (["-l", TARGET], "takes nothing then"),
                       (["--end", "--json"], "--json is for a trace that begins"), (["--stats", "-n", "3"], "-n is for a trace that begins"),
                       (["--add", CALLED, "-p", "1"], "--pid is for a trace that begins"), (["--disable", "--", "true"], "a command is for a trace")):
        _, err = ask(*args, status=2)
        if said not in err:
            fail(f"{args}: {err}")
    check_many_filters()
    check_gone_folder()
    caret = ask("--add", f"p:{TARGET}:called %nothing", status=1)[1].split("\n")
    if len(caret) != 5 or caret[2].strip() != "^" or "hint: registers are" not in caret[3]:
        fail(f"no caret, or no hint: {caret}")
    second = subprocess.run([UPROBE, "--session", NAME, "-e", f"p:{TARGET}:called"], capture_output=True, text=True, timeout=WAIT, check=False)
    hint = f"hint: --session {NAME} --add DEF changes it, --session {NAME} --end ends it"
    if second.returncode != 1 or f"there is a session '{NAME}'" not in second.stderr or hint not in second.stderr:
        fail(f"a second one by the same name: {second.returncode} {second.stderr}")
    check_rude_clients()
    target.call(1, 7)
    # Many at once.
    many = [subprocess.Popen([UPROBE, "--session", NAME, "-l"], stdout=subprocess.PIPE, text=True) for _ in range(24)]
    for p in many:
        expect((p.communicate(timeout=WAIT)[0], p.returncode), (before, 0), "one of many lists")
    ask("--end")
    trace.wait()
    expect(values(), [7], "events")
    _, err = ask("-l", status=1)
    expect(err, f"uprobe: error: there is no session '{NAME}'\n", "a list of one that has ended")


def check_many_filters():
    """One of them has no such field: all keep theirs. And what a filter has does not reach a terminal."""
    ask("--add", f"p:s/none {TARGET}:called", "--filter", 'comm != "\x1b[31m"')
    ask("--filter", "a > 0", "first")
    before = ask("-l")[0]
    if 'if comm != "\\033[31m"' not in before or "\x1b" in before:
        fail(f"a filter is listed as {before!r}")
    _, err = ask("--filter", "a > 5", "*", status=1)
    if "Field not found" not in err:
        fail(f"a filter for one of two: {err}")
    expect(ask("-l")[0], before, "the list behind a filter for one of two")
    ask("--filter", "0", "first")
    ask("--remove", "none")


def check_gone_folder():
    """What is relative to a folder that is gone is not sought elsewhere."""
    os.mkdir("gone")
    done = subprocess.run(["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", UPROBE, "--session", NAME, "--add", f"p:s/gone .{TARGET}:called"],
                          capture_output=True, text=True, timeout=WAIT, check=False)
    if done.returncode != 1 or "error: this folder: " not in done.stderr:
        fail(f"from a folder that is gone: {done.returncode} {done.stdout}{done.stderr}")


def rude(said, ends):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(WAIT)
    client.connect(f"{PLACE}/{NAME}")
    client.sendall(said)
    if ends:
        client.shutdown(socket.SHUT_WR)
    return client


def check_rude_clients():
    """Some say nothing, some half of it, some nonsense, one a mebibyte."""
    idle = [rude(said, False) for said in (b"", b"list", b"list\0")]
    for said in (b"", b"list", b"list\0", b"end", b"no such thing\0.\0", b"add\0/\0uprobe\0x\0.\0", b"list\0more\0.\0", b"\0" * 9000):
        client = rude(said, True)
        answer = client.recv(4096)
        if not re.match(rb"1\0\0uprobe: error: ", answer):
            fail(f"{said[:30]}: answered by {answer}")
        client.close()
    client = rude(b"", False)
    try:
        client.sendall(b"x" * (4 << 20))
        if client.recv(10):
            fail("four mebibytes were taken")
    except (BrokenPipeError, ConnectionResetError):
        pass
    for c in (*idle, client):
        c.close()


def begin_detached(*args):
    """On a terminal, which is gone then."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(UPROBE, [UPROBE, "--session", NAME, "--detach", *args])
    said = b""
    try:
        while chunk := os.read(terminal, 4096):
            said += chunk
    except OSError:
        pass
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, said.decode()


def sessions():
    return subprocess.run([UPROBE, "--list-sessions"], capture_output=True, text=True, timeout=WAIT, check=True).stdout


def check_detached(target):
    expect(begin_detached("-o", "file.txt", "--stats", "-p", str(target.p.pid), "-e", f"p:d/called {TARGET}:called a={ARG}:s64"),
           (0, ""), "--detach")
    target.call(3, 1)
    if not re.search(rf"^{NAME}: uprobe \d+, 1 probe$", sessions(), re.M):
        fail(f"--list-sessions: {sessions()}")
    _, err = ask("--end")
    if "stats: processes=1" not in err:
        fail(f"what it said is not told: {err}")
    expect(values("file.txt"), [1, 2, 3], "events of one that is detached")
    status, said = begin_detached("-o", "file.txt", "-e", f"p:d/called {TARGET}:nowhere")
    if status != 1 or "nowhere" not in said:
        fail(f"a failed start: {status} {said}")
    check_cancelled()
    check_inherited()
    check_ended_by_itself(target)
    check_no_reader(target)


def check_cancelled():
    """Who waits for it is killed, before all is planted: nothing goes on."""
    os.mkfifo("definitions")
    starts = subprocess.Popen([UPROBE, "--session", NAME, "--detach", "-o", "file.txt", "-f", "definitions"])
    definitions = os.open("definitions", os.O_WRONLY)
    starts.terminate()
    starts.wait(timeout=WAIT)
    # It reads no more.
    poll = select.poll()
    poll.register(definitions, 0)
    if not poll.poll(1000 * WAIT):
        fail("a start that was killed goes on")
    os.close(definitions)
    if re.search(rf"^{NAME}:", sessions(), re.M):
        fail("a start that was killed has a session")


def check_inherited():
    """A lock that who called has is not held by what goes on."""
    lock = os.open("lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    subprocess.run([UPROBE, "--session", NAME, "--detach", "-o", "file.txt"], pass_fds=[lock], timeout=WAIT, check=True)
    os.close(lock)
    lock = os.open("lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fail("one that is detached holds a lock of who called")
    os.close(lock)
    ask("--end")


def check_no_reader(target):
    """Nobody reads what is written: all is answered, also behind --end; a second one ends the wait."""
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    expect(begin_detached("-o", "pipe", "-p", str(target.p.pid), "-e", f"p:d/called {TARGET}:called a={ARG}:s64")[0], 0, "--detach")
    target.call(20000, 0)
    ask("--disable")
    first = subprocess.Popen([UPROBE, "--session", NAME, "--end"], stderr=subprocess.PIPE, text=True)
    wait_until_it_waits(first)
    if not re.search(rf"^{NAME}: uprobe", sessions(), re.M):
        fail(f"it is not listed: {sessions()}")
    _, err = ask("--end")
    err += first.communicate(timeout=WAIT)[1]
    # Both may be told: the second one while the first one's answer is on its way.
    if first.returncode or not re.fullmatch(r"(uprobe: warning: pipe: nobody reads it: \d+ bytes are lost\n){1,2}", err):
        fail(f"--end of one that nobody reads: {first.returncode} {err}")
    os.close(reader)


def pid_of_session():
    return int(re.search(rf"^{NAME}: uprobe (\d+)", sessions(), re.M).group(1))


def check_ended_by_itself(target):
    """What it had to say is told to the next who asks, and nothing is left."""
    log = f"{PLACE}/.{NAME}.log"
    for full, said in ((False, ""), (True, "uprobe: error: /dev/full: No space left on device\n")):
        args = ["-o", "/dev/full"] if full else ["-o", "file.txt", "-n", "1"]
        expect(begin_detached(*args, "-p", str(target.p.pid), "-e", f"p:d/called {TARGET}:called a={ARG}:s64")[0], 0, "--detach")
        pidfd = os.pidfd_open(pid_of_session())
        target.call(1, 1)
        select.select([pidfd], [], [], WAIT)
        os.close(pidfd)
        expect(os.path.exists(log), full, "there is a file of messages")
        expect(ask("-l", status=1)[1], f"uprobe: error: there is no session '{NAME}'\n" + said, "what is told of one that has ended")
        expect(os.path.exists(log), False, "there is a file of messages that were told")


def dumped(path):
    ask("--dump", path)
    done = subprocess.run([REPORT, path], capture_output=True, text=True, timeout=WAIT, check=False)
    if done.returncode or "LOST" in done.stdout:
        fail(f"ubp-report of {path}: {done.returncode} {done.stderr} {re.findall('.*LOST.*', done.stdout)}")
    return [int(x) for x in re.findall(r" a=(-?\d+)", done.stdout)]


def kept_files():
    return [x for x in os.listdir(PLACE) if x.startswith(f".{NAME}.") and ".ubp" in x]


def check_kept(target):
    """A flight recorder, of which each dump has the newest; also of a probe that was added."""
    expect(begin_detached("-p", str(target.p.pid), "-e", f"p:d/called {TARGET}:called a={ARG}:s64")[0], 0, "--detach")
    target.call(1000, 0)
    expect(dumped("first.ubp"), list(range(1000)), "the first dump")
    ask("--remove", "called")
    ask("--add", CALLED)
    target.call(1000, 1000)
    second = dumped("second.ubp")
    expect(second[-1000:], list(range(1000, 2000)), "the second dump")
    _, err = ask("--dump", "second.ubp", status=1)
    expect(err, "uprobe: error: second.ubp: File exists\n", "a file that is there")
    pid = pid_of_session()
    pidfd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([pidfd], [], [], WAIT)
    os.close(pidfd)
    if not kept_files():
        fail("what is kept is elsewhere")
    expect(begin_detached("--keep", "16MiB", "--lossless", "-p", str(target.p.pid), "-e", f"p:d/called {TARGET}:called a={ARG}:s64")[0], 0, "--keep")
    expect(len(kept_files()), 1, "files")
    # More than there is room for: the newest are there.
    for n in range(12):
        target.call(100000, n * 100000)
    got = dumped("newest.ubp")
    # A hit at which the ring was full is read before what is in the ring, and its file may be gone.
    if not 100000 < len(got) < 600000 or got[-1] != 1199999 or got != sorted(set(got)) or 1200000 - got[0] > len(got) + 1000:
        fail(f"of 1200000 {len(got)} are there, from {got[0]} to {got[-1]}")
    ask("--end")
    expect(kept_files(), [], "files behind the end")
    # Of a program that has ended, perhaps by a crash.
    short = Target()
    expect(begin_detached("-p", str(short.p.pid), "-e", f"p:d/called {TARGET}:called a={ARG}:s64")[0], 0, "--detach")
    short.call(10, 0)
    short.end()
    expect(dumped("ended.ubp"), list(range(10)), "a dump behind the program's end")
    ask("--end")
    for arg in (["-d", "1"], ["-n", "1"]):
        status, said = begin_detached(*arg, "-p", str(target.p.pid))
        if status != 2 or "is gone when tracing ends" not in said:
            fail(f"{arg} and nowhere to write to: {status} {said}")


def check_kept_threads(target):
    """Of each thread the newest, whatever others do; each dump has them, with names for stacks."""
    quiet = Target()
    expect(begin_detached("--keep", "1MiB/thread", "--stack=fp", "--lossless", "-p", str(target.p.pid), "-p", str(quiet.p.pid),
                          "-e", f"p:d/called {TARGET}:called a={ARG}:s64")[0], 0, "--keep")
    quiet.call(100, 5000000)
    for n in range(3):
        target.call(100000, n * 100000)
        got = dumped(f"threads{n}.ubp")
        expect([a for a in got if a >= 5000000], list(range(5000000, 5000100)), "the quiet one's")
        busy = [a for a in got if a < 5000000]
        # Of those at which the ring was full some may be kept no more: they were read before what was in it.
        if not 5000 < len(busy) < 30000 or busy != sorted(set(busy)) or (n + 1) * 100000 - busy[0] > len(busy) + 100 or busy[-1] != n * 100000 + 99999:
            fail(f"of 100000 {len(busy)} are there, from {busy[0]} to {busy[-1]}")
        shown = subprocess.run([REPORT, f"threads{n}.ubp"], capture_output=True, text=True, timeout=WAIT, check=True).stdout
        if shown.count(" => called+0x0 ") != len(got):
            fail(f"not all have names for stacks: {shown[-300:]}")
        info = subprocess.run([REPORT, "--info", f"threads{n}.ubp"], capture_output=True, text=True, timeout=WAIT, check=True).stdout
        if f"{len(got)} events, 0 lost" not in info:
            fail(f"not {len(got)} events: {info}")
    expect(len(kept_files()), 1, "files")
    ask("--end")
    quiet.end()
    for size in ("1023KiB/thread", "/thread", "16MiB/process"):
        status, said = begin_detached("--keep", size, "-p", str(target.p.pid))
        if status != 2 or f"as 4MiB/thread, not '{size}'" not in said:
            fail(f"--keep {size}: {status} {said}")


def check_short_programs():
    """Of a program that is executed at once, behind --add, the first call is told; though the session began without any file."""
    trace = Trace()
    for i in range(10):
        shutil.copy(os.path.join(FIXTURES, "hello"), f"hello{i}")
        ask("--add", f"p:h{i} ./hello{i}:greet")
        subprocess.run([f"./hello{i}"], input="\n", stdout=subprocess.DEVNULL, text=True, timeout=WAIT, check=True)
    ask("--end")
    trace.wait()
    expect(re.findall(r": (h\d): ", read("out.txt")), [f"h{i}" for i in range(10)], "programs")


def wait_until_it_waits(client):
    """For its session, in a read of an answer or a write of a request that the socket has no room for."""
    waits = re.compile(r"unix_stream_|sock_alloc_send|sock_wait_for_wmem")
    for _ in range(100 * WAIT):
        if waits.search(read(f"/proc/{client.pid}/wchan")):
            return
        if client.poll() is not None:
            break
        select.select([], [], [], 0.01)
    fail(f"a client does not wait: {client.poll()} {read(f'/proc/{client.pid}/wchan')}")


def check_killed(target):
    """Its name is free again. And a trace without a name is found by its process id."""
    trace = Trace("-p", str(target.p.pid), "-e", f"p:k/called {TARGET}:called a={ARG}:s64")
    # Who waits for an answer then is told, also in the middle of a request.
    trace.p.send_signal(signal.SIGSTOP)
    waiting = [subprocess.Popen([UPROBE, "--session", NAME, *args], stderr=subprocess.PIPE, text=True)
               for args in (["-l"], ["--end"], ["--add", "p:" + "x" * 100000] * 6)]
    for p in waiting:
        wait_until_it_waits(p)
    trace.p.kill()
    trace.wait(-signal.SIGKILL)
    for p in waiting:
        expect((p.communicate(timeout=WAIT)[1], p.returncode), (f"uprobe: error: session '{NAME}' has ended\n", 1), "one that waits")
    _, err = ask("-l", status=1)
    expect(err, f"uprobe: error: there is no session '{NAME}'\n", "a list of one that was killed")
    trace = Trace("-p", str(target.p.pid), "-e", f"p:k/called {TARGET}:called a={ARG}:s64")
    target.call(1, 9)
    ask("--end")
    trace.wait()
    expect(values(), [9], "events behind a kill")
    trace = Trace("-p", str(target.p.pid), "-e", f"p:k/called {TARGET}:called a={ARG}:s64", name=None)
    if "k/called" not in ask("-l", name=str(trace.p.pid))[0]:
        fail("it is not found by its process id")
    ask("--end", name=str(trace.p.pid))
    trace.wait()


def main():
    if os.geteuid() != 0:
        print("skipped: needs root, whose sessions are in /run/ubp")
        sys.exit(77)
    target = Target()
    for check in (check_changes, check_refusals, check_detached, check_kept, check_kept_threads, check_killed):
        check(target)
    target.end()
    check_short_programs()


main()
