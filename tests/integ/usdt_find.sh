# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Where a static probe is sought that comes without a target, and that its place is told: what the
# processes of -p map; the command's program and libraries; a program or library of the provider's
# name, and what it needs; all running programs. Several files with the probe are all traced.
. "${0%/*}/lib.bash"
use_usdt

F=$FIXTURES/usdt L=$FIXTURES/usdt_plugin
found() { grep -qxF "usdt: found $1 in $2" "${3:-err.txt}" || fail "$1 is not found in $2: $(cat "${3:-err.txt}")"; }
answer() { # answer NAME WORD
	echo "$2" | eval "cat >&\$IN_$1"
	eval "read -r -t \$TIMEOUT line <&\$OUT_$1"
}

# No process runs it; the command does.
echo go | "$UPROBE" -o out.txt sema:guarded -- "$F" > stdout.txt 2> err.txt
found sema:guarded "$F"
expect_count 1 ' guarded: '

# A program of the provider's name; a library of it.
mkdir bin
cp "$F" bin/sema
PATH=$PWD/bin:$PATH "$UPROBE" --check sema:guarded > out.txt 2> err.txt || fail "program: $?"
found sema:guarded "$PWD/bin/sema"
cp "$L" bin/libplugin.so
LD_LIBRARY_PATH=$PWD/bin "$UPROBE" --check plugin:fired > out.txt 2> err.txt || fail "library: $?"
found plugin:fired "$PWD/bin/libplugin.so"

# All running programs, two copies of one; a deleted one by what it still is.
cp "$F" copy_one
cp "$F" copy_two
NAME=one start "$PWD/copy_one"
NAME=two start "$PWD/copy_two"
trace sema:guarded
found sema:guarded "$PWD/copy_one"
found sema:guarded "$PWD/copy_two"
answer one go
[ "$line" = "guarded=1 far=0" ] || fail "one: $line"
answer two go
[ "$line" = "guarded=1 far=0" ] || fail "two: $line"
trace_stop
expect_count 2 ' guarded: '
grep -q '^Tracing usdt probe guarded (p:sema/guarded .* and at [0-9]* more)\. Ctrl-C to end\.$' out.txt ||
	fail "the banner: $(head -n 1 out.txt)"

# Of two processes of -p, where each of them has it.
trace -p "$PID_one,$PID_two" sema:guarded
answer one go
answer two thread
trace_stop
expect_count 2 ' guarded: '
rm copy_two
trace -p "$PID_two" sema:guarded
found sema:guarded "$PWD/copy_two"
answer two go
[ "$line" = "guarded=1 far=0" ] || fail "deleted: $line"
trace_stop
expect_count 1 ' guarded: '
# By thread.
trace --tid "$PID_one" sema:guarded
found sema:guarded "$PWD/copy_one"
answer one go
answer one thread
trace_stop
expect_count 1 ' guarded: '
# What a process maps, all of it.
answer one go
"$UPROBE" -l -p "$PID_one" > out.txt || fail "-l -p: $?"
[ "$(cat out.txt)" = $'sema:far\nsema:guarded' ] || fail "-l -p: $(cat out.txt)"
"$UPROBE" -l -p "$PID_one" '*:g*' > out.txt || fail "-l -p with a pattern: $?"
[ "$(cat out.txt)" = 'sema:guarded' ] || fail "-l -p with a pattern: $(cat out.txt)"
"$UPROBE" -L -p "$PID_one" | grep -qx "sema:guarded $PWD/copy_one" || fail "-L -p"
"$UPROBE" -l -p "$PID_one" copy_one > out.txt || fail "-l -p copy_one: $?"
[ "$(cat out.txt)" = $'sema:far\nsema:guarded' ] || fail "-l -p copy_one: $(cat out.txt)"
# With a target nothing is told.
trace "$PWD/copy_one:sema:guarded"
trace_stop
grep -q found err.txt && fail "a target was given, and told"
eval "exec $IN_one>&- $IN_two>&-"
finish one
finish two

# A library that a program needs.
command -v gcc > /dev/null || skip "the rest needs gcc"
rm bin/sema
echo 'extern int plugin_fire(int); int main(void) { return plugin_fire(1); }' > needs.c
gcc -o bin/plugin needs.c -Lbin -lplugin 2> err.txt || fail "gcc: $(cat err.txt)"
PATH=$PWD/bin:$PATH LD_LIBRARY_PATH=$PWD/bin "$UPROBE" --check plugin:fired > out.txt 2> err.txt || fail "needed: $?"
found plugin:fired "$PWD/bin/libplugin.so"
