# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Nothing that ubp maps is ever writable and executable at once. The kernel watches:
# ubp and its target live under a seccomp filter that kills for asking for it, and
# that is not suspended, because ubp lives under it too. And /proc/PID/maps is looked
# at over and over while hundreds of functions are planted.
. "${0%/*}/lib.bash"

need_arch x86_64
P=/usr/bin/python3
[ -x $P ] || skip "needs $P"
libc=$(ldd $P | awk '$1 == "libc.so.6" { print $3 }')
[ -f "$libc" ] || skip "$P has no libc.so.6"
cp "$libc" libc.so.6
# That the filter does kill.
"$FIXTURES/confined" nowx $P -c 'import mmap; mmap.mmap(-1, 4096, prot=2); mmap.mmap(-1, 4096, prot=5)' ||
	fail "the filter kills for less"
"$FIXTURES/confined" nowx $P -c 'import mmap; mmap.mmap(-1, 4096, prot=6)' 2> /dev/null
[ $? = 159 ] || fail "the filter does not kill"

nm -D --defined-only libc.so.6 | awk '$2 == "T" || $2 == "W" { sub("@.*", "", $3); print $3 }' | sort -u |
	grep -vE '^_*(sig)?setjmp$' | awk 'NR % 12 == 1' > names
for name in $(cat names) open64 close gmtime_r __gmtime_r malloc; do
	def="p:w/${name//[^A-Za-z0-9_]/_} $PWD/libc.so.6:$name"
	"$UPROBE" --force --check -e "$def" > /dev/null 2>&1 && echo "$def"
done | sort -u > defs
cat > look.py <<'PY'
import sys
pid, seen, bad = sys.argv[1], 0, set()
print("looking", flush=True)
while True:
    try:
        with open(f"/proc/{pid}/maps") as f:
            lines = f.read().splitlines()
    except OSError:
        break
    if not lines:
        break
    seen += 1
    bad |= {l for l in lines if "w" in l.split()[1] and "x" in l.split()[1]}
print(seen, "times", *bad)
sys.exit(bool(bad) or seen < 10)
PY
cat > work.py <<'PY'
import sys, time, os
print("ready", flush=True)
sys.stdin.readline()
for i in range(200): open("/dev/null").close(); time.gmtime(i); str(i / 7)
print("right", os.getpid() > 0)
PY
printf '#!/bin/sh\nexec %s nowx %s -I -S work.py\n' "$FIXTURES/confined" $P > work
printf '#!/bin/sh\nexec %s nowx %s "$@"\n' "$FIXTURES/confined" "$UPROBE" > uprobe
chmod 755 work uprobe
export LD_LIBRARY_PATH=$PWD
real=$UPROBE
for mode in trap step auto; do
	start "$PWD/work"
	$P -I -S look.py "$PID" > look.txt &
	look=$!
	wait_for look.txt looking
	UPROBE=$PWD/uprobe
	trace --force --mode $mode -p "$PID" -f defs
	UPROBE=$real
	go
	finish
	[ "$LAST" = "right True" ] || fail "$mode: it says '$LAST'"
	trace_done
	wait $look || fail "$mode: writable and executable: $(tail -n 1 look.txt)"
	[ "$(count)" -gt 500 ] || fail "$mode: $(count) hits"
done
echo "$(wc -l < defs) functions, maps read $(tail -n 1 look.txt)"
