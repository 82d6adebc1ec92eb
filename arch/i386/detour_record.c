/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The record: which thread this is, and room in its ring, by positions that take two registers
 * each. arch/x86/common_detour_record.c has the rest.
 */

#include <stddef.h>

#include "arch/i386/gen.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"

/* ring_hash(): the product of the halves of both; that of the upper ones is too large to matter, and the key has none. */
void gen32_hash(struct gen *g)
{
	struct emit *e = &g->e;

	_Static_assert(sizeof(struct ring_thread) == 64, "a shift makes offsets");
	_Static_assert(RING_HASH_SHIFT >= 32 + 6, "the hash is in the upper half");
	emit_rr(e, OP_LOAD, G_CX, G_AX);
	emit_imm(e, G_DX, RING_HASH_MUL & UINT32_MAX);
	emit_rr(e, 0xf7, 4, G_DX); /* mul: edx and eax */
	emit_imm(e, R_THREAD, RING_HASH_MUL >> 32);
	emit_rr(e, OP_IMUL, R_THREAD, G_CX);
	emit_rr(e, OP_ADD, R_THREAD, G_DX);
	emit_shift(e, 0, SHIFT_R, R_THREAD, RING_HASH_SHIFT - 32 - 6);
	emit_rr(e, OP_LOAD, G_AX, G_CX);
}

/* R_THREAD, or gen.fail. Clobbers eax, ecx, edx. */
static void find_thread(struct gen *g)
{
	struct emit *e = &g->e;

	/* C libraries keep the thread pointer there, if it has one: else there is no segment. */
	emit_rr(e, 0x8c, 5, G_AX); /* mov %gs,%eax */
	emit_test(e, 0, G_AX, 0xfffc);
	emit_jcc(e, COND_E, g->fail);
	gen_may_fault(g, g->fail);
	emit_bytes(e, "\x65\xa1\0\0\0\0", 6); /* mov %gs:0,%eax */
	x86_find_thread_of(g);
}

/* If the head is edx, eax, make it ecx, ebx: by one instruction, which a signal handler that
 * records can't come between. */
static void change_head(struct gen *g)
{
	emit_rm(&g->e, OP_CMPXCHG8B, 1, x86_thread_mem(g, offsetof(struct ring_thread, head)));
}

/* edx, eax = the number in memory, ecx, ebx = that and @more. */
static void load_and_add(struct emit *e, struct emit_mem mem, uint32_t more)
{
	emit_rm(e, OP_LOAD, G_AX, mem);
	emit_rm(e, OP_LOAD, G_DX, x86_upper(mem));
	emit_rr(e, OP_LOAD, G_BX, G_AX);
	emit_rr(e, OP_LOAD, G_CX, G_DX);
	emit_alu(e, 0, ALU_ADD, G_BX, (int32_t)more);
	emit_alu(e, 0, ALU_ADC, G_CX, 0);
}

/*
 * @max bytes: R_RECORD and the frame's position; or to @full. The limit is never far from the head:
 * the lower half of it tells which is larger, whatever the reader does to it meanwhile.
 */
static void reserve(struct gen *g, uint32_t max, label_t full)
{
	struct emit *e = &g->e;
	label_t again = emit_here(e);

	load_and_add(e, x86_thread_mem(g, offsetof(struct ring_thread, head)), max);
	emit_rm(e, OP_LOAD, R_RECORD, x86_thread_mem(g, offsetof(struct ring_thread, limit)));
	emit_rr(e, OP_SUB, R_RECORD, G_BX);
	emit_jcc(e, COND_S, full);
	change_head(g);
	emit_jcc(e, COND_NE, again);
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_STORE, G_DX, MEM(G_SP, FRAME_POS + 4));
	emit_rr(e, OP_LOAD, R_RECORD, G_AX);
	emit_rm(e, OP_AND, R_RECORD, x86_thread_mem(g, offsetof(struct ring_thread, mask)));
	emit_rm(e, OP_ADD, R_RECORD, x86_thread_mem(g, offsetof(struct ring_thread, ring)));
	x86_fetch_ahead(g);
}

/* edx, eax = where what was reserved ends, ecx, ebx = where it began; R_THREAD. */
static void load_ends(struct emit *e, uint32_t max)
{
	emit_rm(e, OP_LOAD, R_THREAD, MEM(G_SP, FRAME_THREAD));
	emit_rm(e, OP_LOAD, G_BX, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_LOAD, G_CX, MEM(G_SP, FRAME_POS + 4));
	emit_rr(e, OP_LOAD, G_AX, G_BX);
	emit_rr(e, OP_LOAD, G_DX, G_CX);
	emit_alu(e, 0, ALU_ADD, G_AX, (int32_t)max);
	emit_alu(e, 0, ALU_ADC, G_DX, 0);
}

/* The record ends before FRAME_END, which may be less than was reserved: shorten that, if it is the
 * last. */
static void shorten(struct gen *g, uint32_t max)
{
	struct emit *e = &g->e;
	label_t kept = emit_label(e);

	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_END));
	emit_rr(e, OP_SUB, G_AX, R_RECORD);
	emit_alu(e, 0, ALU_ADD, G_AX, 7);
	emit_alu(e, 0, ALU_AND, G_AX, -8);
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_T0));
	load_ends(e, max);
	emit_rm(e, OP_ADD, G_BX, MEM(G_SP, FRAME_T0));
	emit_alu(e, 0, ALU_ADC, G_CX, 0);
	change_head(g);
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_T0));
	emit_jcc(e, COND_E, kept);
	emit_imm(e, G_AX, max);
	emit_set(e, kept);
	emit_rm(e, OP_STORE, G_AX, x86_record_mem(g, offsetof(struct ring_record, size)));
}

/* Nothing is recorded: give back what was reserved, or say that it is void. */
static void give_back(struct gen *g, uint32_t max, label_t then)
{
	struct emit *e = &g->e;

	load_ends(e, max);
	change_head(g);
	emit_jcc(e, COND_E, then);
	x86_void(g, max, then);
}

const struct gen_records gen32_records = {
	.unless_off = x86_unless_off,
	.switch_off = x86_switch_off,
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
