# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright the ubp authors
# Go programs, with symbols and stripped: returns are caught at ret instructions, since
# the runtime looks at return addresses when it moves a stack. Goroutines by the
# hundred, growing stacks, collections, preemption, panics, tracebacks.
. "${0%/*}/lib.bash"
type -P go > /dev/null || skip "no Go compiler"

cp "$UBP_SRC/fixtures/go_static.go" prog.go || fail "cp"
export GOCACHE=$UBP_BUILD/go-cache GOFLAGS=-mod=mod HOME=$PWD
command go build -o prog prog.go || fail "cannot build"
"$UPROBE" -o out.txt -e 'p:g/add ./prog:main.add a=%ax b=%bx' -- ./prog > stdout.txt 2> err.txt ||
	fail "ended with $?"
[ "$(cat stdout.txt)" = 99000 ] || fail "the program says '$(cat stdout.txt)'"
expect_count 2000 ' add: '
"$UPROBE" --check 'p:g/add ./prog:main.add arg1 arg2' > out.txt 2> err.txt || fail "arg1: ended with $?"
[ "$(cat err.txt)" = "uprobe: warning: add: argN is where C functions have their arguments, and Go's have them elsewhere: name them as in the source" ] ||
	fail "arg1 of a Go function: $(cat err.txt)"
command go build -ldflags '-s -w' -o stripped prog.go || fail "cannot build"
command go build -buildmode=pie -o pie prog.go || fail "cannot build"
command go build -buildmode=pie -ldflags '-s -w' -o pie_stripped prog.go || fail "cannot build"
for f in prog stripped pie pie_stripped; do
	"$UPROBE" --stats -o out.txt -e "p:g/add ./$f:main.add" -e "r:g/ret ./$f:main.add r=\$retval:s64" -- "./$f" \
		> stdout.txt 2> err.txt || fail "$f: ended with $?"
	[ "$(cat stdout.txt)" = 99000 ] || fail "$f says '$(cat stdout.txt)'"
	expect_count 2000 ' add: '
	expect_count 2000 ' ret: \(0x[0-9a-f]+ <- 0x[0-9a-f]+\) r='
	grep -q ' at_rets=[1-9]' err.txt || fail "$(cat err.txt)"
done

cat > hard.go <<'GO'
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
)

var calls, bad int64

//go:noinline
func leaf(n int) int {
	atomic.AddInt64(&calls, 1)
	return n + 1
}

// Deep: its goroutine's stack is moved several times on the way.
//go:noinline
func deep(n int) int {
	var room [64]int
	atomic.AddInt64(&calls, 1)
	room[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + room[n%64] - n + 1
}

//go:noinline
func panics(n int) (r int) {
	defer func() {
		if recover() != nil {
			r = -n
		}
	}()
	return thrower(n)
}

//go:noinline
func thrower(n int) int {
	if n%2 == 1 {
		panic("on purpose")
	}
	return n
}

//go:noinline
func names() int {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	found := ""
	for {
		f, more := frames.Next()
		found += f.Function + " "
		if !more {
			break
		}
	}
	if !strings.HasPrefix(found, "main.names main.work ") || !strings.Contains(string(debug.Stack()), "main.work") {
		atomic.AddInt64(&bad, 1)
	}
	return 1
}

// No call in it: can only be interrupted by a signal.
//go:noinline
func spin(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += i ^ n
	}
	return s
}

//go:noinline
func work(n int) {
	if deep(100+n) != 100+n || leaf(n) != n+1 {
		atomic.AddInt64(&bad, 1)
	}
	if r := panics(n); r != n && r != -n {
		atomic.AddInt64(&bad, 1)
	}
	names()
	spin(200000)
	if n%20 == 0 {
		runtime.GC()
	}
}

func main() {
	var wait sync.WaitGroup
	for g := 0; g < 200; g++ {
		wait.Add(1)
		go func(g int) {
			defer wait.Done()
			work(g)
		}(g)
	}
	wait.Wait()
	fmt.Println("calls", calls, "bad", bad)
	if len(os.Args) > 1 {
		thrower(1)
	}
}
GO
command go build -o hard hard.go || fail "cannot build"
command go build -ldflags '-s -w' -o hard_stripped hard.go || fail "cannot build"
command go build -buildmode=pie -ldflags '-s -w' -o hard_pie_stripped hard.go || fail "cannot build"
for f in hard hard_stripped hard_pie_stripped; do
	defs=()
	for name in leaf deep panics thrower names spin work; do
		defs+=(-e "p:h/$name ./$f:main.$name" -e "r:h/${name}_ret ./$f:main.$name r=\$retval:s64")
	done
	GODEBUG=gccheckmark=0 "$UPROBE" --lossless -o out.txt "${defs[@]}" -- "./$f" > stdout.txt 2> err.txt ||
		fail "$f: ended with $?: $(head -n 5 err.txt)"
	[ "$(cut -d' ' -f 3,4 stdout.txt)" = "bad 0" ] || fail "$f says '$(cat stdout.txt)'"
	deep=$((200 * 101 + 199 * 100))
	for name in leaf panics names spin work; do
		expect_count 200 " ${name}_ret: "
		# One that needs more stack starts again, as a hit of its own.
		[ "$(count " $name: ")" -ge 200 ] || fail "$f: not all entries of $name"
	done
	expect_count 100 ' thrower_ret: ' # the others panic
	expect_count $deep ' deep_ret: '
	expect_count 200 ' leaf: '
done
# A traceback of the runtime's own, at the end.
"$UPROBE" -o out.txt "${defs[@]}" -- ./hard_stripped die > stdout.txt 2> err.txt
[ $? = 2 ] || fail "the panic did not end it"
grep -q '^main.thrower' err.txt && grep -q '^main.main' err.txt || fail "$(cat err.txt)"
# What has no ret, and what is no function's start.
refused 'ret instruction' -e 'r:g/x ./prog:runtime.goexit.abi0+1' -- ./prog
refused 'ret instruction' -e "r:g/x ./prog:main.work+4" -- ./prog
# Entries are not looked at.
refused '[$]duration of prog:main.add cannot be told: .*Go program' -e 'r:g/x ./prog:main.add $duration' -- ./prog
refused 'none of the .* [1-9][0-9]* with a duration, or values of the entry, that cannot be told' -e 'r:g/ ./prog:main.* $duration' -- ./prog
