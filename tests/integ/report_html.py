# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""ubp-report --html, opened in a browser: numbers, selections, keys, dark mode, text that would like to be markup. And the drawings as SVG, of recordings and of what is traced now."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.dom.minidom

UPROBE, REPORT, FIXTURES, SRC = (os.environ[v] for v in ("UPROBE", "UBP_REPORT", "FIXTURES", "UBP_SRC"))
WAIT = int(os.environ.get("TIMEOUT", "60"))
N_THREADS, N_ROUNDS = 3, 300
EVIL = "</script><script>document.title='owned'</script><!--\u2028<img src=x onerror=\"document.title='owned'\">"
ARG1 = "%x0" if os.uname().machine == "aarch64" else "%di"


def fail(why):
    sys.exit(f"report_html.py: {why}")


def skip(why):
    print(why)
    sys.exit(77)


def run(*argv, status=0, stdin="\n\n"):
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, errors="surrogateescape", check=False, timeout=WAIT)
    if done.returncode != status:
        fail(f"{' '.join(argv)}: ended with {done.returncode}, not {status}\n{done.stderr}")
    return done


def record():
    """Calls of threads whose name is markup, then a string that is, too."""
    shutil.copy(f"{FIXTURES}/threads", "<b>t")
    evil = EVIL.replace('"', '\\"').replace("$", "")
    command = f'"./<b>t" {N_THREADS} {N_ROUNDS}; env "A={evil}" true'
    run(UPROBE, "--lossless", "--record", "trace.ubp", "--stack", "fp", "-e", "p:tick ./<b>t:tick", "-e", "r:tick_ret ./<b>t:tick ret=$retval:s64",
        "-e", f"p:put libc:putenv s=+0({ARG1}):string", "--", "sh", "-c", command)
    events = [json.loads(line) for line in run(REPORT, "--json", "trace.ubp").stdout.splitlines()]
    if len(events) != 2 * N_THREADS * N_ROUNDS + 1:
        fail(f"{len(events)} events were recorded")
    return events


def drawings(events):
    """Well-formed, without a script; the names are in them."""
    for form in ("flame", "heat"):
        text = run(REPORT, f"--{form}", "trace.ubp").stdout
        drawing = xml.dom.minidom.parseString(text)
        if drawing.documentElement.tagName != "svg" or drawing.getElementsByTagName("script"):
            fail(f"--{form}: {text[:200]}")
        words = " ".join(t.firstChild.data for t in drawing.getElementsByTagName("text") if t.firstChild)
        if f"{len(events)} events" not in words:
            fail(f"--{form} does not tell how many events there are: {words}")
    titles = [t.firstChild.data for t in xml.dom.minidom.parseString(run(REPORT, "--flame", "trace.ubp").stdout).getElementsByTagName("title")]
    if f"<b>t: {2 * N_THREADS * N_ROUNDS}, " not in " ".join(titles):
        fail(f"the program's name is not in the flame graph: {titles}")


def live():
    """--flame and --heat of uprobe: beside the lines, and the same as of a recording."""
    program = f"{FIXTURES}/threads"
    probes = ["-e", f"p:tick {program}:tick", "-e", f"r:tick_ret {program}:tick"]
    out = run(UPROBE, "--lossless", "-o", "lines.txt", "--flame", "flame.svg", "--heat", "heat.svg", *probes, "--", program, "2", "100")
    with open("lines.txt", encoding="utf-8") as f:
        if sum(": tick" in line for line in f) != 400:
            fail(f"400 lines were to be printed\n{out.stderr}")
    for name, want in (("flame.svg", "tick: "), ("heat.svg", "Latencies over time")):
        with open(name, encoding="utf-8") as f:
            text = f.read()
        xml.dom.minidom.parseString(text)
        if want not in text or "400 events" not in text:
            fail(f"{name} has no '{want}': {text[:600]}")
    run(UPROBE, "--flame", "stacks.svg", "-o", "lines.txt", f"p:tick {program}:tick", "--", program, "1", "10")
    with open("stacks.svg", encoding="utf-8") as f:
        if "worker: 10" not in f.read():
            fail("a flame graph of an entry probe has no stacks")
    for option, other in (("--flame", "x.png"), ("--heat", "x"), ("--flame", ".svg")):
        if "ends in .svg or .html" not in run(UPROBE, option, other, f"p:tick {program}:tick", "--", program, status=2).stderr:
            fail(f"{option} {other}")
    # One file for two, by two names; what was in it stays. A device takes both.
    shutil.copy("flame.svg", "kept.svg")
    os.link("kept.svg", "other.svg")
    for options, why in ((("--flame", "kept.svg", "--heat", "./other.svg"), "--flame and --heat would be in one file: ./other.svg"),
                         (("-o", "kept.svg", "--heat", "other.svg"), "a picture and the lines (-o) would be in one file: other.svg")):
        if why not in run(UPROBE, *options, f"p:tick {program}:tick", "--", program, "1", "1", status=2).stderr:
            fail(f"{options}")
    with open("flame.svg", encoding="utf-8") as one, open("kept.svg", encoding="utf-8") as other:
        if one.read() != other.read():
            fail("a file that was refused has changed")
    run(UPROBE, "--flame", "/nonexistent/x.svg", f"p:tick {program}:tick", "--", program, status=1)


def page():
    if not os.path.exists(f"{SRC}/engine/picture/page/node_modules/playwright-core"):
        skip("npm has not fetched what the page is made of: make deps")
    html = run(REPORT, "--html", "trace.ubp").stdout
    with open("trace.html", "w", encoding="utf-8") as f:
        f.write(html)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S).group(1)
    if "<" in data or ">" in data or "\u2028" in data:
        fail("the data could end its element")
    if json.loads(data)["meta"]["events"] != 2 * N_THREADS * N_ROUNDS + 1:
        fail("the page has another number of events")
    if re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', re.sub(r'<script type="text/plain".*?</script>', "", html, flags=re.S)):
        fail("the page loads something")


def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium or not shutil.which("node"):
        skip("chromium or node is not there")
    done = subprocess.run(["node", f"{SRC}/tests/integ/lib/page.mjs", chromium, os.path.abspath("trace.html"), EVIL.split("\u2028", maxsplit=1)[0],
                           str(N_THREADS), str(N_ROUNDS)], capture_output=True, text=True, check=False, timeout=2 * WAIT)
    if done.returncode:
        fail(f"in the browser:\n{done.stdout}{done.stderr}")
    for name in ("light.png", "dark.png", "narrow.png"):
        if os.path.getsize(name) < 10000:
            fail(f"{name} shows nothing")


def main():
    drawings(record())
    live()
    page()
    browser()
    print("ok")


main()
