/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Return probes: what 64 bits do in another way (common_detour_return.c has the rest). */

#include "arch/x86/common_detour_return.h"
#include "arch/x86/gen.h"
#include "arch/x86/leaf.h"

static void find_self(struct gen *g, label_t start)
{
	emit_rm(&g->e, OP_LEA, G_CX, MEM_LABEL(start));
}

static bool can_hijack(uint64_t hijacks, uint64_t mask)
{
	return hijacks && mask <= INT32_MAX >> X86_HIJACK_SHIFT;
}

const struct x86_returns gen64_return_parts = {
	.hijack = GEN_HIJACK,
	.word = G_SI,
	.table = G_DX,
	.chains = true,
	.note_entry = gen64_note_entry,
	.find_self = find_self,
};

/* clang-format off */
const struct gen_returns gen64_returns = {
	X86_GEN_RETURNS,
	.regs = GEN_HIJACK_REGS,
	.calls = &gen64_calls,
	.can_hijack = can_hijack,
	.duration = gen64_duration,
	.at_ret = x86_at_ret,
	.build_leaf = x86_build_leaf,
};
/* clang-format on */
