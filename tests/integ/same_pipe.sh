# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Whoever reads our output is not traced, or each line would make another; who writes to the same
# pipe as we do is.
. "${0%/*}/lib.bash"

F=$FIXTURES/usdt
# The reader has the same program: it would be traced if it were not the reader.
cp "$F" copy
exec {pipe}> >(exec "$PWD/copy" > reader.txt 2> reader.err)
reader=$!
eventually grep -qsx ready reader.txt
NAME=writer start "$PWD/copy"
[ "$(readlink "/proc/$PID/fd/$pipe")" = "$(readlink "/proc/$$/fd/$pipe")" ] || fail "the target has not got our pipe"
mkfifo ready.fifo
"$USDT" --ready-fd 8 -o out.txt sema:guarded 8> ready.fifo 2> err.txt >&"$pipe" &
UBP_PID=$!
read -r -t "$TIMEOUT" line < ready.fifo
[ "$line" = ready ] || fail "usdt does not get ready"
traced "$PID" || fail "who writes to our pipe is not traced"
alive "$reader"
! traced "$reader" || fail "our reader is traced"
go writer
read -r -t "$TIMEOUT" line <&"$OUT_writer"
[ "$line" = "guarded=1 far=0" ] || fail "$line"
trace_stop
expect_count 1 ' guarded: '
exec {IN_writer}>&-
finish writer
exec {pipe}>&-
