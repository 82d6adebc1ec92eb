# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Sleeps that the kernel continues with what is left of them, by restart_syscall(): attached to and
# let go again and again for as long as they last, they do last no longer than asked for. Were the
# whole of it to begin again each time, they would never end.
. "${0%/*}/lib.bash"

F=$FIXTURES/restarts
# Longer than a round takes.
MS=$((2500 * ${UBP_SLOWER:-1}))
for name in nanosleep clock_nanosleep futex futex_bitset; do
	NAME=$name start restarts $name $MS
	echo none >&"$(eval "echo \$IN_$name")" # nobody ends its wait but the limit
	begun=$SECONDS rounds=0
	while kill -0 "$PID" 2> /dev/null && ! grep -q '^State:.*Z' "/proc/$PID/status"; do
		[ $((SECONDS - begun)) -lt $((6 * MS / 1000 + 60)) ] ||
			fail "$name: asleep still, after $rounds rounds"
		"$UPROBE" -d 0.05 -p "$PID" -e "p:r/work $F:work" > out.txt 2> err.txt
		rounds=$((rounds + 1))
	done
	finish $name
	[ "$LAST" = "$name: right" ] || fail "$name: '$LAST'"
	[ $rounds -gt 1 ] || skip "a round takes longer than the sleep"
done
