#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""--otlp: calls become spans, the rest log records, what is counted metrics, as the schema of OpenTelemetry has them; all of them get to a collector that
breaks connections off, answers 503 and 429, wants to be left alone for a second, and then takes them; what does not get there is told, in bounded memory.
With OTLP_MODULES (make check-hosts) the published schema decodes what is written."""

import collections
import http.server
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
import otlp_schema as schema  # noqa: E402
import tracer  # noqa: E402

HELLO, TARGET = (os.path.join(os.environ["FIXTURES"], name) for name in ("hello", "let_go"))
REPORT = os.environ["UBP_REPORT"]
WAIT = int(os.environ.get("TIMEOUT", "60"))
ARM = os.uname().machine == "aarch64"
ARGS = ("%x0", "%x1") if ARM else ("%di", "%si")
CALLS = ("-e", f"p:t/run {HELLO}:main", "-e", f"r:t/run_r {HELLO}:main",
         "-e", f"p:t/greet {HELLO}:greet name=+0({ARGS[0]}):string times={ARGS[1]}:s32", "-e", f"r:t/greet_r {HELLO}:greet len=$retval:s32")


def fail(why):
    print(f"FAIL: {why}")
    sys.exit(1)


class Collector:
    """Answers as ANSWERS say, one after the other, then 200. All that it took is in .taken."""

    def __init__(self, answers=(), partial=None, context=None):
        self.taken, self.headers, self.answers = [], [], collections.deque(answers)
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = collector.answers.popleft() if collector.answers else 200
                collector.headers.append(dict(self.headers))
                if answer is None:
                    self.close_connection = True
                    return
                more = {}
                if isinstance(answer, tuple):
                    answer, more = answer
                if answer == 200:
                    collector.taken.append((self.path, json.loads(body)))
                text = json.dumps({"partialSuccess": partial} if partial and answer == 200 else {}).encode()
                self.send_response(answer)
                for name, value in {**more, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self):
        return [x for path, message in self.taken if path == "/v1/traces" for x in schema.items(message)]

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        for path, message in self.taken:
            schema.check(message, path)


def run(*args, status=0, env=None, program=tracer.UPROBE, command=(HELLO, "you", "w\x1b\u00e9\"")):
    how = ["--", *command] if command else []
    result = subprocess.run([program, *args, *how], input=b"\n", capture_output=True, timeout=WAIT, check=False,
                            env={**os.environ, **(env or {})})
    if result.returncode != status:
        fail(f"{args}: {result.returncode} in place of {status}: {result.stderr.decode()}")
    return result.stderr.decode()


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        messages = [json.loads(line) for line in f]
    for message in messages:
        schema.check(message, schema.path_of(message))
    return messages


def check_spans(found, host=True):
    """main, and the two calls that it makes."""
    spans = {(s["name"], schema.attributes(s).get("arg.times")): (r, s) for r, s in found}
    if set(spans) != {("run", None), ("greet", 1), ("greet", 2)}:
        fail(f"spans {set(spans)}")
    resource, outer = spans["run", None]
    if "parentSpanId" in outer or resource["service.name"] != "hello" or not resource["process.pid"]:
        fail(f"the outer one: {resource} {outer}")
    if host and resource["host.name"] != os.uname().nodename:
        fail(f"host {resource}")
    for key, name, length in ((("greet", 1), "you", 3), (("greet", 2), None, 5 if not ARM else None)):
        span = spans[key][1]
        args = schema.attributes(span)
        if span["parentSpanId"] != outer["spanId"] or span["traceId"] != outer["traceId"]:
            fail(f"{key}: not inside: {span}")
        if name and args["arg.name"] != name or (length == 3 and args["ret.len"] != length) or args["thread.name"] != "hello":
            fail(f"{key}: {args}")
        if not int(outer["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) <= int(outer["endTimeUnixNano"]):
            fail(f"{key}: times")
        if abs(int(span["startTimeUnixNano"]) / 1e9 - time.time()) > 3600:
            fail(f"{key}: not now")


def to_file():
    run("--otlp", "live", *CALLS, "-e", "p:t/lone libc:puts")
    messages = lines_of("live")
    by_path = collections.defaultdict(list)
    for message in messages:
        by_path[schema.path_of(message)] += list(schema.items(message))
    check_spans(by_path["/v1/traces"])
    if [log["body"]["stringValue"] for _, log in by_path["/v1/logs"]] != ["lone"]:
        fail(f"log records {by_path['/v1/logs']}")
    points = {m["name"]: m for _, m in by_path["/v1/metrics"]}
    hits = {schema.attributes(p)["event"]: int(p["asInt"]) for p in points["ubp_hits"]["sum"]["dataPoints"]}
    if hits != {"run": 1, "run_r": 1, "greet": 2, "greet_r": 2, "lone": 1}:
        fail(f"hits {hits}")
    # A recording has the same ids whenever it is told.
    run("--record", "rec", *CALLS)
    for name in ("one", "two"):
        run("--otlp", name, "rec", program=REPORT, command=())
    if open("one", "rb").read() != open("two", "rb").read():
        fail("the same recording, not the same spans")
    check_spans([x for m in lines_of("one") for x in schema.items(m)])


def histogram():
    run("--otlp", "counted", f"--hist={'times'}", f"p:t/greet {HELLO}:greet times={ARGS[1]}:s32")
    metrics = {m["name"]: m for message in lines_of("counted") for _, m in schema.items(message)}
    point = metrics["ubp_value"]["histogram"]["dataPoints"][0]
    if point["count"] != "2" or point["sum"] != 3 or point["bucketCounts"][:3] != ["1", "1", "0"] or point["explicitBounds"][:3] != [1, 2, 4]:
        fail(f"histogram {point}")


def triggers():
    """Histograms of --trigger, too, and nothing else is written beside."""
    run("--otlp", "triggered", "-e", f"p:t/greet {HELLO}:greet times={ARGS[1]}:s32", "--trigger", "hist:keys=times.log2:vals=times",
        "-e", f"p:t/main {HELLO}:main", "--trigger", "hist:keys=common_pid.execname")
    metrics = {m["name"]: m for message in lines_of("triggered") for _, m in schema.items(message)}
    point = metrics["ubp_value"]["histogram"]["dataPoints"][0]
    if point["count"] != "2" or point["sum"] != 3 or point["bucketCounts"][:3] != ["1", "1", "0"] or schema.attributes(point)["event"] != "greet":
        fail(f"histogram of a trigger {point}")
    count = metrics["ubp_count"]["sum"]["dataPoints"][0]
    if count["asInt"] != "1" or not schema.attributes(count)["common_pid"].startswith("hello-"):
        fail(f"count of a trigger {count}")


def unsteady():
    """All that collectors do. (Where a connection ends that was used before, libcurl may ask once more by itself.)"""
    collector = Collector([None, 503, (429, {"Retry-After": "1"}), 502, 200, 504])
    begin = time.monotonic()
    said = run("--otlp", collector.url + "/", *CALLS, env={"OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b,other=1", "OTEL_SERVICE_NAME": "shop"})
    if time.monotonic() - begin < 1:
        fail("it was not left alone for a second")
    collector.end()
    spans = collector.spans()
    if {r["service.name"] for r, _ in spans} != {"shop"} or len(spans) != 3 or "3 spans" not in said or not re.search("sent again [45] times", said):
        fail(f"{len(spans)} spans: {said}")
    if collector.headers[0].get("x-key") != "a b" or collector.headers[0]["Content-Type"] != "application/json":
        fail(f"headers {collector.headers[0]}")
    # ubp-report, too.
    collector = Collector([503, None])
    run("--otlp", collector.url + "/v1/traces", "rec", program=REPORT, command=())
    collector.end()
    check_spans(collector.spans())


def refused():
    for answers, partial, what in (([400] * 9, None, "the answer is 400"), ([302] * 9, None, "the answer is 302"),
                                   ([], {"rejectedSpans": "2", "errorMessage": "no room"}, "refused 2: no room")):
        collector = Collector(answers, partial)
        said = run("--otlp", collector.url, "rec", program=REPORT, command=(), status=1)
        collector.end()
        if what not in said or len(re.findall("error:", said)) != 1:
            fail(f"{answers} {partial}: {said}")
    for url in ("http://", "http://x y", "http://127.0.0.1:99999", "http://a/?b=c"):
        said = run("--otlp", url, *CALLS, status=1)
        if "is no address of a collector" not in said:
            fail(f"{url}: {said}")
    run("--otlp", "x", "-o", "y", *CALLS, status=2)
    run("--otlp", "/no/such/folder/x", *CALLS, status=1)
    # Nobody is there: the second signal ends the wait, and what is lost is told.
    traced = subprocess.Popen([tracer.UPROBE, "--otlp", "http://127.0.0.1:1", *CALLS, "--", HELLO, "you"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if traced.stdout.readline() != "ready\n":
        fail("nobody there: the command did not run")
    traced.stdin.close()
    while traced.poll() is None:
        traced.send_signal(signal.SIGTERM)
        time.sleep(0.2)
    said = traced.stderr.read()
    if "did not get there" not in said:
        fail(f"nobody there: {said}")


def secure():
    """Why this was not tried; None: it was."""
    if not shutil.which("openssl"):
        return "no openssl"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    collector = Collector([503], context=context)
    run("--otlp", collector.url, "rec", program=REPORT, command=(), env={"OTEL_EXPORTER_OTLP_CERTIFICATE": "cert.pem"})
    check_spans(collector.spans())
    said = run("--otlp", collector.url, "rec", program=REPORT, command=(), status=1)
    if "certificate" not in said:
        fail(f"a certificate that nobody trusts: {said}")
    collector.end()
    return None


def flood():
    """40,000 calls for a collector that takes nothing, then all: bounded, and each is told of as sent or lost."""
    collector = Collector([503] * 1000000)
    target = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    target.stdout.readline()
    with open("flood.err", "w+", encoding="utf-8") as err:
        uprobe, ready = tracer.start("-p", str(target.pid), "--lossless", "--otlp", collector.url, "-e", f"p:t/in {TARGET}:called a={ARGS[0]}:s64 t=+0({ARGS[1]}):string",
                                     "-e", f"r:t/out {TARGET}:called v=$retval:s64", stdout=subprocess.DEVNULL, stderr=err)
        if not ready:
            fail("flood: no start")
        for _ in range(20):
            target.stdin.write("call 2000 1\n")
            target.stdout.readline()
        with open(f"/proc/{uprobe.pid}/status", encoding="ascii") as f:
            peak = int(re.search(r"VmHWM:\s*(\d+)", f.read())[1])
        collector.answers.clear()
        uprobe.send_signal(signal.SIGINT)
        uprobe.wait(timeout=WAIT)
        err.seek(0)
        said = err.read()
    target.stdin.close()
    target.wait(timeout=WAIT)
    collector.end()
    spans = {s["spanId"] for _, s in collector.spans()}
    logs = sum(1 for path, m in collector.taken if path == "/v1/logs" for _ in schema.items(m))
    points = sum(len(next(v for k, v in x.items() if k in ("sum", "gauge", "histogram"))["dataPoints"])
                 for path, m in collector.taken if path == "/v1/metrics" for _, x in schema.items(m))
    told = [int(x) for x in re.search(r"(\d+) spans?, (\d+) log records?, (\d+) data points?;", said).groups()]
    lost = re.search(r"of these (\d+) did not get there", said)
    if told[0] != 40000 or sum(told) - int(lost[1] if lost else 0) != len(spans) + logs + points:
        fail(f"flood: {len(spans)} spans, {logs} records, {points} points: {said}")
    if peak > 200000:
        fail(f"flood: {peak} kB")


def decode():
    modules = os.environ.get("OTLP_MODULES")
    if not modules or not shutil.which("node"):
        return "no published schema (make check-hosts fetches it)"
    for name, want in (("live", r"3 1 \d+"), ("one", "3 0 0"), ("counted", r"0 0 \d+"), ("triggered", r"0 0 \d+")):
        result = subprocess.run(["node", os.path.join(HERE, "lib/otlp_decode.js"), name], capture_output=True, text=True, timeout=WAIT, check=False)
        if result.returncode or not re.fullmatch(want, result.stdout.strip()):
            fail(f"{name}: {result.stdout}{result.stderr}")
    return None


for part in (to_file, histogram, triggers, unsteady, refused, flood):
    part()
left_out = [why for why in (secure(), decode()) if why]
if left_out:
    print(f"all else passed: {'; '.join(left_out)}")
    sys.exit(77)
