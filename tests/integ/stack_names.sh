# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Stacks with names: functions, inlined ones and lines are those that gdb tells; what has no
# symbols tells its place in the file; files are those of the process, deleted,
# replaced, or in another root; what has ended is named all the same. The frames are found by libdw, and by
# libunwind, where all of them are compared with gdb's; then by libdw alone, since names come behind that.
. "${0%/*}/lib.bash"
need_arch x86_64

F=$(realpath "$FIXTURES/stack_names")
echo go > go
command -v gdb > /dev/null && gdb -nx -batch -ex 'set print frame-arguments none' -ex 'set pagination off' -ex 'break bottom' \
	-ex 'run < go' -ex bt -ex c -ex bt -ex c -ex bt "$F" > gdb.txt 2>&1
for KIND in cfi unwind; do
echo go | "$UPROBE" --stack=$KIND --lines -o lines.txt -e "p:s/bottom $F:bottom" -- "$F" 1 > stdout.txt || fail "$KIND: status $?"
python3 - "$F" <<'PY' || fail "$KIND: not the names"
import os, re, sys
def ours():
    for line in open("lines.txt"):
        m = re.match(r" => (.*?)(\+0x[0-9a-f]+| \(inlined\)) \(([^)]*)\)(?: .*?([^/ ]*:\d+))?$", line)
        if "<user stack trace>" in line:
            yield []
        elif m and m[3] == sys.argv[1] and m[1] != "_start":
            yield m[1], m[4], m[2]
def split(items):
    stacks = []
    for item in items:
        if not item:
            stacks.append([])
        else:
            stacks[-1].append(item)
    return stacks
got = split(ours())
def want(kind):
    return ["bottom", "shop::item::pay", "shop::inner", "shop::twice", f"shop::basket<{kind}>::checkout",
            "shop::(anonymous namespace)::hidden", "shop::open_all", "main"]
assert [[f[0] for f in s] for s in got] == [want("long"), want("unsigned char"), ["bottom", "compare", "main"]], got
for stack in got[:2]:
    assert [f[0] for f in stack if "inlined" in f[2]] == ["shop::inner", "shop::twice"], stack
    assert stack[0][2] == "+0x0" and all(f[1] for f in stack), stack
if not os.path.exists("gdb.txt"):
    print("without gdb: its part is skipped")
    sys.exit()
def theirs():
    for line in open("gdb.txt", errors="replace"):
        m = re.match(r"#(\d+) +(?:0x[0-9a-f]+ in )?(.*) \(.*\) at (.*:\d+)$", line)
        if m and m[1] == "0":
            yield []
        if m and "stack_names" in m[3]:
            yield m[2], os.path.basename(m[3])
told = split(theirs())
assert len(told) == 3, open("gdb.txt").read()
assert [[f[:2] for f in s] for s in got] == told, (got, told)
PY
done

# Without lines: the same functions but the inlined ones. As JSON.
echo go | "$UPROBE" -s --json -o out.json -e "p:s/bottom $F:bottom" -- "$F" 1 > stdout.txt || fail "json: $?"
python3 - "$F" <<'PY' || fail "json"
import json, sys
events = [json.loads(line) for line in open("out.json")]
assert len(events) == 3
names = [f.get("function") for f in events[0]["stack"]]
want = ["bottom", "shop::item::pay", "shop::basket<long>::checkout", "shop::(anonymous namespace)::hidden",
        "shop::open_all", "main"]
assert names[:6] == want, names
for f in events[0]["stack"][:6]:
    assert f["file"] == sys.argv[1] and "source" not in f and "inlined" not in f, f
    assert int(f["addr"], 16) % 4096 == int(f["file_addr"], 16) % 4096
assert events[0]["stack"][0]["offset"] == 0
PY
echo go | "$UPROBE" -s --stack-raw -o raw.txt -e "p:s/bottom $F:bottom" -- "$F" 1 > stdout.txt || fail "raw: $?"
grep -qE '^ =>  <[0-9a-f]{16}>$' raw.txt || fail "raw"
! grep '^ => ' raw.txt | grep -qvE '^ =>  <[0-9a-f]{16}>$' || fail "raw has more"

# Stripped: places in the file, by which others find the function.
have strip
strip -o stripped "$F" || fail "strip"
at=$("$UPROBE" --check -e "p:s/bottom $F:bottom" | sed -n 's/.*:0x0*\([0-9a-f]*\)$/\1/p')
echo go | "$UPROBE" -s -o out.txt -e "p:s/bottom ./stripped:0x$at" -- ./stripped 1 > stdout.txt || fail "stripped: $?"
here=$(realpath stripped)
place=$(nm "$F" | sed -n 's/^0*\([0-9a-f]*\) T bottom$/\1/p')
grep -qE "^ => 0x[0-9a-f]+ \\($here\\+0x$place\\)$" out.txt || fail "stripped"
[ "$(sed -n '1,/<user stack/d; /=>/!q; p' out.txt | grep -c "($here+0x")" -ge 6 ] || fail "too few of the stripped file"

# Deleted while it runs, and another program in its place.
[ -r /proc/self/map_files ] && ls -l /proc/self/map_files > /dev/null 2>&1 || skip "the rest needs privilege"
cp "$F" gone
start "$PWD/gone" 1
trace -s -p "$PID" -e "p:s/bottom ./gone:bottom"
cp /bin/true other
mv other gone
go
finish
trace_done
grep -qE '^ => shop::item::pay\+0x[0-9a-f]+ \(.*/gone( \(deleted\))?\)$' out.txt || fail "replaced"

# Two roots, each with a program of its own at the same path.
command -v bwrap > /dev/null || skip "the rest needs bubblewrap"
mkdir a b
cp "$F" a/prog
cp "$FIXTURES/stack_fp" b/prog
in_root() { bwrap --ro-bind / / --proc /proc --tmpfs /mnt --ro-bind "$PWD/$1/prog" /mnt/prog --unshare-pid "${@:2}"; }
in_root a true 2> /dev/null || skip "bubblewrap does not work here"
for r in a b; do
	printf '#!/bin/sh\nexec bwrap --ro-bind / / --proc /proc --tmpfs /mnt --ro-bind %s/%s/prog /mnt/prog /mnt/prog "$@"\n' "$PWD" $r > run_$r
	chmod 755 run_$r
	NAME=$r start "$PWD/run_$r" 1 1
done
trace -s -e "p:s/bottom ./a/prog:bottom" -e "p:s/leaf ./b/prog:leaf"
go a
go b
finish a
finish b
# Files are read for names meanwhile, which an end would cut short.
wait_for out.txt '^ => shop::open_all\+0x[0-9a-f]* \(/mnt/prog\)$'
wait_for out.txt '^ => middle\+0x[0-9a-f]* \(/mnt/prog\)$'
trace_stop
grep -q '^ => shop::open_all+0x[0-9a-f]* (/mnt/prog)$' out.txt || fail "root a"
grep -q '^ => middle+0x[0-9a-f]* (/mnt/prog)$' out.txt || fail "root b"
! grep -q '^ => 0x[0-9a-f]* (/mnt/prog' out.txt || fail "not all are named"
