/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/trace/members.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/trace/ids.h"
#include "engine/trace/mem.h"
#include "engine/trace/next_stop.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/reaper.h"
#include "engine/trace/resume.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

struct space *space_new(struct tracer *tracer, const struct ubp_arch *arch, pid_t pid,
			struct ubp_err *err)
{
	struct space *space;

	if (!arch)
		arch = task_arch(pid, err);
	if (!arch)
		return NULL;
	space = calloc(1, sizeof(*space));
	if (!space) {
		ubp_fail(err, ENOMEM, "out of memory");
		return NULL;
	}
	space->arch = arch;
	space->mem = (struct trace_mem){
		.file.fd = -1,
		.pokes = &tracer->pokes,
		.space = space,
		.care = &space->care,
	};
	space->care = (struct mem_care){
		.stand_in = &tracer->stand_in,
		.file = &space->mem.file,
		.serial = ++tracer->stand_in.n_serials,
	};
	if (mem_open(&space->mem, pid, err) < 0) {
		free(space);
		return NULL;
	}
	return space;
}

void space_settle_exec(const struct space *space, pid_t tid)
{
	struct ubp_regs regs;

	if (ubp_host_get_regs(tid, &regs) < 0)
		return;
	regs.r[space->arch->reg.retval] = 0;
	(void)ubp_host_set_regs(tid, &regs);
}

void space_keep(struct space *space)
{
	space->refs++;
}

void space_put(struct tracer *tracer, struct space *space)
{
	if (--space->refs)
		return;
	tracer->ops->space_gone(tracer->ctx, space);
	mem_close(&space->mem);
	free(space);
}

static void link_process(struct process *p, struct space *space)
{
	p->space = space;
	p->before_it = NULL;
	p->next = space->processes;
	if (p->next)
		p->next->before_it = p;
	space->processes = p;
}

static void unlink_process(struct process *p)
{
	if (p->next)
		p->next->before_it = p->before_it;
	if (p->before_it)
		p->before_it->next = p->next;
	else
		p->space->processes = p->next;
}

struct process *tracer_add_process(struct tracer *tracer, pid_t pid, struct space *space)
{
	struct process *p = calloc(1, sizeof(*p) + tracer->ops->process_len);

	space->refs++;
	if (!p || map_put(&tracer->processes, (uint64_t)pid, p) < 0) {
		space_put(tracer, space);
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->probes = (struct process_probes *)(p + 1);
	link_process(p, space);
	reaper_mind(tracer->reaper, pid);
	return p;
}

void tracer_drop_process(struct tracer *tracer, struct process *p)
{
	map_remove(&tracer->processes, (uint64_t)p->pid);
	reaper_forget(tracer->reaper, p->pid);
	unlink_process(p);
	space_put(tracer, p->space);
	free(p);
}

bool process_is_there(const struct tracer *tracer, pid_t pid, const struct process *p,
		      const struct space *space)
{
	return map_get(&tracer->processes, (uint64_t)pid) == p && p->space == space;
}

void process_move(struct tracer *tracer, struct process *p, struct space *space)
{
	struct space *old = p->space;

	space->refs++;
	unlink_process(p);
	link_process(p, space);
	space_put(tracer, old);
}

struct tracee *tracer_add_tracee(struct tracer *tracer, struct process *p, pid_t tid)
{
	struct tracee *t;

	/* Each may give birth to one that stops first, and then there may be no memory. */
	if (!ids_keep_room(tracer) ||
	    map_keep_room(&tracer->limbo, tracer->tracees.n + 1) < 0 ||
	    map_keep_room(&tracer->unseen, tracer->unseen.n + 1) < 0)
		return NULL;
	t = calloc(1, sizeof(*t) + tracer->ops->thread_len);
	if (!t)
		return NULL;
	t->probes = (struct thread_probes *)(t + 1);
	t->tid = tid;
	t->process = p;
	t->options = tracer->options;
	t->task = (struct tracee_task){ .stat_fd = -1, .one_cpu = -2 };
	t->drained = tracer->is_draining;
	if (map_put(&tracer->tracees, (uint64_t)tid, t) < 0) {
		free(t);
		return NULL;
	}
	map_remove(&tracer->unseen, (uint64_t)tid);
	p->n_tracees++;
	t->next = p->tracees;
	if (t->next)
		t->next->before_it = t;
	p->tracees = t;
	return t;
}

void tracer_drop_tracee(struct tracer *tracer, struct tracee *t)
{
	struct process *p = t->process;

	tracer->ops->tracee_gone(tracer->ctx, t);
	wait_forget(tracer, t);
	tracer_forget_parked(tracer, t);
	map_remove(&tracer->tracees, (uint64_t)t->tid);
	if (t->next)
		t->next->before_it = t->before_it;
	if (t->before_it)
		t->before_it->next = t->next;
	else
		p->tracees = t->next;
	if (t->task.stat_fd >= 0)
		close(t->task.stat_fd);
	free(t->remote.before);
	free(t->remote.more);
	free(t);
	if (--p->n_tracees || p->is_alone)
		return;
	map_remove(&tracer->processes, (uint64_t)p->pid);
	tracer->ops->process_gone(tracer->ctx, p);
	tracer_drop_process(tracer, p);
}

void tracer_detach(struct tracer *tracer, struct tracee *t)
{
	pid_t tid = t->tid;

	if (t->remote.called)
		tracee_leave_stub(t);
	tracer_drop_tracee(tracer, t);
	(void)again_ptrace(PTRACE_DETACH, tid, 0, 0);
}
