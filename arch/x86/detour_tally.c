/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Counting in the thread's own table (base/tally_table.h). No instruction is locked: each that changes something which a
 * signal handler of the thread may change, too, does it at once.
 *
 * rax is the hash, and then the tag; rdi the entry; rcx, rdx, r9 scratch. What the key is made of waits in the frame.
 */

#include <stddef.h>
#include <string.h>

#include "arch/gen_record.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"
#include "arch/x86/cpu.h"
#include "arch/x86/gen.h"
#include "engine/base/tally_table.h"

#define OP_BSR (0xbd | OP_0F)

#define R_TAG   G_AX
#define R_ENTRY X86_ACC
#define R_WORD  G_CX

/* Of the frame, what only searches of ranges use (gen.h). */
#define FRAME_NUMBER(i) (FRAME_T10 + 8 * (int)(i)) /* of a key, three of them */
#define FRAME_TAG       FRAME_CELL
#define FRAME_TEXT      FRAME_FROM /* a string: where it is, and its bytes with the NUL */
#define FRAME_TEXT_LEN  FRAME_TO
#define FRAME_TALLY_END FRAME_START /* R_END */
#define FRAME_FIRST     FRAME_WORD  /* a new entry: ticks, and what else is in rdx */
#define FRAME_STEPS     FRAME_GONE

#define WORD_AT(n) ((int32_t)sizeof(struct tally_entry) + 8 * (int32_t)(n))

_Static_assert(FRAME_T8 == FRAME_T10 + 8 && FRAME_T9 == FRAME_T10 + 16, "three words");

static struct emit_mem frame(int at)
{
	return MEM(G_SP, at);
}

/* The ring; its area is .tally_at behind it. */
static void load_ring(struct gen *g, int to)
{
	emit_rm(&g->e, OP_LOAD | OP_W, to,
		x86_thread_mem(g, offsetof(struct ring_thread, ring)));
}

static void count_up(struct gen *g, struct emit_mem mem)
{
	emit_rm(&g->e, 0xff | OP_W, 0, mem); /* inc */
}

/* rax has the ring. */
static void count_in(struct gen *g)
{
	count_up(g, MEM(G_AX, g->plan->tally.at + TALLY_COUNTERS_AT + 8 * g->probe->number));
	emit_mark(&g->e, MARK_COUNTER);
}

static void count(struct gen *g)
{
	load_ring(g, G_AX);
	count_in(g);
}

/* What is at %fs:@at, by a load of these opcodes, to @reg. */
static void by_pointer(struct gen *g, const char *rex_and_op, int reg, int32_t at)
{
	gen_may_fault(g, g->fail);
	emit_u8(&g->e, 0x64); /* %fs: */
	emit_bytes(&g->e, rex_and_op, strlen(rex_and_op));
	emit_u8(&g->e, (uint8_t)(reg << 3 | 4));
	emit_u8(&g->e, 0x25);
	emit_u32(&g->e, (uint32_t)at);
}

/* rsi: the thread pointer; without rdfsbase, as the C library keeps it. */
static void ask_pointer(struct gen *g)
{
	if (g->plan->has & X86_HAS_FSGSBASE)
		emit_bytes(&g->e, "\xf3\x48\x0f\xae\xc6", 5); /* rdfsbase %rsi */
	else
		by_pointer(g, "\x48\x8b", G_SI, 0);
}

static void count_quick(struct gen *g, label_t other)
{
	const int32_t at = RING_QUICK_AT;
	struct emit *e = &g->e;

	_Static_assert(sizeof(struct ring_quick) == 32, "a mask makes offsets");
	ask_pointer(g);
	emit_rr(e, 0x69 | OP_W, G_AX, G_SI); /* imul by 4 bytes */
	emit_u32(e, RING_QUICK_MUL);
	emit_shift(e, OP_W, SHIFT_R, G_AX, RING_QUICK_SHIFT);
	emit_alu(e, 0, ALU_AND, G_AX, RING_QUICK_MASK);
	emit_rm(e, OP_CMP | OP_W, G_SI, MEM_X(R_BASE, G_AX, 0, at));
	emit_jcc(e, COND_NE, other);
	by_pointer(g, "\x8b", G_SI, g->plan->self_at);
	emit_rm(e, OP_CMP, G_SI,
		MEM_X(R_BASE, G_AX, 0, at + (int32_t)offsetof(struct ring_quick, self)));
	emit_jcc(e, COND_NE, other);
	emit_rm(e, OP_LOAD | OP_W, G_AX,
		MEM_X(R_BASE, G_AX, 0, at + (int32_t)offsetof(struct ring_quick, ring)));
	count_in(g);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* rcx. What needs no memory of the program is not in a record: rax, on the way. */
void gen64_field(struct gen *g, const struct tally_field *field, const struct fetch_op *source)
{
	unsigned op = source ? OP_LOAD | OP_W : x86_load_op(field->size);

	if (field->is_signed && field->size == 1)
		op = OP_MOVSX8 | OP_W;
	else if (field->is_signed && field->size == 2)
		op = OP_MOVSX2 | OP_W;
	else if (field->is_signed && field->size == 4)
		op = 0x63 | OP_W; /* movslq */
	if (!source) {
		emit_rm(&g->e, op, R_WORD, x86_data_at(g, field->at));
		return;
	}
	gen_value(g, source);
	emit_rr(&g->e, op, R_WORD, G_AX);
}

static void load_field(struct gen *g, const struct tally_field *field)
{
	gen64_field(g, field, gen_tally_source(g, field));
}

static void scale_log2(struct emit *e)
{
	label_t zero = emit_label(e), done = emit_label(e);

	emit_alu(e, OP_W, ALU_SUB, R_WORD, 1);
	emit_jcc(e, COND_BE, zero);
	emit_rr(e, OP_BSR | OP_W, R_WORD, R_WORD);
	emit_alu(e, 0, ALU_ADD, R_WORD, 1);
	emit_jmp(e, done);
	emit_set(e, zero);
	emit_rr(e, OP_XOR, R_WORD, R_WORD);
	emit_set(e, done);
}

static void scale_buckets(struct emit *e, uint64_t bucket)
{
	if ((bucket & (bucket - 1)) == 0) {
		if (bucket > 1)
			emit_shift(e, OP_W, SHIFT_R, R_WORD, (uint8_t)__builtin_ctzll(bucket));
		return;
	}
	emit_rr(e, OP_LOAD | OP_W, G_AX, R_WORD);
	emit_rr(e, OP_XOR, G_DX, G_DX);
	emit_imm(e, R_WORD, bucket);
	emit_rr(e, 0xf7 | OP_W, 6, R_WORD); /* div */
	emit_rr(e, OP_LOAD | OP_W, R_WORD, G_AX);
}

/* rcx, or to @cannot. */
static void load_number(struct gen *g, const struct tally_key *key, label_t cannot)
{
	struct emit *e = &g->e;

	if (key->source == TALLY_CPU) {
		emit_rm(e, OP_LOAD | OP_W, R_WORD,
			x86_thread_mem(g, offsetof(struct ring_thread, cpu_vaddr)));
		emit_rr(e, OP_TEST | OP_W, R_WORD, R_WORD);
		emit_jcc(e, COND_E, cannot);
		gen_may_fault(g, g->fail);
		emit_rm(e, OP_LOAD, R_WORD, MEM(R_WORD, 0));
	} else {
		load_field(g, &key->field);
	}
	if (key->scale == TALLY_LOG2)
		scale_log2(e);
	else if (key->scale == TALLY_BUCKETS)
		scale_buckets(e, key->bucket);
}

/* A string is looked at, which takes the register that tells where the record ends. */
static bool needs_end(const struct gen *g)
{
	const struct tally_plan *tally = g->probe->tally;

	for (unsigned i = 0; i < tally->n_keys; i++)
		if (tally->keys[i].source == TALLY_STRING)
			return true;
	return false;
}

/* --- the hash ---------------------------------------------------------------------------------- */

/* rcx into it, with the multiplier in @mul. Clobbers rcx. */
static void hash_word(struct emit *e, int mul)
{
	emit_rr(e, OP_XOR | OP_W, R_TAG, R_WORD);
	emit_rr(e, OP_IMUL | OP_W, R_TAG, mul);
	emit_rr(e, OP_LOAD | OP_W, R_WORD, R_TAG);
	emit_shift(e, OP_W, SHIFT_R, R_WORD, 32);
	emit_rr(e, OP_XOR | OP_W, R_TAG, R_WORD);
}

/* Its last word is filled up with zeros, in the record, which ends there. */
static void hash_text(struct gen *g, const struct tally_key *key, label_t cannot)
{
	struct emit *e = &g->e;
	label_t loop;

	emit_rm(e, OP_LOAD, G_CX, x86_data_at(g, key->field.at));
	emit_rr(e, OP_LOAD, G_DX, G_CX);
	emit_alu(e, 0, ALU_AND, G_CX, 0xffff);
	emit_shift(e, 0, SHIFT_R, G_DX, 16);
	emit_rm(e, OP_LEA, R_ENTRY, MEM_X(R_RECORD, G_CX, 0, RECORD_DATA));
	emit_rm(e, OP_LEA, G_CX, MEM(G_DX, -1));
	emit_alu(e, 0, ALU_CMP, G_CX, TALLY_TABLE_STRING);
	emit_jcc(e, COND_AE, cannot);
	emit_rm(e, OP_STORE | OP_W, R_ENTRY, frame(FRAME_TEXT));
	emit_rm(e, OP_STORE | OP_W, G_DX, frame(FRAME_TEXT_LEN));
	emit_store_imm(e, OP_W, MEM_X(R_ENTRY, G_DX, 0, 0), 0);
	emit_imm(e, R_END, TALLY_HASH_MUL);
	loop = emit_here(e);
	emit_rm(e, OP_LOAD | OP_W, R_WORD, MEM(R_ENTRY, 0));
	emit_alu(e, OP_W, ALU_ADD, R_ENTRY, 8);
	hash_word(e, R_END);
	emit_alu(e, 0, ALU_SUB, G_DX, 8);
	emit_jcc(e, COND_G, loop);
}

/* Those of the key, to the frame, while rax is free; returns the last one's place in the key. */
static unsigned load_numbers(struct gen *g, label_t cannot)
{
	const struct tally_plan *tally = g->probe->tally;
	unsigned last = 0;

	for (unsigned i = 0; i < tally->n_keys; i++) {
		const struct tally_key *key = &tally->keys[i];

		if (key->source == TALLY_STRING || !tally_key_is_in_table(key))
			continue;
		load_number(g, key, cannot);
		emit_rm(&g->e, OP_STORE | OP_W, R_WORD, frame(FRAME_NUMBER(i)));
		last = i;
	}
	return last;
}

static void hash_key(struct gen *g, label_t cannot)
{
	const struct tally_plan *tally = g->probe->tally;
	unsigned last = load_numbers(g, cannot);
	struct emit *e = &g->e;

	emit_imm(e, R_TAG, tally_hash(0, g->probe->number));
	for (unsigned i = 0; i < tally->n_keys; i++) {
		const struct tally_key *key = &tally->keys[i];

		if (key->source == TALLY_STRING) {
			hash_text(g, key, cannot);
		} else if (tally_key_is_in_table(key)) {
			/* The last one is there, if nothing came in between. */
			if (i != last || i != 0)
				emit_rm(e, OP_LOAD | OP_W, R_WORD, frame(FRAME_NUMBER(i)));
			emit_imm(e, G_DX, TALLY_HASH_MUL);
			hash_word(e, G_DX);
		}
	}
	emit_alu(e, OP_W, ALU_OR, R_TAG, 2);
}

/* --- entries ----------------------------------------------------------------------------------- */

/* The first place that it may have. */
static void find_place(struct gen *g)
{
	int32_t tables = (int32_t)(g->plan->tally.at + TALLY_TABLES_AT + g->plan->tally.slot -
				   TALLY_FIRST);
	struct emit *e = &g->e;

	load_ring(g, R_ENTRY);
	emit_rm(e, OP_LOAD | OP_W, G_CX,
		MEM(R_ENTRY, g->plan->tally.at + offsetof(struct tally_area, mask)));
	emit_rm(e, OP_LEA, R_ENTRY, MEM_X(R_ENTRY, G_CX, 0, tables));
	emit_rr(e, OP_AND | OP_W, G_CX, R_TAG);
	emit_rr(e, OP_ADD | OP_W, R_ENTRY, G_CX);
	emit_imm(e, G_DX, TALLY_STEPS);
}

/* Words of a string one by one, to @same behind the one that has its NUL. */
static void each_text_word(struct gen *g, unsigned n, label_t differs, bool store)
{
	label_t same = emit_label(&g->e);
	struct emit *e = &g->e;

	for (int32_t i = 0; i < TALLY_TABLE_STRING / 8; i++) {
		emit_rm(e, OP_LOAD | OP_W, R_WORD, frame(FRAME_TEXT));
		emit_rm(e, OP_LOAD | OP_W, R_WORD, MEM(R_WORD, 8 * i));
		emit_rm(e, (store ? OP_STORE : OP_CMP) | OP_W, R_WORD,
			MEM(R_ENTRY, WORD_AT(n + (unsigned)i)));
		if (!store)
			emit_jcc(e, COND_NE, differs);
		if (i == TALLY_TABLE_STRING / 8 - 1)
			break;
		emit_alu_mem(e, 0, ALU_CMP, frame(FRAME_TEXT_LEN), 8 * (i + 1));
		emit_jcc(e, COND_BE, same);
	}
	emit_set(e, same);
}

/* Compare the key with the entry's, or to @differs; or store it there. Returns how many words it and the number have. */
static unsigned each_word(struct gen *g, label_t differs, bool store)
{
	const struct tally_plan *tally = g->probe->tally;
	struct emit *e = &g->e;
	unsigned n = 1;

	if (store) {
		emit_store_imm(e, OP_W, MEM(R_ENTRY, WORD_AT(0)), g->probe->number);
	} else {
		emit_alu_mem(e, OP_W, ALU_CMP, MEM(R_ENTRY, WORD_AT(0)),
			     (int32_t)g->probe->number);
		emit_jcc(e, COND_NE, differs);
	}
	for (unsigned i = 0; i < tally->n_keys; i++) {
		const struct tally_key *key = &tally->keys[i];

		if (!tally_key_is_in_table(key))
			continue;
		if (key->source == TALLY_STRING) {
			each_text_word(g, n, differs, store);
		} else {
			emit_rm(e, OP_LOAD | OP_W, R_WORD, frame(FRAME_NUMBER(i)));
			emit_rm(e, (store ? OP_STORE : OP_CMP) | OP_W, R_WORD,
				MEM(R_ENTRY, WORD_AT(n)));
			if (!store)
				emit_jcc(e, COND_NE, differs);
		}
		n += tally_key_words(key);
	}
	return n;
}

static void put_next(struct gen *g, const struct gen_aside *a)
{
	struct emit *e = &g->e;

	emit_set(e, a->at);
	emit_alu(e, OP_W, ALU_ADD, R_ENTRY, (int32_t)g->plan->tally.slot);
	emit_alu(e, 0, ALU_SUB, G_DX, 1);
	emit_jcc(e, COND_NE, a->on);
	emit_jmp(e, a->other);
}

/* It may be forbidden, as for records. */
static void note_first(struct gen *g)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_STORE | OP_W, G_DX, frame(FRAME_STEPS));
	gen_may_fault(g, g->fail);
	emit_bytes(e, "\x0f\x31", 2); /* rdtsc */
	x86_join(e);
	emit_rm(e, OP_STORE | OP_W, G_AX, frame(FRAME_FIRST));
	emit_rm(e, OP_LOAD | OP_W, G_DX, frame(FRAME_STEPS));
}

/* Another's, or nobody's: then it becomes ours, its tag at last. */
static void put_new(struct gen *g, const struct gen_aside *a)
{
	const struct tally_plan *tally = g->probe->tally;
	label_t again = emit_label(&g->e);
	struct emit *e = &g->e;
	unsigned n;

	emit_set(e, a->at);
	emit_rr(e, OP_TEST | OP_W, R_WORD, R_WORD);
	emit_jcc(e, COND_NE, a->other); /* to put_next() */
	emit_rm(e, OP_STORE | OP_W, R_TAG, frame(FRAME_TAG));
	if (tally->has_first)
		note_first(g);
	emit_rr(e, OP_XOR, G_AX, G_AX);
	emit_imm(e, R_WORD, TALLY_TAG_BUSY);
	emit_rm(e, OP_CMPXCHG | OP_W, R_WORD, MEM(R_ENTRY, offsetof(struct tally_entry, tag)));
	emit_rm(e, OP_LOAD | OP_W, R_TAG, frame(FRAME_TAG));
	emit_jcc(e, COND_NE, a->other);
	n = each_word(g, again, true);
	if (tally->has_first) {
		emit_rm(e, OP_LOAD | OP_W, R_WORD, frame(FRAME_FIRST));
		emit_rm(e, OP_STORE | OP_W, R_WORD, MEM(R_ENTRY, WORD_AT(n + tally->n_values)));
	}
	emit_rm(e, OP_STORE | OP_W, R_TAG, MEM(R_ENTRY, offsetof(struct tally_entry, tag)));
	load_ring(g, G_CX);
	count_up(g, MEM(G_CX, g->plan->tally.at + offsetof(struct tally_area, n)));
	emit_jmp(e, a->on);
	emit_set(e, again);
}

/* --- values ---------------------------------------------------------------------------------- */

static void keep_most(struct emit *e, struct emit_mem mem)
{
	label_t again = emit_here(e), done = emit_label(e);

	emit_rm(e, OP_LOAD | OP_W, G_AX, mem);
	emit_rr(e, OP_CMP | OP_W, R_WORD, G_AX);
	emit_jcc(e, COND_BE, done);
	emit_rm(e, OP_CMPXCHG | OP_W, R_WORD, mem);
	emit_jcc(e, COND_NE, again);
	emit_set(e, done);
}

static void add_value(struct gen *g, const struct tally_value *value, struct emit_mem mem)
{
	struct emit *e = &g->e;

	load_field(g, &value->field);
	if (value->kind == TALLY_SUM) {
		emit_rm(e, OP_ADD_TO | OP_W, R_WORD, mem);
		return;
	}
	if (value->field.is_signed) {
		emit_bytes(e, "\x48\x0f\xba\xf9\x3f", 5); /* btc $63,%rcx */
	}
	if (value->kind == TALLY_MIN)
		emit_rr(e, 0xf7 | OP_W, 2, R_WORD); /* not */
	keep_most(e, mem);
}

static void entry(struct gen *g, label_t full, label_t cannot)
{
	const struct tally_plan *tally = g->probe->tally;
	struct emit *e = &g->e;
	label_t loop, other = emit_label(e), differs = emit_label(e), found = emit_label(e);
	unsigned n;

	if (needs_end(g))
		emit_rm(e, OP_STORE | OP_W, R_END, frame(FRAME_TALLY_END));
	hash_key(g, cannot);
	find_place(g);
	loop = emit_here(e);
	emit_rm(e, OP_LOAD | OP_W, R_WORD, MEM(R_ENTRY, offsetof(struct tally_entry, tag)));
	emit_rr(e, OP_CMP | OP_W, R_WORD, R_TAG);
	emit_jcc(e, COND_NE, other);
	n = each_word(g, differs, false);
	emit_set(e, found);
	count_up(g, MEM(R_ENTRY, offsetof(struct tally_entry, hits)));
	for (unsigned i = 0; i < tally->n_values; i++)
		add_value(g, &tally->values[i], MEM(R_ENTRY, WORD_AT(n + i)));
	gen_put_aside(g, &(struct gen_aside){
				 .put = put_new, .at = other, .on = found, .other = differs });
	gen_put_aside(g, &(struct gen_aside){
				 .put = put_next, .at = differs, .on = loop, .other = full });
}

/* --- what becomes a record --------------------------------------------------------------------- */

static void restore(struct gen *g)
{
	if (needs_end(g))
		emit_rm(&g->e, OP_LOAD | OP_W, R_END, frame(FRAME_TALLY_END));
}

static void note_full(struct gen *g)
{
	struct emit_mem mem = x86_record_mem(g, offsetof(struct ring_record, cpu) + 1);

	emit_rm(&g->e, 0x80, ALU_OR, mem); /* of bytes */
	emit_u8(&g->e, RING_NO_ENTRY >> 8);
}

const struct gen_tallies gen64_tallies = {
	.count = count,
	.count_quick = count_quick,
	.entry = entry,
	.restore = restore,
	.note_full = note_full,
};
