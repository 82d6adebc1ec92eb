/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Jumps are taken back: one, or all of a space. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/guard.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/base/page.h"
#include "engine/base/ring.h"
#include "engine/event/clock.h"
#include "engine/object/maps.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/page_edit.h"
#include "engine/plant/stack_words.h"
#include "engine/trace/attach.h"
#include "engine/trace/hold.h"
#include "engine/trace/task.h"

/* Those who never run get no further anyway. */
#define RECORD_MAX_NS 100000000L

/*
 * As it was written (jump_write.c), backwards: a breakpoint first, whose slot leads to the
 * copy of the window; what is behind it; what it stands on.
 */
enum step { STEP_BREAKPOINT, STEP_TAIL, STEP_FIRST };

/* Only if what stands there is ours: the jump, or in the later steps the breakpoint. */
static void unwrite_step(const struct space *space, struct page_edit *edit, pid_t tid,
			 const struct site *site, enum step step)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	size_t n = arch->swbp.len, len = jump->jump_len, from = step == STEP_TAIL ? n : 0;
	bool crosses = site->vaddr % PAGE + len > PAGE;
	uint8_t now[UBP_INSN_MAX], *at = now;
	const uint8_t *first = step == STEP_BREAKPOINT ? jump->bytes : arch->swbp.code;

	if (crosses) {
		page_edit_end(edit);
		if (mem_peek(&space->mem, site->vaddr, now, len) != len)
			return;
	} else {
		at = page_edit_at(edit, site->vaddr, len);
	}
	if (!at || memcmp(at, first, n) != 0 ||
	    (step != STEP_FIRST && memcmp(at + n, jump->bytes + n, len - n) != 0) ||
	    (step == STEP_FIRST && memcmp(at + n, jump->orig + n, len - n) != 0))
		return;
	memcpy(at + from, step == STEP_BREAKPOINT ? arch->swbp.code : jump->orig + from,
	       step == STEP_TAIL ? len - n : n);
	if (crosses)
		(void)mem_write(&space->mem, tid, site->vaddr + from, at + from,
				step == STEP_TAIL ? len - n : n);
	else
		page_edit_changed(edit);
}

/* In the order of their addresses. Allocated; NULL: out of memory. */
static struct site **written_sites(const struct plant_space *ps, size_t *ret_n)
{
	size_t n;
	struct site **sites = plant_sites_by_place(ps, &n);

	*ret_n = 0;
	for (size_t i = 0; i < n; i++)
		if (sites[i]->jump && sites[i]->jump->is_begun)
			sites[(*ret_n)++] = sites[i];
	return sites;
}

/*
 * @keeps: jumps that scan the stack become breakpoints, for there may be something on it still. They go
 * when all return addresses are back.
 */
static void unwrite(const struct plant_space *owner, const struct space *space, pid_t tid,
		    bool keeps)
{
	struct page_edit *edit;
	struct site **sites;
	size_t n;

	/* Without memory for that, site_unplant() takes them out one by one. */
	edit = calloc(1, sizeof(*edit));
	sites = written_sites(owner, &n);
	if (edit && sites) {
		edit->mem = &space->mem;
		for (enum step step = STEP_BREAKPOINT; step <= STEP_FIRST; step++) {
			for (size_t i = 0; i < n; i++)
				if (!keeps || step != STEP_FIRST || !sites[i]->jump->scans)
					unwrite_step(space, edit, tid, sites[i], step);
			page_edit_end(edit);
		}
	}
	free(edit);
	free(sites);
}

static bool is_breakpoint(const struct space *space, struct mem_view *view,
			  const struct site *site)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	size_t n = arch->swbp.len, len = jump->jump_len;
	uint8_t now[UBP_INSN_MAX];

	return mem_view_peek(view, site->vaddr, now, len) == len &&
	       memcmp(now, arch->swbp.code, n) == 0 &&
	       memcmp(now + n, jump->orig + n, len - n) == 0;
}

/* What of them stands there yet is put back one by one; what can't be keeps its block. */
static void unwrite_rest(const struct plant_space *owner, const struct space *space, pid_t tid,
			 bool keeps)
{
	struct mem_view view = { .mem = &space->mem };
	struct site **sites;
	size_t pos = 0, n;
	void *value;

	/* Without memory for that in any order. */
	sites = plant_sites_by_place(owner, &n);
	for (size_t i = 0; sites ? i < n : map_next(&owner->sites, &pos, NULL, &value); i++) {
		const struct site *site = sites ? sites[i] : value;

		if (!site->jump || !site->jump->is_begun ||
		    (keeps && site->jump->scans && is_breakpoint(space, &view, site)))
			continue;
		site->jump->is_left =
			!site_is_out(space, &view, site) && site_unplant(space, tid, site) < 0;
	}
	free(sites);
}

static void note_in(void *ctx, uint64_t vaddr)
{
	struct plant_space *owner = ctx;
	const struct area *area = area_of(owner, vaddr);
	struct site *site = area ? *area_owner(area, vaddr) : NULL;
	uint64_t at;

	/* Past its start: it may know its entry already, and so the detour. */
	if (owner->hijack.code_vaddr && vaddr > owner->hijack.code_vaddr &&
	    vaddr - owner->hijack.code_vaddr < UBP_RETURN_CODE_MAX)
		owner->hijack.is_returning = true;
	if (site && jump_has(site, vaddr, &at))
		site->jump->in_use = true;
}

/* In what records, not in the copy: it may come to a breakpoint, or read for us. */
static bool is_recording(const struct space *space, uint64_t pc)
{
	const struct site *site = plant_site_of_slot(space, pc);
	uint64_t at;

	return site && jump_has(site, pc, &at) && at >= site->jump->detour.copy.len;
}

static void forget_who_is_in(struct plant_space *owner, bool all)
{
	size_t pos = 0;
	void *value;

	while (map_next(&owner->sites, &pos, NULL, &value)) {
		struct site *site = value;

		if (site->jump)
			site->jump->in_use = !all;
	}
	owner->hijack.is_returning = false;
}

void jump_keep_blocks(struct plant_space *ps)
{
	forget_who_is_in(ps, false);
}

/* A thread's own pc: at the start of the return code it will know its entry soon. */
static void note_pc(struct plant_space *owner, uint64_t pc)
{
	note_in(owner, pc);
	if (owner->hijack.code_vaddr && pc == owner->hijack.code_vaddr)
		owner->hijack.is_returning = true;
}

static bool is_in_use(const struct plant_space *owner, const struct site_jump *jump)
{
	return jump->in_use || (jump->detour.return_at && owner->hijack.is_returning);
}

/*
 * Whose detours somebody is in, or will come back to from a signal handler. By then no jump leads there: who is seen
 * elsewhere does not come there any more, unless the tracer lets it go on from a breakpoint's stop.
 */
struct who {
	struct space *space;
	struct plant_space *ps; /* .space's; it is another's if that executes a program */
	struct maps maps;
	bool known;     /* where all are, so far */
	bool recording; /* one who records just now */
};

static void who_begin(struct who *who, struct space *space)
{
	const struct tracee *t = space_next(space, NULL);
	struct ubp_err err;

	*who = (struct who){ .space = space, .ps = space->plant };
	who->known = t && maps_read(t->tid, &who->maps, &err) == 0;
	forget_who_is_in(who->ps, who->known);
}

static void nobody_knows(struct who *who)
{
	who->known = false;
	forget_who_is_in(who->ps, false);
}

/* False: not all of its stack can be read. */
static bool note_thread(struct who *who, const struct tracee *t, uint64_t pc, uint64_t sp)
{
	note_pc(who->ps, pc);
	who->recording |= is_recording(who->space, pc);
	return stack_words(&who->maps, &t->process->space->mem, t->tid, sp,
			   who->space->arch->addr_size, note_in, who->ps);
}

/* hold_look_fn. Its stack may be younger than what was read of the mappings: then it has to wait for the hold. */
static bool look_at_sleeper(void *ctx, struct tracee *t, uint64_t pc, uint64_t sp)
{
	struct who *who = ctx;

	return who->known && who->space->plant == who->ps && maps_at(&who->maps, sp) &&
	       note_thread(who, t, pc, sp);
}

/* Those that were not looked at by then; by the mappings as they are now. */
static void look_at_rest(struct who *who)
{
	const struct ubp_arch *arch = who->space->arch;
	const struct tracee *first = space_next(who->space, NULL);
	struct ubp_err err;

	if (!hold_has_rest(who->space))
		return;
	maps_free(&who->maps);
	if (!first || maps_read(first->tid, &who->maps, &err) < 0)
		nobody_knows(who);
	for (const struct tracee *t = NULL; who->known && (t = space_next(who->space, t));) {
		struct ubp_regs regs;

		if (t->left_alone == LEFT_LOOKED_AT)
			continue;
		if (t->held ? hold_get_regs(t, &regs) < 0
			    : !task_asleep(t->tid, &regs.r[arch->reg.pc],
					   &regs.r[arch->reg.sp])) {
			/* It has ended, or woken up, and may be anywhere. */
			nobody_knows(who);
			who->recording = true;
		} else if (!note_thread(who, t, regs.r[arch->reg.pc], regs.r[arch->reg.sp])) {
			nobody_knows(who);
		}
	}
}

/* True: one records, or nobody knows. */
static bool who_end(struct who *who)
{
	maps_free(&who->maps);
	return who->recording || !who->known;
}

/*
 * Traps of detours, with nobody to handle them any more, would kill: they become nops. Who
 * comes to one goes on to the copy, or to its return address. @only_used: of those detours that
 * somebody is in.
 */
static void defuse(const struct plant_space *owner, const struct space *space, pid_t tid,
		   bool only_used)
{
	const struct ubp_arch *arch = space->arch;
	struct mem_writes writes = { .mem = &space->mem, .tid = tid, .goes_on = true };
	void *value;
	size_t pos = 0;
	uint64_t at;

	while (map_next(&owner->jump.traps, &pos, &at, &value)) {
		const struct site_jump *jump = ((const struct site *)value)->jump;

		if (only_used && !(jump && is_in_use(owner, jump)))
			continue;
		mem_writes_add(&writes, at, arch->swbp.nop, arch->swbp.len);
	}
	(void)mem_writes_end(&writes);
}

/* Who is about to replace its return address must not: nobody would put that back. */
static void keep_from_hijacking(const struct space *space)
{
	for (struct tracee *t = NULL; (t = space_next(space, t));) {
		const struct detour *d;
		struct site *site;
		uint64_t pc, at;

		if (!t->held || hold_get_pc(t, &pc) < 0)
			continue;
		site = plant_site_of_slot(space, pc);
		if (!site || !jump_has(site, pc, &at))
			continue;
		d = &site->jump->detour;
		if (at < d->hijack_at || at >= d->hijack_end)
			continue;
		(void)hold_set_pc(t, site->jump->copy + d->hijack_off);
	}
}

void jump_clean_copy(struct plant_space *owner, const struct space *space, pid_t tid,
		     struct plant_left *left)
{
	const struct ubp_arch *arch = space->arch;
	struct maps maps = { 0 };
	struct ubp_regs regs;
	struct ubp_err err;
	bool known;

	if (!owner->jump.n_written)
		return;
	unwrite(owner, space, tid, false);
	unwrite_rest(owner, space, tid, false);
	known = ubp_host_get_regs(tid, &regs) == 0 && maps_read(tid, &maps, &err) == 0;
	forget_who_is_in(owner, known);
	if (known) {
		note_pc(owner, regs.r[arch->reg.pc]);
		if (!stack_words(&maps, &space->mem, tid, regs.r[arch->reg.sp], arch->addr_size,
				 note_in, owner))
			forget_who_is_in(owner, false);
	}
	maps_free(&maps);
	defuse(owner, space, tid, true);
	hijack_put_back(owner, space, tid, left);
}

/* Blocks that nobody is in, nor can come to any more, serve the next session. */
static void free_blocks(const struct space *space)
{
	struct mem_writes writes = { .mem = &space->mem, .goes_on = true };
	const struct plant_space *ps = space->plant;
	const uint64_t magic = UBP_JUMP_FREE;
	size_t pos = 0;
	void *value;

	while (map_next(&ps->sites, &pos, NULL, &value)) {
		const struct site_jump *jump = ((const struct site *)value)->jump;

		/* What scans has an entry of the guard's, for good. */
		if (jump && !jump->is_left && !jump->scans && !is_in_use(ps, jump))
			mem_writes_add(&writes, jump->copy - UBP_SLOT_SIZE, &magic,
				       sizeof(magic));
	}
	(void)mem_writes_end(&writes);
}

struct search {
	uint64_t word;
	bool found;
};

static void find_word(void *ctx, uint64_t word)
{
	struct search *s = ctx;

	s->found |= word == s->word;
}

/*
 * Who is asleep in a function whose return address was replaced could wake up and return
 * while that is put back: it has to be stopped.
 */
static void hold_hijacked(struct tracer *tracer, const struct space *space)
{
	const struct plant_space *ps = space->plant;
	struct maps maps = { 0 };
	bool is_known = true;
	struct ubp_err err;
	uint64_t pc, sp;
	size_t n;
	pid_t *tids = space_ids(tracer, space, NULL, &n);

	for (size_t i = 0; tids && i < n; i++) {
		struct tracee *t = map_get(&tracer->tracees, (uint64_t)tids[i]);
		struct search s = { .word = ps->hijack.code_vaddr };

		if (!t || t->process->space != space || t->held)
			continue;
		if (!maps.n && is_known)
			is_known = maps_read(t->tid, &maps, &err) == 0;
		if (is_known && task_asleep(t->tid, &pc, &sp))
			s.found = !stack_words(&maps, &t->process->space->mem, t->tid, sp,
					       t->process->space->arch->addr_size, find_word,
					       &s) ||
				  s.found;
		else
			s.found = true;
		if (s.found)
			(void)attach_hold(tracer, t);
		if (space->plant != ps)
			break;
	}
	ids_give(tracer, tids);
	maps_free(&maps);
}

/*
 * All threads stand still that were not seen elsewhere. Where return addresses are about to be put back, all that run:
 * a look before says nothing then, for one that wakes up may go on on the stack of a coroutine, and return there.
 */
static void hold_who_is_in(struct tracer *tracer, struct space *space, bool puts_back,
			   struct who *ret_who)
{
	bool all;

	who_begin(ret_who, space);
	if (!puts_back)
		hold_look(tracer, space, look_at_sleeper, ret_who);
	all = puts_back ? hold_running(tracer, space, JUMP_HOLD_MS)
			: hold_rest(tracer, space, JUMP_HOLD_MS);
	if (puts_back && space->plant == ret_who->ps)
		hold_hijacked(tracer, space);
	if (space->plant != ret_who->ps)
		return;
	if (!all)
		nobody_knows(ret_who);
	look_at_rest(ret_who);
}

/*
 * A load of theirs may fault, which only a tracer can make good: it has to be there until they
 * are through. They need a few ns of running, whenever they get to it.
 */
static void wait_until_recorded(struct tracer *tracer, struct space *space)
{
	const struct plant_space *ps = space->plant;
	uint64_t begun = event_clock_now(CLOCK_KIND_MONO);
	bool recording = true;

	while (recording && event_clock_now(CLOCK_KIND_MONO) - begun < RECORD_MAX_NS) {
		struct timespec a_while = { .tv_nsec = RECORD_MAX_NS / 200 };
		struct who who;

		(void)nanosleep(&a_while, NULL);
		hold_who_is_in(tracer, space, false, &who);
		hold_end(tracer, space, NULL);
		recording = who_end(&who);
		if (space->plant != ps)
			return;
	}
}

/* Nobody comes into a detour any more. */
static void take_out(struct tracer *tracer, struct space *space)
{
	const struct plant_space *ps = space->plant;

	hold_look(tracer, space, NULL, NULL);
	(void)hold_rest(tracer, space, JUMP_HOLD_MS);
	if (space->plant == ps) {
		(void)rings_set_gate(space, space, 0, RING_GATE_OFF);
		unwrite(ps, space, 0, true);
		unwrite_rest(ps, space, 0, true);
	}
	hold_end(tracer, space, NULL);
}

/* True: one records just now, perhaps. */
static bool put_returns_back(struct tracer *tracer, struct space *space)
{
	struct plant_space *ps = space->plant;
	struct who who;

	hold_who_is_in(tracer, space, ps->hijack.table != 0, &who);
	if (space->plant == ps) {
		keep_from_hijacking(space);
		hijack_save_returning(space);
		hijack_put_back(ps, space, 0, &ps->left);
		ps->jump.n_written = 0;
	}
	hold_end(tracer, space, NULL);
	return who_end(&who);
}

void jump_remove(struct tracer *tracer, struct space *space)
{
	const struct plant_space *ps = space->plant;
	bool recording = false;

	if (!ps || ps->closing || !ps->jump.n_written)
		return;
	space->refs++;
	take_out(tracer, space);
	if (space->plant == ps)
		recording = put_returns_back(tracer, space);
	if (space->plant == ps && recording)
		wait_until_recorded(tracer, space);
	if (space->plant == ps) {
		defuse(ps, space, 0, false);
		hijack_note_blocks(space);
		free_blocks(space);
	}
	space_put(tracer, space);
}

/*
 * Its first byte a breakpoint, the rest what it was; then its slot, which led to the copy, is for
 * one instruction again.
 */
static int write_breakpoint(const struct space *space, const struct site *site)
{
	const struct ubp_arch *arch = space->arch;
	const struct site_jump *jump = site->jump;
	size_t n = arch->swbp.len;
	int rc = mem_write(&space->mem, 0, site->vaddr, arch->swbp.code, n);

	if (rc == 0)
		rc = mem_write(&space->mem, 0, site->vaddr + n, jump->orig + n,
			       jump->jump_len - n);
	return rc == 0 ? mem_write(&space->mem, 0, site->slot, site->code.code, site->code.len)
		       : rc;
}

bool jump_demote(struct tracer *tracer, struct tracee *t, struct site *site, const char *why)
{
	struct space *space = t->process->space;
	struct plant_space *ps = space->plant;
	pid_t tid = t->tid;
	bool done = false, was_held = t->held;

	space->refs++;
	t->held = true;
	if (hold_all(tracer, space, JUMP_HOLD_MS) && space->plant == ps && site->jump &&
	    site->rung == SITE_JUMPED && write_breakpoint(space, site) == 0) {
		jump_count(site, false);
		site->rung = SITE_BOOSTED;
		site->jump->is_written = site->jump->is_begun = false;
		jump_refuse(site, why);
		done = true;
	}
	hold_end(tracer, space, tracer_has(tracer, t, tid) ? t : NULL);
	if (tracer_has(tracer, t, tid))
		t->held = was_held;
	space_put(tracer, space);
	return done;
}
