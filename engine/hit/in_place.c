/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/in_place.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/plant/site.h"
#include "engine/space/space.h"
#include "engine/trace/attach.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/process.h"
#include "engine/trace/wait.h"

#define STEP_LIMIT_MS 5000

/*
 * Step once. True: done, the thread is in the stop of its step. False: it ended,
 * or another stop came first, which waits to be looked at like any other, or it
 * is still in the kernel.
 */
static bool step_over(struct tracee *t, const struct site *site)
{
	struct stop stop;
	int rc;

	if (ubp_host_set_pc(t->tid, site->vaddr) < 0 ||
	    again_ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) < 0)
		return false;
	rc = wait_one(t->tid, STEP_LIMIT_MS, &stop);
	t->stepping = rc == 0; /* its trap will come later */
	return rc == 1 && !stop.exited && stop.event == 0 && stop.sig == SIGTRAP;
}

/* The kernel would read it for the step, and it may not answer. The original instruction stays there. */
static void give_up(struct hit *hit, struct tracee *t, const struct site *site)
{
	(void)site_unplant(t->process->space, t->tid, site);
	(void)ubp_host_set_pc(t->tid, site->vaddr);
	hit->opt.not_stepped(hit->opt.ctx, t, site->vaddr);
}

void in_place_step(struct hit *hit, const struct held *held, const struct site *site)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct hold_scope scope;
	pid_t *others, tid = t->tid;
	bool is_done = false;
	size_t n;

	/* Taken out meanwhile: the original bytes are back, and must stay. */
	if (!site->planted || plant_is_closing(space)) {
		(void)ubp_host_set_pc(tid, site->vaddr);
		return;
	}
	if (!mem_may_be_touched(&space->mem, tid, site->vaddr, site->insn.len)) {
		give_up(hit, t, site);
		return;
	}
	/* Others may come here in turn while they are being stopped: not this one. */
	hold_scope_begin(&scope, held);
	others = attach_hold_others(hit->tracer, t, &n);
	if (hold_scope_lasts(&scope)) {
		(void)site_unplant(space, tid, site);
		is_done = step_over(t, site);
		(void)mem_write(&space->mem, tid, site->vaddr, space->arch->swbp.code,
				space->arch->swbp.len);
	}
	attach_let_others_go(hit->tracer, others, n);
	hold_scope_end(&scope);
	/* Kept: the caller must not resume it, its next stop waits already. */
	held_keep(held, !is_done);
}
