#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""How many hits stop a thread, and why, and how fast is what is left, on real programs under load.

hot.py [--rounds N] [--json FILE] [UBP_BENCH [ROW...]]: as root, on an otherwise idle machine. Prints the table of docs/overhead.md.
Each row is one run of `ubp-bench --hot` with entries and returns of all functions of the program, or of libc; ROW is the
name of one, or of its program. Programs that are not installed are left out. Nothing of the machine is used but
the programs: servers are started here, in a folder of their own, on the loopback interface.

hot.py --load PROGRAM FOLDER is what ubp-bench starts: it starts the program and what loads it, lets that run until
jumps are there, and appends to FOLDER/rates how much was done in a second after that.
"""

import json
import os
import pwd
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SETTLE = 4  # seconds until the rate is taken: planting is over then
MEASURE = 4
PORT = 17391
WORST = 3  # functions that are named
REASONS = 3  # that are told

NO_LIBC = ("go",)  # it is not in the program

# Programs that work in rounds and are asked for how many they made in a second. Each one's text is run by the program
# itself; `settle` and `measure` are its arguments.
PYTHON = """
import json, re, sys, time
settle, measure = float(sys.argv[1]), float(sys.argv[2])
word = re.compile(r"(\\w+)-(\\d+)")
def work():
    d = {}
    for i in range(300):
        d[str(i)] = [i, i * 2.5, "a%d" % i]
    text = json.dumps(sorted(d.items(), key=lambda kv: kv[1][2]))
    json.loads(text)
    word.sub(r"\\2-\\1", "abc-123 def-456 " * 20)
    bytes(text, "utf-8").split(b",")
def rate(seconds):
    n, begin = 0, time.monotonic()
    while time.monotonic() < begin + seconds:
        work()
        n += 1
    return n / (time.monotonic() - begin)
rate(settle)
print(rate(measure))
"""

NODE = """
const [settle, measure] = process.argv.slice(2).map(Number);
const zlib = require('zlib'), crypto = require('crypto');
function work() {
  const d = {};
  for (let i = 0; i < 300; i++) d['k' + i] = [i, i * 2.5, 'a' + i];
  const text = JSON.stringify(Object.entries(d).sort((a, b) => a[1][2] < b[1][2] ? -1 : 1));
  JSON.parse(text).map(x => x[0].replace(/k(\\d+)/, '$1-'));
  crypto.createHash('md5').update(zlib.deflateSync(Buffer.from(text))).digest('hex');
}
function rate(seconds) {
  const begin = Date.now();
  let n = 0;
  while (Date.now() < begin + seconds * 1000) { work(); n++; }
  return n * 1000 / (Date.now() - begin);
}
rate(settle);
console.log(rate(measure));
"""

JAVA = """
import java.util.*;
public class Hot {
  static Object kept;
  static void work() throws Exception {
    Map<String, Object[]> d = new HashMap<>();
    for (int i = 0; i < 300; i++) d.put("k" + i, new Object[] { i, i * 2.5, new int[200] });
    kept = new ArrayList<>(d.entrySet());
    for (var m : Hot.class.getDeclaredMethods()) kept = m.getName().intern();
    try { Object o = Class.forName("no.such.Class" + (d.size() % 7)); } catch (ClassNotFoundException e) { kept = e; }
    System.arraycopy(new Object[500], 0, new Object[500], 0, 500);
    kept = new Throwable().getStackTrace();
    synchronized (Hot.class) { Hot.class.notifyAll(); }
    Thread.yield();
  }
  static double rate(double seconds) throws Exception {
    long n = 0, begin = System.nanoTime();
    while (System.nanoTime() < begin + seconds * 1e9) { work(); n++; }
    return n * 1e9 / (System.nanoTime() - begin);
  }
  public static void main(String[] args) throws Exception {
    rate(Double.parseDouble(args[0]));
    System.out.println(rate(Double.parseDouble(args[1])));
  }
}
"""

GO = """
package main
import ("encoding/json"; "fmt"; "os"; "sort"; "strconv"; "strings"; "time")
func work() {
  d := map[string][]interface{}{}
  for i := 0; i < 300; i++ { d[strconv.Itoa(i)] = []interface{}{i, float64(i) * 2.5, fmt.Sprintf("a%d", i)} }
  keys := make([]string, 0, len(d))
  for k := range d { keys = append(keys, k) }
  sort.Strings(keys)
  text, _ := json.Marshal(d)
  var back map[string][]interface{}
  _ = json.Unmarshal(text, &back)
  _ = strings.Split(strings.ToUpper(string(text)), ",")
}
func rate(seconds float64) float64 {
  n, begin := 0, time.Now()
  for time.Since(begin).Seconds() < seconds { work(); n++ }
  return float64(n) / time.Since(begin).Seconds()
}
func main() {
  settle, _ := strconv.ParseFloat(os.Args[1], 64)
  measure, _ := strconv.ParseFloat(os.Args[2], 64)
  rate(settle)
  fmt.Println(rate(measure))
}
"""

CXX = """
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() {} virtual double area() const = 0; };
struct Square : Shape { double a; explicit Square(double x) : a(x) {} double area() const override; };
double Square::area() const { return a * a; }
static void work() {
  std::map<std::string, std::vector<double>> d;
  for (int i = 0; i < 300; i++) d[std::to_string(i)] = { double(i), i * 2.5 };
  std::ostringstream text;
  for (auto &kv : d) text << kv.first << ':' << kv.second[1] << ',';
  std::string s = text.str();
  static const std::regex number("([0-9]+):");
  s = std::regex_replace(s.substr(0, 400), number, "$1=");
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 100; i++) shapes.emplace_back(new Square(i ^ 21));
  std::sort(shapes.begin(), shapes.end(), [](auto &a, auto &b) { return a->area() < b->area(); });
  try { d.at("no"); } catch (const std::out_of_range &) { }
}
static double rate(double seconds) {
  using clock = std::chrono::steady_clock;
  auto begin = clock::now();
  std::chrono::duration<double> took{};
  long n = 0;
  for (; took.count() < seconds; took = clock::now() - begin, n++) work();
  return n / took.count();
}
int main(int, char **argv) {
  rate(atof(argv[1]));
  std::cout << rate(atof(argv[2])) << std::endl;
}
"""


# --- loads ------------------------------------------------------------------------------------


def asked(folder, argv):
    out = subprocess.run([*argv, str(SETTLE), str(MEASURE)], cwd=folder, stdout=subprocess.PIPE, check=True, text=True)
    return float(out.stdout.split()[-1])


def wait_for_port(port):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nobody listens at {port}")


class Server:
    """A server that is ended with the block."""

    def __init__(self, argv, port=PORT, end=signal.SIGTERM, **more):
        self.p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        self.port, self.end = port, end

    def __enter__(self):
        wait_for_port(self.port)

    def __exit__(self, *_):
        self.p.send_signal(self.end)
        self.p.wait()


def number_in(argv, pattern):
    out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, text=True).stdout
    return [float(x) for x in re.findall(pattern, out)]


def load_redis(folder):
    def rate(seconds):
        done, begin = 0, time.monotonic()
        while time.monotonic() < begin + seconds:
            number_in(["redis-benchmark", "-p", str(PORT), "-q", "-n", "20000", "-t", "get,set,lpush,hset"], "(x)")
            done += 1
        return done / (time.monotonic() - begin)

    with Server(["redis-server", "--port", str(PORT), "--save", "", "--bind", "127.0.0.1"], cwd=folder):
        rate(SETTLE)
        return rate(MEASURE)


def load_nginx(folder):
    with open(f"{folder}/nginx.conf", "w", encoding="utf-8") as f:
        f.write(f"worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
                "events {}\n"
                f"http {{ access_log {folder}/access.log; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;\n"
                f"fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;\n"
                f"server {{ listen 127.0.0.1:{PORT}; root {folder}/www; }} }}\n")
    os.makedirs(f"{folder}/www", exist_ok=True)
    os.chmod(folder, 0o755)
    with open(f"{folder}/www/index.html", "w", encoding="utf-8") as f:
        f.write("<p>hello\n" * 100)

    def rate(seconds):
        (n,) = number_in(["wrk", "-t", "1", "-c", "16", "-d", f"{seconds}s", f"http://127.0.0.1:{PORT}/"],
                         r"Requests/sec:\s+([0-9.]+)")
        return n

    with Server(["nginx", "-c", f"{folder}/nginx.conf"], cwd=folder):
        rate(SETTLE)
        return rate(MEASURE)


def load_haproxy(folder):
    """It answers by itself what it asks for as a proxy: all that is done is its own, by both of its halves."""
    put(f"{folder}/haproxy.cfg",
        "global\n nbthread 1\n"
        "defaults\n mode http\n timeout connect 9s\n timeout client 9s\n timeout server 9s\n"
        f"frontend proxy\n bind 127.0.0.1:{PORT}\n http-request set-header X-From %[src]\n default_backend far\n"
        f"backend far\n balance roundrobin\n server a 127.0.0.1:{PORT + 1}\n"
        f"frontend near\n bind 127.0.0.1:{PORT + 1}\n"
        f" http-request return status 200 content-type text/html string \"{'<p>hello ' * 100}\"\n")

    def rate(seconds):
        (n,) = number_in(["wrk", "-t", "1", "-c", "16", "-d", f"{seconds}s", f"http://127.0.0.1:{PORT}/"],
                         r"Requests/sec:\s+([0-9.]+)")
        return n

    with Server(["haproxy", "-db", "-f", f"{folder}/haproxy.cfg"], cwd=folder, port=PORT):
        rate(SETTLE)
        return rate(MEASURE)


def postgres_programs():
    for root, _, names in os.walk("/usr/lib/postgresql"):
        if "postgres" in names and "initdb" in names:
            return root
    return None


def postgres(folder):
    """How the programs are run, by whom, and where the server is reached."""
    user = pwd.getpwnam("postgres")
    who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": f"{folder}/pg",
           "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}}
    server = [f"{postgres_programs()}/postgres", "-D", f"{folder}/pg/data", "-p", str(PORT), "-k", f"{folder}/pg",
              "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "autovacuum=off"]
    return server, who, ["-h", f"{folder}/pg", "-p", str(PORT), "-U", "postgres"]


class Postgres(Server):
    def __init__(self, folder):
        server, who, self.where = postgres(folder)
        super().__init__(server, end=signal.SIGINT, **who)

    def __enter__(self):
        end = time.monotonic() + 120
        while subprocess.run(["pg_isready", "-q", *self.where], check=False).returncode:
            if time.monotonic() > end:
                raise SystemExit("postgres is not ready")
            time.sleep(0.1)


def prepare_postgres(folder):
    _, who, where = postgres(folder)
    os.chmod(folder, 0o755)
    os.mkdir(f"{folder}/pg")
    os.chown(f"{folder}/pg", who["user"], who["group"])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, **who}
    subprocess.run([f"{postgres_programs()}/initdb", "-D", "data", "-A", "trust", "--no-sync"], **quiet)
    with Postgres(folder):
        subprocess.run(["pgbench", "-i", "-q", *where, "postgres"], **quiet)


def load_postgres(folder):
    where = postgres(folder)[2]

    def rate(seconds):
        (n,) = number_in(["pgbench", "-n", "-c", "2", "-T", str(seconds), *where, "postgres"],
                         r"tps = ([0-9.]+) \(without")
        return n

    with Postgres(folder):
        rate(SETTLE)
        return rate(MEASURE)


def put(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def prepare_go(folder):
    put(f"{folder}/hot.go", GO)
    subprocess.run(["go", "build", "-o", f"{folder}/hot-go", "hot.go"], cwd=folder, check=True,
                   env={**os.environ, "GOFLAGS": "-mod=mod", "GOCACHE": f"{folder}/cache", "GO111MODULE": "off"})


def prepare_cxx(folder):
    put(f"{folder}/hot.cc", CXX)
    subprocess.run(["g++", "-O2", "-o", "hot-cxx", "hot.cc"], cwd=folder, check=True)


def prepare_java(folder):
    put(f"{folder}/Hot.java", JAVA)
    subprocess.run(["javac", "-d", folder, f"{folder}/Hot.java"], cwd=folder, check=True)


def real(name):
    path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    return path and os.path.realpath(path)


def java_library():
    java = real("java")
    return java and os.path.join(os.path.dirname(os.path.dirname(java)), "lib/server/libjvm.so")


# Program, what is probed of it, what is done before all runs, the load. A missing program is None.
PROGRAMS = {
    "python3": (lambda _: real("python3"), lambda d: put(f"{d}/hot-py", PYTHON),
                lambda d: asked(d, [real("python3"), "hot-py"])),
    "redis-server": (lambda _: real("redis-benchmark") and real("redis-server"), None, load_redis),
    "nginx": (lambda _: real("wrk") and real("nginx"), None, load_nginx),
    "haproxy": (lambda _: real("wrk") and real("haproxy"), None, load_haproxy),
    "postgres": (lambda _: (home := postgres_programs()) and f"{home}/postgres", prepare_postgres, load_postgres),
    "libjvm": (lambda _: real("javac") and java_library(), prepare_java, lambda d: asked(d, [real("java"), "Hot"])),
    "node": (lambda _: real("node"), lambda d: put(f"{d}/hot.js", NODE), lambda d: asked(d, [real("node"), "hot.js"])),
    "go": (lambda d: real("go") and f"{d}/hot-go", prepare_go, lambda d: asked(d, ["./hot-go"])),
    "c++": (lambda d: real("g++") and f"{d}/hot-cxx", prepare_cxx, lambda d: asked(d, ["./hot-cxx"])),
}


def load(program, folder):
    rate = PROGRAMS[program][2](folder)
    with open(f"{folder}/rates", "a", encoding="utf-8") as f:
        f.write(f"{rate}\n")


# --- rows -------------------------------------------------------------------------------------


def measure(bench, rounds, program, kinds, target, folder):
    """The JSON of ubp-bench, and the rates without and with probes."""
    put(f"{folder}/rates", "")
    argv = [bench, "--hot", "--rounds", str(rounds), "--json", f"{folder}/json"]
    for kind in kinds:
        argv += ["-e", f"{kind}:{target}:*"]
    p = subprocess.run([*argv, "--", sys.executable, os.path.abspath(__file__), "--load", program, folder],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if p.returncode:
        return None, p.stderr.strip().splitlines()[-1]
    with open(f"{folder}/json", encoding="utf-8") as f:
        hot = json.load(f)["hot"]
    with open(f"{folder}/rates", encoding="utf-8") as f:
        rates = [float(line) for line in f]
    return hot, list(zip(rates[0::2], rates[1::2]))


def reasons(hot):
    """The reasons of stops, the most frequent first, with the functions that had most of them."""
    texts = []
    for why, n in sorted(hot["stops"].items(), key=lambda kv: -kv[1])[:REASONS]:
        worst = sorted((p for p in hot["places"] if why in p["stops"]), key=lambda p: -p["stops"][why])[:WORST]
        names = ", ".join(f"{p['type']} `{p['event']}`" + (f" ({p['no_jump']})" if p["no_jump"] else "") for p in worst)
        texts.append(f"{why} {n}: {names}")
    return "; ".join(texts)


def row(bench, rounds, program, name, target, folder):
    hot, rates = measure(bench, rounds, program, "pr", target, folder)
    if hot is None:
        print(f"| {name} | p, r | {rates} | | | |", flush=True)
        return None
    stops, speeds = sum(hot["stops"].values()), [100 * probed / bare for bare, probed in rates]
    without = 100 * (1 - stops / hot["hits"]) if hot["hits"] else 100
    print(f"| {name} | p, r | {hot['probes']} | {hot['hits']} | {without:.4f} % "
          f"| {statistics.median(speeds):.0f} % ({min(speeds):.0f}-{max(speeds):.0f}) "
          f"| {reasons(hot)} |", flush=True)
    return {"name": name, "speeds": speeds, "rates": rates, **hot}


def main():
    args, rounds, path = sys.argv[1:], 3, None
    if args[:1] == ["--load"]:
        load(*args[1:])
        return
    while args[:1] in (["--rounds"], ["--json"]):
        if args[0] == "--rounds":
            rounds = int(args[1])
        else:
            path = args[1]
        args = args[2:]
    bench, wanted, rows = os.path.abspath(args[0] if args else "build/ubp-bench"), args[1:], []
    print("| functions of | kinds | probes | hits | without a stop | speed | stops |")
    print("|---|---|---|---|---|---|---|")
    for program, (find, prepare, _) in PROGRAMS.items():
        names = [program] if program in NO_LIBC else [program, f"libc in {program}"]
        if wanted and not any(n in wanted or program in wanted for n in names):
            continue
        with tempfile.TemporaryDirectory(prefix="hot-") as folder:
            target = find(folder)
            if not target:
                print(f"{program} is not there", file=sys.stderr)
                continue
            if prepare:
                prepare(folder)
            for name, what in zip(names, (target, "libc"), strict=False):
                if not wanted or name in wanted or program in wanted:
                    rows.append(row(bench, rounds, program, name, what, folder))
    if path:
        put(path, json.dumps([r for r in rows if r], indent=1))


if __name__ == "__main__":
    main()
