/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A program that meets breakpoints, and whose own handler sends it on behind them, as ubp's guard does. At a breakpoint stands the first
 * byte of an instruction, so whoever goes on there without the handler runs the rest of one. A line each 100 of them.
 *
 * "blocked": it blocks SIGTRAP before the first one, as C libraries do while they make a thread or a process.
 */

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long n;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	(void)info;
	u->uc_mcontext.gregs[REG_RIP] += 2;
	n++;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	sigset_t traps;

	sigaction(SIGTRAP, &action, NULL);
	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	if (argc > 1 && strcmp(argv[1], "blocked") == 0)
		sigprocmask(SIG_BLOCK, &traps, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	for (;;) {
		/* "31 c9" is xor %ecx,%ecx with a breakpoint over it; behind the breakpoint, "c9" is leave. */
		__asm__ volatile("int3; .byte 0xc9, 0x90" ::: "rcx", "memory");
		if (n % 100 == 0)
			printf("%ld\n", n);
		usleep(1000);
	}
}
