# SPDX-License-Identifier: LGPL-2.1-or-later
# -- COMMAND: its output and exit status are its own, it is traced from its first
# instruction, with the signals it would have had.
. "${0%/*}/lib.bash"
hello=$FIXTURES/hello

# Function and events; words after -- are the command's, options among them.
echo go | "$UPROBE" -o trace.txt "p:$hello:greet name=+0($ARG1):string" -- "$hello" -n --json > out.txt 2> err.txt ||
	fail "exit status $?"
printf 'ready\n8\n' | diff -u - out.txt || fail "the command's own output is another"
[ "$(grep -o 'name=.*' trace.txt | tr '\n' ' ')" = 'name="-n" name="--json" ' ] || { cat trace.txt; fail "other events"; }
[ ! -s err.txt ] || fail "a word of ours among the command's"

# From the start: main, too.
echo go | "$UPROBE" -o trace.txt "p:$hello:main" -- "$hello" > out.txt 2> err.txt || fail "exit status $?"
[ "$(grep -c ': main: ' trace.txt)" = 1 ] || fail "main was not seen"

# Exit status, death by a signal, a command that is not there.
"$UPROBE" -o trace.txt "p:$hello:greet" -- sh -c 'exit 7' 2> err.txt; status=$?
[ $status = 7 ] || fail "exit status $status, not 7"
"$UPROBE" -o trace.txt "p:$hello:greet" -- sh -c 'kill -TERM $$' 2> err.txt; status=$?
[ $status = 143 ] || fail "exit status $status, not 143"
"$UPROBE" -o trace.txt "p:$hello:greet" -- ./no-such-command 2> err.txt; status=$?
[ $status = 1 ] || fail "exit status $status, not 1"
grep -q '^uprobe: error: .*no-such-command' err.txt || fail "no message"

# -n ends the trace, not the command.
echo go | "$UPROBE" -n 1 -o trace.txt "p:$hello:greet" -- "$hello" a bb ccc > out.txt 2> err.txt || fail "exit status $?"
[ "$(tail -n 1 out.txt)" = 6 ] || fail "the command did not come to its end"
[ "$(wc -l < trace.txt)" = 1 ] || fail "-n 1: not one event"

# The command's signal mask and dispositions are the caller's, not uprobe's. Not compared
# is whether 32 and 33 are ignored: libc takes them in any program with threads.
cat > state << 'END'
while read -r name mask; do
	case $name in
	SigBlk:) echo "blocked $mask" ;;
	SigIgn:) printf 'ignored %x\n' $((0x$mask & ~0x180000000)) ;;
	esac
done < /proc/self/status
END
bash state > want.txt
[ "$(wc -l < want.txt)" = 2 ] || fail "no signal masks"
"$UPROBE" -o trace.txt "p:$hello:greet" -- bash state > out.txt 2> err.txt || fail "exit status $?"
diff -u want.txt out.txt || fail "the command has other signals blocked or ignored"
"$UPROBE" -o trace.txt "p:$hello:greet" -- sh -c 'ls /proc/self/fd' > out.txt 2> err.txt
sh -c 'ls /proc/self/fd' > want.txt
diff -u want.txt out.txt || fail "the command has descriptors of ours"

# TERM ends the trace and is handed on; uprobe leaves with the command's status.
mkfifo ready
"$UPROBE" --ready-fd 9 -o trace.txt "p:$hello:greet" -- \
	sh -c 'trap "exit 9" TERM; while :; do sleep 0.05; done' 2> err.txt 9> ready &
UBP_PID=$!
read -r line < ready && [ "$line" = ready ] || fail "not ready"
kill -TERM "$UBP_PID"
wait "$UBP_PID"; status=$?
[ $status = 9 ] || [ $status = 143 ] || fail "TERM: exit status $status"
exit 0
