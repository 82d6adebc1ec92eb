/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/gen_like.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/detour_parts.h"
#include "engine/base/err.h"
#include "engine/base/ring.h"
#include "engine/base/tally_table.h"

#define OPS_MAX 32

#define KINDS 64 /* of leads, and lengths of copies, in turn */

/* One that was made. */
struct made {
	struct detour_plan plan; /* what it points to is gone, but for these: */
	struct lead lead;
	bool counts, once, asks_room;
	struct {
		uint32_t n_ops, fixed_size, has_strings, needs_comm, needs_duration,
			needs_vectors;
	} program;
	struct fetch_op ops[OPS_MAX];
	struct detour detour; /* .code and .loads are its own; .code NULL: there is none */
	struct emit_mark marks[EMIT_MARKS];
	size_t n_marks;
};

struct detour_like {
	struct made made[KINDS];
};

struct detour_like *detour_like_new(void)
{
	return calloc(1, sizeof(struct detour_like));
}

static void forget(struct made *made)
{
	free(made->detour.code);
	free(made->detour.loads);
	made->detour = (struct detour){ 0 };
}

void detour_like_free(struct detour_like *like)
{
	for (size_t i = 0; like && i < KINDS; i++)
		forget(&like->made[i]);
	free(like);
}

static size_t aligned(size_t len)
{
	return (len + UBP_SLOT_SIZE - 1) / UBP_SLOT_SIZE * UBP_SLOT_SIZE;
}

/* Where one of this kind is kept: what makes them differ in turn tells. */
static struct made *made_of(struct detour_like *like, const struct detour_plan *plan,
			    size_t copy_len)
{
	uint64_t hash = aligned(copy_len) / UBP_SLOT_SIZE;

	for (size_t i = 0; plan->lead && plan->lead->is_push && i < plan->lead->len; i++)
		hash = hash * 31 + plan->lead->bytes[i];
	hash = hash * 31 + (plan->lead ? 1 + plan->lead->sp_down : 0) + plan->window->asks_room;
	return &like->made[(hash ^ hash >> 6) % KINDS];
}

/* Is all that its code depends on in what is compared, or in a mark? */
static bool is_plain(const struct detour_plan *plan)
{
	const struct detour_probe *probe = plan->probes;

	return plan->n_probes == 1 && !probe->sample &&
	       !(probe->tally && tally_has_table(probe->tally)) &&
	       probe->number < TALLY_COUNTERS && probe->kind != PROBE_RETURN &&
	       !probe->filter && probe->program->n_ops <= OPS_MAX &&
	       detour_cells(probe->program) == 0 && !plan->run_up && !plan->then &&
	       !plan->frames && !plan->scans && !plan->asks && !plan->stops;
}

static bool is_same_program(const struct made *like, const struct fetch_program *p)
{
	/* .offset counts for one operator alone, which no other is made like. */
	return p->n_ops == like->program.n_ops && p->fixed_size == like->program.fixed_size &&
	       p->has_strings == like->program.has_strings &&
	       p->needs_comm == like->program.needs_comm &&
	       p->needs_duration == like->program.needs_duration &&
	       p->needs_vectors == like->program.needs_vectors &&
	       memcmp(p->ops, like->ops, p->n_ops * sizeof(p->ops[0])) == 0;
}

static bool is_same_lead(const struct made *like, const struct lead *lead)
{
	const struct lead *its = &like->lead;

	if (!lead || !like->plan.lead)
		return !lead && !like->plan.lead;
	/* What pushes is carried out again, of others the way down is all that counts. */
	return lead->is_push == its->is_push && lead->sp_down == its->sp_down &&
	       (!lead->is_push ||
		(lead->len == its->len && memcmp(lead->bytes, its->bytes, its->len) == 0));
}

static bool is_like(const struct made *like, const struct detour_plan *b)
{
	const struct detour_plan *a = &like->plan;

	return like->detour.code && a->gate == b->gate && a->lossless == b->lossless &&
	       a->count_dropped == b->count_dropped && a->hijacks == b->hijacks &&
	       a->hijacks_mask == b->hijacks_mask && a->return_vaddr == b->return_vaddr &&
	       a->ns_factor == b->ns_factor && a->trampoline == b->trampoline &&
	       a->leaves_kernel_return == b->leaves_kernel_return &&
	       like->asks_room == b->window->asks_room && a->self_at == b->self_at &&
	       a->claim == b->claim && a->has == b->has && a->reads == b->reads &&
	       a->tally.at == b->tally.at && like->counts == (b->probes->tally != NULL) &&
	       like->once == b->probes->once && is_same_lead(like, b->lead) &&
	       is_same_program(like, b->probes->program);
}

/* Addresses are those of before, but for the site's. False: too far. */
static bool set_mark(const struct made *like, const struct detour_plan *plan, uint8_t *code,
		     const struct emit_mark *mark)
{
	uint64_t end = mark->at + 4u, target, rel;
	uint32_t value = plan->probes->number;
	int32_t disp;

	if (mark->kind == MARK_DISTANCE) {
		memcpy(&disp, code + mark->at, sizeof(disp));
		target = like->plan.vaddr + end + (uint64_t)(int64_t)disp;
		if (target == like->plan.site)
			target = plan->site;
		rel = target - (plan->vaddr + end);
		value = (uint32_t)rel;
		/* Low ones have another form. */
		if (rel != (uint64_t)(int64_t)(int32_t)value || target <= UINT32_MAX)
			return false;
	}
	if (mark->kind == MARK_COUNTER)
		value = (uint32_t)(plan->tally.at + TALLY_COUNTERS_AT + 8 * value);
	if (mark->kind == MARK_SWITCH) {
		code[mark->at + sizeof(value)] = (uint8_t)(1u << value % 8);
		value = (uint32_t)(offsetof(struct ring_head, off) + value / 8);
	}
	memcpy(code + mark->at, &value, sizeof(value));
	return true;
}

static bool copy_all(const struct detour *from, struct detour *to)
{
	*to = *from;
	to->code = malloc(from->len);
	to->loads = malloc((from->n_loads + 1) * sizeof(*to->loads));
	if (!to->code || !to->loads) {
		free(to->code);
		free(to->loads);
		return false;
	}
	memcpy(to->code, from->code, from->len);
	memcpy(to->loads, from->loads, from->n_loads * sizeof(*to->loads));
	return true;
}

void gen_note_copy(struct detour *detour, const struct window_copy *copy)
{
	detour->copy.len = copy->len;
	memcpy(detour->copy.at, copy->at, sizeof(copy->at));
}

bool gen_like(const struct gen_isa *isa, const struct detour_plan *plan,
	      struct detour *ret_detour)
{
	struct made *like;
	struct window_copy copy;
	struct ubp_err ignored;
	size_t room;
	bool fits = true;

	if (!plan->like || !isa->records->has_marks || !is_plain(plan) ||
	    isa->build_copy(plan->window, plan->vaddr, &copy, &ignored) < 0)
		return false;
	like = made_of(plan->like, plan, copy.len);
	if (!is_like(like, plan))
		return false;
	room = aligned(copy.len);
	if (room != aligned(like->detour.copy.len) || !copy_all(&like->detour, ret_detour))
		return false;
	memset(ret_detour->code, isa->fill, room);
	memcpy(ret_detour->code, copy.code, copy.len);
	gen_note_copy(ret_detour, &copy);
	for (size_t i = 0; i < like->n_marks && fits; i++)
		fits = set_mark(like, plan, ret_detour->code, &like->marks[i]);
	if (fits)
		return true;
	free(ret_detour->code);
	free(ret_detour->loads);
	return false;
}

void gen_like_keep(const struct gen *g, const struct detour *detour)
{
	const struct detour_plan *plan = g->plan;
	const struct fetch_program *p;
	struct made *like;

	if (!plan->like)
		return;
	like = made_of(plan->like, plan, detour->copy.len);
	forget(like);
	if (!g->isa->records->has_marks || g->e.n_marks > EMIT_MARKS || !is_plain(plan) ||
	    !copy_all(detour, &like->detour)) {
		like->detour = (struct detour){ 0 };
		return;
	}
	p = plan->probes->program;
	like->plan = *plan;
	like->counts = plan->probes->tally != NULL;
	like->once = plan->probes->once;
	like->asks_room = plan->window->asks_room;
	if (plan->lead)
		like->lead = *plan->lead;
	like->program.n_ops = p->n_ops;
	like->program.fixed_size = p->fixed_size;
	like->program.has_strings = p->has_strings;
	like->program.needs_comm = p->needs_comm;
	like->program.needs_duration = p->needs_duration;
	like->program.needs_vectors = p->needs_vectors;
	memcpy(like->ops, p->ops, p->n_ops * sizeof(like->ops[0]));
	memcpy(like->marks, g->e.marks, g->e.n_marks * sizeof(like->marks[0]));
	like->n_marks = g->e.n_marks;
}
