/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/self_read.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>

#include "arch/arch.h"
#include "arch/detour_parts.h"
#include "engine/base/again.h"
#include "engine/base/err.h"
#include "engine/base/fetch_op.h"
#include "engine/base/map.h"
#include "engine/os/maps.h"
#include "engine/plant/bell.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/outside.h"
#include "engine/plant/rings.h"
#include "engine/plant/sigaction.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/space/thread.h"
#include "engine/space/uprobe.h"
#include "engine/trace/held.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* --- is it wanted? -------------------------------------------------------------------- */

/* Does the arg whose ops begin with @op read memory that the program may unmap at any time? *ret_end: where they end. */
static bool follows_pointer(const struct ubp_arch *arch, const struct fetch_op *op,
			    const struct fetch_op **ret_end)
{
	const struct fetch_op *source = op, *store = detour_store_of(op);
	bool is_static = source->code == FETCH_IMM || source->code == FETCH_FOFF;
	bool follows = source->code == FETCH_STACK &&
		       !detour_is_near(source, source, arch->reg.sp, arch->addr_size);

	*ret_end = store + 1;
	if (store != source + 1 || store->code == FETCH_STORE_STRING)
		return true;
	if (store->code == FETCH_STORE_MEM || store->code == FETCH_STORE_X87)
		follows |= !is_static &&
			   !detour_is_near(source, store, arch->reg.sp, arch->addr_size);
	return follows;
}

static bool follows_pointers(const struct uprobe *probe)
{
	const struct fetch_program *program = probe->program;
	const struct fetch_op *op = program->ops, *end = op + program->n_ops;

	while (op < end)
		if (follows_pointer(probe->arch, op, &op))
			return true;
	return false;
}

bool self_read_is_wanted(const struct process *p)
{
	size_t pos = 0;
	void *value;

	while (map_next(&p->space->plant->sites, &pos, NULL, &value)) {
		const struct site *site = value;

		for (size_t i = 0; site->planted && i < site->n_probes; i++)
			if (follows_pointers(site->probes[i]))
				return true;
	}
	return false;
}

/* --- may it? -------------------------------------------------------------------------------- */

/* One that has ended has none. */
static bool is_filtered(pid_t tid)
{
	long n_filters;

	return task_seccomp(tid, &n_filters) > 0;
}

const char *self_read_why_not(const struct process *p)
{
	if (!p->space->arch->detour.reads)
		return "a probe follows pointers, to memory that may be gone by then";
	if (rings_are_filtered(p->space->plant))
		return "a probe follows pointers, and it has filtered its system calls, or was "
		       "about to";
	/* A thread would wait for it in its detour. */
	if (!mem_is_sure(&p->space->mem, task_live_thread(p->pid)))
		return "a probe follows pointers, and its memory may not answer";
	for (const struct tracee *t = p->tracees; t; t = t->next)
		if (is_filtered(t->tid))
			return "a probe follows pointers, and its system calls are filtered";
	return mem_has_call() ? NULL
			      : "a probe follows pointers, which the kernel does not read";
}

#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif

/* Its calls may be the program's own to carry out. Before Linux 6.4 that is not told. */
static bool is_dispatched(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, len;
	} config = { 0 };

	return again_ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof(config),
			    (uintptr_t)&config) == 0 &&
	       config.mode;
}

static bool has_bell(void *ctx, uint64_t vaddr)
{
	const struct plant_space *ps = ctx;
	const struct site *site = map_get(&ps->sites, vaddr);

	return site && site->watches & WATCH_FILTERS && bell_is_one(site) &&
	       site->rung == SITE_JUMPED;
}

const char *self_read_why_unseen(struct plant *plant, const struct held *held)
{
	struct space *space = held->t->process->space;
	const struct mapping *loader;
	struct ubp_err ignored;
	struct maps maps;
	const char *why;

	if (is_dispatched(held->tid))
		return "a probe follows pointers, and its system calls are its own";
	if (maps_read(held->tid, &maps, &ignored) < 0)
		return "a probe follows pointers, and its mappings cannot be read";
	loader = maps_at(&maps, task_auxv(held->t->process->pid, AT_BASE));
	why = maps.n ? sigaction_why_filters(plant, space->arch, &space->cost, held->tid, &maps,
					     loader, has_bell, space->plant)
		     : NULL;
	maps_free(&maps);
	return why;
}

/* --- each thread is out of all detours once ------------------------------------------------- */

/* In what may have looked at a range. Who is at its trap has nothing left to read. */
static bool is_inside(const void *ctx, const struct space *space, uint64_t pc,
		      enum outside_at where)
{
	const struct site *site = plant_site_of_slot(space, pc);
	const struct site_jump *jump;
	uint64_t at;

	(void)ctx;
	(void)where;
	jump = site ? jump_at(site, pc, &at) : NULL;
	return jump && at >= jump->detour.copy.len && !jump_has_trap(space->plant, pc) &&
	       !jump_has_trap(space->plant, pc - 1);
}

static const struct outside_question detours = { .is_inside = is_inside, .asks_stacks = true };

/*
 * Who began before the ranges were gone may put one into a cell again. So all cells are emptied once more when everybody was
 * outside: from then on nobody finds one. And whoever has found one before has read by it when everybody was outside again.
 */
int self_read_begin(struct tracer *tracer, struct process *p)
{
	struct space *space = p->space;

	for (int i = 0; i < 2; i++) {
		rings_distrust(space->plant);
		if (!outside_wait(tracer, space, &detours))
			return -EAGAIN;
	}
	rings_let_read(space->plant);
	return 0;
}

void self_read_end(const struct process *p)
{
	rings_trust(p->space->plant);
}
