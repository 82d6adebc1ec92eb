/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Predicates of filters: what 32 bits do in another way (arch/x86/common_detour_filter.c has the rest). */

#include "arch/i386/gen.h"
#include "arch/x86/common_detour_filter.h"
#include "arch/x86/regs.h"

/* edx, eax with 64 bits; clobbers them. */
static unsigned compare_wide(struct gen *g, const struct filter_pred *pred)
{
	int32_t low = (int32_t)(uint32_t)pred->value, high = (int32_t)(pred->value >> 32);
	struct emit *e = &g->e;

	switch ((enum filter_test)pred->test) {
	case FILTER_EQ:
		emit_alu(e, 0, ALU_XOR, G_AX, low);
		emit_alu(e, 0, ALU_XOR, G_DX, high);
		emit_rr(e, OP_OR, G_AX, G_DX);
		return COND_E;
	case FILTER_AND:
		emit_alu(e, 0, ALU_AND, G_AX, low);
		emit_alu(e, 0, ALU_AND, G_DX, high);
		emit_rr(e, OP_OR, G_AX, G_DX);
		return COND_NE;
	case FILTER_LE: /* not less the other way round */
		emit_imm(e, G_CX, (uint32_t)low);
		emit_rr(e, OP_CMP, G_CX, G_AX);
		emit_imm(e, G_CX, (uint32_t)high);
		emit_rr(e, OP_SBB, G_CX, G_DX);
		return pred->is_signed ? COND_GE : COND_AE;
	default:
		emit_alu(e, 0, ALU_CMP, G_AX, low);
		emit_alu(e, 0, ALU_SBB, G_DX, high);
		return pred->is_signed && pred->test == FILTER_LT ? COND_L : COND_B;
	}
}

static unsigned compare(struct gen *g, const struct filter_pred *pred, int reg)
{
	struct emit *e = &g->e;

	if (pred->size == 8)
		return compare_wide(g, pred);
	if (pred->test == FILTER_AND)
		emit_test(e, 0, reg, (int32_t)pred->value);
	else
		emit_alu(e, 0, ALU_CMP, reg, (int32_t)pred->value);
	return x86_cond_of(pred);
}

/* bt looks at words of 4 bytes. */
static unsigned in_set(struct gen *g, const struct filter_pred *pred, label_t set)
{
	(void)pred; /* the number is less than 2^32 */
	emit_rm(&g->e, OP_BT, G_AX, MEM_LABEL(set));
	return COND_B;
}

const struct gen_filters gen32_filters = {
	X86_GEN_FILTERS,
	/* Only once the thread is known, the base of its segment is. */
	.late_reg = X86_GS_BASE,
	.compare = compare,
	.in_set = in_set,
};
