/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A thread without a ring claims one (base/ring.h has the steps), for both widths: one piece of code in a process, which all detours go
 * to. In: .regs.base, and where to go then, in the frame (struct x86_claim, .way_back). Out: .regs.thread,
 * its entry, or 0. Clobbers rax, rcx, rdx, .tid and, but for what is .saved of it, .word.
 *
 * Where that is told by ring_head.claims_wait it waits in the end until ubp has looked who it is.
 *
 * It calls nobody: the thread's id is the word that the C library keeps at a fixed distance from the thread pointer. That word
 * is read if it is in the page that the thread pointer is in.
 *
 * In 32 bits the upper halves of keys are 0. So are those of numbers of offers, as far as threads take any: to take more than 2^32
 * is not possible.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/x86/common_detour.h"
#include "arch/x86/common_detour_record.h"

#define R_KEY  G_AX
#define R_FREE G_DX /* offset of the first place that is nobody's, or negative */

struct claim {
	struct gen *g;
	const struct x86_claim *parts;
	int base, at; /* .regs.base, .regs.thread */
	label_t search, take, none, done, out;
};

static struct emit_mem entry_mem(const struct claim *c, int at, size_t member)
{
	return MEM_X(c->base, at, 0, RING_TABLE_AT + member);
}

static struct emit_mem claim_mem(const struct claim *c, int at, size_t member)
{
	return MEM_X(c->base, at, 0, RING_CLAIMS_AT + member);
}

#define ENTRY(c, at, member) entry_mem((c), (at), offsetof(struct ring_thread, member))
#define CLAIM(c, at, member) claim_mem((c), (at), offsetof(struct ring_claim, member))
#define HEAD(c, member)      MEM((c)->base, offsetof(struct ring_head, member))

/* .tid: who this is; to .none if that is not to be known. */
static void who(struct claim *c, int32_t self_at, unsigned has)
{
	struct emit *e = &c->g->e;

	c->parts->load_pointer(e, has);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, c->none);
	emit_rm(e, OP_LEA, G_CX, MEM(G_AX, self_at));
	emit_rr(e, OP_LOAD | OP_W, G_DX, G_CX);
	emit_rr(e, OP_XOR | OP_W, G_DX, G_AX);
	emit_test(e, OP_W, G_DX, -4096);
	emit_jcc(e, COND_NE, c->none);
	emit_rm(e, OP_LOAD, c->parts->tid, MEM(G_CX, 0));
	emit_rr(e, OP_TEST, c->parts->tid, c->parts->tid);
	emit_jcc(e, COND_LE, c->none);
}

/* All places from the key's on: its own, one that it is about to fill, the first that is nobody's. */
static void search(struct claim *c, unsigned has)
{
	const int32_t offset_mask = (RING_THREADS - 1) * (int)sizeof(struct ring_thread);
	struct emit *e = &c->g->e;
	label_t look, next = emit_label(e), other = emit_label(e), usable = emit_label(e);
	label_t last = emit_label(e), mine = emit_label(e);

	emit_set(e, c->search);
	c->parts->load_pointer(e, has);
	emit_alu(e, OP_W, ALU_ADD, R_KEY, 1);
	x86_gen(c->g)->hash(c->g);
	emit_alu(e, 0, ALU_AND, c->at, offset_mask);
	emit_imm(e, R_FREE, UINT64_MAX);
	emit_imm(e, G_CX, RING_THREADS);
	look = emit_here(e);
	emit_rm(e, OP_LOAD | OP_W, c->parts->word, ENTRY(c, c->at, key));
	emit_rr(e, OP_TEST | OP_W, c->parts->word, c->parts->word);
	emit_jcc(e, COND_E, last);
	emit_alu(e, OP_W, ALU_CMP, c->parts->word, RING_KEY_FREE);
	emit_jcc(e, COND_E, usable);
	emit_rr(e, OP_SUB | OP_W, c->parts->word, R_KEY);
	emit_jcc(e, COND_E, mine);
	emit_alu(e, OP_W, ALU_CMP, c->parts->word, RING_KEY_IS_BUSY);
	emit_jcc(e, COND_E, c->none);
	emit_set(e, next);
	emit_alu(e, 0, ALU_ADD, c->at, sizeof(struct ring_thread));
	emit_alu(e, 0, ALU_AND, c->at, offset_mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, other);
	emit_set(e, usable);
	emit_rr(e, OP_TEST, R_FREE, R_FREE);
	emit_rr(e, OP_CMOV(COND_S), R_FREE, c->at);
	emit_jmp(e, next);
	emit_set(e, mine); /* or was that of a thread that had the pointer before */
	emit_rm(e, OP_CMP, c->parts->tid, ENTRY(c, c->at, self));
	emit_jcc(e, COND_E, c->done);
	emit_imm(e, c->parts->word, RING_KEY_GONE);
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, c->parts->word, ENTRY(c, c->at, key));
	emit_jmp(e, c->search);
	emit_set(e, last);
	emit_rr(e, OP_TEST, R_FREE, R_FREE);
	emit_rr(e, OP_CMOV(COND_S), R_FREE, c->at);
	emit_set(e, other);
	emit_rr(e, OP_TEST, R_FREE, R_FREE);
	emit_jcc(e, COND_S, c->none);
}

/* The place at R_FREE, then the next offer, whose number is in rax: rcx is its offset. */
static void take(struct claim *c)
{
	struct emit *e = &c->g->e;
	label_t again, give_back = emit_label(e), has = emit_label(e);

	emit_rm(e, OP_LEA, c->parts->word, MEM(R_KEY, RING_KEY_IS_BUSY));
	emit_rm(e, OP_LOAD | OP_W, G_AX, ENTRY(c, R_FREE, key));
	emit_test(e, OP_W, G_AX, ~RING_KEY_FREE);
	emit_jcc(e, COND_NE, c->search);
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, c->parts->word, ENTRY(c, R_FREE, key));
	emit_jcc(e, COND_NE, c->search);
	again = emit_here(e);
	emit_rm(e, OP_LOAD | OP_W, G_AX, HEAD(c, claims_next));
	emit_rm(e, OP_CMP | OP_W, G_AX, HEAD(c, claims_end));
	emit_jcc(e, COND_AE, give_back);
	emit_rm(e, OP_LEA, G_CX, MEM(G_AX, 1));
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, G_CX, HEAD(c, claims_next));
	emit_jcc(e, COND_NE, again);
	emit_jmp(e, has);
	emit_set(e, give_back);
	emit_store_imm(e, OP_W, ENTRY(c, R_FREE, key), RING_KEY_FREE);
	emit_jmp(e, c->none);
	emit_set(e, has);
	_Static_assert(sizeof(struct ring_claim) == 64, "a shift makes offsets");
	emit_rr(e, OP_LOAD, G_CX, G_AX);
	emit_alu(e, 0, ALU_AND, G_CX, RING_CLAIMS - 1);
	emit_shift(e, 0, SHIFT_L, G_CX, 6);
}

/* 64 bits. */
static void copy(struct claim *c, size_t from, size_t to)
{
	const int step = x86_word(c->g);
	struct emit *e = &c->g->e;

	for (int i = 0; i < 8; i += step) {
		emit_rm(e, OP_LOAD | OP_W, c->parts->word,
			claim_mem(c, G_CX, from + (size_t)i));
		emit_rm(e, OP_STORE | OP_W, c->parts->word, MEM(c->at, to + (size_t)i));
	}
}

static void clear(struct claim *c, struct emit_mem mem)
{
	emit_store_imm(&c->g->e, OP_W, mem, 0);
	if (x86_takes_two(c->g, 8))
		emit_store_imm(&c->g->e, 0, x86_upper(mem), 0);
}

#define COPY(c, member)                                                                        \
	copy((c), offsetof(struct ring_claim, member), offsetof(struct ring_thread, member))
#define OWN(c, member) MEM((c)->at, offsetof(struct ring_thread, member))

static void fill(struct claim *c)
{
	const int tid = c->parts->tid, word = c->parts->word;
	struct emit *e = &c->g->e;

	emit_rm(e, OP_LEA, c->at, ENTRY(c, R_FREE, key));
	COPY(c, head);
	COPY(c, limit);
	COPY(c, ring);
	COPY(c, mask);
	clear(c, OWN(c, lost));
	clear(c, OWN(c, cpu_vaddr));
	emit_rm(e, OP_STORE, tid, OWN(c, tid));
	emit_rm(e, OP_STORE, tid, OWN(c, self));
	emit_rm(e, OP_STORE, tid, CLAIM(c, G_CX, tid));
	emit_shift(e, 0, SHIFT_R, R_FREE, 6);
	emit_rm(e, OP_STORE, R_FREE, CLAIM(c, G_CX, slot));
	emit_shift(e, 0, SHIFT_L, R_FREE, 4);
	clear(c, MEM_X(c->base, R_FREE, 0, RING_STACKS_AT));
	clear(c, MEM_X(c->base, R_FREE, 0, RING_STACKS_AT + 8));
	emit_rm(e, OP_LOAD | OP_W, word, OWN(c, key));
	emit_alu(e, OP_W, ALU_SUB, word, RING_KEY_IS_BUSY);
	clear(c, CLAIM(c, G_CX, key));
	emit_rm(e, OP_STORE | OP_W, word, CLAIM(c, G_CX, key));
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rm(e, OP_STORE, G_AX, CLAIM(c, G_CX, done));
	emit_rm(e, OP_STORE | OP_W, word, OWN(c, key));
}

/* Once for each thread, and its lines are lost if nobody has looked when it ends: so it waits longer than at a bell. */
#define ROUNDS (4 * X86_WAIT_ROUNDS)

/* What fill() left: in eax the claim's number + 1, in rcx its offset. */
static void await_look(struct claim *c)
{
	struct emit *e = &c->g->e;
	label_t again;

	emit_imm(e, G_DX, ROUNDS);
	again = emit_here(e);
	emit_alu_mem(e, 0, ALU_CMP, HEAD(c, claims_wait), 0);
	emit_jcc(e, COND_E, c->out);
	emit_bytes(e, "\xf3\x90", 2); /* pause */
	emit_rm(e, OP_CMP, G_AX, CLAIM(c, G_CX, known));
	emit_jcc(e, COND_E, c->out);
	x86_test_owner_died(c->g);
	emit_jcc(e, COND_NE, c->out);
	emit_alu(e, 0, ALU_SUB, G_DX, 1);
	emit_jcc(e, COND_NE, again);
	emit_store_imm(e, 0, HEAD(c, claims_wait), 0);
	emit_jmp(e, c->out);
}

static void put(struct gen *g, int32_t self_at, unsigned has)
{
	const struct x86_gen *x = x86_gen(g);
	struct claim c = {
		.g = g, .parts = x->claim, .base = x->regs.base, .at = x->regs.thread
	};
	struct emit_mem saved = MEM(G_SP, x->claim->saved);
	const bool saves = x->claim->saved != X86_STAYS;
	struct emit *e = &g->e;

	c.search = emit_label(e);
	c.none = emit_label(e);
	c.done = emit_label(e);
	c.out = emit_label(e);
	if (saves)
		emit_rm(e, OP_STORE | OP_W, c.parts->word, saved);
	who(&c, self_at, has);
	search(&c, has);
	take(&c);
	fill(&c);
	await_look(&c);
	emit_set(e, c.none);
	emit_rr(e, OP_XOR, c.at, c.at);
	emit_jmp(e, c.out);
	emit_set(e, c.done);
	emit_rm(e, OP_LEA, c.at, ENTRY(&c, c.at, key));
	emit_set(e, c.out);
	if (saves)
		emit_rm(e, OP_LOAD | OP_W, c.parts->word, saved);
	emit_rm(e, 0xff, 4, MEM(G_SP, x->claim->way_back)); /* jmp */
}

int x86_claim_code(const struct gen_isa *isa, int32_t self_at, unsigned has, uint8_t *code,
		   size_t max, size_t *ret_len)
{
	struct gen g = { .isa = isa };

	emit_init(&g.e, isa->bits, 0);
	put(&g, self_at, has);
	return emit_take(&g.e, isa->fix, code, max, ret_len);
}

/* --- in a detour ------------------------------------------------------------------------- */

void x86_check_self(struct gen *g, label_t other)
{
	struct emit *e = &g->e;

	gen_may_fault(g, other);
	x86_gen(g)->claim->load_self(e, g->plan->self_at);
	emit_rm(e, OP_CMP, G_AX, x86_thread_mem(g, offsetof(struct ring_thread, self)));
	emit_jcc(e, COND_NE, other);
}

/* The way back stands in the frame, where it is found by who looks for it in stacks, too. */
void x86_claim(struct gen *g, label_t at, label_t found)
{
	const struct x86_gen *x = x86_gen(g);
	label_t back = emit_label(&g->e);
	/* What only this needs. */
	uint32_t saves = (1u << G_CX | 1u << G_DX | 1u << x->claim->tid) & ~g->clobbered;
	struct emit *e = &g->e;

	emit_set(e, at);
	x86_move_regs(g, true, saves);
	emit_label_address(e, G_AX, back);
	emit_rm(e, OP_STORE | OP_W, G_AX, MEM(G_SP, x->claim->way_back));
	emit_address(e, G_AX, g->plan->claim);
	emit_rr(e, 0xff, 4, G_AX); /* jmp */
	emit_set(e, back);
	x86_move_regs(g, false, saves);
	if (x->frame.thread != X86_STAYS)
		emit_rm(e, OP_STORE, x->regs.thread, MEM(G_SP, x->frame.thread));
	emit_rr(e, OP_TEST | OP_W, x->regs.thread, x->regs.thread);
	emit_jcc(e, COND_NE, found);
	emit_jmp(e, g->fail);
}
