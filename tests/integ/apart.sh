# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A session whose engine is a process of its own: waits, signals, limits, memory of the host are as if there were none, host and engine may be killed
# at any moment, and the target is unharmed. UBP_APART=here shows what of it is not so with threads of the host's.
. "${0%/*}/lib.bash"
export UBP_ENGINE=${UBP_ENGINE:-$UBP_BUILD/ubp-engine}
where=${UBP_APART:-apart}

# host CASE FIXTURE [ARG...]: begins to trace it. engine: the pid of who traces.
host() {
	local case=$1 place=$2 line
	shift 2
	start "$@"
	mkfifo host.fifo
	(ulimit -Sn 256; exec "$TOOLS/apart_host" "$where" "$case" "$PID" "p:$FIXTURES/$1:$place") > host.fifo 2> err.txt &
	UBP_PID=$!
	exec {from}< host.fifo
	rm host.fifo
	read -r -t "$TIMEOUT" line <&"$from" && [ "$line" = ready ] || fail "$case: not ready: $line"
	engine=$(tracer_of "$PID")
}
# host_done [STATUS]: it has ended; out.txt has what it found.
host_done() {
	timeout "$TIMEOUT" cat <&"$from" > out.txt || fail "it does not end"
	exec {from}<&-
	wait "$UBP_PID" || fail "the host ended with $?"
	UBP_PID=
}
found() { grep -qxE -- "$1" out.txt || fail "not found: $1"; }
is_gone() { ! kill -0 "$1" 2> /dev/null; }

words=$(seq 300)
for case in waits signals limits; do
	# shellcheck disable=SC2086 # words
	host $case greet hello $words
	[ "$where" = here ] || [ "$engine" != "$UBP_PID" ] || fail "the host traces"
	go; finish; host_done
	found 'events 300'
	found 'done 1 failed 0'
	case $case in
	waits) found 'children [1-9][0-9]* strange 0' ;;
	signals) found 'signals 0' ;;
	limits) found 'limit \+0 descriptors few' ;;
	esac
	[ "$where" = here ] || eventually is_gone "$engine"
done

# Nobody has a copy of a page of the host's, which would be paid for when that is written to.
host memory greet hello you
go; finish; host_done
[ "$(sed -n 's/^pages //p' out.txt)" -lt 5000 ] || fail "the host has paid for $(grep pages out.txt)"

# Who runs for somebody else does not have an engine that somebody names.
if [ "$(id -u)" = 0 ] && [ "$where" != here ]; then
	pub=$(mktemp -d /tmp/ubp-secure.XXXXXX) && chmod 777 "$pub" && cp "$TOOLS/apart_host" "$pub/host" || fail "cp"
	trap 'rm -rf "$pub"; cleanup' EXIT
	printf '#!/bin/sh\necho ran > %s/ran\nexit 1\n' "$pub" > "$pub/engine"
	chmod 755 "$pub/engine"
	start busy 2
	UBP_ENGINE=$pub/engine timeout "$TIMEOUT" "$pub/host" apart plain "$PID" "p:$FIXTURES/busy:step" > out.txt 2>&1
	[ -e "$pub/ran" ] || fail "the engine that UBP_ENGINE names is not run: $(cat out.txt)"
	rm "$pub/ran"
	if [ "$(findmnt -no OPTIONS -T "$pub" | tr , '\n' | grep -c '^nosuid$')" = 0 ]; then
		chown 65534 "$pub/host" && chmod 4755 "$pub/host" || fail "chmod"
		UBP_ENGINE=$pub/engine timeout "$TIMEOUT" "$pub/host" apart plain "$PID" "p:$FIXTURES/busy:step" > out.txt 2>&1
		[ ! -e "$pub/ran" ] || fail "with another's rights the engine that UBP_ENGINE names is run"
	fi
	go; finish
	rm -rf "$pub"
	trap cleanup EXIT
fi

# The host is killed, and a child of it has all of its descriptors: the engine ends all the same, and takes everything out.
host forks step busy 2
read -r word child <&"$from"
[ "$word" = child ] && PIDS+=("$child") || fail "no child: $word"
text_of "$PID" "$FIXTURES/busy" planted
kill -9 "$UBP_PID"
wait "$UBP_PID" 2> /dev/null
UBP_PID=
exec {from}<&-
eventually is_gone "$engine"
untraced "$PID"
text_of "$PID" "$FIXTURES/busy" after
! cmp -s planted after || fail "what was planted is still there"
kill -9 "$child"
go; finish

# The engine is killed: an error tells so, the target goes on, and the next session takes out what is left.
host plain step busy 2
kill -9 "$engine"
host_done
found 'dispatch: EPIPE: the engine has ended.*'
found 'done 1 failed 1'
alive
trace -p "$PID" -n 1 "p:$FIXTURES/busy:step"
trace_done
untraced "$PID"
go; finish

# hold: whoever opens the file "prog" waits until "$holder" is killed, and his pid is told to $held.
hold() {
	local line
	mkfifo opened
	python3 -c '
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
held = libc.fanotify_init(4, 0)  # FAN_CLASS_CONTENT
wait, _ = os.pipe()  # until it is killed
if held < 0 or libc.fanotify_mark(held, 1, ctypes.c_uint64(0x10000), -100, b"prog") < 0:  # FAN_OPEN_PERM
    sys.exit(os.strerror(ctypes.get_errno()))
print("held", flush=True)
print(struct.unpack("=IBBHQii", os.read(held, 24))[-1], flush=True)  # who opens it
os.read(wait, 1)' > opened &
	holder=$!
	PIDS+=("$holder")
	exec {held}< opened
	rm opened
	read -r -t "$TIMEOUT" line <&"$held" && [ "$line" = held ] || fail "no file is held"
}
if [ "$where" = apart ] && (export WHY=; need_hold) > /dev/null; then
	cp "$FIXTURES/hello" prog
	# The host is killed while the engine waits for a file that nobody gives it: the engine ends all the same.
	start hello
	hold
	# In a sanitized build: who looks for lost memory would wait for all threads, one of which waits for the file.
	ASAN_OPTIONS=detect_leaks=0 "$TOOLS/apart_host" apart plain "$PID" "p:$PWD/prog:greet" > out.txt 2> err.txt &
	UBP_PID=$!
	read -r -t "$TIMEOUT" engine <&"$held" || fail "nobody opens the file"
	[ "$(cat "/proc/$engine/comm")" = ubp-engine ] || fail "it is not the engine that opens the file"
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	eventually is_gone "$engine"
	kill "$holder"
	exec {held}<&-
	go; finish

	# A change that waits for it keeps no event waiting.
	hold
	# shellcheck disable=SC2086 # words
	host beside greet hello $words
	read -r -t "$TIMEOUT" _ <&"$held" || fail "nobody opens the file"
	go; finish
	read -r -t "$TIMEOUT" line <&"$from" && [ "$line" = 'all came' ] || fail "events wait for a change: $line"
	kill "$holder"
	exec {held}<&-
	host_done
	found 'added .*'
	found 'events 300'
fi

# counts WHERE CASE FIXTURE [ARG...]: what triggers and counts tell goes to WHERE.CASE.
counts() {
	local traces=$1 case=$2
	shift 2
	start "$@"
	mkfifo host.fifo
	"$TOOLS/apart_counts" "$traces" "$case" "$PID" "$FIXTURES/$1" "$ARG1" "$ARG2" > host.fifo 2> err.txt &
	UBP_PID=$!
	exec {from}< host.fifo
	rm host.fifo
	while read -r -t "$TIMEOUT" line <&"$from"; do
		[ "$line" != ready ] || break
		echo "$line"
	done > "$traces.$case"
	[ "$line" = ready ] || fail "$case: not ready: $line"
	[ "$traces" = here ] || [ "$(tracer_of "$PID")" != "$UBP_PID" ] || fail "$case: the host traces"
	go; finish
	timeout "$TIMEOUT" cat <&"$from" >> "$traces.$case" || fail "it does not end"
	exec {from}<&-
	wait "$UBP_PID" || fail "$case: the host ended with $?"
	UBP_PID=
}
[ "$where" = here ] || for case in triggers settled marks later traces names tally heap record folder; do
	for traces in here apart; do
		rm -rf rec elsewhere
		# shellcheck disable=SC2086 # words
		counts $traces $case hello $words
		case $case in
		record) "$UBP_REPORT" rec > "$traces.events" ;;
		folder) [ ! -e rec ] && "$UBP_REPORT" elsewhere/rec > "$traces.events" ;;
		esac || fail "$case: there is no recording where it should be"
		LC_ALL=C sort "$traces.$case" > "$traces.sorted"
	done
	cmp -s here.sorted apart.sorted || fail "$case: $(diff here.sorted apart.sorted | head -n 20)"
	case $case in
	triggers)
		[ "$(grep -c '^made pair times=[0-9]* len=[123]$' apart.triggers)" = 300 ] || fail "synthetic events"
		# What an event's filter drops is counted all the same.
		grep -qx 'row 0 hits 21 times:5 7 40 0 - times=6090' apart.triggers || fail "rows of a histogram"
		grep -qx 'events 910' apart.triggers || fail "events: $(grep '^events' apart.triggers)"
		;;
	settled) grep -q 'hitcount: *40$' apart.settled || fail "a settled histogram" ;;
	marks) grep -v '^snapshot if' apart.marks | cmp -s - <(echo 'on snapshot: 0'; printf 'snapshot of %d\n' 100 250; echo 'events 300') || fail "snapshots" ;;
	later) grep -qx 'events 300' apart.later || fail "what comes behind a snapshot" ;;
	traces)
		[ "$(grep -c '^made seen in two times' apart.traces)" = 300 ] && grep -qx "copy of one in 'two'" apart.traces || fail "synthetic events of a trace"
		grep '^snapshot of' apart.traces | cmp -s - <(printf "snapshot of '%s'\n" one two '' two) || fail "snapshots of traces: $(grep '^snapshot of' apart.traces)"
		grep -qx "trace 'one' on 0" apart.traces && grep -qx "trace 'two' on 1" apart.traces || fail "what a trace switches off"
		;;
	names)
		grep -qx 'named 301' apart.names || fail "names of stacks"
		grep -qx 'stacks of triggers 1' apart.names || fail "an event that is there for its stack"
		;;
	tally) grep -q '^n 300 hits 300 dropped 0$' apart.tally || fail "counts" ;;
	heap) grep -q '"live":45150' apart.heap || fail "the heap" ;;
	record | folder) [ "$(grep -c 'greet' apart.events)" = 300 ] || fail "events of a recording" ;;
	esac
done

# An engine that is not there, or of another kind, is refused in a line.
start hello
for engine in /nowhere/engine /bin/true; do
	! UBP_ENGINE=$engine "$TOOLS/apart_host" apart plain "$PID" "p:$FIXTURES/hello:greet" > out.txt 2> err.txt || fail "$engine will do"
	[ "$(wc -l < err.txt)" = 1 ] && grep -q engine err.txt || fail "$engine: no line that tells so"
done
go; finish
exit 0
