# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A reader that does not read: the target is never held up, what is lost is counted;
# with --lossless nothing is lost.
. "${0%/*}/lib.bash"

F=$FIXTURES/threads
total=600000
run() { # run OPTION...: nobody reads until the target has ended, or we are told to
	start threads 2 $((total / 2))
	rm -f pipe
	mkfifo pipe
	trace_start --stats -o pipe "$@" -p "$PID" -e "p:t/tick $F:tick thread=$ARG1 i=$ARG2"
	exec {pipe}< pipe
	read -r -t "$TIMEOUT" line <&"$ready_fd" && [ "$line" = ready ] || fail "did not get ready"
	exec {ready_fd}<&-
	go
}
run
finish
cat <&"$pipe" > events.txt
exec {pipe}<&-
trace_done
got=$(grep -c ' tick: ' events.txt)
lost=$(sed -nE 's/.*\[LOST ([0-9]+) EVENTS\].*/\1/p' events.txt | awk '{ n += $1 } END { print n + 0 }')
[ "$lost" -gt 0 ] || fail "nothing was lost: this test shows nothing ($got events)"
[ $((got + lost)) = $total ] || fail "$got events and $lost lost are not $total"
grep -qE " t/tick hits=$total passed=$total lost=$lost " err.txt || fail "--stats counts otherwise"

run --lossless
cat <&"$pipe" > events.txt
exec {pipe}<&-
finish
trace_done
got=$(grep -c ' tick: ' events.txt)
[ "$got" = $total ] || fail "--lossless: $got events, not $total"
! grep -q LOST events.txt || fail "--lossless: lost some"
for t in 0 1; do
	grep -aE " thread=0x$t " events.txt | sed 's/.* i=//' | uniq | wc -l > n
	[ "$(cat n)" = $((total / 2)) ] || fail "--lossless: thread $t: $(cat n) different events"
done
