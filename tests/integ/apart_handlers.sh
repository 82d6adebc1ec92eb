# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Handlers of a session whose engine is a process of its own run in the host: what they do is what handlers on a tracing thread do; whoever is killed
# while one runs, the target goes on as if there had been no probe; and who waits for one does not keep it waiting.
. "${0%/*}/lib.bash"
export UBP_ENGINE=${UBP_ENGINE:-$UBP_BUILD/ubp-engine}

words=$(seq 300)
# shellcheck disable=SC2086 # words
sum=$(printf %s $words | wc -c)
# host WHERE CASE: begins to trace a new target. engine: the pid of who traces.
host() {
	local line
	# shellcheck disable=SC2086 # words
	start hello $words
	mkfifo host.in host.out
	"$TOOLS/apart_handlers" "$1" "$2" "$PID" "$FIXTURES/hello" < host.in > host.out 2> err.txt &
	UBP_PID=$!
	exec {to}> host.in {from}< host.out
	rm host.in host.out
	hear ready
	engine=$(tracer_of "$PID")
	[ "$1" = here ] || [ "$engine" != "$UBP_PID" ] || fail "$2: the host traces"
}
hear() { read -r -t "$TIMEOUT" line <&"$from" && [[ $line = $1 ]] || fail "not $1 but: $line $(cat err.txt)"; }
# host_done: it has ended; out.txt has what it said.
host_done() {
	timeout "$TIMEOUT" cat <&"$from" > out.txt || fail "the host does not end"
	wait "$UBP_PID" || fail "the host ended with $?: $(cat out.txt err.txt)"
	UBP_PID=
	exec {from}<&- {to}>&-
}
# host_killed: while its handler runs.
host_killed() {
	kill -9 "$UBP_PID"
	wait "$UBP_PID" 2> /dev/null
	UBP_PID=
	exec {from}<&- {to}>&-
}
is_gone() { ! kill -0 "$1" 2> /dev/null; }
unharmed() {
	finish
	[ "$LAST" = "$sum" ] || fail "$1: the target says $LAST, not $sum"
}

# The host is killed in its handler: no register is written, the function runs. Also where a child of it has its sockets.
for case in stands forks; do
	host apart $case
	child=
	if [ $case = forks ]; then
		hear 'child *'
		child=${line#child }
		PIDS+=("$child")
	fi
	go; hear stands
	host_killed
	unharmed $case
	eventually is_gone "$engine"
	[ -z "$child" ] || kill -9 "$child"
done

# The host is killed in a function whose first handler has changed its argument, and whose return has one, too: the first stays, the result is the function's own.
have objdump
read -r first behind < <(objdump -d --no-show-raw-insn "$FIXTURES/hello" | awk '/<greet>:/ { first = $1 } called { print first, $1; exit } first && /call|\tbl\t/ { called = 1 }')
inside=$((16#${behind%:} - 16#$first))
for where in here apart; do
	host $where "between+$inside"
	go; hear stands
	host_killed
	finish
	[ "$LAST" = $((sum - 1)) ] || fail "between, $where: the target says $LAST"
done

# The engine is killed while a handler runs: the target goes on, what the handler asks for fails with a text, and so does the session.
host apart stands
go; hear stands
kill -9 "$engine"
unharmed "killed engine"
hear 'dispatch EPIPE: the engine has ended*'
# The session is ending, and waits for the handler.
echo on >&"$to"
hear 'read 0'
hear 'write -32: the engine has ended*'
hear 'remove -32: the engine has ended*'
hear returns
host_done

# A host that is stopped keeps the thread standing, and goes on with it.
host apart stands
go; hear stands
kill -STOP "$UBP_PID"
echo on >&"$to"
kill -CONT "$UBP_PID"
hear 'read 1'
hear 'write 0:*'
hear 'remove 0:*'
hear returns
finish
# The first was left out: 1000 for 1.
[ "$LAST" = $((sum + 999)) ] || fail "the target says $LAST"
host_done

# A host that names itself, while the session runs too, is not to wait for itself: neither by .lossless nor for a handler of its own.
host apart self
while hear '*' && [ "$line" != told ]; do
	echo "$line"
done > self.txt
go; finish; host_done
cat > self.want << 'EOF'
add: 0
again: -17 process N is traced already
handler: -22 process N is the caller itself, which cannot wait for its own handlers
remove: 0
handler: 0
add: -22 process N is the caller itself, which cannot wait for its own handlers
lossless: -22 process N is the caller itself, which cannot wait for itself (lossless)
EOF
sed -E 's/process [0-9]+/process N/' self.txt | cmp -s - self.want || fail "a host that names itself: $(cat self.txt)"

# Handlers of probes that threads add while the session runs, and those that somebody waits for: the same as on a tracing thread.
for case in later stops removes; do
	for where in here apart; do
		host $where $case
		if [ $case = later ]; then
			hear added
			go; unharmed $case
			echo on >&"$to"
		else
			go; unharmed $case
		fi
		host_done
		# How many came before it was stopped is chance.
		grep -v "^events" out.txt > $where.$case
	done
	cmp here.$case apart.$case || fail "$case: $(diff here.$case apart.$case)"
done
grep -qx 'sum 182400' apart.later || fail "what handlers have seen: $(cat apart.later)"
[ "$(grep -cx '300 hits, 300 changed, 300 dropped' apart.later)" = 4 ] || fail "counts: $(cat apart.later)"
for case in stops removes; do
	grep -qx "$case: the handler is through: 1" apart.$case || fail "$case does not wait: $(cat apart.$case)"
	grep -qx "hits 1 event $([ $case = stops ] && echo "there cookie 1" || echo "gone cookie 0")" apart.$case && grep -qx 'dispatch -35' apart.$case && grep -qx 'times 1' apart.$case ||
		fail "what a handler calls: $(cat apart.$case)"
done
exit 0
