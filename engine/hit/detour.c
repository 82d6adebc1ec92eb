/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/detour.h"

#include <string.h>

#include "arch/host.h"
#include "engine/event/ring.h"
#include "engine/hit/fault.h"
#include "engine/hit/record.h"
#include "engine/hit/room.h"
#include "engine/hit/stop_count.h"
#include "engine/plant/first.h"
#include "engine/plant/guard.h"
#include "engine/plant/jump.h"
#include "engine/plant/jump_make_way.h"
#include "engine/plant/rings.h"
#include "engine/plant/scan.h"
#include "engine/plant/upgrade.h"
#include "engine/plant/watch.h"
#include "engine/returns/disarm.h"
#include "engine/returns/entry.h"
#include "engine/returns/hijack.h"
#include "engine/returns/hijack_chain.h"
#include "engine/returns/ops.h"
#include "engine/space/return_instance.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/next_stop.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/tracee_task.h"

/* How long what may be read is believed to be what it was. */
#define LOOK_AGAIN_NS 1000000

/*
 * The detour's own order: entry probes first, then the return address is replaced for all return
 * probes, which has the trap of the first of them.
 */
static void record_from(struct hit *hit, struct tracee *t, struct site *site,
			const struct site_jump *jump, size_t first, struct ubp_regs *regs)
{
	bool wants_return = false;
	bool at_return = jump->probes[first]->kind == PROBE_RETURN;
	struct moment m;

	moment_begin(hit, &m, t, regs);
	for (size_t i = 0; i < jump->n_probes; i++) {
		if (jump->probes[i]->kind == PROBE_RETURN)
			wants_return |= !jump->ends_at_ret && uprobe_is_on(jump->probes[i]);
		else if (i >= first && !at_return)
			record_hit(hit, &m, jump->probes[i], site_probed(site, jump->probes[i]),
				   0);
	}
	if (wants_return)
		return_hijack(hit->plant, t,
			      &(struct return_entry){ .site = site,
						      .entered_ns = moment_mono_ns(hit, &m),
						      .n_numbers = jump->n_numbers },
			      regs);
	moment_end(hit, &m);
}

/* While it gets them others are hit, and see something else. */
static void want_rings(const struct hit *hit, const struct held *held)
{
	uint64_t seen[HIT_SEEN];

	memcpy(seen, hit->seen, sizeof(seen));
	upgrade_rings(hit->plant, held, seen, hit->n_seen);
}

/* So that the next hit needs no trap. */
static void catch_up(struct hit *hit, const struct held *held)
{
	struct tracee *t = held->t;
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	uint64_t pointer;

	rings_note_mask(t);
	if (!rings_are_made(ps)) {
		if (upgrade_wants_rings(ps))
			want_rings(hit, held);
	} else if (!rings_has_thread(ps, t->tid) ||
		   ubp_host_get_thread_pointer(space->arch, t->tid, held->at, &pointer) < 0 ||
		   t->probes->thread_pointer != pointer) {
		rings_add_thread(held);
		if (!rings_has_thread(ps, t->tid) && rings_wants_more(ps))
			want_rings(hit, held);
	} else {
		/* A thread says where that stands some time after its start. */
		rings_note_cpu(ps, t);
		if (stop_saw_new_memory(hit, ps) &&
		    event_clock_now(CLOCK_KIND_MONO) - rings_looked_ns(ps) > LOOK_AGAIN_NS)
			rings_look_around(space, t->tid, hit->seen, hit->n_seen);
	}
}

static uint64_t duration_of(const struct tracee *t, const struct site_jump *jump, uint64_t sp)
{
	return hijack_duration(t->process->space, sp, jump->copy + jump->detour.return_at);
}

/*
 * On the way back, or at a ret: the registers are the caller's, its address stands below the stack pointer, or
 * in its register.
 */
static void record_return(struct hit *hit, struct tracee *t, const struct site *site,
			  const struct site_jump *jump, size_t first, struct ubp_regs *regs)
{
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t real = 0;
	struct moment m;

	if (!return_ops(t->process->space)->read_returned(t, regs, &real))
		return;
	regs->r[arch->reg.pc] = real;
	moment_begin(hit, &m, t, regs);
	for (size_t i = first; i < jump->n_probes; i++) {
		const struct fetch_program *program = jump->probes[i]->program;

		if (jump->probes[i]->kind != PROBE_RETURN)
			continue;
		if (program->needs_duration && !m.duration_ns)
			m.duration_ns = duration_of(t, jump, regs->r[arch->reg.sp]);
		record_hit(hit, &m, jump->probes[i], site_probed(site, jump->probes[i]), real);
	}
	moment_end(hit, &m);
}

/* Functions are left by a jump, so their returns are not seen. */
static void count_left(const struct site_jump *jump, size_t first)
{
	for (size_t i = first; i < jump->n_probes; i++)
		if (uprobe_is_on(jump->probes[i]))
			uprobe_count(&jump->probes[i]->stats.missed[MISSED_TAIL_JUMP]);
}

/* An unwinder is about to look, at a stack that has something of ours, or may have. */
static void begin_unwinding(struct tracee *t, const struct site *site, struct ubp_regs *regs)
{
	if (return_disarm(t, regs, site->watches))
		watch_wake_ends(t->process->space, t->tid);
	watch_met(t, site);
}

/* Behind what is watched, @watches; the thread has a ring by then, if it can have one. */
static void end_watched(const struct hit *hit, const struct held *held, unsigned watches)
{
	struct tracee *t = held->t;
	uint64_t sp = held->at->r[t->process->space->arch->reg.sp];

	if (watches & WATCH_UNWIND && !t->probes->n_unwinders)
		scan_note_stack(t, sp, !hit->plant->opt.stay);
	if (watches & WATCH_LOADER)
		hit->opt.loader(hit->opt.ctx, held);
}

enum trap_verdict detour_trap(struct hit *hit, const struct held *held, struct ubp_regs *regs,
			      uint64_t vaddr)
{
	struct tracee *t = held->t;
	const struct plant_space *ps = t->process->space->plant;
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t behind = vaddr + arch->swbp.len;
	bool is_return = false, is_tail = false;
	size_t first = 0;
	unsigned watches;
	struct site *site = NULL;
	const struct site_jump *jump =
		jump_of_trap(t->process->space, vaddr, &site, &first, &is_return);

	/* A detour of a session before us: it goes on by itself. */
	if (!jump || ps->closing) {
		if (!arch->swbp.pc_advance)
			(void)ubp_host_move(t->tid, regs, behind);
		return TRAP_OURS;
	}
	wait_note_hot(hit->tracer, t);
	if (t->probes->n_unwinders && !jump->is_watch)
		return_look_landed(t, regs->r[arch->reg.sp]);
	hit->n_seen = 0;
	/* The detour has taken the lead back. */
	if (!jump->is_watch)
		regs->r[arch->reg.pc] = site_probed(site, jump->probes[first]);
	watches = jump->is_watch ? site->watches : 0;
	if (watches & WATCH_UNWIND) {
		begin_unwinding(t, site, regs);
	} else if (jump->is_at_jump) {
		count_left(jump, first);
	} else if (is_return || jump->is_at_ret ||
		   (jump->ends_at_ret && jump->probes[first]->kind == PROBE_RETURN)) {
		regs->r[arch->reg.sp] += jump->detour.ret_below;
		record_return(hit, t, site, jump, first, regs);
		regs->r[arch->reg.sp] -= jump->detour.ret_below;
	} else if (!watches) {
		is_tail = jump->probes[first]->kind == PROBE_RETURN && stop_is_tail(held);
		record_from(hit, t, site, jump, first, regs);
	}
	if (!jump->is_watch)
		stop_count_detour(hit, held, jump, first, is_tail);
	room_wait(hit, held);
	regs->r[arch->reg.pc] = behind;
	if (!guard_is_lost(t) || guard_reinstall(held) < 0) {
		if (!arch->swbp.pc_advance)
			(void)ubp_host_move(t->tid, regs, behind);
		catch_up(hit, held);
	}
	if (watches && held_lasts(held))
		end_watched(hit, held, watches);
	return TRAP_OURS;
}

/* What a detour carries out of a run-up has made a fault: it is that instruction's own. */
static bool fault_in_run_up(const struct held *held, struct site *site,
			    const struct site_jump *jump, uint64_t at, int sig)
{
	uint64_t from = jump->copy + jump->detour.entry_at + at, to = site->vaddr + at;

	/* See below. Another thread's fault may have taken the jump back. */
	if (jump->n > 1 && at < jump->jump_len && site->rung == SITE_JUMPED &&
	    !jump_demote(held, site, "an instruction under the jump made a fault"))
		return false;
	if (!held_lasts(held))
		return false;
	hit_correct_fault(sig, held->tid, from, to);
	(void)ubp_host_set_pc(held->tid, to);
	return false;
}

/*
 * In a function's copy: of an instruction that is under another jump, on a run-up or of a probe that came when somebody was in the copy. False: that could not be
 * taken back.
 */
static bool clear_jump(const struct held *held, uint64_t vaddr)
{
	struct plant_space *ps = held->t->process->space->plant;
	struct site *over = jump_over(ps, vaddr), *at = map_get(&ps->sites, vaddr);

	/* One on several instructions begins there: the handler may come back to the second one. */
	if (!over && at && at->jump && at->jump->run_up && at->jump->n > 1)
		over = at;
	return !over || vaddr - over->vaddr >= over->jump->jump_len ||
	       over->rung != SITE_JUMPED ||
	       jump_demote(held, over, "an instruction under the jump made a fault");
}

bool detour_fault(struct hit *hit, const struct held *held, struct site *site,
		  const struct site_jump *jump, uint64_t at, int sig)
{
	uint64_t on = jump_fixup(jump, at), copy = jump->copy, from, to;
	bool moved = false, is_under;
	pid_t tid = held->tid;

	if (on) {
		rings_block_again(held->t, sig);
		return ubp_host_set_pc(tid, on) == 0;
	}
	if (jump->run_up && at - jump->detour.entry_at < jump->run_up)
		return fault_in_run_up(held, site, jump, at - jump->detour.entry_at, sig);
	if (!jump_insn_at(jump, at, &from))
		return false;
	to = site->vaddr + (jump->run_up ? jump->run_up : from);
	is_under = jump->n > 1 && from < jump->from[jump->n];
	/*
	 * The program's handler may come back to this instruction or to the next one, and
	 * that must not be under a jump. (At the window's start: if it runs again, that is
	 * another hit, as with a breakpoint. But not of a probe that is in front of it.)
	 */
	if (from == 0 && site->n_probes && site_probed(site, site->probes[0]) != site->vaddr)
		moved = site_to_first(hit->plant, held, site);
	/* The site, too, is gone with the last thread. */
	if (!held_lasts(held))
		return false;
	if (!moved && is_under && site->rung == SITE_JUMPED &&
	    !jump_demote(held, site, "an instruction under the jump made a fault"))
		return false;
	if (!held_lasts(held) || (!is_under && from && !clear_jump(held, to)) ||
	    !held_lasts(held))
		return false;
	hit_correct_fault(sig, tid, copy + at, to);
	(void)ubp_host_set_pc(tid, to);
	return false;
}
