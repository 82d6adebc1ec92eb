# SPDX-License-Identifier: LGPL-2.1-or-later
# test-mounts
# perf-tools' script "uprobe", unmodified, on the tree of ubp-fs, which is bound over the kernel's in a mount namespace of its own: the definition's
# format, entries and returns, filters, a process, a thread, for a time and until it is interrupted.
. "${0%/*}/lib.bash"

[ -x "$UBP_FS" ] || skip 'ubp-fs is not built: libfuse3 is missing'
[ -w /dev/fuse ] || skip 'there is no /dev/fuse'
need_root
need_arch x86_64
for tool in file objdump ldconfig awk; do have $tool; done
SCRIPT=${UBP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ubp}/perf-tools/uprobe-perf
[ -f "$SCRIPT" ] || SCRIPT=$(type -P uprobe-perf) || skip 'NOT PROVED HERE: there is no uprobe of perf-tools (.ci/tree-programs.sh perf-tools)'
[ -d /sys/kernel/debug ] || skip 'there is no /sys/kernel/debug, where the script looks'
unshare -m true || skip 'no mount namespace can be made'

cp "$FIXTURES/hello" target
mkdir tracing
cat > inside.bash <<'END'
set -eu
"$UBP_FS" -f tracing &
fs=$!
# It is in this namespace, too, and so would keep the mount below.
trap 'kill $fs && wait $fs' EXIT
until [ -e tracing/README ]; do kill -0 $fs; done
mount -t tmpfs tmpfs /sys/kernel/debug
mkdir /sys/kernel/debug/tracing
mount --bind tracing /sys/kernel/debug/tracing
# Its lock is for all that use the kernel's tree.
mount -t tmpfs tmpfs /var/tmp
enabled() { grep -q 1 tracing/events/uprobes/*/enable 2> /dev/null; }
await() { until "$@"; do kill -0 $script; done; }
# begin OPTION...: the script, until its event is enabled.
begin() {
	bash "$SCRIPT" "$@" > out.txt 2>&1 &
	script=$!
	await enabled
}
# end WORD: its reader is told to end when that was read, and so the script does what it does at the end.
end() {
	await grep -q "$1" out.txt
	pkill -TERM -P $script -x cat
	wait $script
	[ ! -s tracing/uprobe_events ]
	grep -q '^Ending tracing' out.txt
	! grep -q WARNING out.txt
}
bash "$SCRIPT" -l "$PWD/target" | grep -x greet
# It ends with 1 when it has shown that.
bash "$SCRIPT" -v "p:$PWD/target:greet n=%si:s32" > format.txt 2> /dev/null || [ $? = 1 ]
grep -q 'field:s32 n;' format.txt && grep -q '^name: greet' format.txt

begin -H "p:mine $PWD/target:greet n=%si:s32 name=+0(%di):string"
echo go | ./target you too > /dev/null
end too
cp out.txt plain.txt
begin "r:$PWD/target:greet sum=\$retval:s32"
echo go | ./target you longer > /dev/null
end sum=6
cp out.txt returns.txt
begin "p:$PWD/target:greet n=%si:s32" 'n > 1'
echo go | ./target you too > /dev/null
end n=2
cp out.txt filter.txt

# With the stack of each hit: where it was hit, and main() that called it.
begin -s "p:$PWD/target:greet n=%si:s32"
echo go | ./target you > /dev/null
end '=>'
cp out.txt stack.txt

mkfifo line
./target you < line > target.txt &
target=$!
exec 9> line
until grep -q ready target.txt; do kill -0 $target; done
begin -p $target "p:$PWD/target:greet n=%si:s32"
echo go | ./target other other > /dev/null
echo go >&9
end n=1
wait $target
cp out.txt pid.txt

bash "$SCRIPT" -d 1 "p:$PWD/target:greet n=%si:s32" > out.txt 2>&1 &
script=$!
await enabled
echo go | ./target you too > /dev/null
wait $script
END
SCRIPT=$SCRIPT timeout "$TIMEOUT" unshare -m bash inside.bash > log.txt 2>&1 || { cat log.txt; fail "uprobe of perf-tools"; }
hits() { sed -n 's/^ *target-[0-9]* *\[[0-9]*\] [^ ]* *[0-9.]*: \([a-z]*\): ([^)]*) /\1 /p' "$1" | tr '\n' '|'; }
is() { [ "$(hits "$1")" = "$2" ] || { cat "$1"; fail "$1 has '$(hits "$1")', not '$2'"; }; }
grep -q '^#.*FUNCTION' plain.txt || fail '-H shows no header'
is plain.txt 'mine n=1 name="you"|mine n=2 name="too"|'
is returns.txt 'greet sum=3|greet sum=6|'
is filter.txt 'greet n=2|'
is pid.txt 'greet n=1|'
is stack.txt 'greet n=1|'
at=$(sed -n 's/.*greet: (0x\([0-9a-f]*\)).*/\1/p' stack.txt)
[ "$(grep -A1 ' <user stack trace>$' stack.txt | tail -n 1)" = " =>  <0000$at>" ] || { cat stack.txt; fail 'no stack behind the hit'; }
is out.txt 'greet n=1|greet n=2|'
