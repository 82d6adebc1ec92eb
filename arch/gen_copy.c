/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Copies at the start of detours: of the window; and of the function (arch/leaf.h). */

#include <errno.h>
#include <stdlib.h>

#include "arch/gen.h"
#include "arch/guard.h"
#include "arch/leaf.h"
#include "engine/base/err.h"

#define ALIGN 16

static size_t aligned(size_t len)
{
	return (len + ALIGN - 1) / ALIGN * ALIGN;
}

int gen_copy_build_leaf(const struct gen_isa *isa, const struct detour_plan *plan,
			const struct window_copy *window, struct leaf_copy **ret_copy,
			struct ubp_err *err)
{
	const struct leaf_at at = { .func_vaddr = plan->site,
				    .vaddr = plan->vaddr + aligned(window->len),
				    .window = plan->window,
				    .window_vaddr = plan->vaddr,
				    .window_at = window->at };
	struct leaf_copy *copy = malloc(sizeof(*copy));
	int rc;

	if (!copy)
		return ubp_fail(err, ENOMEM, "out of memory");
	rc = isa->returns->build_leaf(plan->code.leaf, &at, copy, err);
	if (rc == 0)
		*ret_copy = copy;
	else
		free(copy);
	return rc;
}

/* From the window's start on. */
static uint64_t from_window(const struct gen *g, uint64_t at)
{
	return g->plan->site + at - g->plan->window->insns[0].vaddr;
}

/* Where what is at @place comes to stand. */
static void note(struct gen *g, const struct leaf_place *place, size_t start)
{
	struct detour *out = g->out;

	out->places[out->n_places++] =
		(struct detour_place){ .at = (uint16_t)(start + place->at),
				       .from = (uint16_t)from_window(g, place->from),
				       .is_ret = place->is_ret };
}

static int make_room(struct gen *g)
{
	const struct leaf_copy *copy = g->copies.leaf;
	struct detour *out = g->out;

	out->places = calloc(copy->n + 1u, sizeof(*out->places));
	out->exits = calloc(copy->n_exits + 1u, sizeof(*out->exits));
	if (!out->places || !out->exits)
		return -ENOMEM;
	/* It may go on in the window's copy, which leads there; but not where only fill follows. */
	if (g->plan->window->jump_len <= g->plan->window->len)
		out->exits[out->n_exits++] = g->plan->window->len;
	for (size_t i = 0; i < copy->n_exits; i++)
		out->exits[out->n_exits++] = (int16_t)from_window(g, copy->exits[i]);
	return 0;
}

/* For a later session (struct guard_leaf): what follows is aligned already. */
static void put_table(struct gen *g)
{
	const struct detour *out = g->out;
	struct guard_leaf table = { .n_exits = (uint16_t)out->n_exits };
	size_t len;

	for (size_t i = 0; i < out->n_places; i++)
		table.n_rets += out->places[i].is_ret;
	len = ((size_t)table.n_rets + table.n_exits) * sizeof(uint16_t) + sizeof(table);
	while ((g->e.len + len) % UBP_SLOT_SIZE && !g->e.error)
		emit_u8(&g->e, g->isa->fill);
	for (size_t i = 0; i < out->n_places; i++)
		if (out->places[i].is_ret)
			emit_bytes(&g->e, &out->places[i].at, sizeof(uint16_t));
	emit_bytes(&g->e, out->exits, out->n_exits * sizeof(*out->exits));
	emit_bytes(&g->e, &table, sizeof(table));
}

/* It comes there, @start is set; each ret leads to @then. */
static void put_leaf_insns(struct gen *g, label_t then, label_t start)
{
	const struct leaf_copy *copy = g->copies.leaf;
	size_t at, done = 0;

	emit_fill(&g->e, ALIGN, g->isa->fill);
	emit_set(&g->e, start);
	at = g->e.len;
	if (make_room(g) < 0) {
		emit_fail(&g->e, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < copy->n; i++) {
		const struct leaf_place *place = &copy->places[i];

		note(g, place, at);
		if (!place->is_ret)
			continue;
		emit_bytes(&g->e, copy->code + done, place->at - done);
		g->isa->jump(&g->e, then);
		done = place->at + (size_t)UBP_LEAF_RET;
		/* Branches were made for a jump of that length. */
		if (g->e.len != at + done)
			emit_fail(&g->e, -EINVAL);
	}
	emit_bytes(&g->e, copy->code + done, copy->len - done);
	g->out->copy.len = (uint16_t)g->e.len;
	g->out->leaf_len = (uint32_t)from_window(g, g->plan->code.leaf->reach);
	put_table(g);
}

/* The window's, which leads to the function, and the function's. */
static label_t put_leaf(struct gen *g, label_t *ret_copy, label_t *ret_ret)
{
	label_t then = emit_label(&g->e);

	g->copies.window_at = emit_here(&g->e);
	emit_bytes(&g->e, g->copies.window, g->out->copy.len);
	*ret_copy = emit_label(&g->e);
	*ret_ret = emit_label(&g->e);
	put_leaf_insns(g, then, *ret_copy);
	return then;
}

/* Of a longer one than a ret, up to that, in whose place what records goes on. */
static label_t put_window(struct gen *g, label_t *ret_copy, label_t *ret_ret)
{
	struct copy_places *copy = &g->out->copy;
	size_t last = g->plan->window->n - 1u;
	label_t then = emit_label(&g->e), start = emit_here(&g->e);
	bool is_ret = last == 0;

	*ret_copy = g->plan->then && is_ret ? then : start;
	*ret_ret = is_ret ? start : emit_label(&g->e);
	emit_bytes(&g->e, g->copies.window,
		   g->plan->then && !is_ret ? copy->at[last] : copy->len);
	if (g->plan->then && !is_ret) {
		g->isa->jump(&g->e, then);
		copy->at[last + 1] = copy->len = (uint16_t)g->e.len;
	}
	return then;
}

label_t gen_copy_put(struct gen *g, label_t *ret_copy, label_t *ret_ret)
{
	return (g->copies.leaf ? put_leaf : put_window)(g, ret_copy, ret_ret);
}
