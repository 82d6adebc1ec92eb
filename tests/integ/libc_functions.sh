# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# All functions of libc that a busy python3 program calls: probed one after the
# other (a sample, or all with UBP_ALL=1), and all at once; its output is unchanged.
. "${0%/*}/lib.bash"

P=/usr/bin/python3
[ -x $P ] || skip "needs $P"
libc=$(ldd $P | awk '$1 == "libc.so.6" { print $3 }')
[ -f "$libc" ] || skip "$P has no libc.so.6"
# A copy, so that nothing else on the machine is traced.
cp "$libc" libc.so.6
cat > busy.py <<'PY'
import json, os, re, subprocess, sys, threading, time, zlib
out = []
def work(n):
    data = ("%d " % n * 500).encode()
    out.append((n, zlib.crc32(zlib.compress(data)), len(re.findall(rb"\d+", data))))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
with open("file", "w") as f: f.write(json.dumps(sorted(out)) * 20)
print(len(open("file").read()), sorted(os.listdir("/"))[:0], "%.9g" % (22 / 7), float("1e-7"))
print(subprocess.run(["/bin/echo", "child"], capture_output=True).stdout)
print(subprocess.getoutput("echo shell; exit 3"))
pid = os.fork()
if pid == 0: os._exit(7)
print(os.waitpid(pid, 0)[1], sorted(str(i) for i in range(50)) [:3], time.strftime("%Y", time.gmtime(0)))
try: open("/no/such")
except OSError as e: print(e)
PY
export LD_LIBRARY_PATH=$PWD PYTHONHASHSEED=1
$P -I -S busy.py > want.txt || fail "python alone ends with $?"

run() { # run DEFS WHAT
	"$UPROBE" --stats -o out.txt -f "$1" -- $P -I -S busy.py > got.txt 2> err.txt
	local rc=$?
	[ $rc = 0 ] || fail "$2: python ended with $rc"
	cmp want.txt got.txt || fail "$2: python's output is another: $(head -n 3 got.txt)"
}
# Which functions there are, and may be probed. An IFUNC's choice is read from a process that has made it: not from one that
# is only started now. The table for unwinding says that __restore_rt begins a byte before it does: refused where no symbol tells better.
"$UPROBE" --check 'p:l/f ./libc.so.6:*' 2> err.txt | grep -v '__restore_rt ' > defs
[ "$(wc -l < defs)" -gt 1500 ] || fail "only $(wc -l < defs) functions of libc can be probed"
run defs "all at once"
# Those that were hit, by name.
sed -nE 's/.* stats: .* l\/(\w+) hits=([1-9][0-9]*) .*/\1/p' err.txt > hit
n=$(wc -l < hit)
[ "$n" -gt 150 ] || fail "only $n functions were hit"
echo "$n functions were hit"
grep -Ff <(sed 's|.*|p:l/& |' hit) defs > defs_hit
# setjmp() keeps its return address: refused.
grep -vE 'l/f_(__GI_)?_*(sig)?setjmp ' defs_hit | sed 's/^p:l/r:r/' > returns
refused 'keeps its return address' -e 'r:r/x ./libc.so.6:_setjmp' -- $P -c ''
cat defs_hit returns > both
run both "all that are hit, entry and return"

every=$((n / 8 + 1))
[ -z "${UBP_ALL:-}" ] || every=1
awk -v e=$every -v s="${UBP_SEED:-1}" 'NR % e == s % e' both > one_by_one
while read -r def; do
	echo "$def" > one
	run one "$def"
done < one_by_one
echo "$(wc -l < one_by_one) probed one by one"
