/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* A thread without a ring claims one: what 64 bits do in another way (common_detour_claim.c has the rest). */

#include "arch/x86/cpu.h"
#include "arch/x86/gen.h"

static void load_pointer(struct emit *e, unsigned has)
{
	if (has & X86_HAS_FSGSBASE)
		emit_bytes(e, "\xf3\x48\x0f\xae\xc0", 5); /* rdfsbase %rax */
	else
		emit_bytes(e, "\x64\x48\x8b\x04\x25\0\0\0\0", 9); /* mov %fs:0,%rax */
}

static void load_self(struct emit *e, int32_t at)
{
	emit_bytes(e, "\x64\x8b\x04\x25", 4); /* mov %fs:at,%eax */
	emit_u32(e, (uint32_t)at);
}

const struct x86_claim gen64_claim_parts = {
	.tid = G_R8,
	.word = G_R9,
	.saved = FRAME_T9,
	.way_back = FRAME_CELL,
	.load_pointer = load_pointer,
	.load_self = load_self,
};
