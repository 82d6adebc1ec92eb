# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Run all storms in the full form, or one with options of its own; one table at the end."""

import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    names = sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(HERE, "*.py")))
    options = ["--full"]
    if len(sys.argv) > 1 and sys.argv[1] in names:
        names, options = [sys.argv[1]], options + sys.argv[2:]
    else:
        options += sys.argv[1:]
    failed, rows, ends = [], [], []
    with tempfile.TemporaryDirectory(prefix="ubp-torture-") as folder:
        for name in names:
            print(f"== {name}", flush=True)
            log = os.path.join(folder, name)
            rc = subprocess.run([sys.executable, os.path.join(HERE, name + ".py"), "--json", log,
                                 *options], cwd=folder, check=False).returncode
            if os.path.exists(log):
                with open(log) as f:
                    rows += [json.loads(line) for line in f]
            if rc == 77:
                ends.append(f"SKIPPED: {name}")
            elif rc:
                failed.append(name)
    print(f"\n{'storm':<12} {'rounds':>8} {'kills':>8} {'clean':>8} {'hits':>10} "
          f"{'documented':>10} {'failures':>8}")
    total = {}
    for r in rows:
        for key in (r["storm"].split()[0], "total"):
            t = total.setdefault(key, dict.fromkeys(
                ("rounds", "kills", "clean", "hits", "documented", "failures"), 0))
            for c in t:
                t[c] += r[c]
    if "total" in total:
        total["total"] = total.pop("total")
    for key, t in total.items():
        print(f"{key:<12} {t['rounds']:>8} {t['kills']:>8} {t['clean']:>8} {t['hits']:>10} "
              f"{t['documented']:>10} {t['failures']:>8}")
    for line in ends:
        print(line)
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
