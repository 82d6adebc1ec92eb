# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Which process traces, where the options leave that to the library: the installed engine, if it can be started, is of this version and may trace
# as much as the host; else threads of the host. An engine that is named, by engine.path or UBP_ENGINE, is had or the session fails.
. "${0%/*}/lib.bash"
have python3
unset UBP_ENGINE

# A host for which an engine is installed in a folder of the test's, which every user can read; and one that is of another version than that engine.
DIR=$(mktemp -d /tmp/ubp.XXXXXX) || fail "mktemp"
trap 'cleanup; rm -rf "$DIR"' EXIT
chmod 755 "$DIR"
installed=$DIR/engine there=$UBP_BUILD/ubp-engine
python3 - "$TOOLS/apart_host" "$DIR" "$(cat "$UBP_BUILD/engine_path")" "$("$UPROBE" --version | awk '{ print $2 }')" <<'END' || fail "the host is not as it should be"
import os, sys
source, folder, path, version = sys.argv[1:]
program = open(source, "rb").read()
old, new = path.encode() + b"\0", os.fsencode(folder) + b"/engine\0"
assert program.count(old) == 1 and len(new) <= len(old), "where the installed engine is"
program = program.replace(old, new.ljust(len(old), b"\0"))
other = program.replace(version.encode() + b"\0", b"9" * len(version) + b"\0")
assert other != program, "its version"
for name, code in ("host", program), ("other", other):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(code)
    os.chmod(os.path.join(folder, name), 0o755)
END
cp "$FIXTURES/hello" "$DIR/" && chmod 755 "$DIR/hello" || fail "cp"

# traced_by engine|host COMMAND...: a host that is begun so (it is the process itself) traces $PID, in which way is as it should be; it is ended.
traced_by() {
	local want=$1 line who=host tracer
	shift
	mkfifo host.fifo
	"$@" plain "$PID" "p:$DIR/hello:greet" > host.fifo 2> err.txt &
	UBP_PID=$!
	exec {from}< host.fifo
	rm host.fifo
	read -r -t "$TIMEOUT" line <&"$from"
	[ "$line" = ready ] || fail "$*: not ready: $line"
	! grep -qvE '^started in|taken out that a killed ubp had left$' err.txt || fail "$*: something is told"
	tracer=$(tracer_of "$PID")
	[ "$(readlink "/proc/${tracer:-0}/exe")" != "$(readlink -f "${engine:-$installed}")" ] || who=engine
	[ $who = engine ] || [ "$tracer" = "$UBP_PID" ] || fail "$*: '$tracer' traces, the host is $UBP_PID"
	[ $who = "$want" ] || fail "$*: the $who traces, not the $want"
	kill "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	exec {from}<&-
	eventually is_let_go "$PID"
}
# no_session REGEX COMMAND...: it fails, in a line.
no_session() {
	local want=$1
	shift
	! timeout "$TIMEOUT" "$@" plain "$PID" "p:$DIR/hello:greet" > out.txt 2> err.txt || fail "$*: that is well"
	[ "$(wc -l < err.txt)" = 1 ] && grep -qE -- "$want" err.txt || fail "$*: no line like '$want'"
	untraced "$PID"
}
H=$DIR/host
start "$DIR/hello"

# None is installed, or it is not to be executed, or is no program, or ends at once, or says what it should not.
traced_by host "$H" auto
no_session 'the engine .* cannot be started: No such file' "$H" apart
cp "$there" "$installed" && chmod 644 "$installed" || fail "cp"
traced_by host "$H" auto
echo 'no program' > "$installed"
chmod 755 "$installed"
traced_by host "$H" auto
no_session 'the engine .* cannot be started: Exec format error' "$H" apart
printf '#!/nowhere/interpreter\n' > "$installed"
traced_by host "$H" auto
printf '#!/bin/sh\nexit 0\n' > "$installed"
traced_by host "$H" auto
no_session 'the engine has ended' "$H" apart
printf '#!/bin/sh\nexec printf %%04096d 0 >&3\n' > "$installed"
traced_by host "$H" auto
no_session 'engine' "$H" apart

# It is there. What is asked for is done all the same.
cp "$there" "$installed" && chmod 755 "$installed" || fail "cp"
traced_by engine "$H" auto
traced_by engine "$H" apart
traced_by host "$H" here

# That of another version.
traced_by host "$DIR/other" auto
no_session "the engine is that of ubp .*, the library is 9" "$DIR/other" apart
no_session "the engine is that of ubp .*, the library is 9" "$DIR/other" "auto:$installed"

# One that is named: by the option, which comes before the variable, and is no wish for an engine where threads were asked for.
cp "$there" "$DIR/named" && chmod 755 "$DIR/named" || fail "cp"
engine=$DIR/named
traced_by engine "$H" "auto:$engine"
traced_by engine "$H" "apart:$engine"
traced_by engine env UBP_ENGINE=/nowhere/engine "$H" "auto:$engine"
traced_by engine env UBP_ENGINE="$engine" "$H" auto
traced_by engine env -C "$DIR" "$H" auto:./named
traced_by host "$H" "here:$engine"
no_session 'the engine /nowhere/engine cannot be started' "$H" auto:/nowhere/engine
no_session 'the engine /nowhere/engine cannot be started' env UBP_ENGINE="$engine" "$H" auto:/nowhere/engine
no_session 'the engine /nowhere/engine cannot be started' env UBP_ENGINE=/nowhere/engine "$H" auto
engine=
# An empty name is none.
traced_by engine env UBP_ENGINE= "$H" auto
go; finish

# --- ordinary users, who may trace less, or more by what an engine has not
[ "$(id -u)" = 0 ] || skip "needs root for other users' hosts: all else has passed"
have setpriv
[ "$(yama_scope)" = 0 ] || skip "kernel.yama.ptrace_scope is not 0: all but that has passed"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
"${user[@]}" "$H" > /dev/null 2>&1
[ $? = 2 ] || skip "another user cannot run programs here: all else has passed"
why=
# A host that has a capability by its file.
able=$DIR/able
cp "$H" "$able" || fail "cp"
if ! type -P setcap > /dev/null || ! setcap cap_sys_ptrace+ep "$able" 2> /dev/null ||
	[ "$(findmnt -no OPTIONS -T "$DIR" | tr , '\n' | grep -c '^nosuid$')" != 0 ]; then
	able= why="no file can have capabilities"
fi
printf '#!/bin/sh\nexec %s "$@"\n' "${user[*]}" > as_user
chmod 755 as_user
start "$PWD/as_user" "$DIR/hello"
traced_by engine "${user[@]}" "$H" auto
# What it may trace later is not known when the session begins.
[ -z "$able" ] || traced_by host "${user[@]}" "$able" auto
# Yama has its word: an engine is nobody's ancestor. Root may trace all the same.
if unshare -m true 2> /dev/null; then
	printf '#!/bin/sh\nmount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo 1 > /proc/sys/kernel/yama/ptrace_scope && exec "$@"\n' > yama
	chmod 755 yama
	traced_by host unshare -m ./yama "${user[@]}" "$H" auto
	traced_by engine unshare -m ./yama "${user[@]}" "$H" apart
	traced_by engine unshare -m ./yama "$H" auto
else
	why="there are no mount namespaces"
fi
go; finish

# A process of root's: what the capability allows is the host's by its file, which an engine has nothing of, or its by what it began with.
start "$DIR/hello"
no_session 'belongs to another user' "${user[@]}" "$H" auto
if [ -n "$able" ]; then
	traced_by host "${user[@]}" "$able" auto
	no_session 'belongs to another user' "${user[@]}" "$able" apart
	# The variable is not for such a program.
	traced_by host env UBP_ENGINE="$DIR/named" "${user[@]}" "$able" auto
fi
ambient=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +sys_ptrace --ambient-caps +sys_ptrace --)
if "${ambient[@]}" true 2> /dev/null; then
	traced_by engine "${ambient[@]}" "$H" auto
else
	why="no program can begin with a capability"
fi
go; finish
[ -z "$why" ] || skip "$why: all else has passed"
exit 0
