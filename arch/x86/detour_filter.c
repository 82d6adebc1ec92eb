/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Predicates of filters: what 64 bits do in another way (common_detour_filter.c has the rest). */

#include "arch/x86/common_detour_filter.h"
#include "arch/x86/gen.h"
#include "arch/x86/regs.h"

static unsigned compare(struct gen *g, const struct filter_pred *pred, int reg)
{
	unsigned w = pred->size == 8 ? OP_W : 0;
	struct emit *e = &g->e;
	bool is_and = pred->test == FILTER_AND;

	if (w && !emit_fits(pred->value)) {
		emit_imm(e, G_CX, pred->value);
		emit_rr(e, (is_and ? OP_TEST : OP_CMP) | w, reg, G_CX);
	} else if (is_and) {
		emit_test(e, w, reg, (int32_t)pred->value);
	} else {
		emit_alu(e, w, ALU_CMP, reg, (int32_t)pred->value);
	}
	return x86_cond_of(pred);
}

/* bt looks at words of 8 bytes. */
static unsigned in_set(struct gen *g, const struct filter_pred *pred, label_t set)
{
	if (pred->size < 8)
		emit_rr(&g->e, OP_LOAD, G_AX, G_AX);
	emit_rm(&g->e, OP_BT | OP_W, G_AX, MEM_LABEL(set));
	return COND_B;
}

const struct gen_filters gen64_filters = {
	X86_GEN_FILTERS,
	/* Without rdfsbase it is read where C libraries keep it: right once the thread was found by it. */
	.late_reg = X86_FS_BASE,
	.compare = compare,
	.in_set = in_set,
};
