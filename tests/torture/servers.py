# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Servers under load: redis and nginx while uprobe comes, goes and is killed. No request
fails, no answer is wrong, no worker is replaced."""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import torture  # noqa: E402
from torture import ANSWER, Broken, Load, Row, Server, Storm, ending  # noqa: E402


def which(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")


def connect(address):
    """To a server that is starting."""
    end = time.monotonic() + ANSWER
    while True:
        s = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        s.settimeout(ANSWER)
        try:
            s.connect(address)
            return s
        except OSError:
            s.close()
            if time.monotonic() > end:
                raise Broken(f"no server at {address}") from None
            time.sleep(0.01)


class Redis(Server):
    """redis-benchmark as load, and a client that knows each answer."""

    def start(self):
        path = os.path.abspath("redis.sock")
        if os.path.exists(path):
            os.unlink(path)
        self.p = subprocess.Popen([which("redis-server"), "--port", "0", "--unixsocket", path,
                                   "--save", "", "--appendonly", "no", "--io-threads", "2"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = connect(path)
        self.file = self.client.makefile("rwb")
        self.n = 0
        self.load = Load(["redis-benchmark", "-s", path, "-n", "20000", "-c", "10", "-q", "-t",
                          "set,get,incr,lpush,lrange_100,mset"],
                         lambda said: "rror" not in said and "MSET" in said)

    def pids(self):
        return [self.p.pid]

    def call(self, *words):
        try:
            self.file.write(b"*%d\r\n" % len(words))
            for w in words:
                w = str(w).encode()
                self.file.write(b"$%d\r\n%s\r\n" % (len(w), w))
            self.file.flush()
            line = self.file.readline()
            if line.startswith(b"$"):
                return self.file.read(int(line[1:]) + 2)[:-2].decode()
            return line[:-2].decode()
        except OSError as e:
            raise self.death(e) from None

    def death(self, why):
        try:
            return Broken(f"redis-server ended with {self.p.wait(1)}")
        except subprocess.TimeoutExpired:
            return Broken(f"redis-server: {why}")

    def check(self):
        for _ in range(30):
            self.n += 1
            got = self.call("INCR", "torture")
            if got != f":{self.n}":
                raise self.death(f"INCR says '{got}', not :{self.n}")
            value = str(random.random()) * 20
            if self.call("SET", "value", value) != "+OK" or self.call("GET", "value") != value:
                raise self.death("SET and GET do not agree")
        self.load.look()

    def stop(self):
        self.load.over()
        self.p.terminate()
        rc = self.p.wait(ANSWER)
        if rc:
            raise Broken(f"redis-server ended with {rc}")

    def destroy(self):
        self.load.destroy()
        try:
            self.file.close()
        except OSError:
            pass  # what was not sent yet
        self.client.close()
        self.p.kill()
        self.p.wait()


class Nginx(Server):
    """ab as load; master and workers stay the same processes."""

    CONF = """daemon off; error_log error.log; pid nginx.pid; worker_processes 2;
events {{ worker_connections 256; }}
http {{ access_log access.log; client_body_temp_path t1; proxy_temp_path t2;
  fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server {{ listen 127.0.0.1:{port}; root .; location / {{ }} }} }}
"""

    def start(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        home = os.path.abspath("nginx")
        shutil.rmtree(home, ignore_errors=True)
        os.mkdir(home)
        os.chmod(home, 0o755)
        self.page = "page " * 200
        for name, text in (("nginx.conf", self.CONF.format(port=self.port)),
                           ("page", self.page)):
            with open(os.path.join(home, name), "w") as f:
                f.write(text)
        self.p = subprocess.Popen([which("nginx"), "-p", home, "-c", "nginx.conf"],
                                  start_new_session=True, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        connect(("127.0.0.1", self.port)).close()
        self.get()
        self.all = self.processes()
        self.load = Load(["ab", "-q", "-k", "-n", "4000", "-c", "8",
                          f"http://127.0.0.1:{self.port}/page"], self.all_came)

    @staticmethod
    def all_came(said):
        return re.search(r"Complete requests: +4000\n", said) and \
            re.search(r"Failed requests: +0\n", said) and "Non-2xx" not in said

    def processes(self):
        with open(f"/proc/{self.p.pid}/task/{self.p.pid}/children") as f:
            return [self.p.pid, *map(int, f.read().split())]

    def pids(self):
        return self.all

    def get(self):
        s = connect(("127.0.0.1", self.port))
        try:
            with s, s.makefile("rwb") as f:
                f.write(b"GET /page HTTP/1.0\r\n\r\n")
                f.flush()
                said = f.read().decode()
        except OSError as e:
            raise Broken(f"nginx: {e}") from None
        if " 200 OK" not in said or not said.endswith(self.page):
            raise Broken(f"nginx says '{said[:60]}'")

    def check(self):
        if self.p.poll() is not None:
            raise Broken(f"nginx: the master ended with {self.p.returncode}")
        self.get()
        now = self.processes()
        if now != self.all:
            raise Broken(f"nginx: workers {self.all[1:]} are now {now[1:]}: {self.alerts()}")
        self.load.look()

    @staticmethod
    def alerts():
        with open("nginx/error.log", errors="replace") as f:
            return " | ".join(line.strip() for line in f if "signal" in line)

    def stop(self):
        self.load.over()
        self.p.send_signal(signal.SIGQUIT)
        rc = self.p.wait(ANSWER)
        if rc:
            raise Broken(f"nginx ended with {rc}: {ending(rc)}")

    def destroy(self):
        self.load.destroy()
        if self.p.poll() is None:
            os.killpg(self.p.pid, signal.SIGKILL)
            self.p.wait()


def definitions(kind):
    if kind is Redis:
        f = os.path.realpath(which("redis-server"))
        return [f"p:s/cmd {f}:processCommand", f"r:s/cmd_ret {f}:processCommand $retval:s32",
                f"p:s/find {f}:lookupKey", f"r:s/find_ret {f}:lookupKey $retval",
                f"p:s/bulk {f}:addReplyBulk", f"r:s/dict {f}:dictFind $retval"]
    f = os.path.realpath(which("nginx"))
    return [f"p:s/request {f}:ngx_http_process_request", f"p:s/palloc {f}:ngx_palloc n={torture.ARG2}:u64",
            f"r:s/palloc_ret {f}:ngx_palloc $retval",
            f"r:s/final {f}:ngx_http_finalize_request"]


def main():
    options = torture.parse(__doc__)
    kinds = [(name, kind) for name, kind, *programs in
             (("redis", Redis, "redis-server", "redis-benchmark"), ("nginx", Nginx, "nginx", "ab"))
             if options.only in name and all(map(which, programs))]
    if not kinds:
        torture.skip("needs redis-server and redis-benchmark, or nginx and ab (make torture-deps)")
    torture.in_own_folder()
    os.chmod(".", 0o755)
    table = torture.Table(options)
    for name, kind in kinds:
        for mode in options.modes:
            row = Row(f"servers {name}", mode)
            Storm(row, kind, definitions(kind), [], options).run(
                options.rounds or (150 if options.full else 12), fresh_every=50)
            table.add(row)
    table.done()


if __name__ == "__main__":
    main()
