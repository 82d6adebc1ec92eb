/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What killat.c and failat.c have in common. Each is preloaded into uprobe, replaces functions of the C
 * library, and shares a page with the test, which says there what is to happen. The page begins with
 * the number of the phase that counts now.
 */

#ifndef TESTS_TORTURE_PRELOAD_H
#define TESTS_TORTURE_PRELOAD_H

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <unistd.h>

enum { PHASES = 4 };

/* The function itself, where one of this name replaces it. */
#define REAL(name) ((typeof(name) *)preload_real(#name))

/* In here: what the loader calls is not uprobe's. */
static __thread int preload_inside;

static inline void *preload_real(const char *name)
{
	void *function;

	preload_inside++;
	function = dlsym(RTLD_NEXT, name);
	preload_inside--;
	return function;
}

/* The program of `make check-stay`, which executes uprobe (tests/integ/lib/stay.c). */
static inline bool preload_is_before(void)
{
	static const char name[] = "/stay/uprobe";
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));
	ssize_t n = (ssize_t)sizeof(name) - 1;

	return len >= n && memcmp(path + len - n, name, (size_t)n) == 0;
}

/* Of the file that this variable names. A command that uprobe runs is no uprobe: it gets none of this. */
static inline void *preload_page(const char *variable, size_t len)
{
	const char *path = getenv(variable);
	int fd = path ? REAL(open)(path, O_RDWR | O_CLOEXEC) : -1;
	void *page;

	if (fd < 0)
		abort();
	page = REAL(mmap)(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		abort();
	close(fd);
	if (preload_is_before())
		return page;
	unsetenv("LD_PRELOAD");
	unsetenv(variable);
	return page;
}

/* What a request is called. GETREGS and SETREGS are also their newer forms, which all machines have. */
static inline const char *preload_ptrace_name(int request)
{
	static __thread char other[32];

	switch (request) {
	case PTRACE_SEIZE:
		return "PTRACE_SEIZE";
	case PTRACE_INTERRUPT:
		return "PTRACE_INTERRUPT";
	case PTRACE_CONT:
		return "PTRACE_CONT";
	case PTRACE_SYSCALL:
		return "PTRACE_SYSCALL";
	case PTRACE_SINGLESTEP:
		return "PTRACE_SINGLESTEP";
	case PTRACE_DETACH:
		return "PTRACE_DETACH";
	case PTRACE_LISTEN:
		return "PTRACE_LISTEN";
#ifdef PT_GETREGS
	case PTRACE_GETREGS:
#endif
	case PTRACE_GETREGSET:
		return "PTRACE_GETREGS";
#ifdef PT_SETREGS
	case PTRACE_SETREGS:
#endif
	case PTRACE_SETREGSET:
		return "PTRACE_SETREGS";
	case PTRACE_PEEKUSER:
		return "PTRACE_PEEKUSER";
	case PTRACE_POKEUSER:
		return "PTRACE_POKEUSER";
	case PTRACE_SETSIGMASK:
		return "PTRACE_SETSIGMASK";
	}
	snprintf(other, sizeof(other), "ptrace(0x%x)", (unsigned)request);
	return other;
}

/* @ap: what follows the request. */
static inline long preload_ptrace(enum __ptrace_request request, va_list ap)
{
	pid_t pid = va_arg(ap, pid_t);
	void *addr = va_arg(ap, void *);
	void *data = va_arg(ap, void *);

	return REAL(ptrace)(request, pid, addr, data);
}

#endif
