/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What an earlier ubp has left in a process: always its areas, since a thread may
 * be in one; if it was killed, also breakpoints, hijacked return addresses and
 * incremented reference counters. All of it is described by the areas themselves
 * (arch/guard.h). They lie in the target's memory, so nothing in them is believed
 * without a look.
 */

#include "engine/plant/leftover.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/guard.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/os/maps.h"
#include "engine/plant/area.h"
#include "engine/plant/areas.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/guard_wait.h"
#include "engine/plant/leftover_parts.h"
#include "engine/plant/parts.h"
#include "engine/returns/hijack.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/hold.h"
#include "engine/trace/mem.h"
#include "engine/trace/members.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

#define HOLD_MS 20

/* No leftover: another process, which we trace, lives in this memory too. */
static bool is_in_use(const struct tracer *tracer, const struct process *p, uint64_t first)
{
	size_t pos = 0;
	void *value;

	while (map_next(&tracer->processes, &pos, NULL, &value)) {
		const struct process *other = value;
		const struct plant_space *ps = other->space->plant;

		if (other->space != p->space && ps && ps->areas && ps->areas->vaddr == first &&
		    task_shares_memory(other->pid, p->pid) == 1)
			return true;
	}
	return false;
}

/*
 * No leftover: another ubp lives that has let go of the process, and records in it. Returns its thread; 0: there is none. The word that tells
 * is the kernel's to change when that thread ends.
 */
static pid_t recording_in(const struct adoption *a)
{
	struct guard_gate gate;
	struct ring_control control;

	if (mem_peek(&a->space->mem, a->head.data + UBP_GUARD_GATE, &gate, sizeof(gate)) !=
		    sizeof(gate) ||
	    !gate.alone || gate.gate <= RING_GATE_TRAP ||
	    mem_peek(&a->space->mem, gate.gate - RING_CONTROL_LEN, &control, sizeof(control)) !=
		    sizeof(control) ||
	    control.owner & RING_OWNER_DIED || (pid_t)control.owner == gettid())
		return 0;
	return (pid_t)control.owner;
}

static void forget_noted(const struct space *space, pid_t tid)
{
	const struct plant_space *ps = space->plant;
	const uint64_t no_live[2] = { 0 };

	if (guard_data(ps))
		(void)mem_write(&space->mem, tid,
				guard_data(ps) + offsetof(struct guard_data, live_lo), no_live,
				sizeof(no_live));
}

/*
 * Who was killed may have let go of the process, so that what needs a tracer was left out: it has one again. Where no guard stands, the
 * trampoline becomes a trap when one does (guard_install()).
 */
static void forget_alone(const struct space *space, pid_t tid)
{
	if (!guard_data(space->plant))
		return;
	(void)guard_set_alone(space, tid, 0);
	if (guard_is_taken_over(space->plant))
		(void)returns_set_trap(space, tid, true);
}

/* What was taken over so far is not to be used: the next look is a first one again. */
static void forget(struct plant_space *ps)
{
	area_free_all(ps->areas);
	ps->areas = NULL;
	map_free(&ps->slots);
	jump_forget_blocks(ps);
	jump_forget_hops(ps);
	ps->stub = 0;
	returns_set_trampoline(ps, 0);
	returns_set_place(ps, (struct return_place){ 0 });
	hijack_set_place(ps, (struct hijack_place){ 0 });
	hijack_set_room(ps, 0);
	guard_forget_look(ps);
}

/* A detour's code says whose the hit was: nobody may come back by that. */
static int put_hijacked_back(struct adoption *a, struct plant_space *ps)
{
	struct plant_left left = { 0 };

	if (!a->holds)
		(void)hold_all(a->tracer, a->space, HOLD_MS);
	a->holds = true;
	return_ops(a->space)->save_returning(a->space);
	return_ops(a->space)->put_back_hijacks(ps, a->space, a->tid, &left);
	return -left.code;
}

/*
 * Areas of another version of ours. As long as their guard is the handler of SIGTRAP, probes may stand that lead to it, and a ubp may
 * live that records there: nothing is to be changed beside them. Without it they are memory that nobody uses.
 */
static int of_other_version(const struct tracee *t, struct ubp_err *err)
{
	if (!(task_caught(t->tid) & TASK_SIG_BIT(SIGTRAP)))
		return 0;
	return ubp_fail(
		err, EBUSY,
		"process %d may have probes of another version of ubp, which was killed or is "
		"there still: only that version can take them out",
		(int)t->process->pid);
}

static int adopt(const struct held *held, const struct maps *maps, unsigned *n_removed,
		 struct ubp_err *err)
{
	struct tracer *tracer = held->tracer;
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	struct adoption a = { .tracer = tracer, .space = space, .maps = maps, .tid = t->tid };
	int pid = (int)t->process->pid;
	bool is_other;
	pid_t other;
	int rc;

	a.vaddr = leftover_find(space, maps, &a.head, &is_other);
	if (!a.vaddr)
		return is_other ? of_other_version(t, err) : 0;
	other = recording_in(&a);
	if (other)
		return ubp_fail(err, EBUSY,
				"another ubp records in process %d, which it has let go of "
				"(thread %d)",
				pid, (int)other);
	if (is_in_use(tracer, t->process, a.vaddr))
		return ubp_fail(err, EBUSY,
				"process %d shares its memory with another that is traced",
				pid);
	rc = parts_take_over(&a);
	if (rc == 0 && hijack_place(ps).table && guard_is_taken_over(ps))
		rc = put_hijacked_back(&a, ps);
	if (a.holds)
		hold_end(tracer, space, held);
	*n_removed += a.n_removed;
	free(a.entries);
	free(a.hops);

	if (!held_lasts(held) || t->process->space != space) {
		forget(ps); /* others may live on in this memory */
		return -ESRCH;
	}
	if (rc == 0) {
		rc = guard_wait(held, err);
		if (rc < 0) {
			forget(ps);
			return rc;
		}
		forget_noted(space, a.tid);
		forget_alone(space, a.tid);
		rc = area_furnish(space, a.vaddr, a.tid);
		if (rc == 0)
			area_allow_batch(space);
	}
	if (rc < 0)
		forget(ps);
	if (rc == -ENOMEM)
		return ubp_fail(err, ENOMEM, "process %d: out of memory", pid);
	return rc == 0 ? 0
		       : ubp_fail(err, -rc,
				  "process %d: what an earlier ubp left is damaged%s%s", pid,
				  a.why ? ": " : "", a.why ? a.why : "");
}

int leftover_adopt(const struct held *held, const struct maps *maps, unsigned *n_removed,
		   struct ubp_err *err)
{
	struct space *space = held->t->process->space;
	int rc;

	/* Threads are stopped for that: one of them may have ended @t, and its memory, by an exec. */
	space_keep(space);
	rc = adopt(held, maps, n_removed, err);
	if (!held_lasts(held))
		rc = ubp_fail(err, ESRCH, "thread %d has ended", (int)held->tid);
	space_put(held->tracer, space);
	return rc;
}
