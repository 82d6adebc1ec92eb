# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
"""Every example of the manuals, of the tutorial, the thirty tasks and the cookbook, of --help and of the README's session does what it says: each runs in a
shell, as it is printed, on programs that are at work (./app, bash, python3, PostgreSQL, ...). It ends as
documented, prints events (or what else it is for), and each line that a manual shows below it.

What differs from what is printed: process ids; -n 3 where an example goes on until Ctrl-C; one second
where it says ten. "python3" and "bash" are copies, so that no other process of the machine is traced."""

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
import threading

SRC, LIMIT = os.environ["UBP_SRC"], 30
APP = os.path.join(SRC, "tests/integ/lib/app")
# Not run, and why. Each must be there.
UNTESTED = {
    "DEBUGINFOD_URLS=https://debuginfod.debian.net uprobe -l bash 'readline*'":
        "asks a server outside; symbols_debuginfod.sh asks one of its own",
    "make": "is how this is built",
    "uprobe --tui -p 4711 -e p:libc:read -e r:libc:read": "wants a terminal; tui.py has one",
    "build/uprobe --tui -p PID -e p:libc:read -e r:libc:read": "wants a terminal; tui.py has one",
    "usdt --tui -p 4711 postgresql:query__start": "wants a terminal; tui.py has one",
}
PAGE = f"{SRC}/engine/picture/page/node_modules"
# The program that an example is about; where it is not installed, the example is left out.
NEEDED = {"postgres": "postgres", "2301": "postgres", "ruby": "ruby", "php": "php", "java": "java",
          "1822": "python3", "python": "python3", "jq": "jq"}
QUIET = re.compile(r" (-l|-v|-h|--(list|list-args|check|definition|explain|view-format|help|version|"
                   r"vars|lines-of|session|list-sessions))\b")
EVENT = re.compile(r"^ *\S.{0,15}-[0-9]+ +\[[0-9]{3}\] \S+ +[0-9.:]+: \w+: \(0x|^ *\S.{0,15}-[0-9]+ +\| +\w+\(|^\{\"time\":.*\}$|^[^;]+(;[^;]+)* [0-9]+$|^# event histogram$|^\{\"resource(?:Spans|Logs)\"", re.M)
FORMS = re.compile(r" --(csv|chrome|perfetto|pprof|ctf)\b")
COUNTS = re.compile(r" --(count|hist|sum|allocates)\b| --trigger hist:")
# A table's head, a bar, an entry as JSON or of a histogram, a stack.
COUNTED = re.compile(r"^ +(HITS|LIVE)\b|^[^;]+(;[^;]+)+ [0-9]+$|^ *\S+ \.\. +\S+ +[0-9]+ \||^\{.*\"hits\":|^\{ .* hitcount: ", re.M)
FLAMEGRAPH = "#!/bin/sh\n# In place of flamegraph.pl, which Debian has not: lines of its form, nothing else.\n" \
             "cat > lines; ! grep -qvE '^[^;]+(;[^;]+)* [0-9]+$' lines && cat lines\n"


def fail(text):
    print(f"FAIL: {text}")
    sys.exit(1)


def roff(line):
    line = re.sub(r"\\\((dq|aq)", lambda m: {"dq": '"', "aq": "'"}[m.group(1)], line)
    return line.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")


def from_manual(path):
    """(command, [lines shown below it]); an example of another form is an error."""
    examples, inside = [], False
    for number, line in enumerate(open(path, encoding="utf-8").read().split("\n"), 1):
        if line in (".EX", ".EE"):
            inside, continued = line == ".EX", False
        elif inside and (continued or line.startswith("$ ")):
            text = roff(line)
            examples[-1:] = [(examples[-1][0][:-1] + text.strip(), [])] if continued else \
                [*examples[-1:], (text[2:], [])]
            continued = examples[-1][0].endswith("\\")
        elif inside:
            examples[-1][1].append(roff(line))
        elif re.search(r"\b(uprobe|usdt) ['\\pr].*\w:\w", line) and not line.startswith(".\\\""):
            fail(f"{path}:{number}: an example of another form: {line}")
    return examples


def from_readme():
    text = open(f"{SRC}/README.md", encoding="utf-8").read()
    for block in re.findall(r"\n```\n((?:.*\n)*?)```\n", text):
        if re.search(r"^build/us?", block, re.M):
            for line in block.splitlines():
                yield re.split(r"  +# ", line)[0], []


def from_markdown(path):
    """Commands that stand apart, as in manuals; what is shown below one is indented further."""
    examples = []
    for line in open(path, encoding="utf-8").read().split("\n"):
        if line.startswith("    $ "):
            examples.append((line[6:], []))
        elif line.startswith("      ") and examples:
            examples[-1][1].append(line[6:])
    if not examples:
        fail(f"{path} has no examples")
    return examples


def from_help(command):
    for line in subprocess.run([command, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        if re.match(r"  (uprobe|usdt) ", line):
            yield re.split(r" {2,}", line.strip())[0], []


class World:
    """Programs that work, to be traced."""

    def __init__(self):
        self.running, self.pids, self.stop = [], {}, threading.Event()

    def start(self, name, argv, **more):
        self.running.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more))
        self.pids[name] = self.running[-1].pid
        return self.running[-1]

    def feed(self, text, stream):
        """Write it again and again."""
        def run():
            with contextlib.suppress(OSError):
                while not self.stop.wait(0.01):
                    os.write(stream, text)
        threading.Thread(target=run, daemon=True).start()

    def bash(self):
        pid, tty = pty.fork()
        if pid == 0:
            os.execve("bin/bash", ["bash", "--norc", "--noprofile", "-i"],
                      {"PATH": os.environ["PATH"], "TERM": "dumb", "HISTFILE": "/dev/null"})
        self.pids["bash"] = pid

        def drain():
            with contextlib.suppress(OSError):
                while os.read(tty, 4096):
                    pass
        threading.Thread(target=drain, daemon=True).start()
        self.feed(b"cd /tmp\r", tty)

    def postgres(self):
        programs = os.path.dirname(os.path.realpath(shutil.which("postgres")))
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
        os.mkdir("cluster")
        os.chmod("cluster", 0o700)
        os.chown("cluster", 65534, 65534)
        data = os.path.abspath("cluster")
        done = subprocess.run([*user, f"{programs}/initdb", "-D", data, "-A", "trust", "--no-sync"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, cwd="/")
        if done.returncode:
            print("no cluster of PostgreSQL:", done.stdout.decode().strip().split("\n")[-1])
            return False
        server = self.start("postgres", [*user, f"{programs}/postgres", "--single", "-F", "-D", data, "postgres"],
                            stdin=subprocess.PIPE, cwd="/")
        os.write(server.stdin.fileno(), b"create table t as select 1 as a\n")
        self.feed(b"UPDATE t SET a = a + 1 WHERE a < 0\ncheckpoint\n", server.stdin.fileno())
        return True

    def begin(self, have):
        self.start("app", ["./app", "0"])
        self.bash()
        if "python3" in have:
            self.start("python", ["python3", "-I", "-S", "-c", "import gc, sys, time\nwhile True:\n"
                                  "    sys.modules.pop('colorsys', None)\n    import colorsys\n"
                                  "    gc.collect()\n    time.sleep(0.005)\n"])
        if "ruby" in have:
            self.start("ruby", ["ruby", "--disable-gems", "-e", "loop { [3, 1].sort; sleep 0.005 }"])
        if "postgres" in have and not self.postgres():
            have.discard("postgres")

    def end(self):
        self.stop.set()
        ended = [name for name, pid in self.pids.items() if os.waitpid(pid, os.WNOHANG) != (0, 0)]
        for process in self.running:
            process.kill()
        if "bash" not in ended:
            os.kill(self.pids["bash"], 9)
        for process in self.running:
            process.wait()
        return ended


def prepare():
    os.mkdir("bin")
    for name, env in (("uprobe", "UPROBE"), ("usdt", "USDT"), ("ubp-report", "UBP_REPORT")):
        with open(f"bin/{name}", "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\nexec "{os.environ[env]}" {"" if env == "UBP_REPORT" else "$BOUND"} "$@"\n')
        os.chmod(f"bin/{name}", 0o755)
    os.symlink("bin", "build")
    shutil.copy("/bin/bash", "bin/bash")
    have = {"python3"} if os.path.exists("/usr/bin/python3.11") else set()
    if have:
        shutil.copy("/usr/bin/python3.11", "bin/python3")
    os.environ["PATH"] = os.pathsep.join([os.path.abspath("bin"), "/usr/bin", "/bin", "/usr/sbin", "/sbin"])
    server = [f"/usr/lib/postgresql/{v}/bin" for v in sorted(os.listdir("/usr/lib/postgresql"))] \
        if os.path.isdir("/usr/lib/postgresql") else []
    if server and os.path.exists(server[-1] + "/postgres") and os.getuid() == 0:
        os.environ["PATH"] += os.pathsep + server[-1]
    have |= {name for name in ("ruby", "php", "java", "jq", "postgres") if shutil.which(name)}
    if not shutil.which("flamegraph.pl"):
        with open("bin/flamegraph.pl", "w", encoding="utf-8") as script:
            script.write(FLAMEGRAPH)
        os.chmod("bin/flamegraph.pl", 0o755)
    for source in os.listdir(APP):
        shutil.copy(os.path.join(APP, source), source)
    for command in ("gcc -g -O1 -c parse.c queue.c", "g++ -g -O1 -c names.cc",
                    "g++ -Wl,--build-id -o app parse.o queue.o names.o",
                    "mkdir debug", "objcopy --only-keep-debug app debug/stripped.debug",
                    "objcopy --strip-all --add-gnu-debuglink=debug/stripped.debug app stripped"):
        if subprocess.run(command.split(), check=False).returncode:
            fail(command)
    with open("app.py", "w", encoding="utf-8") as script:
        script.write("import gc\nfor i in range(9):\n    gc.collect(i % 3)\n")
    with open("t.php", "w", encoding="utf-8") as script:
        script.write("<?php function twice($x) { return 2 * $x; } for ($i = 0; $i < 3; $i++) twice($i);\n")
    return have


def shape(text):
    """What differs from run to run is masked."""
    text = text.replace(os.path.abspath("bin"), "/usr/bin").replace(os.getcwd(), "/srv")
    text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{16}\b", "0xH", text)
    return " ".join(re.sub(r"[0-9]+(\.[0-9]+)*", "N", text).split())


def run(example, shown, world):
    """None, or what is wrong."""
    command = example.replace("4711", str(world.pids["app"])).replace("4712", str(world.pids["app"]))
    command = command.replace("1822", str(world.pids.get("python"))).replace("2301", str(world.pids.get("postgres")))
    pid = world.pids["postgres" if "postgresql:" in command and "postgres" in world.pids else "app"]
    command = re.sub(r"\b(PID|181)\b", str(pid), command).replace("-d 10 ", "-d 1 ")
    tool = re.search(r"\b(uprobe|usdt) ", command)
    if not tool:
        return None if subprocess.run(command, shell=True, check=False).returncode == 0 else "failed"
    tracing = not (QUIET.search(command) or re.search(r"\busdt -L ", command))
    # What is counted are no events, and of each place there may be one only.
    limit = "-d 1" if COUNTS.search(command) or " --once " in command else "-n 3"
    bound = limit if tracing and not re.search(r" -(d|n) | -- ", command) else ""
    # The functions of libraries are those of all programs: ours will do.
    if tracing and " -- " not in command and not re.search(r" -(p|L|-tid) ", command) and "libc" in command:
        bound += f" -p {pid}"
    files = re.findall(r"(?: -o | > | --otlp=)([\w.]+)(?= |$)", command)
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            (shutil.rmtree if os.path.isdir(file) else os.unlink)(file)
    try:
        done = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], env={**os.environ, "BOUND": bound},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)
        out, err = (x.decode(errors="replace") for x in done.communicate(timeout=LIMIT))
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, 2)
        out, err = done.communicate()
        return f"does not end: {out[-500:]} {err[-500:]}"
    if FORMS.search(command) and not all(os.path.exists(file) and os.path.getsize(file) for file in files):
        return f"{files} are not there"
    out += "".join(open(file, encoding="utf-8", errors="replace").read() for file in files if os.path.isfile(file))
    everything = f"exit status {done.returncode}\n{out[-3000:]}{err[-3000:]}"
    refused = any(line.startswith((f"{tool.group(1)}: error:", "Try ")) for line in shown)
    if done.returncode != (1 if refused else 0):
        return everything
    if not refused and "error:" in err:
        return everything
    if tracing and not refused and " jq " not in command and not FORMS.search(command):
        counts = COUNTS.search(command)
        if not (COUNTED if counts else EVENT).search(out):
            return "no event\n" + everything
        for name in re.findall(r"[' ](\w+)=[+$%a-z]", command):
            if not counts and " --folded " not in command and not re.search(rf"\b{name}=|\"{name}\":", out):
                return f"no {name}\n" + everything
    if not tracing and not out.strip():
        return "prints nothing\n" + everything
    got = {shape(line) for line in (out + err).split("\n")}
    for line in shown:
        pattern = ".*".join(re.escape(shape(part)) for part in line.split("..."))
        # A local function of a library: it has a name where its debug symbols are installed.
        pattern = re.sub(r"\\\[\S+?\\\](?=;)", r"(\g<0>|\\w+)", pattern)
        if not any(re.fullmatch(pattern, x) for x in got):
            return f"does not print\n{line}\n{pattern}\n" + everything
    return None


def main():
    pages = [example for page in ("tutorial", "tasks", "cookbook") for example in from_markdown(f"{SRC}/docs/{page}.md")]
    # Of these alone: what a newcomer tries (tests/machine/first_hour.sh).
    examples = pages if "UBP_PAGES" in os.environ else \
        [*from_manual(f"{SRC}/docs/man/uprobe.1"), *from_manual(f"{SRC}/docs/man/usdt.1"), *from_readme(), *pages,
         *from_help(os.environ["UPROBE"]), *from_help(os.environ["USDT"])]
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    for program in ("gcc", "g++", "objcopy"):
        if not shutil.which(program):
            print(f"needs {program}")
            sys.exit(77)
    have, world, bad, left_out, n_run = prepare(), World(), 0, 0, 0
    for example in UNTESTED.keys() - {command for command, _ in examples} if examples is not pages else ():
        fail(f"no such example any more: {example}")
    try:
        world.begin(have)
        done = set()
        for example, shown in examples:
            # What a page has from the manual is run once, unless it shows what comes.
            is_again = example in done and not shown and "--session" not in example
            done.add(example)
            if example in UNTESTED or only not in example or is_again:
                continue
            missing = {program for word, program in NEEDED.items() if word in example} - have
            if ".html" in example and not os.path.isdir(PAGE):
                missing.add("page, which is made of what npm fetches")
            if missing:
                print(f"left out, no {' '.join(missing)}: {example}")
                left_out += 1
                continue
            wrong = run(example, shown, world)
            n_run += 1
            if wrong:
                print(f"$ {example}\n{wrong}")
                bad += 1
    finally:
        for name in world.end():
            print(f"{name} did not live on")
            bad += 1
    print(f"{n_run} examples, {left_out} left out, {bad} wrong")
    if bad or (not only and n_run < (70 if examples is pages else 100)):
        sys.exit(1)


main()
