# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# The commands of the systemd unit do what it is for: a trace that keeps its newest events in memory, is asked for them, and ends.
. "${0%/*}/lib.bash"

unit=$UBP_SRC/cli/live/ubp@.service.in
line() { sed -n "s/^$1=//p" "$unit" | sed "s|@bindir@/uprobe|$UPROBE|; s|%i|$name|g; s|/etc/ubp|$PWD|"; }
name=unit-$$
if type -P systemd-analyze > /dev/null; then
	sed "s|@bindir@/uprobe|$UPROBE|; /^Documentation/d" "$unit" > "ubp@$name.service"
	systemd-analyze verify "./ubp@$name.service" > verify.txt 2>&1
	! grep "ubp@$name" verify.txt || fail "systemd-analyze: $(cat verify.txt)"
fi
start hello you and me
echo "p:unit/greet $FIXTURES/hello:greet name=+0($ARG1):string" > "$name.probes"
UBP_OPTIONS="-p $PID --ready-fd=3"
mkfifo ready
eval "$(line ExecStart)" 3> ready > out.txt 2> err.txt &
UBP_PID=$!
read -r -t "$TIMEOUT" told < ready && [ "$told" = ready ] || fail "not ready: $(cat err.txt)"
go; finish
"$UPROBE" --session="$name" --dump=kept.ubp > dump.txt 2>&1 || fail "--dump: $(cat dump.txt)"
eval "$(line ExecStop)" || fail "it cannot be ended"
wait "$UBP_PID" || fail "it ended with $?: $(cat err.txt)"
UBP_PID=
"$UBP_REPORT" kept.ubp > events.txt
[ "$(grep -c ' greet: .* name="' events.txt)" = 3 ] || fail "not three events are kept: $(cat events.txt)"
