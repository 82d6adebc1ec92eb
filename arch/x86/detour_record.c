/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The record: which thread this is, and room in its ring, by positions in one register each.
 * common_detour_record.c has the rest.
 */

#include <stddef.h>

#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"
#include "arch/x86/cpu.h"
#include "arch/x86/gen.h"

void gen64_thread_pointer(struct gen *g, int to)
{
	struct emit *e = &g->e;

	gen_may_fault(g, g->fail);
	emit_u8(e, 0x64); /* %fs: */
	emit_u8(e, to & 8 ? 0x4c : 0x48);
	emit_u8(e, 0x8b);
	emit_u8(e, (uint8_t)((to & 7) << 3 | 4));
	emit_bytes(e, "\x25\0\0\0\0", 5); /* 0 */
}

void gen64_hash(struct gen *g)
{
	struct emit *e = &g->e;

	_Static_assert(sizeof(struct ring_thread) == 64, "a shift makes offsets");
	emit_imm(e, R_THREAD, RING_HASH_MUL);
	emit_rr(e, OP_IMUL | OP_W, R_THREAD, G_AX);
	emit_shift(e, OP_W, SHIFT_R, R_THREAD, RING_HASH_SHIFT - 6);
}

/* R_THREAD, or gen.fail. */
static void find_thread(struct gen *g)
{
	if (g->plan->has & X86_HAS_FSGSBASE)
		emit_bytes(&g->e, "\xf3\x48\x0f\xae\xc0", 5); /* rdfsbase %rax */
	else
		gen64_thread_pointer(g, G_AX);
	x86_find_thread_of(g);
}

/* @max bytes: R_RECORD and the frame's position; or to @full. */
static void reserve(struct gen *g, uint32_t max, label_t full)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, x86_thread_mem(g, offsetof(struct ring_thread, head)));
	emit_alu(e, OP_W, ALU_ADD, G_AX, (int32_t)max);
	emit_rm(e, OP_CMP | OP_W, G_AX, x86_thread_mem(g, offsetof(struct ring_thread, limit)));
	emit_jcc(e, COND_A, full);
	emit_imm(e, R_RECORD, max);
	emit_rm(e, OP_XADD | OP_W, R_RECORD,
		x86_thread_mem(g, offsetof(struct ring_thread, head)));
	emit_rm(e, OP_STORE | OP_W, R_RECORD, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_AND | OP_W, R_RECORD,
		x86_thread_mem(g, offsetof(struct ring_thread, mask)));
	emit_rm(e, OP_ADD | OP_W, R_RECORD,
		x86_thread_mem(g, offsetof(struct ring_thread, ring)));
	x86_fetch_ahead(g);
}

/* The record ends before R_END, which may be less than was reserved: shorten that, if it is the
 * last. */
static void shorten(struct gen *g, uint32_t max)
{
	struct emit *e = &g->e;
	label_t kept = emit_label(e);

	emit_rr(e, OP_SUB | OP_W, R_END, R_RECORD);
	emit_alu(e, 0, ALU_ADD, R_END, 7);
	emit_alu(e, 0, ALU_AND, R_END, -8);
	emit_rm(e, OP_LOAD | OP_W, G_CX, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_LEA, G_AX, MEM(G_CX, max));
	emit_rr(e, OP_ADD | OP_W, G_CX, R_END);
	emit_rm(e, OP_CMPXCHG | OP_W, G_CX,
		x86_thread_mem(g, offsetof(struct ring_thread, head)));
	emit_jcc(e, COND_E, kept);
	emit_imm(e, R_END, max);
	emit_set(e, kept);
	emit_rm(e, OP_STORE, R_END, x86_record_mem(g, offsetof(struct ring_record, size)));
}

/* Nothing is recorded: give back what was reserved, or say that it is void. */
static void give_back(struct gen *g, uint32_t max, label_t then)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_CX, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_LEA, G_AX, MEM(G_CX, max));
	emit_rm(e, OP_CMPXCHG | OP_W, G_CX,
		x86_thread_mem(g, offsetof(struct ring_thread, head)));
	emit_jcc(e, COND_E, then);
	x86_void(g, max, then);
}

const struct gen_records gen64_records = {
	.tallies = &gen64_tallies,
	.samples = &gen64_samples,
	.unless_off = x86_unless_off,
	.switch_off = x86_switch_off,
	.has_marks = true,
	.find_thread = find_thread,
	.reserve = reserve,
	.head = x86_record_head,
	.note_length = x86_note_length,
	.shorten = shorten,
	.store_size = x86_store_size,
	.commit = x86_commit,
	.give_back = give_back,
	.count_lost = x86_count_lost,
	.count_dropped = x86_count_dropped,
	.unless_alone = x86_unless_alone,
};
