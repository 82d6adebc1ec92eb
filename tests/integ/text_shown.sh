# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --time and --color: times as people want them, colours on terminals alone; while tracing, and of recordings. What is
# printed by default stays as it was.
. "${0%/*}/lib.bash"
have python3
: "${UBP_REPORT:?}"
F=$FIXTURES/hello

"$UPROBE" --record t.ubp -e "p:greet $F:greet n=$ARG2:s32" -e "r:ends $F:greet" -- sh -c "echo | $F a b c d > /dev/null" || fail "no recording"
"$UBP_REPORT" t.ubp > kernel.txt || fail "no report"
[ "$(count . kernel.txt)" = 8 ] || fail "not 8 events"

cat > check.py <<'END'
import re, sys, time
LINE = re.compile(r"^( *\S+-\d+ +\[\d+\] \S+ +)([-\d.:]+): (\w+: \(.*)$")
def lines(path):
    return [LINE.match(line).groups() for line in open(path)]
want, kind, path = lines("kernel.txt"), sys.argv[1], sys.argv[2]
got = lines(path) if kind != "none" else [re.match(r"^( *\S+-\d+ +\[\d+\] \S+ )(\w+: \(.*)$", line).groups() for line in open(path)]
assert len(got) == len(want) == 8, got
us = [round(float(w[1]) * 1e6) for w in want]
def near(a, b): assert abs(a - b) <= 1, (a, b) # both are rounded
for i, (g, w) in enumerate(zip(got, want)):
    assert g[0].rstrip() == w[0].rstrip() and g[-1] == w[2], (g, w)
    if kind == "relative":
        near(round(float(g[1]) * 1e6), us[i] - us[0])
    elif kind == "delta":
        near(round(float(g[1]) * 1e6), us[i] - us[max(i - 1, 0)])
    elif kind == "clock":
        h, m, s = g[1].split(":")
        of_day = round((int(h) * 3600 + int(m) * 60 + float(s)) * 1e6)
        first = of_day if i == 0 else first
        near((of_day - first) % 86400000000, us[i] - us[0])
        behind = (time.time() - of_day / 1e6) % 86400
        assert behind < 600, behind
END
check() { python3 check.py "$@" || fail "--time=$1: $(cat "$2")"; }
export TZ=UTC
for kind in relative delta clock none; do
	"$UBP_REPORT" --time=$kind t.ubp > $kind.txt || fail "$kind"
	check $kind $kind.txt
done
for kind in '' --time=kernel; do
	# shellcheck disable=SC2086 # none, or one
	"$UBP_REPORT" $kind t.ubp | diff kernel.txt - || fail "'$kind' is not the default"
done
grep -q ' 0\.000000: greet: ' relative.txt && grep -q ' 0\.000000: greet: ' delta.txt || fail "the first is not at 0"
TZ=UTC-3 "$UBP_REPORT" --time=clock t.ubp > east.txt
[ "$(($(sed -n '1s/.* \([0-9]*\):[0-9]*:[0-9.]*: greet.*/10#\1/p' east.txt) - $(sed -n '1s/.* \([0-9]*\):[0-9]*:[0-9.]*: greet.*/10#\1/p' clock.txt)))" = 3 ] ||
	[ "$(sed -n '1s/.* \([0-9]*\):[0-9]*:[0-9.]*: greet.*/\1/p' clock.txt)" -ge 21 ] || fail "not the local time"

# While it traces; with the stack, which has the time of its event.
"$UPROBE" --time=delta -s -o out.txt "p:greet $F:greet" -- sh -c "echo | $F a b > /dev/null" || fail "--time"
[ "$(grep -c ' 0\.000000: greet: ' out.txt)" = 1 ] || fail "the first is not at 0"
[ "$(grep -o '[0-9.]*: <user stack' out.txt | cut -d: -f1)" = "$(grep -o '[0-9.]*: greet' out.txt | cut -d: -f1)" ] || fail "stacks have other times"
for clock in mono real; do
	"$UPROBE" --time=clock --clock=$clock -o out.txt "p:greet $F:greet" -- sh -c "echo | $F > /dev/null" || fail "--time=clock"
	now=$(date +%s)
	then=$(date -d "$(grep -oE '[0-9]{2}:[0-9]{2}:[0-9]{2}' out.txt)" +%s) || fail "no time of day"
	[ $(((now - then + 86400) % 86400)) -lt 60 ] || fail "not now"
done

# Colours are around what is printed anyway.
bare() { sed 's/\x1b\[[0-9;]*m//g' "$1"; }
coloured() { grep -q $'\x1b' "$1"; }
"$UBP_REPORT" --color=always t.ubp > colour.txt
coloured colour.txt && bare colour.txt | diff kernel.txt - || fail "--color=always"
[ "$(grep -c $'\x1b\[1;36mgreet\x1b\[0m: ' colour.txt)" = 4 ] && [ "$(grep -c $'\x1b\[1;35mends\x1b\[0m: ' colour.txt)" = 4 ] || fail "names have no colours"
for how in '' --color=auto --color=never; do
	# shellcheck disable=SC2086 # none, or one
	"$UBP_REPORT" $how t.ubp | diff kernel.txt - || fail "'$how' into a pipe"
done
"$UPROBE" --color=always -o out.txt "p:greet $F:greet" -- sh -c "echo | $F > /dev/null"
coloured out.txt || fail "--color=always while tracing"

if type -P script > /dev/null; then
	on_terminal() { # on_terminal VARIABLES OPTION...
		local set=$1
		shift
		script -qec "env $set $UBP_REPORT $* t.ubp" shown.txt > /dev/null < /dev/null || fail "script"
		grep greet shown.txt > some.txt
	}
	on_terminal TERM=xterm && coloured some.txt || fail "no colours on a terminal"
	on_terminal TERM=xterm --color=never && ! coloured some.txt || fail "--color=never"
	on_terminal "TERM=xterm NO_COLOR=1" && ! coloured some.txt || fail "NO_COLOR"
	on_terminal "TERM=xterm NO_COLOR=" && coloured some.txt || fail "NO_COLOR, empty"
	on_terminal "TERM=xterm NO_COLOR=1" --color=always && coloured some.txt || fail "NO_COLOR is stronger than --color"
	on_terminal TERM=dumb && ! coloured some.txt || fail "TERM=dumb"
	on_terminal TERM=xterm --json && ! coloured some.txt || fail "colours in JSON"
fi

usage "--time takes kernel, relative, delta, clock or none, not 'now'" --time=now p:libc:getenv
usage '--time is for text: it excludes --json' --time=delta --json p:libc:getenv
usage "--color takes auto, always or never, not 'red'" --color=red p:libc:getenv
