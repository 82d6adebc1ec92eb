// SPDX-License-Identifier: LGPL-2.1-or-later
// Copyright the ubp authors

// Goroutines that grow their stacks, garbage, a child process.
package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
)

//go:noinline
func grow(n int) int {
	var pad [64]byte
	pad[n%64] = byte(n)
	if n == 0 {
		return int(pad[0])
	}
	return grow(n-1) + 1
}

//go:noinline
func add(a, b int) int { return a + b }

func unit(n int, c chan string) {
	h := sha256.New()
	s := 0
	for i := 0; i < 200; i++ {
		s = add(s, i*n)
		fmt.Fprintf(h, "%d %v", s, map[int]string{i: "v"})
	}
	c <- fmt.Sprintf("%x %d %d", h.Sum(nil), s, grow(300))
}

func check() string {
	all := make([]string, 20)
	for i := range all {
		c := make(chan string)
		go unit(i, c)
		all[i] = <-c
	}
	out, err := exec.Command("sh", "-c", "echo sub; exit 4").Output()
	return fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprint(all, string(out), err))))
}

func background(want string) {
	c := make(chan string, 1)
	for {
		unit(9, c)
		if <-c != want {
			fmt.Println("wrong in a goroutine")
		}
	}
}

func main() {
	c := make(chan string, 1)
	unit(9, c)
	want := <-c
	go background(want)
	go background(want)
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() && in.Text() != "end" {
		fmt.Println("ok", check())
	}
}
