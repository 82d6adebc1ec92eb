# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# --notes: how many processes are traced, and why nothing comes: told once, on standard error, where that is a terminal or
# on demand. Nothing of it where there are hits, or for those who read standard error as it was.
. "${0%/*}/lib.bash"
have gcc
F=$PWD/hello
cp "$FIXTURES/hello" .

# Some may be whose mappings nobody is shown.
told() {
	sed -E 's/; [0-9]+ could not be looked at.*$//' err.txt > told.txt
	diff -u - told.txt || fail "other notes"
}
# waiting ARG...: until why there is no hit was told.
waiting() {
	trace --notes=0.1 "$@"
	wait_for err.txt 'no hit yet: '
}

waiting "p:$F:greet"
trace_stop
told << END
uprobe: no process runs this code now; those that start later will be traced
uprobe: no hit yet: no process maps $F
END

NAME=one start "$F"
waiting "p:$F:greet"
trace_stop
told << END
uprobe: 1 process runs this code now, and is traced
uprobe: no hit yet: 1 traced process maps $F, but none has called the function
END
ln -s "$F" link
waiting p:./link:greet
trace_stop
told << END
uprobe: 1 process runs this code now, and is traced
uprobe: no hit yet: 1 traced process maps ./link, but none has called the function
END
NAME=two start "$F"
trace --lossless --notes=always "p:$F:greet"
go two && finish two
trace_stop
expect_count 1 ' greet: '
told <<< "uprobe: 2 processes run this code now, and are traced"
# Nothing more when the time comes, once there was a hit.
NAME=two start "$F"
trace --lossless --notes=2 -d 3 "p:$F:greet"
go two && finish two
trace_done
expect_count 1 ' greet: '
told <<< "uprobe: 2 processes run this code now, and are traced"

waiting -p "$PID_one" "p:$F:greet"
trace_stop
told <<< "uprobe: no hit yet: 1 traced process maps $F, but none has called the function"

# By itself on terminals alone.
for how in '' --notes=auto --notes=never; do
	# shellcheck disable=SC2086 # none, or one
	"$UPROBE" $how -d 0.2 "p:$F:greet" > out.txt 2> err.txt || fail "$how"
	[ ! -s err.txt ] || fail "$how: something on standard error"
done
if type -P script > /dev/null; then
	script -qec "$UPROBE -d 0.1 p:$F:greet > out.txt" shown.txt > /dev/null < /dev/null || fail "script"
	grep -q '1 process runs this code now' shown.txt || fail "nothing on a terminal"
	script -qec "$UPROBE --notes=never -d 0.1 p:$F:greet > out.txt" shown.txt > /dev/null < /dev/null || fail "script"
	! grep -q 'runs this code' shown.txt || fail "--notes=never on a terminal"
fi

# The file was replaced: who runs the old one is not meant.
cp "$F" other && mv other "$F"
waiting "p:$F:greet"
trace_stop
told << END
uprobe: no process runs this code now; those that start later will be traced
uprobe: no hit yet: process $PID_one runs a $F that was replaced since it started: the file that is probed is another one
END
go one && finish one

# Where a function is also inlined its own code is not passed.
cat > tiny.c << 'END'
#include <stdio.h>
int tiny(int x) { return 3 * x + 1; }
__attribute__((noinline)) int calls(int x) { return tiny(x) + tiny(x + 1); }
int main(int argc, char **argv)
{
	char line[8];

	(void)argv;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	return calls(argc) < 0;
}
END
gcc -O2 -g -o tiny tiny.c || fail "gcc"
NAME=tiny start "$PWD/tiny"
waiting -p "$PID_tiny" "p:$PWD/tiny:tiny x=$ARG1"
wait_for err.txt 'is also inlined'
trace_stop
told << END
uprobe: no hit yet: 1 traced process maps $PWD/tiny, but none has called the function
uprobe: tiny is also inlined in 2 places, which are not probed; use tiny:0 to probe them, too
END
waiting -p "$PID_tiny" -e "p:g/e $PWD/tiny:tiny"
wait_for err.txt 'is also inlined'
trace_stop
grep -q 'tiny is also inlined in 2 places' err.txt || fail "not told of -e"
trace --lossless -p "$PID_tiny" "p:$PWD/tiny:tiny:0"
go tiny && finish tiny
trace_done
[ "$(count ' tiny')" -ge 1 ] || fail "tiny:0 has no hits"

usage "--notes takes auto, always, never, or seconds, not 'now'" --notes=now p:libc:getenv

# In a root of its own, with a file of the same name; and as somebody who may not look at all processes.
[ "$(id -u)" = 0 ] || exit 0
have pivot_root
cat > enter << END
#!/bin/sh
mount -t tmpfs none $PWD/root && cd $PWD/root && mkdir -p old proc .$PWD || exit 1
cp $F .$F
for lib in \$(ldd $F | grep -o '/[^ ]*'); do mkdir -p .\${lib%/*} && cp \$lib .\$lib; done
exec pivot_root . old $F
END
mkdir root
printf '#!/bin/sh\nexec unshare -m sh %s/enter\n' "$PWD" > in_root && chmod 755 in_root
pivot_root --version 2> /dev/null | grep -q util-linux || skip "needs pivot_root of util-linux"
sed -i "s|^exec pivot_root.*|pivot_root . old \&\& cd / \&\& exec $F|" enter
NAME=boxed start "$PWD/in_root"
waiting "p:$F:greet"
trace_stop
told << END
uprobe: no process runs this code now; those that start later will be traced
uprobe: no hit yet: process $PID_boxed runs the $F of another root, as of a container: -p, or --container, takes that one
END
go boxed && finish boxed
another_user hello
(cd "$DIR" && "$UPROBE_AS_USER" --notes=always -d 0.1 "p:$FIX/hello:greet") 2> err.txt > out.txt || fail "as another user: $(cat err.txt)"
grep -qE '^uprobe: no process runs this code now; .*; [0-9]+ could not be looked at \(root could\), the first is [0-9]+ \(.+\)$' err.txt ||
	fail "it is not told which could not be looked at: $(cat err.txt)"
