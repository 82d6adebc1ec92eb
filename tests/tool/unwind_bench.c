/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * How long a stack of a stopped process takes: unwind_bench [ROUNDS [FRAMES [cfi|unwind]]]. Prints
 * nanoseconds: of the first, and of one more, on average.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/event/clock.h"
#include "engine/space/space.h"
#include "engine/stack/maps_set.h"
#include "engine/stack/unwind.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"

static volatile int depth_seen;

__attribute__((noinline)) static int descend(int depth)
{
	int rc = depth > 0 ? descend(depth - 1) : raise(SIGSTOP);

	depth_seen = depth;
	return rc + 1;
}

static int fail(const char *what)
{
	fprintf(stderr, "unwind_bench: %s: %s\n", what, strerror(errno));
	return 1;
}

static int measure(struct tracee *t, unsigned rounds, unsigned frames, bool by_libunwind)
{
	struct stack_maps_set *set = stack_maps_set_new();
	struct stack_unwinder *unwinder = NULL;
	uint64_t stack[127], start, first;
	struct ubp_regs regs;
	struct ubp_err err;
	uint32_t maps;
	size_t n;

	if (!set || ubp_host_get_regs(t->tid, &regs) < 0 ||
	    stack_unwinder_new(set, by_libunwind, NULL, &unwinder, &err) < 0)
		return fail("cannot begin");
	start = event_clock_now(CLOCK_KIND_MONO);
	n = stack_unwind(unwinder, t, &regs, stack, frames, &maps);
	first = event_clock_now(CLOCK_KIND_MONO) - start;
	start = event_clock_now(CLOCK_KIND_MONO);
	for (unsigned i = 0; i < rounds; i++)
		n = stack_unwind(unwinder, t, &regs, stack, frames, &maps);
	start = event_clock_now(CLOCK_KIND_MONO) - start;
	printf("frames %zu first_ns %lu next_ns %lu\n", n, (unsigned long)first,
	       (unsigned long)(start / rounds));
	stack_unwinder_free(unwinder);
	stack_maps_set_free(set);
	return n == frames ? 0 : 1;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
	unsigned frames = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
	struct space space = { .arch = ubp_host_arch() };
	struct process process = { .space = &space };
	struct tracee t = { .process = &process };
	struct ubp_err err;
	int status, rc;

	if (rounds == 0 || frames == 0 || frames > 127)
		return 2;
	t.tid = process.pid = fork();
	if (t.tid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		_exit(descend((int)frames) < 0);
	}
	if (t.tid < 0 || waitpid(t.tid, &status, 0) != t.tid || !WIFSTOPPED(status) ||
	    mem_open(&space.mem, t.tid, &err) < 0 || !plant_space_get(&space))
		return fail("cannot trace a child");
	rc = measure(&t, rounds, frames, argc > 3 && strcmp(argv[3], "unwind") == 0);
	kill(t.tid, SIGKILL);
	waitpid(t.tid, &status, 0);
	plant_space_free(&space);
	mem_close(&space.mem);
	return rc;
}
