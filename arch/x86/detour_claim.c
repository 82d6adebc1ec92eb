/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * A thread without a ring claims one (base/ring.h has the steps): one piece of code in a process, which all detours go
 * to. In: R_BASE; R_RETURN, which FRAME_T10 has what the program had in, where to go then. Out: R_THREAD,
 * its entry, or 0. Clobbers rax, rcx, rdx, R_RECORD.
 *
 * It calls nobody: the thread's id is the word that the C library keeps at a fixed distance from the thread pointer. That word
 * is read if it is in the page that the thread pointer is in.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "arch/x86/common_detour.h"
#include "arch/x86/cpu.h"
#include "arch/x86/detour.h"
#include "arch/x86/gen.h"

#define R_KEY  G_AX
#define R_TID  G_R8
#define R_WORD G_R9 /* FRAME_T9 has what it had */
#define R_AT   R_THREAD
#define R_FREE G_DX /* offset of the first place that is nobody's, or negative */

#define ENTRY(at, member)                                                                      \
	MEM_X(R_BASE, at, 0, RING_TABLE_AT + offsetof(struct ring_thread, member))
#define CLAIM(at, member)                                                                      \
	MEM_X(R_BASE, at, 0, RING_CLAIMS_AT + offsetof(struct ring_claim, member))
#define HEAD(member) MEM(R_BASE, offsetof(struct ring_head, member))

struct claim {
	struct gen *g;
	label_t search, take, none, done, out;
};

static void load_pointer(struct emit *e, unsigned has, int to)
{
	if (has & X86_HAS_FSGSBASE) {
		emit_u8(e, 0xf3);
		emit_rr(e, 0xae | OP_0F | OP_W, 0, to); /* rdfsbase */
	} else {
		emit_bytes(e, "\x64\x48\x8b\x04\x25\0\0\0\0", 9); /* mov %fs:0,%rax */
	}
}

/* R_TID: who this is; to .none if that is not to be known. */
static void who(struct claim *c, int32_t self_at, unsigned has)
{
	struct emit *e = &c->g->e;

	load_pointer(e, has, G_AX);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_E, c->none);
	emit_rm(e, OP_LEA, G_CX, MEM(G_AX, self_at));
	emit_rr(e, OP_LOAD | OP_W, G_DX, G_CX);
	emit_rr(e, OP_XOR | OP_W, G_DX, G_AX);
	emit_test(e, OP_W, G_DX, -4096);
	emit_jcc(e, COND_NE, c->none);
	emit_rm(e, OP_LOAD, R_TID, MEM(G_CX, 0));
	emit_rr(e, OP_TEST, R_TID, R_TID);
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
	load_pointer(e, has, R_KEY);
	emit_alu(e, OP_W, ALU_ADD, R_KEY, 1);
	emit_imm(e, R_AT, RING_HASH_MUL);
	emit_rr(e, OP_IMUL | OP_W, R_AT, R_KEY);
	emit_shift(e, OP_W, SHIFT_R, R_AT, RING_HASH_SHIFT - 6);
	emit_alu(e, 0, ALU_AND, R_AT, offset_mask);
	emit_imm(e, R_FREE, UINT64_MAX);
	emit_imm(e, G_CX, RING_THREADS);
	look = emit_here(e);
	emit_rm(e, OP_LOAD | OP_W, R_WORD, ENTRY(R_AT, key));
	emit_rr(e, OP_TEST | OP_W, R_WORD, R_WORD);
	emit_jcc(e, COND_E, last);
	emit_alu(e, OP_W, ALU_CMP, R_WORD, RING_KEY_FREE);
	emit_jcc(e, COND_E, usable);
	emit_rr(e, OP_SUB | OP_W, R_WORD, R_KEY);
	emit_jcc(e, COND_E, mine);
	emit_alu(e, OP_W, ALU_CMP, R_WORD, RING_KEY_IS_BUSY);
	emit_jcc(e, COND_E, c->none);
	emit_set(e, next);
	emit_alu(e, 0, ALU_ADD, R_AT, sizeof(struct ring_thread));
	emit_alu(e, 0, ALU_AND, R_AT, offset_mask);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_jcc(e, COND_NE, look);
	emit_jmp(e, other);
	emit_set(e, usable);
	emit_rr(e, OP_TEST, R_FREE, R_FREE);
	emit_rr(e, OP_CMOV(COND_S), R_FREE, R_AT);
	emit_jmp(e, next);
	emit_set(e, mine); /* or was that of a thread that had the pointer before */
	emit_rm(e, OP_CMP, R_TID, ENTRY(R_AT, self));
	emit_jcc(e, COND_E, c->done);
	emit_imm(e, R_WORD, RING_KEY_GONE);
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, R_WORD, ENTRY(R_AT, key));
	emit_jmp(e, c->search);
	emit_set(e, last);
	emit_rr(e, OP_TEST, R_FREE, R_FREE);
	emit_rr(e, OP_CMOV(COND_S), R_FREE, R_AT);
	emit_set(e, other);
	emit_rr(e, OP_TEST, R_FREE, R_FREE);
	emit_jcc(e, COND_S, c->none);
}

/* The place at R_FREE, then the next offer, whose number is in rax: rcx is its offset. */
static void take(struct claim *c)
{
	struct emit *e = &c->g->e;
	label_t again, give_back = emit_label(e), has = emit_label(e);

	emit_rm(e, OP_LEA, R_WORD, MEM(R_KEY, RING_KEY_IS_BUSY));
	emit_rm(e, OP_LOAD | OP_W, G_AX, ENTRY(R_FREE, key));
	emit_test(e, OP_W, G_AX, ~RING_KEY_FREE);
	emit_jcc(e, COND_NE, c->search);
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, R_WORD, ENTRY(R_FREE, key));
	emit_jcc(e, COND_NE, c->search);
	again = emit_here(e);
	emit_rm(e, OP_LOAD | OP_W, G_AX, HEAD(claims_next));
	emit_rm(e, OP_CMP | OP_W, G_AX, HEAD(claims_end));
	emit_jcc(e, COND_AE, give_back);
	emit_rm(e, OP_LEA, G_CX, MEM(G_AX, 1));
	emit_rm(e, OP_CMPXCHG | OP_W | OP_LOCK, G_CX, HEAD(claims_next));
	emit_jcc(e, COND_NE, again);
	emit_jmp(e, has);
	emit_set(e, give_back);
	emit_store_imm(e, OP_W, ENTRY(R_FREE, key), RING_KEY_FREE);
	emit_jmp(e, c->none);
	emit_set(e, has);
	_Static_assert(sizeof(struct ring_claim) == 64, "a shift makes offsets");
	emit_rr(e, OP_LOAD, G_CX, G_AX);
	emit_alu(e, 0, ALU_AND, G_CX, RING_CLAIMS - 1);
	emit_shift(e, 0, SHIFT_L, G_CX, 6);
}

static void copy(struct emit *e, size_t from, size_t to)
{
	emit_rm(e, OP_LOAD | OP_W, R_WORD, MEM_X(R_BASE, G_CX, 0, RING_CLAIMS_AT + from));
	emit_rm(e, OP_STORE | OP_W, R_WORD, MEM(R_THREAD, to));
}

#define COPY(e, member)                                                                        \
	copy((e), offsetof(struct ring_claim, member), offsetof(struct ring_thread, member))
#define OWN(member) MEM(R_THREAD, offsetof(struct ring_thread, member))

static void fill(struct claim *c)
{
	struct emit *e = &c->g->e;

	emit_rm(e, OP_LEA, R_THREAD, ENTRY(R_FREE, key));
	COPY(e, head);
	COPY(e, limit);
	COPY(e, ring);
	COPY(e, mask);
	emit_store_imm(e, OP_W, OWN(lost), 0);
	emit_store_imm(e, OP_W, OWN(cpu_vaddr), 0);
	emit_rm(e, OP_STORE, R_TID, OWN(tid));
	emit_rm(e, OP_STORE, R_TID, OWN(self));
	emit_rm(e, OP_STORE, R_TID, CLAIM(G_CX, tid));
	emit_shift(e, 0, SHIFT_R, R_FREE, 6);
	emit_rm(e, OP_STORE, R_FREE, CLAIM(G_CX, slot));
	emit_shift(e, 0, SHIFT_L, R_FREE, 4);
	emit_store_imm(e, OP_W, MEM_X(R_BASE, R_FREE, 0, RING_STACKS_AT), 0);
	emit_store_imm(e, OP_W, MEM_X(R_BASE, R_FREE, 0, RING_STACKS_AT + 8), 0);
	emit_rm(e, OP_LOAD | OP_W, R_WORD, OWN(key));
	emit_alu(e, OP_W, ALU_SUB, R_WORD, RING_KEY_IS_BUSY);
	emit_rm(e, OP_STORE | OP_W, R_WORD, CLAIM(G_CX, key));
	emit_alu(e, 0, ALU_ADD, G_AX, 1);
	emit_rm(e, OP_STORE, G_AX, CLAIM(G_CX, done));
	emit_rm(e, OP_STORE | OP_W, R_WORD, OWN(key));
	emit_jmp(e, c->out);
}

static void put(struct gen *g, int32_t self_at, unsigned has)
{
	struct emit *e = &g->e;
	struct claim c = { .g = g };

	c.search = emit_label(e);
	c.none = emit_label(e);
	c.done = emit_label(e);
	c.out = emit_label(e);
	emit_rm(e, OP_STORE | OP_W, R_WORD, MEM(G_SP, FRAME_T9));
	who(&c, self_at, has);
	search(&c, has);
	take(&c);
	fill(&c);
	emit_set(e, c.none);
	emit_rr(e, OP_XOR, R_THREAD, R_THREAD);
	emit_jmp(e, c.out);
	emit_set(e, c.done);
	emit_rm(e, OP_LEA, R_THREAD, ENTRY(R_AT, key));
	emit_set(e, c.out);
	emit_rm(e, OP_LOAD | OP_W, R_WORD, MEM(G_SP, FRAME_T9));
	emit_rr(e, 0xff, 4, R_RETURN); /* jmp *%r10 */
}

int x86_build_claim_code(int32_t self_at, unsigned has, uint8_t *code, size_t max,
			 size_t *ret_len)
{
	struct gen g = { 0 };
	int rc;

	emit_init(&g.e, 64, 0);
	put(&g, self_at, has);
	rc = emit_finish(&g.e, x86_fix);
	if (rc == 0 && g.e.len > max)
		rc = -ENOSPC;
	if (rc == 0) {
		memcpy(code, g.e.code, g.e.len);
		*ret_len = g.e.len;
	}
	emit_free(&g.e);
	return rc;
}

/* --- in a detour ------------------------------------------------------------------------- */

void gen64_check_self(struct gen *g, label_t other)
{
	struct emit *e = &g->e;

	gen_may_fault(g, other);
	emit_bytes(e, "\x64\x8b\x04\x25", 4); /* mov %fs:self_at,%eax */
	emit_u32(e, (uint32_t)g->plan->self_at);
	emit_rm(e, OP_CMP, G_AX, MEM(R_THREAD, offsetof(struct ring_thread, self)));
	emit_jcc(e, COND_NE, other);
}

/* The way back stands in the frame, too, where it is found by who looks for it in stacks. */
void gen64_claim(struct gen *g, label_t at, label_t found)
{
	struct emit *e = &g->e;
	label_t back = emit_label(e);

	emit_set(e, at);
	emit_rm(e, OP_STORE | OP_W, G_R10, MEM(G_SP, FRAME_T10));
	emit_rm(e, OP_LEA, R_RETURN, MEM_LABEL(back));
	emit_rm(e, OP_STORE | OP_W, R_RETURN, MEM(G_SP, FRAME_CELL));
	emit_address(e, G_AX, g->plan->claim);
	emit_rr(e, 0xff, 4, G_AX); /* jmp *%rax */
	emit_set(e, back);
	emit_rm(e, OP_LOAD | OP_W, G_R10, MEM(G_SP, FRAME_T10));
	emit_rr(e, OP_TEST | OP_W, R_THREAD, R_THREAD);
	emit_jcc(e, COND_NE, found);
	emit_jmp(e, g->fail);
}
