/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Writing detours: what is noted on the way, and put elsewhere, or at the end. */

#include "arch/gen.h"

void gen_may_fault(struct gen *g, label_t fixup)
{
	struct detour *out = g->out;

	/* The label; its offset comes at the end. */
	if (emit_grow(&g->e, (void **)&out->loads, out->n_loads, &g->cap_loads,
		      sizeof(out->loads[0])))
		out->loads[out->n_loads++] =
			(struct detour_load){ .at = (uint32_t)g->e.len, .fixup = fixup };
}

label_t gen_literal(struct gen *g, const void *bytes, size_t len)
{
	label_t label = emit_label(&g->e);

	if (emit_grow(&g->e, (void **)&g->literals.v, g->literals.n, &g->literals.cap,
		      sizeof(g->literals.v[0])))
		g->literals.v[g->literals.n++] = (struct gen_literal){ label, bytes, len };
	return label;
}

void gen_put_aside(struct gen *g, const struct gen_aside *aside)
{
	struct gen_aside *its;

	if (!emit_grow(&g->e, (void **)&g->asides, g->n_asides, &g->cap_asides,
		       sizeof(g->asides[0])))
		return;
	its = &g->asides[g->n_asides++];
	*its = *aside;
	its->fail = g->fail;
	its->probe = g->probe;
	its->clobbered = g->clobbered;
}

static void put_claim(struct gen *g, const struct gen_aside *a)
{
	g->isa->loads->claim(g, a->at, a->on);
}

void gen_claim(struct gen *g, label_t at, label_t found)
{
	gen_put_aside(g, &(struct gen_aside){ .put = put_claim, .at = at, .on = found });
}

void gen_miss(struct gen *g, const struct gen_miss *miss)
{
	if (emit_grow(&g->e, (void **)&g->misses, g->n_misses, &g->cap_misses,
		      sizeof(g->misses[0])))
		g->misses[g->n_misses++] = *miss;
}

void gen_fault(struct gen *g, const struct gen_fault *fault)
{
	if (emit_grow(&g->e, (void **)&g->faults, g->n_faults, &g->cap_faults,
		      sizeof(g->faults[0])))
		g->faults[g->n_faults++] = *fault;
}
