# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# docs/example-handler.c makes calls of python3 and of bash fail, with the errno that is asked for: both tell it as they do of any
# failure, and go on. When it is killed, calls are well again.
. "${0%/*}/lib.bash"
have gcc
have python3
grep -q -- '-fsanitize' "$UBP_BUILD/flags" && skip "this build is sanitized: programs of others need its run time library first"

mkdir include && cp "$UBP_SRC"/engine/*.h include
gcc -std=gnu99 -Wall -Wextra -Wpedantic -Werror -I include -o example "$UBP_SRC/docs/example-handler.c" "$UBP_BUILD/libubp.so.1" ||
	fail "docs/example-handler.c does not build"
export LD_LIBRARY_PATH=$UBP_BUILD
real_python=$(python3 -c 'import sys; print(sys.executable)')
cat > opens.py << 'END'
import sys
print("ready", flush=True)
for line in sys.stdin:
    if line == "end\n":
        break
    try:
        with open(line.strip()) as f:
            print("well", len(f.read()), flush=True)
    except OSError as e:
        print(e.errno, e.strerror, flush=True)
END
cat > changes.bash << 'END'
echo ready
while read -r dir && [ "$dir" != end ]; do
	cd "$dir" 2>&1 && echo "well $PWD"
done
END
echo four > file

# fails PID FUNCTION RESULT ERRNO: calls do so until UBP_PID is killed.
fails() {
	local line
	mkfifo err.fifo
	./example "$@" > out.txt 2> err.fifo &
	UBP_PID=$!
	exec {err_fd}< err.fifo
	rm err.fifo
	read -r -t "$TIMEOUT" line <&"$err_fd" && [ "$line" = ready ] || fail "example-handler $*: $line"
}
# says NAME LINE ANSWER: what a program answers to a line.
says() {
	local in=IN_$1 out=OUT_$1 answer
	echo "$2" >&"${!in}"
	read -r -t "$TIMEOUT" answer <&"${!out}" || fail "$1 does not answer"
	[[ $answer = $3 ]] || fail "$1: $2: $answer"
}

NAME=python start "$real_python" -u opens.py
says python file "well 5"
# ENOSPC; what the program did before, and does between, is as ever.
fails "$PID_python" libc.so.6:open64 -1 28
for _ in 1 2 3; do says python file "28 No space left on device"; done
[ "$(grep -c ': fails: (0x[0-9a-f]*) first="file"$' out.txt)" -ge 1 ] || fail "the calls are not told"
kill -9 "$UBP_PID"; wait "$UBP_PID" 2> /dev/null; UBP_PID=
exec {err_fd}<&-
says python file "well 5"
fails "$PID_python" libc.so.6:open64 -1 13
says python file "13 Permission denied"
echo end >&"$IN_python"
wait "$PID_python" || fail "python3 ended with $?"
wait "$UBP_PID" || fail "example-handler ended with $?"
UBP_PID=
exec {err_fd}<&-
[ "$(grep -c 'first="file"' out.txt)" = 1 ] || fail "not all calls are told: $(cat out.txt)"

NAME=bash start "$(type -P bash)" changes.bash
says bash / "well /"
fails "$PID_bash" libc.so.6:chdir -1 110
says bash /tmp "*cd: /tmp: Connection timed out"
kill -9 "$UBP_PID"; wait "$UBP_PID" 2> /dev/null; UBP_PID=
says bash /tmp "well /tmp"
echo end >&"$IN_bash"
wait "$PID_bash" || fail "bash ended with $?"
exit 0
