#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What docs/many-hosts.md says of ClickHouse: the tables are made, JSON lines of two traces go in as they are told to, with strings that need care, and the
queries give what the traces hold. The server is Debian's, where it is installed, or unpacked at CLICKHOUSE_ROOT (make check-hosts)."""

import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

SRC, UPROBE, HELLO = os.environ["UBP_SRC"], os.environ["UPROBE"], os.path.join(os.environ["FIXTURES"], "hello")
WAIT = int(os.environ.get("TIMEOUT", "60"))
ARG = "%x0" if os.uname().machine == "aarch64" else "%di"


def fail(why):
    print(f"FAIL: {why}")
    sys.exit(1)


def server_command():
    installed = shutil.which("clickhouse-server", path=os.environ["PATH"] + ":/usr/sbin")
    root = os.environ.get("CLICKHOUSE_ROOT")
    if installed or not root:
        return [installed] if installed else None
    loaders = glob.glob(f"{root}/lib64/ld-linux-*.so*") + glob.glob(f"{root}/lib/ld-linux-*.so*")
    folders = {os.path.dirname(p) for p in glob.glob(f"{root}/usr/lib/*/libc.so.6") + glob.glob(f"{root}/usr/lib/*/libclickhouse.so*")}
    return [loaders[0], "--library-path", ":".join(folders), f"{root}/usr/sbin/clickhouse-server"]


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    def __init__(self, command):
        http, tcp, between = free_ports(3)
        self.url = f"http://127.0.0.1:{http}/"
        here = os.getcwd()
        for name in ("data", "tmp", "format"):
            os.mkdir(name)
        with open("config.xml", "w", encoding="utf-8") as f:
            f.write(f"<yandex><logger><level>warning</level><console>1</console></logger><http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>"
                    f"<interserver_http_port>{between}</interserver_http_port><listen_host>127.0.0.1</listen_host><path>{here}/data/</path>"
                    f"<tmp_path>{here}/tmp/</tmp_path><format_schema_path>{here}/format/</format_schema_path><mark_cache_size>5368709</mark_cache_size>"
                    f"<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database><timezone>UTC</timezone></yandex>")
        with open("users.xml", "w", encoding="utf-8") as f:
            f.write("<yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip></networks>"
                    "<profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>")
        with open("server.log", "w", encoding="utf-8") as log:
            self.p = subprocess.Popen([*command, "--config-file=config.xml"], stdout=log, stderr=log)
        end = time.monotonic() + WAIT
        while True:
            try:
                self.ask("SELECT 1")
                return
            except OSError:
                if self.p.poll() is not None or time.monotonic() > end:
                    fail("the server does not start: " + open("server.log", encoding="utf-8").read()[-1000:])
                time.sleep(0.1)

    def ask(self, query, data=b""):
        """As clickhouse-client does; rows of columns."""
        request = urllib.request.Request(self.url + "?query=" + urllib.parse.quote(query), data=data)
        try:
            with urllib.request.urlopen(request, timeout=WAIT) as answer:
                return [line.split("\t") for line in answer.read().decode().splitlines()]
        except urllib.error.HTTPError as error:
            fail(f"{query}: {error.read().decode()}")


def from_docs():
    """SQL statements, and the command by which lines go in."""
    with open(f"{SRC}/docs/many-hosts.md", encoding="utf-8") as f:
        text = f.read()
    statements = [s.strip() for block in re.findall(r"```sql\n(.*?)```", text, re.S) for s in block.split(";") if s.strip()]
    sed = re.search(r"sed '([^']+)' \|", text)
    return [s for s in statements if s.startswith("CREATE")], [s for s in statements if s.startswith("SELECT")], sed[1]


def lines(host, *args):
    """A trace, as the command of the page makes it ready."""
    sed = from_docs()[2].replace("HOST", host)
    trace = subprocess.run([UPROBE, "--json", "--clock", "real", "-e", f"p:h/greet {HELLO}:greet name=+0({ARG}):string", "-e", f"r:h/greeted {HELLO}:greet d=$duration",
                            "--", HELLO, *args], input=b"\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT, check=True).stdout
    trace = b"".join(x + b"\n" for x in trace.splitlines() if x.startswith(b"{"))
    return trace, subprocess.run(["sed", sed], input=trace, stdout=subprocess.PIPE, check=True).stdout


def main():
    command = server_command()
    if not command:
        print("no clickhouse-server (make check-hosts fetches one)")
        sys.exit(77)
    tables, queries, _ = from_docs()
    if len(queries) != 3:
        fail(f"{len(queries)} queries in the page")
    server = Server(command)
    try:
        for statement in tables:
            server.ask(statement)
        traces = {host: lines(host, *args) for host, args in (("one", ("you", "tab\there", "back\\slash \"x\" \\n")), ("two", ("you",)))}
        for _, ready in traces.values():
            server.ask("INSERT INTO ubp_lines FORMAT TabSeparated", ready)
        server.ask("INSERT INTO ubp_lines FORMAT TabSeparated", b'two\t{"lost":7}\n')
        want = {host: [json.loads(x) for x in trace.decode().splitlines()] for host, (trace, _) in traces.items()}
        got = server.ask("SELECT host, event, count() FROM ubp_events GROUP BY host, event ORDER BY host, event")
        if got != [["one", "greet", "3"], ["one", "greeted", "3"], ["two", "", "1"], ["two", "greet", "1"], ["two", "greeted", "1"]]:
            fail(f"rows {got}")
        # Each value is what the trace has, whatever is in it.
        rows = server.ask("SELECT host, toString(time_ns), tid, event, args FROM ubp_events WHERE event != '' ORDER BY host, time_ns FORMAT JSONCompact")
        told = json.loads("\n".join("\t".join(row) for row in rows))["data"]
        expected = [[host, str(round(e["time"] * 1e9)), e["tid"], e["event"], e["args"]] for host, events in want.items() for e in events]
        if [[r[0], r[2], r[3], json.loads(r[4])] for r in told] != [[e[0], e[2], e[3], e[4]] for e in expected]:
            fail(f"{told}\n{expected}")
        if any(abs(int(r[1]) - int(e[1])) > 1000 for r, e in zip(told, expected)):
            fail(f"times: {told} {expected}")
        hosts, quantiles, lost = (server.ask(q) for q in queries)
        if sorted(hosts)[:2] != [["one", "greet", "3"], ["one", "greeted", "3"]]:
            fail(f"first query: {hosts}")
        times = sorted(e["args"]["d"] for e in want["one"] if e["event"] == "greeted")
        row = next(r for r in quantiles if r[0] == "one")
        if not times[0] <= float(row[2]) <= times[-1]:
            fail(f"second query: {quantiles}, {times}")
        if lost != [["two", "7"]]:
            fail(f"third query: {lost}")
    finally:
        server.p.terminate()
        server.p.wait()


main()
