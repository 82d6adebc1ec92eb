#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Have this kernel answer rows of random triggers: record.py ROWS PROGRAM [FIRST] prints each row (tests/corpus/README.md) with the answers in
it, flushed row by row, and `the rows are done` at the end. Each row begins and ends with nothing defined. FIRST: this many rows
are left out. It is made for a machine of its own: all of its tracefs is written over."""

import errno
import json
import os
import re
import sys

TRACEFS = "/sys/kernel/tracing"
ENCODING = {"encoding": "utf-8", "errors": "surrogateescape"}
LINE = re.compile(r"^ *(.*)-(\d+) +\[\d+\] \S{5} +[\d.]+: (.*)$", re.S)
LOGGED = re.compile(r"^\[ *[\d.]+\] (.*?): error: (.*?)\n  Command: (.*?)\n {11}( *)\^$", re.M | re.S)


def read(path):
    try:
        with open(os.path.join(TRACEFS, path), "rb", 0) as f:
            data = b""
            while True:
                more = f.read(1 << 16)
                if not more:
                    return data.decode(**ENCODING)
                data += more
    except OSError as e:
        return None if e.errno == errno.ENOENT else f"<{errno.errorcode[e.errno]}>"


def write(path, text, trunc=False):
    """One write(2), or only the opening. Its errno's name, or None."""
    try:
        fd = os.open(os.path.join(TRACEFS, path), os.O_WRONLY | (os.O_TRUNC if trunc else 0))
    except OSError as e:
        return errno.errorcode[e.errno]
    try:
        if text:
            os.write(fd, text.encode(**ENCODING))
    except OSError as e:
        return errno.errorcode[e.errno]
    finally:
        os.close(fd)
    return None


def triggers_of(event):
    text = read(f"events/{event}/trigger") or ""
    return "" if text.startswith("# Available triggers") else text


def errors():
    found = [{"loc": m[1], "text": m[2], "command": m[3], "caret": len(m[4])} for m in LOGGED.finditer(read("error_log"))]
    return found or None


def all_events():
    return [f"{g}/{e}" for g in ("uprobes", "synthetic") if os.path.isdir(f"{TRACEFS}/events/{g}")
            for e in sorted(os.listdir(f"{TRACEFS}/events/{g}")) if os.path.isdir(f"{TRACEFS}/events/{g}/{e}")]


def reset(row=None):
    """Nothing of a row stays. What is in use goes after what uses it, so this takes some rounds. Whether all is gone."""
    # Not every histogram goes by the line that lists it.
    own = [(s["event"], s["text"]) for s in reversed(row["steps"] if row else []) if s.get("write") == "trigger" and s["text"]]
    for _ in range(8):
        left = False
        for event in all_events():
            write(f"events/{event}/enable", "0")
            for line in reversed(triggers_of(event).splitlines()):
                write(f"events/{event}/trigger", "!" + re.sub(r" \[(active|paused)\]$", "", line))
            if triggers_of(event):
                write(f"events/{event}/trigger", "", True)
            for of, text in own:
                if of == event and triggers_of(event):
                    write(f"events/{event}/trigger", "!" + text.lstrip())
            left = left or bool(triggers_of(event))
            write(f"events/{event}/filter", "0")
        if not left:
            break
    for path, text in ("tracing_on", "1"), ("trace_clock", "local"), ("snapshot", "0"), ("trace", ""), ("error_log", ""):
        write(path, text, True)
    write("synthetic_events", "", True)
    write("uprobe_events", "", True)
    return not all_events()


class Recorder:
    def __init__(self, program):
        self.program = program
        # Definitions name files' offsets: functions are at 0x400000 and above.
        self.offsets = {}
        for line in os.popen(f"nm {program}"):
            address, _, name = line.rpartition(" ")[0].partition(" ")[0], None, line.split()[-1]
            if name.startswith("pt_"):
                self.offsets[name] = int(address, 16) - 0x400000
        self.tasks = {}     # id: mask

    def define(self, definition):
        text = re.sub(r"@OFF\((\w+)\)@", lambda m: f"0x{self.offsets[m[1]]:x}", definition.replace("@BIN@", self.program))
        failed = write("uprobe_events", text + "\n")
        if failed:
            raise RuntimeError(f"{text}: {failed}")

    def run(self, parts, number):
        out, to = os.pipe()
        pid = os.posix_spawn(self.program, [self.program, *parts], {}, file_actions=[(os.POSIX_SPAWN_DUP2, to, 1), (os.POSIX_SPAWN_CLOSE, out)])
        os.close(to)
        with os.fdopen(out) as f:
            text = f.read()
        os.waitpid(pid, 0)
        for m in re.finditer(r"^T(\d+) (\d+)", text, re.M):
            self.tasks[m[2]] = f"@T{m[1]}@" if number == 0 else f"@T{m[1]}.{number + 1}@"

    def masked(self, text):
        for task, mask in self.tasks.items():
            text = re.sub(rf"\[ *{task}\]|( ?) *(?<![0-9a-f]){task}(?![0-9a-f])|( ?) *(?<![0-9a-f]){int(task):x}(?![0-9a-f])",
                          lambda m, k=mask: f"[{k}]" if m[0].startswith("[") else f"{m[1] or m[2] or ''}{k}", text)
        return text

    def lines(self, path):
        """The entries of a trace, without what stands in front of them, and what is no entry."""
        ret, comments = [], ""
        for line in read(path).split("\n"):
            m = LINE.match(line)
            if m and m[2] in self.tasks:
                ret.append(f"{m[1]}-{m[2]}: {m[3]}")
            elif line.startswith("#") and not ret:
                comments += line + "\n"
            elif ret or line:
                ret.append(line)
        if ret and not ret[-1]:
            ret.pop()
        return [self.masked(line) for line in ret], comments

    def written(self, step):
        path = f"events/{step['event']}/trigger" if step["write"] == "trigger" else step["write"]
        if "@LISTED@" in step["text"]:
            lines = triggers_of(step["event"]).splitlines() or [""]
            step["text"] = step["text"].replace("@LISTED@", re.sub(r" \[(active|paused)\]$", "", lines[-1]))
        write("error_log", "", True)
        step["errno"] = write(path, step["text"], step.get("trunc", False))
        step["error"] = errors()
        if step["write"] == "trigger":
            step["listing"] = self.masked(triggers_of(step["event"]))
        elif step["write"] == "synthetic_events":
            step["listing"] = read("synthetic_events")

    def after(self, row):
        ret, undefined = {}, "undefined" in row
        synthetic = [e for e in all_events() if e.startswith("synthetic/")]
        for event in row["events"] + synthetic:
            ret[event + "/trigger"] = triggers_of(event)
            if not undefined:
                ret[event + "/hist"] = self.masked(read(f"events/{event}/hist"))
            ret[event + "/enable"] = read(f"events/{event}/enable").strip()
        ret["tracing_on"] = read("tracing_on").strip()
        if undefined:
            return ret
        # Characters of an event's line may be a NUL; a line has the name that the task has in the end.
        if "volatile" in row or "pt_comm" in str(row["defs"]) or any(":char" in d for d in row["defs"]):
            return ret
        ret["trace"] = self.lines("trace")[0]
        if "snapshot" in json.dumps(row["steps"]):
            lines, comments = self.lines("snapshot")
            ret["snapshot"] = lines or ("allocated" if "is allocated" in comments else "freed" if "is freed" in comments else [])
        return ret

    def answer(self, row):
        self.tasks, runs, steps = {}, 0, []
        for definition in row["defs"]:
            self.define(definition)
        for step in row["steps"]:
            if "run" in step:
                self.run(step["run"], runs)
                runs += 1
            elif step["write"] == "trigger" and not os.path.isdir(f"{TRACEFS}/events/{step['event']}"):
                continue    # a synthetic event that was refused
            else:
                self.written(step)
            steps.append(step)
        row["steps"] = steps
        row["after"] = self.after(row)
        del row["events"]


def main():
    rows, program = sys.argv[1], sys.argv[2]
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    os.sched_setaffinity(0, {0})
    # Ids of tasks that are no other number.
    for path, text in ("pid_max", "4194304"), ("ns_last_pid", "3141592"):
        with open("/proc/sys/kernel/" + path, "w", encoding="ascii") as f:
            f.write(text)
    recorder = Recorder(program)
    if not reset():
        sys.exit("there are events already")
    with open(rows, encoding="utf-8") as f:
        for number, line in enumerate(f):
            if number < first:
                continue
            row = json.loads(line)
            recorder.answer(row)
            print(json.dumps(row), flush=True)
            if not reset(row):
                sys.exit(f"{row['id']}: something stays: {[(e, triggers_of(e)) for e in all_events()]}")
    print("the rows are done", flush=True)


if __name__ == "__main__":
    main()
