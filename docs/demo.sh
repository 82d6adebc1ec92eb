#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What "make demo" runs: real programs, real traces. Every expected event is
# looked for; one that does not come ends the demo with an error. Nothing here
# waits for time to pass: uprobe says when its probes stand (--ready-fd), the
# programs say when they are ready, and traces end with a count or a program.
set -u
UPROBE=$(realpath "${UPROBE:-build/uprobe}") || exit 1
USDT=$(realpath "${USDT:-$(dirname "$UPROBE")/usdt}") || exit 1
top=$(cd "$(dirname "$0")/.." && pwd)
hello=${HELLO:-$(dirname "$UPROBE")/fixtures/hello}
[ -x "$hello" ] || hello=$top/build/fixtures/hello
limit=${DEMO_LIMIT:-30} # s for one step, in case that nothing comes at all
tmp=$(mktemp -d) || exit 1
pids=()
trap 'kill "${pids[@]}" 2> /dev/null; rm -rf "$tmp"' EXIT

# The commands are shown as they are run: from this folder.
cp "$hello" "$tmp/hello" && cd "$tmp" || exit 1
hello=./hello

fail() { echo; echo "demo failed: $*"; cat "$tmp/err" 2> /dev/null; exit 1; }
title() { printf '\n--- %s\n' "$*"; }

# The command as one would type it. $tool is what follows runs: uprobe, or usdt.
tool=uprobe
typed() {
	local word
	printf '$ %s' "$tool"
	for word; do
		case $word in *[!A-Za-z0-9_./:=,-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
	done
	echo
}

# trace ARG...: start uprobe, come back when its probes are planted.
trace() {
	local line=
	typed "$@"
	rm -f "$tmp/ready"; mkfifo "$tmp/ready"
	timeout "$limit" "$UPROBE" --ready-fd 9 "$@" 9> "$tmp/ready" > "$tmp/out" 2> "$tmp/err" &
	uprobe=$!; pids+=("$uprobe")
	read -r -t "$limit" line < "$tmp/ready"
	[ "$line" = ready ] || fail "the probes were not planted"
}

# traced PATTERN...: wait for the end of the trace, show it; every PATTERN is in it.
traced() {
	local status pattern
	wait "$uprobe"; status=$?
	cat "$tmp/out" "$tmp/err"
	[ $status = 0 ] || fail "uprobe ended with $status"
	for pattern; do
		grep -Eq -- "$pattern" "$tmp/out" "$tmp/err" || fail "this did not come: $pattern"
	done
}

title 'what can be traced in bash?'
typed -l bash '| grep ^readline'
"$UPROBE" -l bash > "$tmp/out" 2> "$tmp/err" || fail "-l ended with $?"
grep '^readline' "$tmp/out" || fail "no readline in bash"

title 'every command that is typed in a running bash'
# A real interactive bash on a terminal of its own; a typist that waits for the
# prompt before each line.
cat > "$tmp/typist.py" << 'PY'
import os, pty, sys
pid, tty = pty.fork()
if pid == 0:
    env = dict(os.environ, PS1="demo$ ", TERM="dumb", HISTFILE="/dev/null")
    os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)
def prompt():
    seen = b""
    while not seen.endswith(b"demo$ "):
        seen += os.read(tty, 4096)
prompt()
print(pid, flush=True)
for line in sys.stdin:
    os.write(tty, line.rstrip("\n").encode() + b"\r")
    prompt()
os.write(tty, b"exit\r")
os.waitpid(pid, 0)
PY
coproc TYPIST { exec python3 "$tmp/typist.py"; }
pids+=("$TYPIST_PID"); typist=$TYPIST_PID
read -r -t "$limit" shell <&"${TYPIST[0]}" || fail "bash shows no prompt"
trace -p "$shell" -n 3 'r:bash:readline +0($retval):string'
# The shell was already inside readline when the probe came: the first line is not seen.
printf '%s\n' ':' 'cd /tmp' 'echo "Hello, $USER"' 'ls | wc -l' >&"${TYPIST[1]}"
traced 'readline: \(0x[0-9a-f]+ <- 0x[0-9a-f]+\) arg1="cd /tmp"' 'arg1="echo "Hello, \$USER""' \
	'arg1="ls \| wc -l"'
eval "exec ${TYPIST[1]}>&-"
wait "$typist" || fail "the shell was harmed"

title 'which files does libc open for a running python3? (with a filter)'
python=$(command -v /usr/bin/python3 || command -v python3)
coproc PYTHON { exec "$python" -u -c '
import socket
print("ready")
input()
try:
    socket.getaddrinfo("localhost", 80)
except OSError:
    pass  # a fresh system may not know the name: where it looked is what is traced
print("done")'; }
pids+=("$PYTHON_PID"); python=$PYTHON_PID
exec 7<&"${PYTHON[0]}" 8>&"${PYTHON[1]}"
read -r -t "$limit" line <&7 || fail "python3 did not start"
trace -p "$python" --stats 'p:libc:fopen file=+0(%di):string mode=+0(%si):string' \
	'file ~ "/etc/*"'
echo >&8
read -r -t "$limit" line <&7 || fail "python3 did not answer"
exec 7<&- 8>&-
traced 'fopen: \(0x[0-9a-f]+\) file="/etc/hosts" mode="r' 'libc.*hits='
wait "$python" || fail "python3 was harmed"
[ "$line" = "done" ] || fail "python3 did not get through"

title 'entry and return of a function, from the start of a command, as JSON'
typed -e 'p:greet '"$hello"':greet name=+0(%di):string times=%si:s32' \
	-e 'r:length '"$hello"':greet len=$retval:s32' --json -- "$hello" you world
echo go | timeout "$limit" "$UPROBE" -e "p:greet $hello:greet name=+0(%di):string times=%si:s32" \
	-e "r:length $hello:greet len=\$retval:s32" --json -- "$hello" you world \
	> "$tmp/out" 2> "$tmp/err"
status=$?
cat "$tmp/err" "$tmp/out" # the program's own output is on standard error, where JSON is to be read by others
[ $status = 0 ] || fail "uprobe ended with $status"
grep -Eq '"name": ?"world", ?"times": ?2' "$tmp/out" || fail "greet(\"world\", 2) was not seen"
[ "$(grep -Ec '"event": ?"length"' "$tmp/out")" = 2 ] || fail "two returns were not seen"
grep -qx 8 "$tmp/err" || fail "the program's own output is not right"

# named PATTERN... -- ARG...: run a command whole, show it; every PATTERN is in what it prints.
named() {
	local patterns=() pattern status
	while [ "$1" != -- ]; do patterns+=("$1"); shift; done
	shift
	typed "$@"
	echo go | timeout "$limit" "$([ $tool = usdt ] && echo "$USDT" || echo "$UPROBE")" "$@" > "$tmp/out" 2> "$tmp/err"
	status=$?
	cat "$tmp/out" "$tmp/err"
	[ $status = 0 ] || fail "$tool ended with $status"
	for pattern in "${patterns[@]}"; do
		grep -Eq -- "$pattern" "$tmp/out" "$tmp/err" || fail "this did not come: $pattern"
	done
}

title 'variables by name, with the stack of the call'
named 'greet: .* name="you" times=1$' '^ => greet\+0x[0-9a-f]+ .*hello\.c:[0-9]+$' '^ => main\+0x' -- \
	-s --frames 2 --lines 'p:./hello:greet name:string times' -- ./hello you

title 'a line of the source, and what that is to a kernel'
named '^ +[0-9]+.*greet\("world", 1\)' -- --lines-of main ./hello
line=$(sed -nE 's/^ *([0-9]+) .*greet\(argv\[i\], i\).*/\1/p' "$tmp/out")
named '^p:uprobes/main_L'"$line"' \./hello:0x[0-9a-f]+ i=' -- --definition "p:./hello:main:$line i"

title 'answers, not lines: counts by key'
named '^ +HITS  FUNCTION$' '^ +[0-9]+  .*mem' -- --count=function 'p:libc:mem*' -- bash -c 'ls / > /dev/null'

title 'a histogram of how long something takes'
named '^ +[0-9.]+(ns|us|ms|s) \.\. +[0-9.]+(ns|us|ms|s) +[1-9][0-9]* \|.' -- --hist 'r:libc:malloc $duration' -- bash -c 'ls / > /dev/null'

title 'the top of a table: for whom most memory is allocated'
named '^ +HITS +SUM +MIN +MAX +MEAN  COMM$' '^ +[0-9]+ .*  sort$' -- \
	--sum=size --by=comm --top 2 'p:libc:malloc size=%di' -- bash -c 'ls / | sort > /dev/null; :'

python3=/usr/bin/python3
if "$USDT" -l $python3 2> /dev/null | grep -qx python:import__find__load__start; then
	tool=usdt
	title 'a static probe of python3: what it imports'
	named 'import__find__load__start: .* module="colorsys"$' -- \
		'python:import__find__load__start module=arg1:string' 'module ~ "color*"' -- \
		$python3 -c 'import colorsys'
	tool=uprobe
else
	title "no static probes in $python3: left out"
fi

title 'a mistake is shown where it is'
typed 'p:bash:readline prompt=+0(%foo):string'
"$UPROBE" 'p:bash:readline prompt=+0(%foo):string' > "$tmp/out" 2>&1
status=$?
cat "$tmp/out"
[ $status = 1 ] || fail "exit status $status, not 1"
grep -q 'uprobe: error: Invalid register name' "$tmp/out" && grep -q '^ *^$' "$tmp/out" ||
	fail "no message with a caret"

printf '\nAll traces came as expected.\n'
