# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Floating-point numbers, sums of registers, signed bit-fields, a thread's own variable: what
# is printed is what the program itself prints, however the probe is carried out.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$FIXTURES/floats
define() { # define TLS: the definitions, for a variable that far from the thread pointer
	defs=(-e "p:f/mixes $F:mixes a=%xmm0:f64 b=%xmm1:f32 n=%di:s32 c=%xmm2:f64 k=%si:s64 d=%xmm3:f32 low=%xmm0:f64"
		-e "r:f/mixed $F:mixes x=\$retval:f64"
		-e "p:f/reads $F:reads x=+0(%di+%si*8):f32 low=+4(%di+%si*8):sb5@0/32 high=+0(%di+%si*8+4):sb27@5/32 at=%si*8+%di+8 d=+0(%dx+%si*8):f64 all=+0(%dx):f64[3]"
		-e "r:f/read $F:reads x=\$retval:f32"
		-e "p:f/owns $F:owns own=+0(%fs_base$1):f64")
}
# The lines as the fixture writes them.
shown() { events | sed -E 's/^.{16}-[0-9]+ +\[[0-9]+\] .{5} +[0-9.]+: ([a-z]+): \([^)]*\)/\1/'; }

for mode in trap step auto jump; do
	start floats
	define "$WORD"
	trace --lossless --mode=$mode -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	shown > got
	diff fix.err got > diff.txt || fail "$mode: $(head -n 20 diff.txt)"
	[ "$(wc -l < got)" = 270 ] || fail "$mode: $(wc -l < got) lines"
done

# With jumps: few stops, if any. JSON has the same numbers.
explained=$("$UPROBE" --check --explain "$F:mixes%return %xmm0:f64")
if [[ $explained = *' jump ('* ]]; then
	start floats
	trace --stats --lossless --json -p "$PID" "${defs[@]}"
	go
	finish
	trace_done
	python3 - <<'PY' || fail "with jumps: not right"
import json, re
def number(text):
    return float(text) if "." in text or "e" in text or "inf" in text else int(text)
want = []
for line in open("fix.err"):
    name, *args = line.split()
    args = dict(a.split("=") for a in args)
    want.append((name, {k: [number(x) for x in v[1:-1].split(",")] if v[0] == "{" else
                        v if v.startswith("0x") else number(v) for k, v in args.items()}))
got = [json.loads(line) for line in open("out.txt")]
assert len(got) == len(want), (len(got), len(want))
for g, (name, args) in zip(got, want):
    inf = {k: float(v) if v in ("inf", "-inf") else v for k, v in g["args"].items() if not isinstance(v, list)}
    assert g["event"] == name and {**g["args"], **inf} == args, (g, name, args)
stats = dict(re.findall(r"f/(\w+) (.*)", open("err.txt").read()))
for name, n in (("mixes", 60), ("mixed", 60), ("reads", 60), ("read", 60), ("owns", 30)):
    assert " jumps=1 " in stats[name] and int(re.search(r"stopped=(\d+)", stats[name])[1]) < n, stats
PY
else
	echo "no jumps here: $explained"
fi

# Filters: the same hits pass, whoever looks at them.
for mode in trap auto jump; do
	for filter in 'a > 1.5 && n < 0' 'b <= 0.5 || c == -2.5' '!(a >= -1e50) && k & 1' 'd != 0 && a < 1e300'; do
		start floats
		trace --lossless --mode=$mode -p "$PID" -e "p:f/mixes $F:mixes a=%xmm0:f64 b=%xmm1:f32 n=%di:s32 c=%xmm2:f64 k=%si:s64 d=%xmm3:f32" \
			--filter "$filter"
		go
		finish
		trace_done
		shown > got
		python3 - "$filter" > want <<'PY' || fail "python3"
import re, sys
filter = sys.argv[1].replace("&&", " and ").replace("||", " or ").replace("!(", "not (")
for line in open("fix.err"):
    if not line.startswith("mixes"):
        continue
    values = {k: float(v) for k, v in re.findall(r"(\w)=(\S+)", line)}
    values["k"] = int(values["k"])
    if eval(filter, values):
        print(line.replace(line[line.index(" low="):], ""))
PY
		[ -s want ] || fail "nothing passes '$filter'"
		diff want got > diff.txt || fail "$mode, '$filter': $(head -n 20 diff.txt)"
	done
done

# What it becomes; what is wrong; what a kernel takes.
"$UPROBE" --check "$F:mixes x=%xmm0:f64" > out.txt 2> err.txt || fail "--check"
grep -q ' x=%xmm0:f64$' out.txt || fail "$(cat out.txt)"
"$UPROBE" -v "$F:mixes x=%xmm0:f64" | grep -q 'field:double x;.*size:8;.*signed:1' || fail "-v"
refused 'Scale of a register' "p:$F:mixes %di+%si*3"
[ "$(sed -n 's/^  \( *^\)$/\1/p' err.txt | wc -c)" = "$(echo "p:$F:mixes %di+%si*3" | wc -c)" ] || fail "$(cat err.txt)"
refused 'no bits and no patterns' "p:$F:mixes a=%xmm0:f64" 'a & 1'
offset=$(foffset_of "$F" mixes)
refused 'Invalid register name' --strict -e "p:f/x $F:$offset %xmm0"
refused 'Invalid register name' --strict -e "p:f/x $F:$offset %di+8"
refused 'Unknown type' --strict -e "p:f/x $F:$offset %di:f64"
refused 'Unknown type' --strict -e "p:f/x $F:$offset %di:sb4@0/8"
