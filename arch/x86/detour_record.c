/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The record (engine/base/ring.h): the thread and its ring, room in it, the head, and the end:
 * committed, shortened, or given back.
 */

#include <stddef.h>

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

/* R_THREAD, or gen.fail. */
static void find_thread(struct gen *g)
{
	const int32_t offset_mask = (RING_THREADS - 1) * (int)sizeof(struct ring_thread);
	struct emit *e = &g->e;
	label_t look, next = emit_label(e), found = emit_label(e);
	struct emit_mem entry = MEM_X(R_BASE, R_THREAD, 0, RING_TABLE_AT);

	_Static_assert(sizeof(struct ring_thread) == 64, "a shift makes offsets");
	if (g->plan->has & X86_HAS_FSGSBASE)
		emit_bytes(e, "\xf3\x48\x0f\xae\xc0", 5); /* rdfsbase %rax */
	else
		gen64_thread_pointer(g, G_AX);
	emit_alu(e, OP_W, ALU_ADD, G_AX, 1);
	emit_imm(e, R_THREAD, RING_HASH_MUL);
	emit_rr(e, OP_IMUL | OP_W, R_THREAD, G_AX);
	emit_shift(e, OP_W, SHIFT_R, R_THREAD, RING_HASH_SHIFT - 6);
	emit_alu(e, 0, ALU_AND, R_THREAD, offset_mask);
	look = emit_here(e);
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_CMP | OP_W, G_AX, entry);
	emit_jcc(e, COND_E, found);
	emit_set(e, next);
	emit_alu_mem(e, OP_W, ALU_CMP, entry, RING_KEY_NONE);
	emit_jcc(e, COND_E, g->fail);
	emit_alu(e, 0, ALU_ADD, R_THREAD, sizeof(struct ring_thread));
	emit_alu(e, 0, ALU_AND, R_THREAD, offset_mask);
	emit_jmp(e, look);
	emit_set(e, found);
	emit_rm(e, OP_LEA, R_THREAD, entry);
}

static struct emit_mem thread_mem(size_t member)
{
	return MEM(R_THREAD, member);
}

static struct emit_mem record_mem(size_t member)
{
	return MEM(R_RECORD, member);
}

/* @max bytes: R_RECORD and the frame's position; or to @full. */
static void reserve(struct gen *g, uint32_t max, label_t full)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, thread_mem(offsetof(struct ring_thread, head)));
	emit_alu(e, OP_W, ALU_ADD, G_AX, (int32_t)max);
	emit_rm(e, OP_CMP | OP_W, G_AX, thread_mem(offsetof(struct ring_thread, limit)));
	emit_jcc(e, COND_A, full);
	emit_imm(e, R_RECORD, max);
	emit_rm(e, OP_XADD | OP_W, R_RECORD, thread_mem(offsetof(struct ring_thread, head)));
	emit_rm(e, OP_STORE | OP_W, R_RECORD, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_AND | OP_W, R_RECORD, thread_mem(offsetof(struct ring_thread, mask)));
	emit_rm(e, OP_ADD | OP_W, R_RECORD, thread_mem(offsetof(struct ring_thread, ring)));
}

/* All of the head that is known before the data. */
static void record_head(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;
	struct emit *e = &g->e;

	x86_read_clock(g, thread_mem(offsetof(struct ring_thread, cpu_vaddr)));
	emit_shift(e, OP_W, SHIFT_L, G_DX, 32);
	emit_rr(e, OP_OR | OP_W, G_AX, G_DX);
	emit_rm(e, OP_STORE | OP_W, G_AX, record_mem(offsetof(struct ring_record, time)));
	emit_alu(e, 0, ALU_AND, G_CX, 0xfff); /* the rest is the node */
	if (!program->has_strings)
		emit_alu(e, 0, ALU_OR, G_CX,
			 (int32_t)((program->fixed_size | (g->plan->frames ? RING_STACK : 0))
				   << 16));
	emit_rm(e, OP_STORE, G_CX, record_mem(offsetof(struct ring_record, cpu)));
	emit_store_imm(e, 0, record_mem(offsetof(struct ring_record, probe)), g->probe->number);
	emit_address(e, G_AX, g->plan->site);
	emit_rm(e, OP_STORE | OP_W, G_AX, record_mem(offsetof(struct ring_record, vaddr)));
	if (g->probe->is_return) {
		emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, FRAME_REAL));
		emit_rm(e, OP_STORE | OP_W, G_AX,
			record_mem(offsetof(struct ring_record, ret)));
	} else {
		emit_store_imm(e, OP_W, record_mem(offsetof(struct ring_record, ret)), 0);
	}
}

/* The record is there when this is. */
static void commit(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, FRAME_POS));
	emit_shift(e, OP_W, SHIFT_R, G_AX, 3);
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rm(e, OP_STORE, G_AX, record_mem(offsetof(struct ring_record, commit)));
}

static void store_size(struct gen *g, uint32_t size)
{
	emit_store_imm(&g->e, 0, record_mem(offsetof(struct ring_record, size)), size);
}

/* Strings end before R_END. */
static void note_length(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_AX, MEM(R_END, -RECORD_DATA));
	emit_rr(e, OP_SUB | OP_W, G_AX, R_RECORD);
	if (g->plan->frames)
		emit_alu(e, 0, ALU_OR, G_AX, RING_STACK);
	emit_rm(e, OP_STORE | OP_66, G_AX, record_mem(offsetof(struct ring_record, data_len)));
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
	emit_rm(e, OP_CMPXCHG | OP_W, G_CX, thread_mem(offsetof(struct ring_thread, head)));
	emit_jcc(e, COND_E, kept);
	emit_imm(e, R_END, max);
	emit_set(e, kept);
	emit_rm(e, OP_STORE, R_END, record_mem(offsetof(struct ring_record, size)));
}

/* Nothing is recorded: give back what was reserved, or say that it is void. */
static void give_back(struct gen *g, uint32_t max, label_t then)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_CX, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_LEA, G_AX, MEM(G_CX, max));
	emit_rm(e, OP_CMPXCHG | OP_W, G_CX, thread_mem(offsetof(struct ring_thread, head)));
	emit_jcc(e, COND_E, then);
	store_size(g, max);
	emit_store_imm(e, 0, record_mem(offsetof(struct ring_record, probe)), RING_VOID);
	commit(g);
	emit_jmp(e, then);
}

static void count_lost(struct gen *g)
{
	emit_rm(&g->e, 0xff | OP_W, 0, /* inc */
		thread_mem(offsetof(struct ring_thread, lost)));
}

static void count_dropped(struct gen *g)
{
	uint32_t at = g->probe->number % RING_COUNTS;

	emit_rm(&g->e, 0xff | OP_W | OP_LOCK, 0, /* inc */
		MEM(R_BASE, offsetof(struct ring_head, dropped) + 8 * at));
}

const struct gen_records gen64_records = {
	.find_thread = find_thread,
	.reserve = reserve,
	.head = record_head,
	.note_length = note_length,
	.shorten = shorten,
	.store_size = store_size,
	.commit = commit,
	.give_back = give_back,
	.count_lost = count_lost,
	.count_dropped = count_dropped,
};
