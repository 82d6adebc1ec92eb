# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Functions of redis-server and nginx, entries and returns, from their start to their end: each hit that p:SERVER:* and r: of it tell of
while one client asks for one thing after another is what the kernel's uprobes on these functions see.

Which ones: all that a run under p:SERVER:* comes to, but for those that do not return, in which threads wait, and those whose hits are not the same in
each run. These depend on the time (what redis does so many times a second, and whenever it has waited: in each of these runs more or less of it passes) and on
chance (its seed of hashes).
UBP_ALL=1 takes up to 150 of the rest, else it is 60, by chance."""

import os
import random
import re
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import oracle  # noqa: E402
from oracle import compare  # noqa: E402

# The server is what is executed, and its client a child of it, which says "ready" once it is connected.
CLIENT = r"""
import os, re, signal, socket, sys, time, zlib
what, pause, *argv = sys.argv[1:]
server = os.getpid()
if os.fork():
    os.execv(argv[0], argv)
s = socket.socket(socket.AF_UNIX)
while s.connect_ex("socket"):
    os.sched_yield()
def ask(text, end):
    s.sendall(text)
    got = b""
    while not re.search(end, got, re.S):
        piece = s.recv(65536)
        if not piece:
            break
        got += piece
    return got
def redis(*words):
    text = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(str.encode, map(str, words)))
    if words[0] in ("LRANGE", "HGETALL", "ZRANGE", "MGET"):
        text += b"*2\r\n$4\r\nECHO\r\n$3\r\nend\r\n"
        return ask(b"*%d\r\n" % len(words) + text, rb"\r\nend\r\n$")
    return ask(b"*%d\r\n" % len(words) + text, rb"^[-+:].*\r\n$|^\$-1\r\n$|^\$\d+\r\n.*\r\n$")
def nginx(path, method="GET", more=""):
    got = ask(("%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (method, path, more)).encode(),
              rb"\r\n\r\n$" if method == "HEAD" else rb"\r\n\r\n.*</html>\r\n$|\r\n\r\n.*the end\n$")
    return re.sub(rb"\r\n(Date|Last-Modified|ETag):[^\r]*", b"", got)
# A process has rings, and may be let go of, once its jumps were hit. They come a moment after it has begun: this asks again at times.
said = b""
for i in range(8):
    time.sleep(0.1)
    said += redis("PING") if what == "redis" else nginx("/index.html")
print("ready", flush=True)
sys.stdin.readline()
for i in range(20):
    time.sleep(float(pause))
    if what == "redis":
        said += redis("SET", "k%d" % i, "v" * i) + redis("GET", "k%d" % i) + redis("GET", "none")
        said += redis("INCR", "n") + redis("APPEND", "a", "x") + redis("LPUSH", "l", i, i + 1) + redis("LRANGE", "l", 0, 3) + redis("RPOP", "l")
        said += redis("HSET", "h", "f", i) + redis("HGETALL", "h") + redis("ZADD", "z", i * 1.5, "m%d" % (i % 4))
        said += redis("ZRANGE", "z", 0, -1, "WITHSCORES") + redis("MGET", "k1", "n") + redis("DEL", "k%d" % i) + redis("SET", "o") + redis("XX")
        said += redis("MULTI") + redis("GET", "n") + redis("DISCARD") + redis("STRLEN", "a") + redis("GETRANGE", "a", 0, i) + redis("TYPE", "z")
    else:
        said += nginx("/index.html") + nginx("/none") + nginx("/index.html", "HEAD") + nginx("/a/../index.html?a=%d" % i) + nginx("/dir")
        said += nginx("/index.html", more="Range: bytes=-8\r\n") + nginx("/index.html", "DELETE")
print(len(said), zlib.crc32(said), flush=True)
def sleeps():
    with open("/proc/%d/stat" % server) as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "S"
while not sleeps():
    os.sched_yield()
if what == "redis":
    s.sendall(b"SHUTDOWN NOSAVE\r\n")
else:
    os.kill(server, signal.SIGTERM)
s.recv(1)
"""

NGINX = """daemon off; master_process off; pid nginx.pid; error_log /dev/null; user root;
events { } http { access_log /dev/null; client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t;
scgi_temp_path t; types { text/html html; } server { listen unix:socket; root www; } }
"""

# Where the kernel's return probe would change what they do, or where there is no return.
NO_RETURN = re.compile(r"setjmp|longjmp|^_start$|^main$|exit$|[Ss]ig.*[Hh]andler")
RUNS = 3


def argv_of(what, server, run):
    # Chosen by runs in which time passes between requests, and clocks tick at other times; the last one is compared.
    python = [sys.executable, "-I", "-S", "-c", CLIENT, what, ["0.06", "0.003", "0"][run], server]
    if what == "redis":
        return [*python, "--port", "0", "--unixsocket", "socket", "--save", "", "--logfile", "/dev/null", "--hz", str([500, 100, 10][run])]
    return [*python, "-p", os.getcwd() + "/", "-c", "nginx.conf"]


def hits(server, argv, names):
    """What is told of each function, of NAMES or all: name -> its events' texts, entries and returns."""
    for left in "socket", "nginx.pid":
        if os.path.exists(left):
            os.unlink(left)
    words = [w for n in names for w in ("-e", definition("p", n, server), "-e", definition("r", n, server))] or [f"p:{server}:*"]
    out, rc = oracle.run([oracle.UPROBE, "--lossless", "-o", "all.out", *words, "--", oracle.LAUNCH, *argv],
                         oracle.environment(None), None, b"go\n")
    if rc:
        sys.exit(f"uprobe ended with {rc}: {out[-500:]!r}")
    found = {}
    with open("all.out", "rb") as f:
        for e in oracle.parse(f.read())[0]:
            found.setdefault(e.name.removesuffix("_ret"), []).append(oracle.text_of(e, ()))
    return found


def definition(kind, name, server):
    if kind == "p":
        return f"p:{name} {server}:{name}"
    return f"r:{name}_ret {server}:{name}"


def comes_back(events):
    """Each time. In the others threads wait till the end."""
    return 2 * sum(name.endswith("_ret") for name, _ in events) == len(events)


def clean(run):
    def wrapper(*args, **more):
        if os.path.exists("socket"):
            os.unlink("socket")
        return run(*args, **more)
    return wrapper


def server_row(what, program):
    server = oracle.private(program, what)
    elf = oracle.Elf(server)
    every = hits(server, argv_of(what, server, RUNS - 1), [])
    names = sorted(n for n in every if n in elf.symbols and elf.symbols[n][1] == oracle.Elf.FUNC and not NO_RETURN.search(n))
    seen = [hits(server, argv_of(what, server, run), names) for run in range(RUNS)]
    same = [n for n in names if n in seen[0] and all(s.get(n) == seen[0][n] for s in seen) and comes_back(seen[0][n])]
    print(f"{what}: {len(every)} functions that it comes to, {len(names)} by name, {len(same)} of them the same in {RUNS} runs")
    if len(same) < 60:
        sys.exit("these are few")
    most = 150 if os.environ.get("UBP_ALL") == "1" else 60
    chosen = sorted(random.Random(int(os.environ.get("UBP_SEED", "1"))).sample(same, min(most, len(same))))
    return compare([definition(kind, n, server) for kind in "pr" for n in chosen], argv_of(what, server, RUNS - 1),
                   title=f"{what} and its client", at_least=1000, ignore_comm=True,  # its threads name themselves
                  
                   modes=[m for m in oracle.MODES if m in ("jump", "alone")])


if __name__ == "__main__":
    programs = {"redis": shutil.which("redis-server", path="/usr/bin:/usr/local/bin"),
                "nginx": shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")}
    if not any(programs.values()):
        oracle.skip("needs redis-server or nginx")
    oracle.by_kernel, oracle.by_ubp = clean(oracle.by_kernel), clean(oracle.by_ubp)
    os.makedirs("www/dir")
    with open("www/index.html", "w", encoding="utf-8") as f:
        f.write("<p>hello\n" * 100 + "the end\n")
    with open("nginx.conf", "w", encoding="utf-8") as f:
        f.write(NGINX)
    oracle.done([server_row(what, program) for what, program in programs.items() if program])
