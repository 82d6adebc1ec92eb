/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The record (engine/base/ring.h): the thread and its ring, room in it, the head, and the end:
 * committed, shortened, or given back.
 */

#include <stddef.h>

#include "arch/i386/gen.h"

/* R_THREAD, or gen.fail. Clobbers eax, ecx, edx. */
static void find_thread(struct gen *g)
{
	const int32_t offset_mask = (RING_THREADS - 1) * (int)sizeof(struct ring_thread);
	struct emit *e = &g->e;
	label_t look, found = emit_label(e);
	struct emit_mem entry = MEM_X(R_BASE, R_THREAD, 0, RING_TABLE_AT);

	_Static_assert(sizeof(struct ring_thread) == 64, "a shift makes offsets");
	_Static_assert(RING_HASH_SHIFT >= 32 + 6, "the hash is in the upper half");
	/* C libraries keep the thread pointer there, if it has one: else there is no segment. */
	emit_rr(e, 0x8c, 5, G_AX); /* mov %gs,%eax */
	emit_test(e, 0, G_AX, 0xfffc);
	emit_jcc(e, COND_E, g->fail);
	gen_may_fault(g, g->fail);
	emit_bytes(e, "\x65\xa1\0\0\0\0", 6); /* mov %gs:0,%eax */
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rr(e, OP_LOAD, G_CX, G_AX);
	/* ring_hash() */
	emit_imm(e, G_DX, RING_HASH_MUL & UINT32_MAX);
	emit_rr(e, 0xf7, 4, G_DX); /* mul: edx and eax */
	emit_imm(e, R_THREAD, RING_HASH_MUL >> 32);
	emit_rr(e, OP_IMUL, R_THREAD, G_CX);
	emit_rr(e, OP_ADD, R_THREAD, G_DX);
	emit_shift(e, 0, SHIFT_R, R_THREAD, RING_HASH_SHIFT - 32 - 6);
	emit_alu(e, 0, ALU_AND, R_THREAD, offset_mask);
	look = emit_here(e);
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_CMP, G_CX, entry);
	emit_jcc(e, COND_E, found);
	emit_alu_mem(e, 0, ALU_CMP, entry, RING_KEY_NONE);
	emit_jcc(e, COND_E, g->fail);
	emit_alu(e, 0, ALU_ADD, R_THREAD, sizeof(struct ring_thread));
	emit_alu(e, 0, ALU_AND, R_THREAD, offset_mask);
	emit_jmp(e, look);
	emit_set(e, found);
	emit_rm(e, OP_LEA, R_THREAD, entry);
	emit_rm(e, OP_STORE, R_THREAD, MEM(G_SP, FRAME_THREAD));
}

static struct emit_mem thread_mem(size_t member)
{
	return MEM(R_THREAD, member);
}

static struct emit_mem record_mem(size_t member)
{
	return MEM(R_RECORD, member);
}

/* If the head is edx, eax, make it ecx, ebx: by one instruction, which a signal handler that
 * records can't come between. */
static void change_head(struct emit *e)
{
	emit_rm(e, OP_CMPXCHG8B, 1, thread_mem(offsetof(struct ring_thread, head)));
}

/* edx, eax = the number in memory, ecx, ebx = that and @more. */
static void load_and_add(struct emit *e, struct emit_mem mem, uint32_t more)
{
	emit_rm(e, OP_LOAD, G_AX, mem);
	emit_rm(e, OP_LOAD, G_DX, gen32_upper(mem));
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

	load_and_add(e, thread_mem(offsetof(struct ring_thread, head)), max);
	emit_rm(e, OP_LOAD, R_RECORD, thread_mem(offsetof(struct ring_thread, limit)));
	emit_rr(e, OP_SUB, R_RECORD, G_BX);
	emit_jcc(e, COND_S, full);
	change_head(e);
	emit_jcc(e, COND_NE, again);
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_STORE, G_DX, MEM(G_SP, FRAME_POS + 4));
	emit_rr(e, OP_LOAD, R_RECORD, G_AX);
	emit_rm(e, OP_AND, R_RECORD, thread_mem(offsetof(struct ring_thread, mask)));
	emit_rm(e, OP_ADD, R_RECORD, thread_mem(offsetof(struct ring_thread, ring)));
}

static void store_imm(struct emit *e, size_t member, uint64_t imm)
{
	emit_store_imm(e, 0, record_mem(member), (uint32_t)imm);
	emit_store_imm(e, 0, gen32_upper(record_mem(member)), (uint32_t)(imm >> 32));
}

/* All of the head that is known before the data. */
static void record_head(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;
	const size_t time = offsetof(struct ring_record, time);
	const size_t ret = offsetof(struct ring_record, ret);
	struct emit *e = &g->e;

	x86_read_clock(g, thread_mem(offsetof(struct ring_thread, cpu_vaddr)));
	emit_rm(e, OP_STORE, G_AX, record_mem(time));
	emit_rm(e, OP_STORE, G_DX, gen32_upper(record_mem(time)));
	emit_alu(e, 0, ALU_AND, G_CX, 0xfff); /* the rest is the node */
	if (!program->has_strings)
		emit_alu(e, 0, ALU_OR, G_CX,
			 (int32_t)((program->fixed_size | (g->plan->frames ? RING_STACK : 0))
				   << 16));
	emit_rm(e, OP_STORE, G_CX, record_mem(offsetof(struct ring_record, cpu)));
	emit_store_imm(e, 0, record_mem(offsetof(struct ring_record, probe)), g->probe->number);
	store_imm(e, offsetof(struct ring_record, vaddr), g->plan->site);
	store_imm(e, ret, 0);
	if (g->probe->is_return) {
		emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_REAL));
		emit_rm(e, OP_STORE, G_AX, record_mem(ret));
	}
}

/* The record is there when this is. */
static void commit(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_POS));
	emit_rm(e, OP_LOAD, G_DX, MEM(G_SP, FRAME_POS + 4));
	emit_rr(e, OP_SHRD, G_DX, G_AX);
	emit_u8(e, 3);
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rm(e, OP_STORE, G_AX, record_mem(offsetof(struct ring_record, commit)));
}

static void store_size(struct gen *g, uint32_t size)
{
	emit_store_imm(&g->e, 0, record_mem(offsetof(struct ring_record, size)), size);
}

/* Strings end before FRAME_END. */
static void note_length(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_END));
	emit_rr(e, OP_SUB, G_AX, R_RECORD);
	emit_alu(e, 0, ALU_SUB, G_AX, RECORD_DATA);
	if (g->plan->frames)
		emit_alu(e, 0, ALU_OR, G_AX, RING_STACK);
	emit_rm(e, OP_STORE | OP_66, G_AX, record_mem(offsetof(struct ring_record, data_len)));
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
	change_head(e);
	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, FRAME_T0));
	emit_jcc(e, COND_E, kept);
	emit_imm(e, G_AX, max);
	emit_set(e, kept);
	emit_rm(e, OP_STORE, G_AX, record_mem(offsetof(struct ring_record, size)));
}

/* Nothing is recorded: give back what was reserved, or say that it is void. */
static void give_back(struct gen *g, uint32_t max, label_t then)
{
	struct emit *e = &g->e;

	load_ends(e, max);
	change_head(e);
	emit_jcc(e, COND_E, then);
	store_size(g, max);
	emit_store_imm(e, 0, record_mem(offsetof(struct ring_record, probe)), RING_VOID);
	commit(g);
	emit_jmp(e, then);
}

/* Add 1 to 64 bits: the upper half when the lower one is full. Others who do so at the same
 * time, between the two steps, too, make it no other sum. */
static void count_up(struct emit *e, unsigned lock, struct emit_mem mem)
{
	label_t done = emit_label(e);

	emit_rm(e, 0xff | lock, 0, mem); /* inc */
	emit_jcc(e, COND_NE, done);
	emit_rm(e, 0xff | lock, 0, gen32_upper(mem));
	emit_set(e, done);
}

static void count_lost(struct gen *g)
{
	count_up(&g->e, 0, thread_mem(offsetof(struct ring_thread, lost)));
}

static void count_dropped(struct gen *g)
{
	uint32_t at = g->probe->number % RING_COUNTS;

	count_up(&g->e, OP_LOCK, MEM(R_BASE, offsetof(struct ring_head, dropped) + 8 * at));
}

const struct gen_records gen32_records = {
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
