# SPDX-License-Identifier: LGPL-2.1-or-later
# test-mounts
# ubp-fs from its mount to its end, as scripts use the kernel's tree: definitions, events that are waited for, several readers, a shell that
# traces itself, instances. Killed, it leaves the target as it was and a mount that says so, and starts anew on it.
. "${0%/*}/lib.bash"

[ -x "$UBP_FS" ] || skip 'ubp-fs is not built: libfuse3 is missing'
[ -w /dev/fuse ] || skip 'there is no /dev/fuse'

T=$PWD/tracing
mkdir tracing
SERVER=
end_server() {
	[ -z "$SERVER" ] || kill -KILL "$SERVER" 2> /dev/null
	fusermount3 -u -z "$T" 2> /dev/null
	cleanup
}
trap end_server EXIT

is_mounted() { [ -e "$T/README" ] || ! kill -0 "$SERVER" 2> /dev/null; }
# mount_tree: ubp-fs runs, and answers.
mount_tree() {
	"$UBP_FS" -f "$T" 2> fs.err &
	SERVER=$!
	eventually is_mounted
	[ -e "$T/README" ] || fail "ubp-fs has ended: $(cat fs.err)"
}
# What is one line, and is to be so.
is() { [ "$(cat "$1")" = "$2" ] || fail "$1 is '$(cat "$1")', not '$2'"; }
same_lines() { sed -E 's/^ +([^ ]+)-[0-9]+ +\[[0-9]+\] [^ ]+ +[0-9.]+:/\1:/; s/0x[0-9a-f]{6,}/ADDR/g; /^#/d' "$1" | diff - "$2" > diff.txt || fail "$(cat diff.txt)"; }

cp "$FIXTURES/hello" target
GREET=$(foffset_of target greet)

mount_tree
(cd "$T" && ls | sort | tr '\n' ' ') > ls.txt
grep -q '^README available_events .* uprobe_profile $' ls.txt || fail "unknown files: $(cat ls.txt)"
[ ! -e "$T/kprobe_events" ] || fail 'it pretends to have kprobe_events'

# --- definitions: a path is relative to the writer's folder, not to the server's
echo "p:g/greet ./target:$GREET name=+0(\$arg1):string" >> "$T/uprobe_events" 2> /dev/null && fail 'a fetch argument of the kernel functions is taken'
grep -q "trace_uprobe: error: " "$T/error_log" || fail 'error_log is empty'
: > "$T/error_log"
[ ! -s "$T/error_log" ] && [ -z "$(cat "$T/error_log")" ] || fail 'error_log is not truncated'
echo "p:g/greet ./target:$GREET name=+0($ARG1):string n=$ARG2:s32" >> "$T/uprobe_events"
echo "r:g/done ./target:$GREET ret=\$retval:s32" >> "$T/dynamic_events"
[ "$(cut -d' ' -f1,2 < "$T/uprobe_events" | sed 's/:0x0*/:0x/')" = "p:g/greet ./target:$GREET
r:g/done ./target:$GREET" ] || fail "listed: $(cat "$T/uprobe_events")"

# --- a reader waits; what it gets when there is something, the shell being elsewhere
cat "$T/trace_pipe" > pipe.txt &
READER=$!
echo 1 > "$T/events/g/enable"
is "$T/events/g/greet/enable" 1
echo '-:g/greet' >> "$T/uprobe_events" 2> err.txt && fail 'an enabled event can be deleted'
grep -q busy err.txt || fail "no EBUSY: $(cat err.txt)"
(cd / && echo go | "$OLDPWD/target" you too > /dev/null)
echo 0 > "$T/tracing_on"
eventually eval "! kill -0 $READER 2> /dev/null"
wait "$READER" || fail "the reader of trace_pipe has failed"
cat > want.txt <<'END'
target: greet: (ADDR) name="you" n=1
target: done: (ADDR <- ADDR) ret=3
target: greet: (ADDR) name="too" n=2
target: done: (ADDR <- ADDR) ret=3
END
same_lines pipe.txt want.txt
echo 1 > "$T/tracing_on"

# --- filter, trace, truncation
echo 'n > 1' > "$T/events/g/greet/filter"
: > "$T/trace"
echo go | ./target you too > /dev/null
sed -i 1d want.txt
same_lines "$T/trace" want.txt
: > "$T/trace"
[ -z "$(grep -v '^#' "$T/trace")" ] || fail 'trace is not empty behind its truncation'

# --- readers of one CPU; names of threads, numbers of events, and who has none; all events at once
: > "$T/trace"
ONE=$(taskset -cp $$ | sed 's/.*[ ,-]//')
echo go | taskset -c "$ONE" "$PWD/target" you too > /dev/null
python3 - "$T" "$ONE" <<'END' || fail 'files of one CPU, names, numbers'
import os, re, sys
t, one = sys.argv[1], int(sys.argv[2])
def text(name, flags=0):
    fd = os.open(f"{t}/{name}", os.O_RDONLY | flags)
    try:
        return os.read(fd, 65536).decode()
    except BlockingIOError:
        return ""
    finally:
        os.close(fd)
of_one = [int(m) for m in re.findall(r"-(\d+) +\[%03d\].* greet: " % one, text("trace"))]
assert of_one and len(set(of_one)) == 1, text("trace")
assert re.search(rf"^{of_one[0]} target$", text("saved_cmdlines"), re.M), text("saved_cmdlines")
for other in range(os.sysconf("SC_NPROCESSORS_CONF")):
    if other != one:
        assert text(f"per_cpu/cpu{other}/trace_pipe", os.O_NONBLOCK) == "", other
read = text(f"per_cpu/cpu{one}/trace_pipe", os.O_NONBLOCK)
assert len(re.findall(" greet: ", read)) == len(of_one), read
assert " greet: " not in text("trace") and f"read events: {read.count(chr(10))}\n" in text(f"per_cpu/cpu{one}/stats"), text(f"per_cpu/cpu{one}/stats")
ids = {event: text(f"events/g/{event}/id") for event in ("greet", "done")}
assert len(set(ids.values())) == 2 and all(int(i) > 0 and f"\nID: {i}" in text(f"events/g/{event}/format") for event, i in ids.items()), ids
assert text("available_events") == "g:done\ng:greet\n" and text("available_tracers") == text("current_tracer") == "nop\n"
readme = text("README")
assert all(x in readme for x in ("Create/append/", "x8/16/32/64,", "ref_ctr_offset", "u]<offset>", "imm-value,", "uprobe_events", "%return")), readme
assert text("events/enable") == text("events/g/enable") == "1\n"
with open(t + "/events/enable", "w") as f:
    f.write("0")
assert text("events/enable") == text("events/g/enable") == "0\n" and not text("set_event")
with open(t + "/events/enable", "w") as f:
    f.write("1")
assert text("set_event") == "g:done\ng:greet\n"
END

# --- an instance has events, filters and a buffer of its own
mkdir "$T/instances/mine"
echo 1 > "$T/instances/mine/events/g/done/enable"
echo 0 > "$T/events/g/enable"
echo go | ./target you > /dev/null
[ "$(grep -c ' done: ' "$T/instances/mine/trace")" = 1 ] || fail "the instance has $(cat "$T/instances/mine/trace")"
[ -z "$(grep -v '^#' "$T/trace")" ] || fail 'events of an instance are in trace'
rmdir "$T/instances/mine"

# --- a snapshot changes places with what is traced; which CPU a marker is of
CPU=$(taskset -cp $$ | sed 's/.*[ ,-]//')
in_snapshot() { sed -n 's/.*tracing_mark_write: //p' "$1" | tr '\n' ' '; }
grep -q 'Snapshot is freed' "$T/snapshot" || fail "at first snapshot is $(cat "$T/snapshot")"
taskset -c "$CPU" bash -c 'echo one > "$0"' "$T/trace_marker"
echo 1 > "$T/snapshot"
echo two > "$T/trace_marker"
[ "$(in_snapshot "$T/snapshot")|$(in_snapshot "$T/trace")" = 'one |two ' ] || fail "snapshot: $(cat "$T/snapshot" "$T/trace")"
[ "$(in_snapshot "$T/per_cpu/cpu$CPU/snapshot")" = 'one ' ] || fail "a marker of CPU $CPU: $(cat "$T/snapshot")"
echo 1 > "$T/snapshot"
[ "$(in_snapshot "$T/snapshot")|$(in_snapshot "$T/trace")" = 'two |one ' ] || fail "again: $(cat "$T/snapshot" "$T/trace")"
echo 2 > "$T/snapshot"
grep -q 'Snapshot is allocated' "$T/snapshot" || fail "emptied: $(cat "$T/snapshot")"
echo 0 > "$T/per_cpu/cpu$CPU/snapshot" 2> /dev/null && fail "that of one CPU is freed"
echo 0 > "$T/snapshot"
: > "$T/trace"

# --- each instance has a clock of its own, of which its times are
mkdir "$T/instances/clock"
grep -qx '\[local\] global mono mono_raw boot tai' "$T/instances/clock/trace_clock" || fail "clocks: $(cat "$T/instances/clock/trace_clock")"
echo go | ./target you > /dev/null
echo old > "$T/instances/clock/trace_marker"
echo tai > "$T/instances/clock/trace_clock"
grep -q old "$T/instances/clock/trace" && fail 'what was traced by another clock is there'
grep -q '^\[local\]' "$T/trace_clock" || fail 'the clock of an instance is that of the tree'
echo 1 > "$T/instances/clock/events/g/greet/enable"
echo new > "$T/instances/clock/trace_marker"
echo go | ./target you > /dev/null
python3 - "$T/instances/clock/trace" <<'END' || fail "times: $(cat "$T/instances/clock/trace")"
import re, sys, time
times = [float(x) for x in re.findall(r"(\d+\.\d{6}): (?:tracing_mark_write: new|greet: .*)$", open(sys.argv[1], encoding="ascii").read(), re.M)]
assert len(times) == 2 and sorted(times) == times and 0 <= time.clock_gettime(time.CLOCK_TAI) - times[0] < 60, times
END
echo nosuch > "$T/trace_clock" 2> /dev/null && fail 'any clock is taken'
rmdir "$T/instances/clock"

# --- synthetic events are among the dynamic ones
echo 's:synthetic/lat u64 id; int val' >> "$T/dynamic_events"
echo "p:g/later ./target:$GREET" >> "$T/uprobe_events"
[ "$(sed -n 3,4p "$T/dynamic_events" | cut -d' ' -f1 | tr '\n\t' '; ')" = 's:synthetic/lat u64;p:g/later;' ] || fail "dynamic_events: $(cat "$T/dynamic_events")"
echo 1 > "$T/events/synthetic/lat/enable"
: 2> /dev/null > "$T/dynamic_events" && fail 'all are deleted, though one is enabled'
[ "$(wc -l < "$T/dynamic_events")" = 4 ] || fail "some are deleted: $(cat "$T/dynamic_events")"
echo 0 > "$T/events/synthetic/lat/enable"
echo '-:g/later' >> "$T/dynamic_events"
echo '-:lat' >> "$T/dynamic_events"
[ "$(wc -l < "$T/dynamic_events")" = 2 ] || fail "left: $(cat "$T/dynamic_events")"

# --- several readers, each line once; poll(2)
python3 - "$T" <<'END' || fail 'readers'
import os, select, signal, sys, time
t = sys.argv[1]
fds = [os.open(t + "/trace_pipe", os.O_RDONLY | os.O_NONBLOCK) for _ in range(2)]
poll = select.poll()
poll.register(fds[0], select.POLLIN)
assert poll.poll(0) == []
try:
    os.read(fds[0], 100)
    sys.exit("nothing is read")
except BlockingIOError:
    pass
child = os.fork()
if not child:
    time.sleep(0.2)
    with open(t + "/trace_marker", "w", encoding="ascii") as f:
        f.write("one")
    os._exit(0)
assert poll.poll(20000), "poll() is not woken"
os.waitpid(child, 0)
assert os.read(fds[1], 4096).endswith(b": tracing_mark_write: one\n")
try:
    os.read(fds[0], 100)
    sys.exit("a line is read twice")
except BlockingIOError:
    pass
# A reader that waits is ended by a signal.
child = os.fork()
if not child:
    os.read(os.open(t + "/trace_pipe", os.O_RDONLY), 100)
    os._exit(0)
while open(f"/proc/{child}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[0] != "S":
    pass
os.kill(child, signal.SIGKILL)
assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
END

# --- a shell that traces itself: its write ends, and each line behind it is seen
cp "$(command -v bash)" myshell
AT=$(nm -D myshell | awk '$3 == "execute_command" { print "0x" $1 }')
if [ -n "$AT" ]; then
	AT=$(python3 -c 'import os, sys; sys.path.insert(0, os.environ["UBP_SRC"] + "/tests/oracle/lib"); import oracle; print(hex(oracle.Elf("myshell").symbols["execute_command"][0]))')
	cat > self.sh <<END
echo 'p:g/self $PWD/myshell:$AT' >> $T/uprobe_events && echo 1 > $T/events/g/self/enable && : > $T/trace
true
true
echo 0 > $T/events/g/self/enable
END
	timeout 60 ./myshell self.sh || fail 'a shell that traces itself'
	[ "$(grep -c ' self: ' "$T/trace")" -ge 3 ] || fail "the shell's own commands are not seen: $(cat "$T/trace")"
fi

# --- killed: the target goes on, the mount tells, the next run mounts anew
start hello you
echo "p:g/k $FIXTURES/hello:$(foffset_of "$FIXTURES/hello" greet)" >> "$T/uprobe_events"
echo 1 > "$T/events/g/k/enable"
kill -KILL "$SERVER"
wait "$SERVER" 2> /dev/null || true
ls "$T" 2> err.txt && fail 'a dead mount can be listed'
grep -q 'not connected' err.txt || fail "a dead mount says: $(cat err.txt)"
go
finish
mount_tree
[ -z "$(cat "$T/uprobe_events")" ] || fail 'a new run has old definitions'
"$UBP_FS" "$T" 2> err.txt && fail 'two at one place'
grep -q 'something is mounted there by FUSE' err.txt || fail "$(cat err.txt)"

# --- the end: unmounted, nothing left in the target, status 0
start hello you
text_of "$PID" "$FIXTURES/hello" before
echo "p:g/k $FIXTURES/hello:$(foffset_of "$FIXTURES/hello" greet)" >> "$T/uprobe_events"
echo 1 > "$T/events/g/k/enable"
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: status $?"
SERVER=
[ -z "$(ls "$T")" ] || fail 'still mounted'
text_of "$PID" "$FIXTURES/hello" after
cmp before after || fail 'a probe is left in the target'
untraced "$PID"
go
finish

# --- command lines
UPROBE=$UBP_FS PROGRAM=ubp-fs
usage 'no mount point is given'
usage "'b' is one word too many" a b
usage "unknown option '-x'" -x a
refused 'none: No such file or directory' "$PWD/none"
"$UBP_FS" --help | grep -q '^Usage: ubp-fs ' || fail --help
"$UBP_FS" --version | grep -q '^ubp-fs ' || fail --version
