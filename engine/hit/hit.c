/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/hit/hit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "arch/host.h"
#include "engine/base/again.h"
#include "engine/hit/detour.h"
#include "engine/hit/entry_values.h"
#include "engine/hit/fault.h"
#include "engine/hit/in_place.h"
#include "engine/hit/probes_at.h"
#include "engine/hit/record.h"
#include "engine/hit/stop_count.h"
#include "engine/plant/area.h"
#include "engine/plant/bell.h"
#include "engine/plant/first.h"
#include "engine/plant/guard.h"
#include "engine/plant/guard_state.h"
#include "engine/plant/rings.h"
#include "engine/plant/samples.h"
#include "engine/plant/scan.h"
#include "engine/plant/site.h"
#include "engine/plant/upgrade.h"
#include "engine/plant/watch.h"
#include "engine/returns/disarm.h"
#include "engine/returns/ends.h"
#include "engine/returns/entry.h"
#include "engine/returns/hijack.h"
#include "engine/returns/ops.h"
#include "engine/returns/returns.h"
#include "engine/returns/word.h"
#include "engine/space/probe_list.h"
#include "engine/space/return_instance.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/held.h"
#include "engine/trace/next_stop.h"
#include "engine/trace/ops.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* What a perf event sends: at any moment, though it counts as the kernel's. */
#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

/* 0, as of a signal that was sent, if the thread has been killed; @unknown if it can't be told. */
static int si_code_of(pid_t tid, int unknown)
{
	siginfo_t si;

	if (again_ptrace(PTRACE_GETSIGINFO, tid, 0, &si) == 0)
		return si.si_code;
	return errno == ESRCH ? 0 : unknown;
}

/*
 * Does a hit leave the thread where the breakpoint did? On what is left of a nop, at the
 * trampoline, in a detour (no site): then it goes on by itself.
 */
static bool goes_on_here(const struct site *site)
{
	return !site || site->insn.kind == INSN_SKIP;
}

/* Signals that came while it stood there find it there. */
static bool has_not_moved(const struct tracee *t, const struct ubp_regs *regs)
{
	return memcmp(&t->probes->let_go, regs,
		      t->process->space->arch->reg.n * sizeof(regs->r[0])) == 0;
}

/* Has a thread behind @insn, which is as long as a breakpoint, carried it out? */
static bool looks_done(const struct tracee *t, const struct displaced_insn *insn,
		       const struct ubp_regs *regs)
{
	const struct ubp_arch *arch = t->process->space->arch;
	uint64_t top = 0;

	return arch->insn.looks_done && read_word(t, regs->r[arch->reg.sp], &top) == 0 &&
	       arch->insn.looks_done(insn, regs, top);
}

/*
 * The kernel queues one SIGTRAP for a thread. If one that was sent to it is pending when it
 * meets a breakpoint, then the breakpoint's own is not queued. The one that comes finds the
 * thread behind the breakpoint, in the middle of an instruction that it has not carried out.
 */
static bool has_lost_trap(const struct tracee *t, const struct site *site, uint64_t vaddr,
			  const struct ubp_regs *regs, int si_code)
{
	const struct plant_space *ps = t->process->space->plant;
	const struct ubp_arch *arch = t->process->space->arch;
	struct site *detoured;
	size_t first;
	bool is_return;

	/* Where a breakpoint's trap is reported at the breakpoint, it is met again. */
	if (!arch->swbp.pc_advance || (si_code > 0 && si_code != TRAP_PERF) ||
	    !arch->reg.came_by_exception(regs) ||
	    (goes_on_here(site) && has_not_moved(t, regs)))
		return false;
	if (site)
		return site->insn.len != arch->swbp.pc_advance ||
		       !looks_done(t, &site->insn, regs);
	return returns_at_trampoline(ps, vaddr) ||
	       jump_of_trap(t->process->space, vaddr, &detoured, &first, &is_return);
}

static bool is_ready(const struct site *site)
{
	return site->slot || site->rung == SITE_IN_PLACE;
}

/* With what handlers have changed: all of it at once, whoever dies in between. */
static void carry_on_changed(struct hit *hit, const struct held *held, const struct site *site,
			     const struct hit_change *change)
{
	struct tracee *t = held->t;
	struct ubp_regs regs = *held->at;
	bool in_place = site->rung == SITE_IN_PLACE;

	regs.r[t->process->space->arch->reg.pc] = change->skips ? change->to
						  : in_place    ? site->vaddr
								: site->slot;
	(void)ubp_host_set_regs(t->tid, &regs);
	if (change->skips)
		return;
	if (in_place)
		in_place_step(hit, held, site);
	else
		t->stepping = site->rung == SITE_STEPPED;
}

/* Send the thread on: to the slot that carries out the displaced instruction. */
static void carry_on(struct hit *hit, const struct held *held, const struct site *site,
		     const struct hit_change *change)
{
	struct tracee *t = held->t;
	const struct ubp_regs *regs = held->at;
	const struct return_ops *returns = return_ops(t->process->space);
	unsigned behind = t->process->space->arch->swbp.pc_advance;

	if (change->is_set) {
		carry_on_changed(hit, held, site, change);
		return;
	}
	if (site->rung == SITE_IN_PLACE) {
		returns->write_regs(t, regs, site->vaddr);
		in_place_step(hit, held, site);
		return;
	}
	/* What is left of the instruction behind the breakpoint is a nop. But who stands in the middle of what a
	 * jump is to replace is in its way. */
	if (behind && site->insn.kind == INSN_SKIP && site->rung == SITE_BOOSTED &&
	    !scan_is_one(site) && !bell_is_one(site)) {
		returns->write_regs(t, regs, site->vaddr + behind);
		return;
	}
	(void)ubp_host_move(t->tid, regs, site->slot);
	t->stepping = site->rung == SITE_STEPPED;
}

/* @regs: held->at, that change on the way. */
static enum trap_verdict at_site(struct hit *hit, const struct held *held, struct site *site,
				 struct ubp_regs *regs)
{
	struct tracee *t = held->t;
	struct held there = *held;
	struct plant_space *ps = t->process->space->plant;
	const struct ubp_arch *arch = t->process->space->arch;
	struct hit_change change = { .regs = regs, .site = site };
	unsigned watches;
	bool in_place, sent;

	wait_note_hot(hit->tracer, t);
	upgrade_hit(ps);
	if (ps->closing) {
		carry_on(hit, held, site, &change);
		return TRAP_OURS;
	}
	if (t->probes->n_unwinders && !(site->watches & (WATCH_UNWIND | WATCH_UNWOUND)))
		return_look_landed(t, regs->r[arch->reg.sp]);
	if (site_is_probed(site) && !site->is_moved && !site->run_up) {
		stop_count_site(site);
		upgrade_at_ret(hit->plant, hit->tracer, t->process->space, site);
		probes_at(hit, t, site, regs, &change);
	}
	if (site->watches & WATCH_UNWIND && return_disarm(t, regs, site->watches))
		watch_wake_ends(t->process->space, t->tid);
	if (site->watches & WATCH_UNWOUND)
		return_landed(t, regs->r[arch->reg.sp] + site->insn.ret_pops);
	if (site->watches & WATCH_EXEC)
		return_execs(t);
	if (site->watches & (WATCH_UNWIND | WATCH_UNWOUND | WATCH_CATCH))
		watch_met(t, site);
	in_place = site->rung == SITE_IN_PLACE && !change.skips;
	watches = site->watches;
	regs->r[arch->reg.pc] = change.skips ? change.to : site->slot;
	if (change.skips)
		regs->r[arch->reg.sp] = change.sp;
	sent = !in_place && guard_is_lost(t) && guard_reinstall(held) == 0;
	if (!sent)
		carry_on(hit, held, site, &change);
	if (watches & (WATCH_PTRACE | WATCH_PTRACER) && !in_place && !sent)
		hit->opt.tracing(hit->opt.ctx, held,
				 watches & WATCH_PTRACE ? WATCH_PTRACE : WATCH_PTRACER);
	if ((watches & WATCH_UNWIND) && !in_place && !sent &&
	    !return_ops(t->process->space)->disarm_signed(held))
		return TRAP_OURS;
	/* In place: others have run meanwhile, one may have ended all of this. */
	there.at = in_place ? NULL : regs;
	if ((watches & WATCH_LOADER) && (!in_place || (held_lasts(held) && !t->held)))
		hit->opt.loader(hit->opt.ctx, &there);
	return TRAP_OURS;
}

void hit_idle(struct hit *hit)
{
	const struct process *p =
		hit->over_pid ? map_get(&hit->tracer->processes, (uint64_t)hit->over_pid)
			      : NULL;

	hit->over_pid = 0;
	if (p && p->space->plant)
		returns_gone_on(p->space, 0);
}

/* @t's return is over, and it has not gone on yet; whoever was before it has. */
static void note_over(struct hit *hit, const struct tracee *t, const struct return_instance *ri)
{
	if (hit->over_pid != t->process->pid)
		hit_idle(hit);
	hit->over_pid = t->process->pid;
	returns_over(t->process->space, ri, t->tid);
}

static void send_back(struct tracee *t, const struct ubp_regs *regs, bool is_set)
{
	if (!is_set) {
		return_ops(t->process->space)->send_on(t, regs);
		return;
	}
	(void)ubp_host_set_regs(t->tid, regs);
	t->probes->let_go = *regs; /* has_not_moved() */
}

static enum trap_verdict at_trampoline(struct hit *hit, const struct held *held,
				       struct ubp_regs *regs)
{
	struct tracee *t = held->t;
	const struct ubp_arch *arch = t->process->space->arch;
	struct return_instance *ri = return_take(t, regs);
	uint64_t behind = regs->r[arch->reg.pc];
	struct hit_change change = { .regs = regs };
	uint64_t now_ns;
	struct moment m;

	if (!ri)
		return TRAP_FOREIGN;
	wait_note_hot(hit->tracer, t);
	stop_count_return(ri);
	moment_begin(hit, &m, t, regs);
	m.change = &change;
	now_ns = moment_mono_ns(hit, &m);
	regs->r[arch->reg.pc] = ri->real;
	for (uint32_t i = ri->n_entries; i-- > 0;) {
		const struct return_entry *entry = &ri->entries[i];
		struct site *site = entry->site;

		m.duration_ns = now_ns - entry->entered_ns;
		for (size_t p = 0; p < site->n_probes; p++) {
			struct uprobe *probe = site->probes[p];

			m.entry = entry_values_of(entry, probe);
			if (probe->kind == PROBE_RETURN &&
			    !uprobe_is_since(probe, entry->n_numbers))
				record_hit(hit, &m, probe, site_probed(site, probe), ri->real);
		}
	}
	moment_end(hit, &m);
	if (t->probes->n_unwinders)
		return_look_landed(t, regs->r[arch->reg.sp]);
	regs->r[arch->reg.pc] = behind;
	if (arch->trampoline.leave)
		arch->trampoline.leave(regs);
	if (!guard_is_lost(t) || guard_reinstall(held) < 0)
		send_back(t, regs, change.is_set);
	note_over(hit, t, ri);
	returns_free_one(ri);
	return TRAP_OURS;
}

/* The displaced instruction was stepped; the slot's own jump does the rest. */
static bool is_step_done(struct tracee *t, int si_code)
{
	if (!t->stepping)
		return false;
	t->stepping = false;
	/* TRAP_TRACE as a rule, TRAP_BRKPT behind some instructions. */
	return si_code > 0 && si_code != t->process->space->arch->swbp.si_code;
}

/*
 * The trap of a detour that scans the stack, of a session before us: the guard puts back what that
 * replaced.
 */
static bool is_earlier_scan(const struct plant_space *ps, uint64_t vaddr)
{
	return area_has_entry(ps, vaddr) && !jump_has_trap(ps, vaddr);
}

enum trap_verdict hit_trap(struct hit *hit, const struct held *held)
{
	struct tracee *t = held->t;
	struct held there = *held;
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	const struct ubp_arch *arch = space->arch;
	/* A breakpoint's, rather: taken for one that was sent, it would end the program. */
	int si_code = si_code_of(t->tid, arch->swbp.si_code), rc;
	struct ubp_regs regs;
	struct site *site;
	uint64_t vaddr;

	if (is_step_done(t, si_code))
		return TRAP_OURS;
	if (!ps)
		return TRAP_FOREIGN;
	rc = ubp_host_get_regs(t->tid, &regs);
	if (rc < 0) {
		/* The guard knows where it goes on. */
		if (rc != -ESRCH)
			event_queue_lost(hit->opt.queue, 1);
		return TRAP_FOREIGN;
	}
	there.at = &regs;
	vaddr = regs.r[arch->reg.pc] - arch->swbp.pc_advance;
	site = map_get(&ps->sites, vaddr);
	/* One that is not ready yet: a breakpoint that a killed tracer left, and its guard's. */
	if (site && !is_ready(site))
		site = NULL;
	if (si_code == arch->swbp.si_code) {
		if (goes_on_here(site))
			t->probes->let_go = regs;
		else
			t->probes->let_go.r[arch->reg.pc] = 0;
		if (site)
			return at_site(hit, &there, site, &regs);
		if (returns_at_trampoline(ps, vaddr))
			return at_trampoline(hit, &there, &regs);
	}
	/* Threads are in slots most of the time when they go on: a signal that was sent finds
	 * them there. */
	if (si_code > 0 && area_of(ps, vaddr) && !is_earlier_scan(ps, vaddr))
		return detour_trap(hit, &there, &regs, vaddr);
	if (has_lost_trap(t, site, vaddr, &regs, si_code))
		(void)ubp_host_set_pc(t->tid, vaddr);
	/* The program's own: a signal like others. */
	(void)hit_signal(hit, held, SIGTRAP);
	return guard_defer(held, area_has_entry(ps, vaddr)) ? TRAP_OURS : TRAP_FOREIGN;
}

bool hit_pc_has_trap(const struct tracee *t, uint64_t pc)
{
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	uint64_t vaddr = pc - space->arch->swbp.pc_advance;

	/* Not yet looked for what a killed tracer left: any trap may be one of that. */
	if (!ps || !guard_has_looked(ps))
		return task_signal_pending(t->tid, SIGTRAP);
	/* Behind a breakpoint a thread may also stand because its trap was handled
	 * (at the trampoline, before what is left of a nop), or for other reasons. */
	return (area_of(ps, vaddr) || map_get(&ps->sites, vaddr)) &&
	       task_signal_pending(t->tid, SIGTRAP);
}

static bool is_fault(int sig, pid_t tid)
{
	return (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL) &&
	       si_code_of(tid, 0) > 0;
}

/* The site behind a lead that starts at @vaddr. NULL: none. */
static struct site *find_behind(const struct space *space, uint64_t vaddr)
{
	for (unsigned len = 1; len <= sizeof(((struct lead *)0)->bytes); len++) {
		struct site *site = plant_site_at(space, vaddr + len);

		if (site && site->planted && site->n_probes && !site->run_up &&
		    site_behind(site, site->probes[0]) == len)
			return site;
	}
	return NULL;
}

/*
 * A lead has made a fault: who comes there has hit its probes, and will not come to the site. It
 * may come back to the lead, which is another hit, or to behind it, which is none.
 */
static void fault_in_lead(struct hit *hit, const struct held *held, uint64_t pc)
{
	struct tracee *t = held->t;
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	struct site *site = ps->closing ? NULL : find_behind(space, pc);
	struct ubp_regs regs;
	struct moment m;

	if (!site || ubp_host_get_regs(t->tid, &regs) < 0)
		return;
	moment_begin(hit, &m, t, &regs);
	for (size_t i = 0; i < site->n_probes; i++)
		if (site->probes[i]->kind != PROBE_RETURN &&
		    site_probed(site, site->probes[i]) == pc)
			record_hit(hit, &m, site->probes[i], pc, 0);
	moment_end(hit, &m);
	(void)site_to_first(hit->plant, held, site);
}

/*
 * At the start the instruction has not run. If it has just failed, the program must see its
 * fault at the right place, and if it runs again it is another hit, as with the kernel's uprobes.
 * If the signal came from outside, the thread stays in the slot: going back would count one hit
 * twice.
 */
static void leave_slot(struct hit *hit, const struct held *held, struct site *site, uint64_t at,
		       int sig)
{
	const struct tracee *t = held->t;
	const struct space *space = t->process->space;
	struct ubp_regs regs;

	if (at == 0 && !is_fault(sig, t->tid))
		return;
	if (ubp_host_get_regs(t->tid, &regs) < 0)
		return;
	if (at == 0)
		hit_correct_fault(sig, t->tid, site->slot, site->vaddr);
	if (space->arch->slot.leave(&site->insn, &site->code, site->slot, &regs) &&
	    (at == 0 || at == site->code.done_at || at == site->code.taken_at))
		(void)ubp_host_set_pc(t->tid, regs.r[space->arch->reg.pc]);
	if (at == 0)
		(void)site_to_first(hit->plant, held, site);
}

bool hit_signal(struct hit *hit, const struct held *held, int sig)
{
	struct tracee *t = held->t;
	const struct space *space = t->process->space;
	const struct plant_space *ps = space->plant;
	const struct site_jump *jump;
	struct ubp_regs regs;
	struct site *site;
	uint64_t pc, at;

	/* A step that a signal interrupts is not finished: its trap will not come,
	 * or come later, from inside the handler. */
	t->stepping = false;
	return_signal(t);
	if (!ps || !ps->areas)
		return false;
	if (return_ops(space)->wants_stacks(ps) && ubp_host_get_regs(t->tid, &regs) == 0)
		hijack_note_stack(t, regs.r[space->arch->reg.sp]);
	if (ubp_host_get_pc(t->tid, &pc) < 0)
		return false;
	site = plant_site_of_slot(space, pc);
	if (!site) {
		if (is_fault(sig, t->tid))
			fault_in_lead(hit, held, pc);
		return false;
	}
	jump = jump_at(site, pc, &at);
	if (jump)
		return is_fault(sig, t->tid) && detour_fault(hit, held, site, jump, at, sig);
	if (pc - site->slot < UBP_SLOT_SIZE)
		leave_slot(hit, held, site, pc - site->slot, sig);
	return false;
}

void hit_tracee_gone(struct tracee *t)
{
	return_thread_ended(t);
	samples_forget(t);
	/* One that is let go of goes on to record. */
	if (!t->process->is_alone)
		rings_thread_gone(t);
}

int hit_begin(struct hit *hit, struct tracer *tracer, struct plant *plant,
	      const struct hit_options *opt)
{
	*hit = (struct hit){
		.opt = *opt, .tracer = tracer, .plant = plant, .scratch = fetch_scratch_new()
	};
	hit->spare = malloc(RECORD_MAX);
	return hit->scratch && hit->spare ? 0 : -ENOMEM;
}

void hit_end(struct hit *hit)
{
	fetch_scratch_free(hit->scratch);
	free(hit->spare);
	hit->scratch = NULL;
	hit->spare = NULL;
}
