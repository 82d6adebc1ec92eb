/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/stop_one.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "engine/base/again.h"
#include "engine/event/clock.h"
#include "engine/trace/attach.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"
#include "engine/trace/wait.h"

#define STOP_LIMIT_MS 200 /* for one thread */
#define TRIES_MAX     8

static bool is_stopped(pid_t tid)
{
	siginfo_t si;

	/* EINVAL: in a group stop. */
	return again_ptrace(PTRACE_GETSIGINFO, tid, 0, &si) == 0 || errno == EINVAL;
}

/* The next of the threads of @space, by turns those held, any, those that run, any. */
enum turn { TURN_HELD, TURN_STOPPED, TURN_RUNNING, TURN_ANY };

static bool is_asleep(pid_t tid)
{
	uint64_t pc, sp;

	return task_asleep(tid, &pc, &sp);
}

/*
 * Whatever it stops for, the stop is left to be found by who waits next: that lets it go on,
 * and has a system call that was broken off made again.
 */
static bool try_stop(struct tracee *t)
{
	struct stop stop;

	if (again_ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0)
		return false;
	t->want_interrupt = true;
	return wait_one(t->tid, STOP_LIMIT_MS, &stop) == 1 && !stop.exited;
}

pid_t stop_one(const struct space *space)
{
	int tries = 0;

	for (enum turn turn = TURN_HELD; turn <= TURN_ANY; turn++) {
		struct tracee *t = NULL;

		while (tries < TRIES_MAX && (t = space_next(space, t))) {
			if ((turn == TURN_HELD && !t->held) ||
			    (turn == TURN_RUNNING && is_asleep(t->tid)))
				continue;
			if (is_stopped(t->tid))
				return t->tid;
			if (turn >= TURN_RUNNING && ++tries && try_stop(t))
				return t->tid;
		}
	}
	return 0;
}

/* It waits for its child in fork() or vfork(), to which this memory is lent, and does nothing to it. */
static bool is_in_birth(const struct tracee *t)
{
	const uint16_t *nr = t->process->space->arch->call.nr_births;
	uint64_t pc, sp;
	long in = -1;

	if (task_state(t->tid) != 'D' || !task_asleep_in(t->tid, &pc, &sp, &in))
		return false;
	while (*nr && *nr != in)
		nr++;
	return *nr == in;
}

static bool are_known_stopped(const struct space *space)
{
	uint64_t until = event_clock_now(CLOCK_KIND_MONO) + STOP_LIMIT_MS * 1000000ULL;

	for (struct tracee *t = NULL; (t = space_next(space, t));)
		if (!is_stopped(t->tid) && !is_in_birth(t) &&
		    (event_clock_now(CLOCK_KIND_MONO) > until || !try_stop(t)))
			return false;
	return true;
}

/* New ones that nobody has told of yet are in the stop that they are born to. */
static bool are_all_stopped(const struct tracer *tracer, pid_t pid)
{
	bool are = true;
	struct dirent *ent;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && are && (ent = readdir(dir))) {
		pid_t tid = (pid_t)strtol(ent->d_name, NULL, 10);

		are = tid <= 0 || map_get(&tracer->tracees, (uint64_t)tid) || is_stopped(tid) ||
		      strchr("ZX", task_state(tid));
	}
	if (dir)
		closedir(dir);
	return dir && are;
}

bool stop_all(const struct tracer *tracer, const struct space *space)
{
	const struct process *p = space->processes;

	if (!p || !are_known_stopped(space) || sharers_are_at_large(tracer, space))
		return false;
	for (; p; p = p->next)
		if (!are_all_stopped(tracer, p->pid))
			return false;
	return true;
}
