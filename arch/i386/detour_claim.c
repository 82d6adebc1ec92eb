/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A thread without a ring claims one: what 32 bits do in another way (arch/x86/common_detour_claim.c has the
 * rest). Who comes here has a segment for its thread pointer: the detour has looked.
 */

#include "arch/i386/gen.h"

static void load_pointer(struct emit *e, unsigned has)
{
	(void)has;
	emit_bytes(e, "\x65\xa1\0\0\0\0", 6); /* mov %gs:0,%eax */
}

static void load_self(struct emit *e, int32_t at)
{
	emit_bytes(e, "\x65\xa1", 2); /* mov %gs:at,%eax */
	emit_u32(e, (uint32_t)at);
}

const struct x86_claim gen32_claim_parts = {
	.tid = R_RECORD,
	.word = G_BX,
	.saved = X86_STAYS,
	.way_back = FRAME_RETURN,
	.load_pointer = load_pointer,
	.load_self = load_self,
};
