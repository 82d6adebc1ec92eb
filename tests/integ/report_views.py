# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""What the drawn views of the page of ubp-report --html look like, light, dark and with a selection: as in stored pictures (what is text, report_html.py reads). The recording is a stored one, too, made by an earlier ubp:
all that it has is still read. With UBP_NEW_PICTURES=1 the stored pictures are made anew, to be looked at."""

import json
import os
import shutil
import subprocess
import sys

REPORT, SRC = (os.environ[v] for v in ("UBP_REPORT", "UBP_SRC"))
WAIT = int(os.environ.get("TIMEOUT", "60"))
VIEWS = f"{SRC}/tests/integ/lib/views"
# 0: the same; 1: as if nothing was drawn. Fonts and their edges differ from one browser to another.
MOST = 0.5


def fail(why):
    sys.exit(f"report_views.py: {why}")


def report(*options):
    done = subprocess.run([REPORT, *options, f"{VIEWS}/recording.ubp"], capture_output=True, text=True, check=False, timeout=WAIT)
    if done.returncode or done.stderr:
        fail(f"{options}: ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def reads_what_was_recorded():
    lines = report().splitlines()
    counts = {f["name"]: f["calls"] for f in json.loads(report("--stats", "--json"))["functions"]}
    if len(lines) != 516 or counts != {"tick": 180, "down": 39, "even": 21, "odd": 18}:
        fail(f"the stored recording has {len(lines)} lines and {counts}")


def look():
    """{picture: how far it is off}"""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium or not shutil.which("node") or not os.path.exists(f"{SRC}/engine/picture/page/node_modules/playwright-core"):
        print("chromium, node, or what npm fetches (make deps) is not there")
        sys.exit(77)
    with open("views.html", "w", encoding="utf-8") as f:
        f.write(report("--html"))
    done = subprocess.run(["node", f"{SRC}/tests/integ/lib/views.mjs", chromium, os.path.abspath("views.html"), VIEWS, os.environ.get("UBP_NEW_PICTURES", "")],
                          capture_output=True, text=True, check=False, timeout=2 * WAIT, env={**os.environ, "TZ": "UTC"})
    if done.returncode:
        fail(f"in the browser:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def main():
    reads_what_was_recorded()
    differences = look()
    if len(differences) != 15:
        fail(f"these were looked at: {differences}")
    for name, off in differences.items():
        if off > MOST:
            fail(f"{name} is {off:.2f} off (at most {MOST}): {os.path.abspath(name)}.png and {VIEWS}/{name}.png\n{differences}")
    print(json.dumps(differences))
    print("ok")


main()
