/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/plant/jump_who.h"

#include "arch/guard_hijack.h"
#include "arch/host.h"
#include "engine/base/err.h"
#include "engine/plant/area.h"
#include "engine/plant/claims.h"
#include "engine/plant/jump_priv.h"
#include "engine/plant/site.h"
#include "engine/returns/hijack.h"
#include "engine/returns/stack_words.h"
#include "engine/space/jump_part.h"
#include "engine/space/site_jump.h"
#include "engine/space/space.h"
#include "engine/trace/attach.h"
#include "engine/trace/hold.h"
#include "engine/trace/ids.h"
#include "engine/trace/process.h"
#include "engine/trace/task.h"
#include "engine/trace/tracer.h"

/* Somebody will come by a hop into the detour that it leads to. */
static void note_hop(const struct plant_space *owner, uint64_t vaddr)
{
	struct site *site = owner->jump->hops.n ? map_get(&owner->jump->hops, vaddr) : NULL;
	struct site_jump *jump;
	uint64_t at;

	if (!site || !site->hop.stands)
		return;
	site->hop.in_use = true;
	jump = jump_at(site, site->hop.to, &at);
	if (jump)
		jump->in_use = true;
}

/* A held thread that is at a hop goes on where that leads to: so the hop may be taken out. */
static void leave_hop(const struct plant_space *ps, struct tracee *t, uint64_t *pc)
{
	const struct site *site = ps->jump->hops.n ? map_get(&ps->jump->hops, *pc) : NULL;

	if (site && site->hop.stands && hold_set_pc(t, site->hop.to) == 0)
		*pc = site->hop.to;
}

/* Its slot leads to the copy of a jump's window. */
static void note_copies(const struct site *site)
{
	struct site_jump *jump = NULL;

	while ((jump = jump_next(site, jump)))
		jump->in_use |= jump->n > 1;
}

/* Is @word what a call of one of the site's detours puts into a stack word? @site may be NULL. */
static bool is_called(const struct site *site, uint64_t word)
{
	const struct site_jump *jump;
	uint64_t at;

	if (!site || !guard_may_be_called(word))
		return false;
	jump = jump_at(site, word, &at);
	return jump && jump->detour.call_at && at + UBP_CALLED_BACK == jump->detour.return_at;
}

void who_note_word(void *ctx, uint64_t vaddr)
{
	struct plant_space *owner = ctx;
	const struct hijack_place hijacks = hijack_place(owner);
	const struct area *area = area_of(owner, vaddr);
	const struct site *site = area ? *area_owner(area, vaddr) : NULL;
	struct site_jump *jump;
	uint64_t at;

	note_hop(owner, vaddr);
	/* Past its start: it may know its entry already, and so the detour. */
	if (hijacks.code && vaddr > hijacks.code && vaddr - hijacks.code < UBP_RETURN_CODE_MAX)
		owner->jump->is_returning = true;
	if (site && site_is_in_slot(site, vaddr))
		note_copies(site);
	jump = site ? jump_at(site, vaddr, &at) : NULL;
	if (!jump)
		return;
	jump->in_use = true;
	/* The way home may be by that code once more (struct guard_hijack has chains). */
	if (jump->detour.return_at && at >= jump->detour.return_at)
		owner->jump->is_returning = true;
}

/* In what records, not in the copy: it may come to a breakpoint, or read for us. */
static bool is_recording(const struct space *space, uint64_t pc)
{
	const struct site *site = plant_site_of_slot(space, pc);
	const struct site_jump *jump;
	uint64_t at;

	jump = site ? jump_at(site, pc, &at) : NULL;
	if (claims_is_in(space->plant, pc))
		return true;
	return jump && at >= jump->detour.copy.len;
}

/* At the start of the return code, or where a call leads back to, it will know its entry soon. */
void who_note_pc(struct plant_space *owner, uint64_t pc)
{
	const uint64_t code = hijack_place(owner).code;
	const struct area *area = area_of(owner, pc);

	who_note_word(owner, pc);
	if (code && (pc == code || (area && is_called(*area_owner(area, pc), pc))))
		owner->jump->is_returning = true;
}

bool who_uses(const struct plant_space *owner, const struct site_jump *jump)
{
	return jump->in_use || (jump->detour.return_at && owner->jump->is_returning);
}

static void who_begin(struct who *who, struct space *space)
{
	const struct tracee *t = space_next(space, NULL);
	struct ubp_err err;

	*who = (struct who){ .space = space, .ps = space->plant };
	who->known = t && maps_read(t->tid, &who->maps, &err) == 0 && !sharers_hidden(space);
	jump_forget_users(who->ps, who->known);
}

static void nobody_knows(struct who *who)
{
	who->known = false;
	jump_forget_users(who->ps, false);
}

/* False: not all of its stack can be read. */
static bool note_thread(struct who *who, const struct tracee *t, uint64_t pc, uint64_t sp)
{
	who_note_pc(who->ps, pc);
	who->recording |= is_recording(who->space, pc);
	return stack_words(&who->maps, &t->process->space->mem, t->tid, sp,
			   who->space->arch->addr_size, who_note_word, who->ps);
}

/* hold_look_fn. Its stack may be younger than what was read of the mappings: then it has to wait for the hold. */
static bool look_at_sleeper(void *ctx, struct tracee *t, uint64_t pc, uint64_t sp)
{
	struct who *who = ctx;

	return who->known && maps_at(&who->maps, sp) && note_thread(who, t, pc, sp);
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
	for (struct tracee *t = NULL; who->known && (t = space_next(who->space, t));) {
		struct ubp_regs regs;
		uint64_t *pc = &regs.r[arch->reg.pc];

		if (t->left_alone == LEFT_LOOKED_AT)
			continue;
		if (t->held ? hold_get_regs(t, &regs) < 0
			    : !task_asleep(t->tid, pc, &regs.r[arch->reg.sp])) {
			/* It has ended, or woken up, and may be anywhere. */
			nobody_knows(who);
			who->recording = true;
			continue;
		}
		if (t->held)
			leave_hop(who->ps, t, pc);
		if (!note_thread(who, t, *pc, regs.r[arch->reg.sp]))
			nobody_knows(who);
	}
}

bool who_end(struct who *who)
{
	maps_free(&who->maps);
	return who->recording || !who->known;
}

struct search {
	const struct plant_space *ps;
	const struct space *space;
	bool found;
};

static void find_hijacked(void *ctx, uint64_t word)
{
	struct search *s = ctx;

	s->found |= word == hijack_place(s->ps).code ||
		    is_called(plant_site_of_slot(s->space, word), word);
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
		struct search s = { .ps = ps, .space = space };

		if (!t || t->process->space != space || t->held)
			continue;
		if (!maps.n && is_known)
			is_known = maps_read(t->tid, &maps, &err) == 0;
		if (is_known && task_asleep(t->tid, &pc, &sp))
			s.found = !stack_words(&maps, &t->process->space->mem, t->tid, sp,
					       t->process->space->arch->addr_size,
					       find_hijacked, &s) ||
				  s.found;
		else
			s.found = true;
		if (s.found)
			(void)attach_hold(tracer, t);
	}
	ids_give(tracer, tids);
	maps_free(&maps);
}

void who_hold(struct tracer *tracer, struct space *space, bool puts_back, struct who *ret_who)
{
	bool all;

	who_begin(ret_who, space);
	if (!puts_back)
		hold_look(tracer, space, look_at_sleeper, ret_who);
	all = puts_back ? hold_running(tracer, space, JUMP_HOLD_MS)
			: hold_rest(tracer, space, JUMP_HOLD_MS);
	if (puts_back)
		hold_hijacked(tracer, space);
	ret_who->all = all;
	if (!all)
		nobody_knows(ret_who);
	look_at_rest(ret_who);
}
