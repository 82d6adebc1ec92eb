/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/loading.h"

#include <elf.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/proc.h"
#include "engine/trace/task.h"

/*
 * Behind its first byte there is no other code for so long: it is the first that is mapped, and
 * what comes later is mapped below, but in the old layout (unlimited stack), where a library may be taken
 * for it.
 */
#define LOADER_LEN   0x100000
#define ASLEEP_TRIES 100

/* The start of /proc/TID/NAME; false: there is none. */
static bool read_start(pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	return proc_read(path, buf, size) > 0;
}

/* The name of a thread, which comes before, is short, and has no newline: the kernel escapes that. */
bool loading_ask(pid_t tid, struct loading *ret)
{
	char text[512];

	if (!read_start(tid, "status", text, sizeof(text)))
		return false;
	*ret = (struct loading){ (pid_t)proc_number(text, "\nTgid:"),
				 (pid_t)proc_number(text, "\nTracerPid:") };
	return ret->pid > 0;
}

/*
 * Where in its program is a thread that waits? The last word of /proc/TID/syscall tells, once it sleeps: the
 * question comes a moment before. UINT64_MAX: it does not yet; 0: it is gone.
 */
static uint64_t asleep_at(pid_t tid)
{
	char text[512], *at;

	for (int i = 0; i < ASLEEP_TRIES; i++) {
		if (!read_start(tid, "syscall", text, sizeof(text)))
			return 0;
		at = strrchr(text, ' ');
		if (at)
			return strtoull(at, NULL, 16);
		(void)sched_yield();
	}
	return UINT64_MAX;
}

bool loading_is_loader(pid_t tid)
{
	uint64_t base = task_auxv(tid, AT_BASE), pc = base ? asleep_at(tid) : 0;

	return pc == UINT64_MAX || (base && pc >= base && pc - base < LOADER_LEN);
}
