/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Processes that live in one memory (CLONE_VM without CLONE_THREAD, vfork()) and were born before
 * one of them was seized. Nothing tells of them but kcmp() with each process there is.
 *
 * For one process that is one call for each other. For many it would be the product, so
 * there all are put into the order that kcmp() gives: equal ones stand side by side.
 */

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/err.h"
#include "engine/base/pid_list.h"
#include "engine/base/proc.h"
#include "engine/trace/attach.h"
#include "engine/trace/finder.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define RANGE_MAX  4096 /* numbers that are looked through */
#define FEW        8    /* processes: each is compared with all */
#define SORT_TRIES 3    /* somebody may exec meanwhile */

struct lookup {
	struct tracer *tracer;
	sharer_refused_fn *refused;
	void *ctx;
	pid_t without;        /* a thread that has no memory; 0: none is known */
	struct pid_list tids; /* of all processes, a thread that has memory */
};

/* A thread of @pid by which its memory can be compared; 0: it has none (any more). */
static pid_t thread_with_memory(const struct lookup *l, pid_t pid)
{
	pid_t tid;

	/* Not even ended leaders, whose other threads live on, are equal to others then. */
	if (l->without && task_shares_memory(pid, l->without) == 0)
		return pid;
	tid = task_live_thread(pid);
	/* None at all is shared with every kernel thread. */
	return tid && task_auxv(tid, AT_PAGESZ) ? tid : 0;
}

static int add_process(void *ctx, pid_t pid)
{
	struct lookup *l = ctx;
	/* Whom we may not look at we can't compare, nor trace. */
	pid_t tid = task_shares_memory(pid, getpid()) < 0 ? 0 : thread_with_memory(l, pid);

	return tid ? pid_list_add(&l->tids, tid) : 0;
}

static int compare_memory(const void *a, const void *b)
{
	return task_compare_memory(*(const pid_t *)a, *(const pid_t *)b);
}

/* Unless all are in order, one has got another memory while they were sorted. */
static void sort(struct lookup *l)
{
	bool good = false;

	for (int i = 0; !good && i < SORT_TRIES; i++) {
		qsort(l->tids.v, l->tids.n, sizeof(*l->tids.v), compare_memory);
		good = true;
		for (size_t k = 1; good && k < l->tids.n; k++)
			good = compare_memory(&l->tids.v[k - 1], &l->tids.v[k]) <= 0;
	}
}

static struct process *process_of(const struct lookup *l, pid_t tid)
{
	struct process *p = map_get(&l->tracer->processes, (uint64_t)tid);
	const struct tracee *t = p ? NULL : map_get(&l->tracer->tracees, (uint64_t)tid);

	return t ? t->process : p;
}

/* @tid's process lives in @space, too. */
static void join(const struct lookup *l, struct space *space, pid_t tid, pid_t whose)
{
	struct process *p = process_of(l, tid);
	bool is_new = !p;
	struct ubp_err err;
	int rc = 0;

	/* One that a seized thread gave birth to is ours already, and will be told. */
	if (!p && task_tracer(tid) == gettid())
		return;
	if (!p)
		rc = attach_process(l->tracer, task_tgid(tid), &p, &err);
	if (rc < 0 && rc != -ESRCH)
		l->refused(l->ctx, whose, rc, &err);
	if (rc < 0)
		return;
	p->silent |= is_new;
	if (p->space != space)
		process_move(l->tracer, p, space);
}

/* Of the threads @tids, all in one memory: those of processes that are traced, and the others. */
static void settle(const struct lookup *l, const pid_t *tids, size_t n)
{
	const struct process *first = NULL;
	pid_t pid;

	for (size_t i = 0; i < n; i++) {
		const struct process *p = process_of(l, tids[i]);

		/* Where something is planted, the others come to. */
		if (p && (!first || (!first->space->plant && p->space->plant)))
			first = p;
	}
	if (!first)
		return;
	pid = first->pid;
	/* It may be given up because of another. */
	for (size_t i = 0; i < n && map_get(&l->tracer->processes, (uint64_t)pid) == first; i++)
		if (process_of(l, tids[i]) != first)
			join(l, first->space, tids[i], pid);
}

static void settle_all(struct lookup *l)
{
	size_t end;

	(void)proc_each(add_process, l);
	sort(l);
	for (size_t at = 0; at < l->tids.n; at = end) {
		end = at + 1;
		while (end < l->tids.n &&
		       task_shares_memory(l->tids.v[at], l->tids.v[end]) == 1)
			end++;
		if (end - at > 1)
			settle(l, l->tids.v + at, end - at);
	}
	free(l->tids.v);
}

struct one {
	const struct lookup *lookup;
	pid_t pid, tid;
};

static int compare_with(void *ctx, pid_t pid)
{
	const struct one *one = ctx;
	pid_t both[2] = { one->tid, pid }, without = one->lookup->without;

	if (pid == one->pid)
		return 0;
	if (task_shares_memory(one->tid, pid) != 1) {
		/* It may be a leader that has ended, whose other threads live on. */
		both[1] = without && task_shares_memory(pid, without) == 0
				  ? 0
				  : task_live_thread(pid);
		if (!both[1] || both[1] == pid || task_shares_memory(one->tid, both[1]) != 1)
			return 0;
	}
	settle(one->lookup, both, 2);
	return 0;
}

/* The kernel's thread 2 makes all its others. */
static pid_t thread_without_memory(void)
{
	return task_state(2) && !task_auxv(2, AT_PAGESZ) ? 2 : 0;
}

void attach_sharers(struct tracer *tracer, const pid_t *pids, size_t n,
		    sharer_refused_fn *refused, void *ctx)
{
	struct lookup l = { .tracer = tracer, .refused = refused, .ctx = ctx };

	if (!n)
		return;
	l.without = thread_without_memory();
	if (n > FEW) {
		settle_all(&l);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct one one = { &l, pids[i], task_live_thread(pids[i]) };

		if (one.tid && task_auxv(one.tid, AT_PAGESZ))
			(void)proc_each(compare_with, &one);
	}
}

void attach_sharers_since_exec(struct tracer *tracer, pid_t pid, sharer_refused_fn *refused,
			       void *ctx)
{
	struct lookup l = { .tracer = tracer, .refused = refused, .ctx = ctx };
	struct one one = { &l, pid, task_live_thread(pid) };
	pid_t last = finder_last_pid();

	if (last < pid || last - pid > RANGE_MAX) {
		attach_sharers(tracer, &pid, 1, refused, ctx);
		return;
	}
	/* Numbers of threads are met here, too: those of others share nothing, its own are known. */
	for (pid_t other = pid + 1; one.tid && other <= last; other++)
		if (task_shares_memory(one.tid, other) == 1)
			settle(&l, (const pid_t[2]){ one.tid, other }, 2);
}

struct at_large {
	const struct tracer *tracer;
	pid_t tid, without;
};

static int is_at_large(void *ctx, pid_t pid)
{
	const struct at_large *a = ctx;
	pid_t tid = pid;

	if (map_get(&a->tracer->processes, (uint64_t)pid))
		return 0;
	/* Its leader may have ended, whose other threads live on. */
	if (!a->without || task_shares_memory(pid, a->without) == 1)
		tid = task_live_thread(pid);
	return tid && task_shares_memory(a->tid, tid) == 1 && task_tracer(tid) != gettid();
}

bool sharers_are_at_large(const struct tracer *tracer, const struct space *space)
{
	struct at_large a = { tracer, 0, thread_without_memory() };
	const struct tracee *t = space_next(space, NULL);

	a.tid = t ? t->tid : 0;
	/* A kernel that does not tell cannot say no. */
	return !a.tid || task_shares_memory(a.tid, gettid()) != 0 ||
	       proc_each(is_at_large, &a) != 0;
}

const struct process *sharers_hidden(const struct space *space)
{
	const struct process *p = space->processes;

	while (p && !task_has_hidden_tracer(p->pid, p->pid))
		p = p->next;
	return p;
}
