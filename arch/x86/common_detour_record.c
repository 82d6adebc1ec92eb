/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The record (engine/base/ring.h), for both widths. How positions are reckoned with, which are
 * numbers of 64 bits, is in detour_record.c of each.
 */

#include "arch/x86/common_detour_record.h"

#include <stddef.h>

#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_string.h"
#include "arch/x86/cpu.h"

struct emit_mem x86_thread_mem(const struct gen *g, size_t member)
{
	return MEM(x86_gen(g)->regs.thread, member);
}

struct emit_mem x86_record_mem(const struct gen *g, size_t member)
{
	return MEM(x86_gen(g)->regs.record, member);
}

void x86_unless_off(struct gen *g, uint32_t number, label_t off)
{
	const size_t at = offsetof(struct ring_head, off);

	gen_may_fault(g, g->fail);
	emit_rm(&g->e, 0xf6, 0, /* test, of bytes */
		MEM(x86_gen(g)->regs.base, at + number / 8));
	emit_mark(&g->e, MARK_SWITCH);
	emit_u8(&g->e, (uint8_t)(1u << number % 8));
	emit_jcc(&g->e, COND_NE, off);
}

void x86_switch_off(struct gen *g, uint32_t number)
{
	const size_t at = offsetof(struct ring_head, off);
	label_t off = emit_label(&g->e);

	gen_may_fault(g, off);
	emit_rm(&g->e, 0x80 | OP_LOCK, 1, /* or, of bytes */
		MEM(x86_gen(g)->regs.base, at + number / 8));
	emit_mark(&g->e, MARK_SWITCH);
	emit_u8(&g->e, (uint8_t)(1u << number % 8));
	emit_set(&g->e, off);
}

#define OP_PREFETCHW (0x0d | OP_0F) /* digit 1 */
/* Some 20 records: what is wanted 400 ns from now, if nothing but hits is done. */
#define AHEAD 1024

#define OFFSET_MASK ((RING_THREADS - 1) * (int32_t)sizeof(struct ring_thread))

static struct emit_mem entry_at(const struct gen *g, int at)
{
	return MEM_X(x86_gen(g)->regs.base, at, 0, RING_TABLE_AT);
}

/* It is not the first one. */
static void put_look_on(struct gen *g, const struct gen_aside *a)
{
	const int at = x86_gen(g)->regs.thread, key = (int)a->n;
	struct emit *e = &g->e;

	emit_set(e, a->at);
	emit_alu_mem(e, OP_W, ALU_CMP, entry_at(g, at), RING_KEY_NONE);
	emit_jcc(e, COND_E, g->fail);
	emit_alu(e, 0, ALU_ADD, at, sizeof(struct ring_thread));
	emit_alu(e, 0, ALU_AND, at, OFFSET_MASK);
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_CMP | OP_W, key, entry_at(g, at));
	emit_jcc(e, COND_NE, a->at);
	emit_jmp(e, a->on);
}

/* Its entry is .regs.thread, or g->fail. */
static void find_entry(struct gen *g, int key)
{
	const struct x86_gen *x = x86_gen(g);
	const int at = x->regs.thread;
	label_t found = emit_label(&g->e), next = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_alu(e, 0, ALU_AND, at, OFFSET_MASK);
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_CMP | OP_W, key, entry_at(g, at));
	emit_jcc(e, COND_NE, next);
	emit_set(e, found);
	gen_put_aside(
		g, &(struct gen_aside){
			   .put = put_look_on, .at = next, .on = found, .n = (uint32_t)key });
	emit_rm(e, OP_LEA, at, entry_at(g, at));
	if (x->frame.thread != X86_STAYS)
		emit_rm(e, OP_STORE, at, MEM(G_SP, x->frame.thread));
}

/* Where it has none, or one that was another thread's, it claims one, out of the way. */
static void find_own_entry(struct gen *g)
{
	bool claims = g->plan->claim && !g->plan->scans;
	label_t fail = g->fail, claim, found;

	if (!g->plan->self_at) {
		find_entry(g, G_AX);
		return;
	}
	claim = claims ? emit_label(&g->e) : fail;
	found = emit_label(&g->e);
	g->fail = claim;
	find_entry(g, G_AX);
	x86_check_self(g, claim);
	g->fail = fail;
	emit_set(&g->e, found);
	if (claims)
		gen_claim(g, claim, found);
}

void x86_find_thread_of(struct gen *g)
{
	emit_alu(&g->e, OP_W, ALU_ADD, G_AX, 1);
	x86_gen(g)->hash(g);
	find_own_entry(g);
}

int x86_load_thread(struct gen *g, int to)
{
	const struct x86_gen *x = x86_gen(g);

	if (x->frame.thread == X86_STAYS)
		return x->regs.thread;
	emit_rm(&g->e, OP_LOAD, to, MEM(G_SP, x->frame.thread));
	return to;
}

/* --- room ------------------------------------------------------------------------------- */

/*
 * ubp has read what stood there before, so its processor has the memory: getting it back takes up to 200 ns where that is far away, as on another
 * chip of the same package, and stores wait for each other. Behind a ring there is RING_SLACK.
 */
void x86_fetch_ahead(struct gen *g)
{
	_Static_assert(AHEAD + 64 <= RING_SLACK, "no other ring is there");
	if (g->plan->has & X86_HAS_PREFETCHW)
		emit_rm(&g->e, OP_PREFETCHW, 1, x86_record_mem(g, AHEAD));
}

/* --- the head -------------------------------------------------------------------------- */

/* What rdx and rax hold, 32 bits each. */
static void store_time(struct gen *g)
{
	struct emit_mem time = x86_record_mem(g, offsetof(struct ring_record, time));

	if (!x86_takes_two(g, 8))
		x86_join(&g->e);
	emit_rm(&g->e, OP_STORE | OP_W, G_AX, time);
	if (x86_takes_two(g, 8))
		emit_rm(&g->e, OP_STORE, G_DX, x86_upper(time));
}

static void store_zero(struct gen *g, struct emit_mem mem)
{
	emit_store_imm(&g->e, OP_W, mem, 0);
	if (x86_takes_two(g, 8))
		emit_store_imm(&g->e, 0, x86_upper(mem), 0);
}

static void store_site(struct gen *g)
{
	struct emit_mem mem = x86_record_mem(g, offsetof(struct ring_record, vaddr));
	struct emit *e = &g->e;

	if (x86_takes_two(g, 8)) {
		emit_store_imm(e, 0, mem, (uint32_t)g->plan->site);
		emit_store_imm(e, 0, x86_upper(mem), 0);
	} else {
		emit_address(e, G_AX, g->plan->site);
		emit_rm(e, OP_STORE | OP_W, G_AX, mem);
	}
}

static void store_return(struct gen *g)
{
	struct emit_mem mem = x86_record_mem(g, offsetof(struct ring_record, ret));
	struct emit *e = &g->e;

	if (g->probe->kind != PROBE_RETURN || x86_takes_two(g, 8))
		store_zero(g, mem);
	if (g->probe->kind != PROBE_RETURN)
		return;
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, x86_gen(g)->frame.real));
	emit_rm(e, OP_STORE | OP_W, G_AX, mem);
}

void x86_record_head(struct gen *g)
{
	const struct fetch_program *program = g->probe->program;
	struct emit *e = &g->e;

	x86_read_clock(g, x86_thread_mem(g, offsetof(struct ring_thread, cpu_vaddr)));
	store_time(g);
	emit_alu(e, 0, ALU_AND, G_CX, 0xfff); /* the rest is the node */
	if (!program->has_strings)
		emit_alu(e, 0, ALU_OR, G_CX,
			 (int32_t)((program->fixed_size | (g->plan->frames ? RING_STACK : 0))
				   << 16));
	emit_rm(e, OP_STORE, G_CX, x86_record_mem(g, offsetof(struct ring_record, cpu)));
	emit_store_imm(e, 0, x86_record_mem(g, offsetof(struct ring_record, probe)),
		       g->probe->number);
	emit_mark(e, MARK_NUMBER);
	store_site(g);
	store_return(g);
}

/* --- the end --------------------------------------------------------------------------- */

void x86_commit(struct gen *g)
{
	struct emit_mem position = MEM(G_SP, x86_gen(g)->frame.position);
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, G_AX, position);
	if (x86_takes_two(g, 8)) {
		emit_rm(e, OP_LOAD, G_DX, x86_upper(position));
		emit_rr(e, OP_SHRD, G_DX, G_AX);
		emit_u8(e, 3);
	} else {
		emit_shift(e, OP_W, SHIFT_R, G_AX, 3);
	}
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rm(e, OP_STORE, G_AX, x86_record_mem(g, offsetof(struct ring_record, commit)));
}

void x86_store_size(struct gen *g, uint32_t size)
{
	emit_store_imm(&g->e, 0, x86_record_mem(g, offsetof(struct ring_record, size)), size);
}

/* Strings end where the next one would go. */
void x86_note_length(struct gen *g)
{
	struct emit_mem mem = x86_record_mem(g, offsetof(struct ring_record, data_len));

	x86_end_offset(g, OP_W);
	if (g->plan->frames)
		emit_alu(&g->e, 0, ALU_OR, G_AX, RING_STACK);
	emit_rm(&g->e, OP_STORE | OP_66, G_AX, mem);
}

void x86_void(struct gen *g, uint32_t max, label_t then)
{
	x86_store_size(g, max);
	emit_store_imm(&g->e, 0, x86_record_mem(g, offsetof(struct ring_record, probe)),
		       RING_VOID);
	x86_commit(g);
	emit_jmp(&g->e, then);
}

/* --- counts ---------------------------------------------------------------------------- */

void x86_count_lost(struct gen *g)
{
	x86_count_up(g, 0, x86_thread_mem(g, offsetof(struct ring_thread, lost)), NULL);
}

void x86_count_dropped(struct gen *g)
{
	const size_t at = offsetof(struct ring_head, dropped);

	x86_count_up(g, OP_LOCK,
		     MEM(x86_gen(g)->regs.base, at + 8 * (g->probe->number % RING_COUNTS)),
		     NULL);
}
