# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# 32-bit Go programs: their arguments are on the stack, and they call the kernel by int $0x80. The
# runtime's handler for SIGTRAP does not take the guard's place: a ubp that is killed leaves
# them running.
. "${0%/*}/lib.bash"
need_arch x86_64
type -P go > /dev/null || skip "no Go compiler"

cat > prog.go <<'GO'
package main

import (
	"bufio"
	"fmt"
	"os"
)

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	fmt.Printf("ready %d\n", os.Getpid())
	in := bufio.NewReader(os.Stdin)
	c := make(chan int)
	for {
		_, err := in.ReadString('\n')
		if err != nil {
			return
		}
		s := 0
		for g := 0; g < 8; g++ {
			go func() { c <- fib(10) }()
		}
		for g := 0; g < 8; g++ {
			s += <-c
		}
		fmt.Println("sum", s)
	}
}
GO
export GOCACHE=$UBP_BUILD/go-cache GOFLAGS=-mod=mod HOME=$PWD
GOARCH=386 command go build -o prog prog.go || fail "cannot build"
./prog < /dev/null > said.txt || skip "this kernel runs no 32-bit programs"

defs=(-e 'p:g/fib ./prog:main.fib n=+4(%sp):s32' -e 'r:g/back ./prog:main.fib')
for mode in auto trap; do
	echo | "$UPROBE" --stats --mode $mode -o out.txt "${defs[@]}" -- ./prog > said.txt 2> err.txt ||
		fail "$mode: ended with $?: $(cat err.txt)"
	grep -qx 'sum 440' said.txt || fail "$mode: $(cat said.txt)"
	# Of fib(10) there are 177 calls. A function that needs a bigger stack begins once more.
	[ "$(count ' back: ')" = 1416 ] || fail "$mode: $(count ' back: ') returns"
	[ "$(count ' fib: ')" -ge 1416 ] || fail "$mode: $(count ' fib: ') calls"
	[ "$(count ' fib: .* n=10$')" -ge 8 ] || fail "$mode: $(count ' fib: .* n=10$') calls of fib(10)"

	# Started under ubp, which is killed: whoever still runs into what it left goes on.
	for _ in 1 2 3; do
		mkfifo in said
		"$UPROBE" --mode $mode -o killed.txt "${defs[@]}" -- ./prog < in > said 2> err.txt &
		UBP_PID=$!
		exec {fd_in}> in {fd_said}< said
		rm in said
		read -r -t "$TIMEOUT" line pid <&"$fd_said" && [ "$line" = ready ] || fail "$mode: '$line'"
		PIDS+=("$pid")
		echo >&"$fd_in"
		read -r -t "$TIMEOUT" line <&"$fd_said"
		[ "$line" = "sum 440" ] || fail "$mode: traced: '$line'"
		kill -9 "$UBP_PID"
		wait "$UBP_PID" 2> /dev/null
		UBP_PID=
		for _ in 1 2 3; do
			echo >&"$fd_in"
			read -r -t "$TIMEOUT" line <&"$fd_said"
			[ "$line" = "sum 440" ] || fail "$mode, killed: '$line': $(cat err.txt)"
		done
		exec {fd_in}>&- {fd_said}<&-
	done
done
