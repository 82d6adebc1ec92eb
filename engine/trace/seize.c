/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/seize.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/proc.h"
#include "engine/trace/children.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/permission.h"
#include "engine/trace/process.h"
#include "engine/trace/resume.h"
#include "engine/trace/seize_late.h"
#include "engine/trace/seize_limit.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define TRIES       10
#define STEP_NS     50000000ULL   /* so often it is asked whether all is to end */
#define ALONE_NS    1000000000ULL /* for one thread, where nothing else is traced */
#define RUNNING_MAX 5             /* so many limits for one that does not wait itself */

/* Time of our processor for all threads of a process. */
#define ALL_NS       200000000ULL
#define ALL_ALONE_NS 5000000000ULL /* where nothing else is traced */
#define EACH_NS      100000ULL     /* and for each thread that it had when we began */
#define LOOKS        16            /* threads between two looks at that time */

static const char in_exec[] = "is in the middle of an exec that does not come to its end";
static const char too_fast[] = "starts threads too fast to be seized";

struct seizing {
	struct tracer *tracer;
	struct process *p;
	struct seize_limit limit;
	int no_limit;       /* 0, or why there is none */
	uint64_t until_ns;  /* of proc_cpu_ns(), for all threads */
	unsigned n_to_look; /* threads until then */
};

static void begin(struct seizing *s)
{
	s->no_limit = seize_limit_begin(&s->limit);
}

/* Does nobody wait for us meanwhile? */
static bool is_alone(const struct tracer *tracer)
{
	return tracer->processes.n <= 1;
}

static int left_alone(pid_t pid, const char *why, struct ubp_err *err)
{
	return ubp_fail(err, EBUSY, "process %d %s", (int)pid, why);
}

static int leave_alone(struct tracer *tracer, pid_t pid, const char *why, struct ubp_err *err)
{
	seize_late_note(&tracer->late, pid, why);
	return left_alone(pid, why, err);
}

int seize_may_try(struct tracer *tracer, pid_t pid, struct ubp_err *err)
{
	const char *why;

	return seize_late_until(&tracer->late, pid, &why) ? left_alone(pid, why, err) : 0;
}

/* Nobody can limit it, so it may be done only where nobody keeps us waiting. Returns 0 or -errno. */
static int seize_somehow(const struct seizing *s, pid_t tid)
{
	if (!mem_is_sure(&s->p->space->mem, tid))
		return s->no_limit;
	return again_ptrace(PTRACE_SEIZE, tid, 0, s->tracer->options) < 0 ? -errno : 0;
}

/* Returns 0 or -errno; -ETIMEDOUT: also when all is to end. */
static int try_for(struct seizing *s, pid_t tid, uint64_t ns)
{
	int rc;

	do {
		uint64_t step = ns < STEP_NS ? ns : STEP_NS;

		rc = seize_limit_try(&s->limit, tid, s->tracer->options, step);
		ns -= step;
	} while (rc == -ETIMEDOUT && ns && !tracer_is_cancelled(s->tracer));
	return rc;
}

/* The same. It is most often @tid itself that is waited for: on a busy machine it may have had no processor. */
static int seize_in_time(struct seizing *s, pid_t tid)
{
	struct tracer *tracer = s->tracer;
	uint64_t ns = is_alone(tracer) ? ALONE_NS : seize_late_limit(&tracer->late, s->p->pid);
	int rc = s->no_limit, n = 0;

	if (rc == 0)
		do {
			rc = try_for(s, tid, ns);
		} while (rc == -ETIMEDOUT && !tracer_is_cancelled(tracer) &&
			 ++n < RUNNING_MAX && task_state(tid) == 'R');
	if (s->limit.sig)
		return rc;
	s->no_limit = rc;
	return seize_somehow(s, tid);
}

static int seize(struct seizing *s, pid_t tid, struct ubp_err *err)
{
	struct tracer *tracer = s->tracer;
	struct process *p = s->p;
	int rc, tries = 0;

	while ((rc = seize_in_time(s, tid)) < 0) {
		if (rc == -ETIMEDOUT && tracer_is_cancelled(tracer))
			return tracer_give_up(err);
		if (rc == -ETIMEDOUT)
			return leave_alone(tracer, p->pid, in_exec, err);
		/* Refused in the middle of an exec too, where one thread takes the place
		 * of another. */
		if (rc != -EPERM || ++tries > TRIES || task_tracer(tid))
			return permission_explain(p->pid, tid, -rc, err);
		(void)sched_yield();
	}
	if (tracer_add_tracee(tracer, p, tid))
		return 0;
	children_note_unseen(tracer, tid);
	return ubp_fail(err, ENOMEM, "out of memory");
}

/* How much of our time may all threads take? Those that it starts meanwhile do not count. */
static void begin_all(struct seizing *s)
{
	uint64_t ns = is_alone(s->tracer) ? ALL_ALONE_NS : ALL_NS;

	begin(s);
	s->until_ns = proc_cpu_ns() + ns + task_n_threads(s->p->pid) * EACH_NS;
	s->n_to_look = LOOKS;
}

/* Is there time for more threads? Returns 0 or -errno. */
static int check_time(struct seizing *s, struct ubp_err *err)
{
	s->n_to_look = LOOKS;
	if (tracer_is_cancelled(s->tracer))
		return tracer_give_up(err);
	if (proc_cpu_ns() <= s->until_ns)
		return 0;
	return leave_alone(s->tracer, s->p->pid, too_fast, err);
}

/* One pass over /proc/PID/task. *ret_found: a thread not yet ours was seen, which may have ended since. */
static int seize_new_threads(struct seizing *s, bool *ret_found, struct ubp_err *err)
{
	struct tracer *tracer = s->tracer;
	struct process *p = s->p;
	struct dirent *ent;
	char path[64];
	DIR *dir;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	dir = opendir(path);
	if (!dir && errno != ENOENT && errno != ESRCH)
		return ubp_fail_sys(err, "%s", path);
	if (!dir)
		return ubp_fail(err, ESRCH, "no process %d", (int)p->pid);
	*ret_found = false;
	while ((ent = readdir(dir))) {
		pid_t tid = (pid_t)strtol(ent->d_name, NULL, 10);
		char state;
		pid_t by;

		if (tid <= 0 || map_get(&tracer->tracees, (uint64_t)tid))
			continue;
		if (map_remove(&tracer->limbo, (uint64_t)tid)) {
			/* Born of a thread seized before; its first stop came before
			 * the parent's report. */
			struct tracee *t = tracer_add_tracee(tracer, p, tid);

			if (t)
				tracee_resume(t, 0);
			else
				children_let_run_unseen(tracer, tid);
			continue;
		}
		rc = seize(s, tid, err);
		if (rc == 0) {
			*ret_found = true;
			if (--s->n_to_look == 0 && (rc = check_time(s, err)) < 0)
				break;
			continue;
		}
		/* The tracer that /proc names is a thread. Asked first: a thread that
		 * has ended meanwhile has none. */
		by = task_tracer(tid);
		state = task_state(tid);
		/* It ended after readdir() saw it: then it may have started another, which that
		 * did not see. Or a leader, long ago; or one that another traces. */
		if (state == 0 || state == 'Z' || state == 'X')
			*ret_found |= tid != p->pid && !by;
		/* A thread that a seized one has just born is ours already. */
		else if (tid == p->pid || by != gettid())
			break;
		rc = 0;
	}
	closedir(dir);
	return rc;
}

int seize_thread(struct tracer *tracer, struct process *p, pid_t tid, struct ubp_err *err)
{
	struct seizing s = { .tracer = tracer, .p = p };
	int rc;

	begin(&s);
	rc = seize(&s, tid, err);
	seize_limit_end(&s.limit);
	return rc;
}

int seize_threads(struct tracer *tracer, struct process *p, struct ubp_err *err)
{
	struct seizing s = { .tracer = tracer, .p = p };
	bool found = true;
	int rc;

	begin_all(&s);
	/* Threads can start while we look: stop after a pass that found none. */
	do {
		rc = seize_new_threads(&s, &found, err);
		if (rc == 0 && found)
			rc = check_time(&s, err);
	} while (rc == 0 && found);
	seize_limit_end(&s.limit);
	return rc;
}
