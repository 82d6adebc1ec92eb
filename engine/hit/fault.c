/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/fault.h"

#include <signal.h>
#include <sys/ptrace.h>

#include "engine/base/again.h"

void hit_correct_fault(int sig, pid_t tid, uint64_t is, uint64_t should_be)
{
	siginfo_t si;

	if ((sig != SIGILL && sig != SIGFPE) ||
	    again_ptrace(PTRACE_GETSIGINFO, tid, 0, &si) < 0 ||
	    (uint64_t)(uintptr_t)si.si_addr != is)
		return;
	si.si_addr = (void *)(uintptr_t)should_be;
	(void)again_ptrace(PTRACE_SETSIGINFO, tid, 0, &si);
}
