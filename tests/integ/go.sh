# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# A Go program: entry probes work, also when it is stripped; return probes are
# refused, because its runtime would end the program.
. "${0%/*}/lib.bash"
command -v go > /dev/null || skip "no Go compiler"

cat > prog.go <<'GO'
package main

import "fmt"

//go:noinline
func add(a, b int) int { return a + b }

func work(n int, c chan int) {
	s := 0
	for i := 0; i < n; i++ {
		s = add(s, i)
	}
	c <- s
}

func main() {
	c := make(chan int)
	for i := 0; i < 20; i++ {
		go work(100, c)
	}
	s := 0
	for i := 0; i < 20; i++ {
		s += <-c
	}
	fmt.Println(s)
}
GO
export GOCACHE=$PWD/cache GOFLAGS=-mod=mod HOME=$PWD
command go build -o prog prog.go || fail "cannot build"
"$UPROBE" -o out.txt -e 'p:g/add ./prog:main.add a=%ax b=%bx' -- ./prog > stdout.txt 2> err.txt ||
	fail "ended with $?"
[ "$(cat stdout.txt)" = 99000 ] || fail "the program says '$(cat stdout.txt)'"
expect_count 2000 ' add: '
offset=$("$UPROBE" --check -e 'p:g/add ./prog:main.add' | sed 's/.*:0x0*/0x/')
command go build -ldflags '-s -w' -o stripped prog.go || fail "cannot build"
refused 'Go program' -e 'r:g/add ./prog:main.add' -- ./prog
refused 'Go program' -e "r:g/add ./stripped:$offset" -- ./stripped
