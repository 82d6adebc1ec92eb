/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Reads of memory that may not be there, in a process that nobody traces: nobody makes a fault good then. The kernel is asked to copy
 * (process_vm_readv() of the thread on itself), which reads what can be read and faults nowhere. Words go to the frame, arrays and strings
 * right to their place in the record; then the accumulator points there, and all goes on as if it had always pointed there.
 *
 * The thread is named by gettid(): what a thread's memory says of its id may be its mother's (vfork()), or too old. A thread reads the
 * memory that it has, so the kernel asks for no permission.
 *
 * A filter for system calls may kill for these. Where one is about to be set (detour_bell.c), ring_head.filters is no longer 0, and no call
 * is begun; those who are about to make one are counted (ring_head.reading), and waited for.
 */

#include <errno.h>
#include <stddef.h>

#include "arch/guard.h"
#include "arch/x86/common_detour.h"
#include "arch/x86/gen.h"
#include "engine/base/page.h"

#define NR_GETTID 186
#define NR_READ   310

/*
 * A call takes some 20 times as long as a load. So who makes many asks the tracer to come, and does not wait for that: a process that asks
 * often is traced most of the time (engine/session/letting_go.c).
 */
#define OFTEN 4096 /* a power of two */

/* So much of a string is read at once. */
#define PIECE 256

/* --- the call ---------------------------------------------------------------------------- */

/* What it passes arguments in, and the kernel changes. */
static void move_all(struct gen *g, bool store)
{
	static const struct {
		int reg, at;
	} regs[] = { { G_SI, FRAME_TSI },
		     { G_DI, FRAME_TDI },
		     { G_R8, FRAME_T8 },
		     { G_R9, FRAME_T9 },
		     { R_BASE, FRAME_T11 } };

	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		emit_rm(&g->e, (store ? OP_STORE : OP_LOAD) | OP_W, regs[i].reg,
			MEM(G_SP, regs[i].at));
}

static void system_call(struct emit *e, uint32_t number)
{
	emit_imm(e, G_AX, number);
	emit_bytes(e, "\x0f\x05", 2);
}

/* From FRAME_FROM to FRAME_TO, as many bytes as each of them says. */
static void copy(struct gen *g)
{
	struct emit *e = &g->e;

	system_call(e, NR_GETTID);
	emit_rr(e, OP_LOAD, G_DI, G_AX);
	emit_rm(e, OP_LEA, G_SI, MEM(G_SP, FRAME_TO));
	emit_imm(e, G_DX, 1);
	emit_rm(e, OP_LEA, G_R10, MEM(G_SP, FRAME_FROM));
	emit_imm(e, G_R8, 1);
	emit_imm(e, G_R9, 0);
	system_call(e, NR_READ);
}

/* Clobbers rcx. */
static void ask_often(struct gen *g, label_t fixup)
{
	label_t seldom = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_imm(e, G_CX, 1);
	emit_rm(e, OP_XADD | OP_W | OP_LOCK, G_CX,
		MEM(R_BASE, offsetof(struct ring_head, n_reads)));
	emit_alu(e, 0, ALU_AND, G_CX, OFTEN - 1);
	emit_alu(e, 0, ALU_CMP, G_CX, OFTEN - 1);
	emit_jcc(e, COND_NE, seldom);
	x86_count_in_head(g, offsetof(struct ring_head, heard), fixup);
	x86_count_in_head(g, offsetof(struct ring_head, bell), fixup);
	emit_set(e, seldom);
}

void gen64_put_read(struct gen *g)
{
	struct emit *e = &g->e;
	label_t no = emit_label(e), over = emit_label(e), out = emit_label(e);
	label_t fault = emit_label(e);

	emit_set(e, g->read_call);
	emit_rm(e, OP_STORE | OP_W, R_RETURN, MEM(G_SP, FRAME_CELL));
	move_all(g, true);
	x86_count_in_head(g, offsetof(struct ring_head, reading), fault);
	emit_alu_mem(e, OP_W, ALU_CMP, MEM(R_BASE, offsetof(struct ring_head, reads)), 1);
	emit_jcc(e, COND_NE, no);
	emit_alu_mem(e, OP_W, ALU_CMP, MEM(R_BASE, offsetof(struct ring_head, filters)), 0);
	emit_jcc(e, COND_NE, no);
	copy(g);
	emit_set(e, over);
	move_all(g, false);
	emit_rm(e, 0xff | OP_W | OP_LOCK, 1, /* dec */
		MEM(R_BASE, offsetof(struct ring_head, reading)));
	ask_often(g, fault);
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_NS, out);
	emit_alu(e, OP_W, ALU_CMP, G_AX, -EFAULT);
	emit_jcc(e, COND_NE, out);
	emit_set(e, fault);
	emit_imm(e, G_AX, 0);
	emit_set(e, out);
	emit_rm(e, OP_LOAD | OP_W, R_RETURN, MEM(G_SP, FRAME_CELL));
	emit_rr(e, 0xff, 4, R_RETURN); /* jmp *%r10 */
	emit_set(e, no);
	emit_imm(e, G_AX, UINT64_MAX);
	emit_jmp(e, over);
}

/* rax = bytes that were copied, or to @fail: there was no call. Clobbers rcx, rdx. The program's r10 is in FRAME_T10 meanwhile. */
static void call(struct gen *g, label_t fail)
{
	label_t back = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, R_RETURN, MEM_LABEL(back));
	emit_jmp(e, g->read_call);
	emit_set(e, back);
	emit_rm(e, OP_LOAD | OP_W, G_R10, MEM(G_SP, FRAME_T10));
	emit_rr(e, OP_TEST | OP_W, G_AX, G_AX);
	emit_jcc(e, COND_S, fail);
}

static void store_frame(struct emit *e, int reg, int at)
{
	emit_rm(e, OP_STORE | OP_W, reg, MEM(G_SP, at));
}

/* So many bytes, in a register. */
static void store_len(struct emit *e, int reg)
{
	store_frame(e, reg, FRAME_FROM + 8);
	store_frame(e, reg, FRAME_TO + 8);
}

/* The accumulator: so that what is @disp behind it is at @to. */
static void point(struct emit *e, struct emit_mem to, int32_t disp)
{
	emit_rm(e, OP_LEA, R_ACC, to);
	if (disp)
		emit_alu(e, OP_W, ALU_SUB, R_ACC, disp);
}

/* --- numbers ----------------------------------------------------------------------------- */

static void read_word(struct gen *g, const struct gen_miss *m)
{
	label_t some = emit_label(&g->e), have = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_AX, MEM(R_ACC, m->disp));
	store_frame(e, G_AX, FRAME_FROM);
	emit_rm(e, OP_LEA, G_AX, MEM(G_SP, FRAME_WORD));
	store_frame(e, G_AX, FRAME_TO);
	emit_imm(e, G_AX, m->n);
	store_len(e, G_AX);
	call(g, m->fail);
	emit_alu(e, 0, ALU_CMP, G_AX, (int32_t)m->n);
	emit_jcc(e, COND_NE, some);
	emit_set(e, have);
	point(e, MEM(G_SP, FRAME_WORD), m->disp);
	emit_jmp(e, m->done);
	emit_set(e, some);
	if (m->read.kind == GEN_READ_STACK) {
		emit_store_imm(e, OP_W, MEM(G_SP, FRAME_WORD), 0);
		emit_jmp(e, have);
	} else {
		emit_rr(e, OP_XOR, G_AX, G_AX);
		emit_jmp(e, m->read.fault);
	}
}

/* Where the value goes: an array has its place in the record. */
static struct emit_mem value_at(const struct gen *g, const struct gen_miss *m)
{
	return m->read.kind == GEN_READ_ARRAY ? x86_data_at(g, m->read.store->at)
					      : MEM(G_SP, FRAME_WORD);
}

static void zero_value(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;
	label_t loop;

	emit_rm(e, OP_LEA, G_DX, value_at(g, m));
	emit_imm(e, G_CX, m->n);
	emit_rr(e, OP_XOR, G_AX, G_AX);
	loop = emit_here(e);
	emit_alu(e, 0, ALU_SUB, G_CX, 1);
	emit_rm(e, OP_STORE8, G_AX, MEM_X(G_DX, G_CX, 0, 0));
	emit_jcc(e, COND_NE, loop);
}

/*
 * rax: so many bytes of the value are through, and the next one cannot be read. Those of the next page may be: elements that begin
 * there are read by themselves.
 */
static void skip_page(struct gen *g, const struct gen_miss *m)
{
	const int32_t size = m->read.store->size;
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_CX, MEM_X(R_ACC, G_AX, 0, m->disp));
	emit_alu(e, 0, ALU_AND, G_CX, (int32_t)PAGE - 1);
	emit_alu(e, OP_W, ALU_SUB, G_CX, (int32_t)PAGE);
	emit_rr(e, OP_SUB | OP_W, G_AX, G_CX);
	if (size == 1)
		return;
	emit_alu(e, OP_W, ALU_ADD, G_AX, size - 1);
	emit_alu(e, OP_W, ALU_AND, G_AX, -size);
}

/* What cannot be read of it is 0. */
static void read_value(struct gen *g, const struct gen_miss *m)
{
	label_t loop, have = emit_label(&g->e);
	struct emit *e = &g->e;

	zero_value(g, m); /* rax = 0 */
	loop = emit_here(e);
	store_frame(e, G_AX, FRAME_GONE);
	emit_rm(e, OP_LEA, G_DX, MEM_X(R_ACC, G_AX, 0, m->disp));
	store_frame(e, G_DX, FRAME_FROM);
	emit_rm(e, OP_LEA, G_DX, value_at(g, m));
	emit_rr(e, OP_ADD | OP_W, G_DX, G_AX);
	store_frame(e, G_DX, FRAME_TO);
	emit_imm(e, G_CX, m->n);
	emit_rr(e, OP_SUB | OP_W, G_CX, G_AX);
	store_len(e, G_CX);
	call(g, m->fail);
	emit_rm(e, OP_ADD | OP_W, G_AX, MEM(G_SP, FRAME_GONE));
	emit_alu(e, OP_W, ALU_CMP, G_AX, (int32_t)m->n);
	emit_jcc(e, COND_AE, have);
	skip_page(g, m);
	emit_alu(e, OP_W, ALU_CMP, G_AX, (int32_t)m->n);
	emit_jcc(e, COND_B, loop);
	emit_set(e, have);
	point(e, value_at(g, m), m->disp);
	emit_jmp(e, m->done);
}

/* --- strings ------------------------------------------------------------------------------ */

/*
 * rcx = bytes of the next piece. A string may be longer than the room in the record: then nobody wants its bytes, but whether it
 * has an end decides whether it is a fault; they go where it began.
 */
static void string_piece(struct gen *g, const struct gen_miss *m)
{
	const int32_t limit = RECORD_DATA + DATA_MAX(m->probe->kind);
	label_t room = emit_label(&g->e);
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_CX, MEM(R_RECORD, limit));
	emit_rr(e, OP_SUB | OP_W, G_CX, R_END);
	emit_jcc(e, COND_NE, room);
	emit_store_imm(e, OP_W, MEM(G_SP, FRAME_OVER), 1);
	emit_rr(e, OP_LOAD | OP_W, G_CX, R_END);
	emit_rm(e, OP_LOAD | OP_W, R_END, MEM(G_SP, FRAME_START));
	emit_rr(e, OP_SUB | OP_W, G_CX, R_END);
	emit_jcc(e, COND_E, m->fail);
	emit_set(e, room);
	emit_rm(e, OP_LOAD | OP_W, G_AX, MEM(G_SP, FRAME_LEFT));
	emit_rr(e, OP_CMP | OP_W, G_CX, G_AX);
	emit_rr(e, OP_CMOV(COND_A) | OP_W, G_CX, G_AX);
	emit_imm(e, G_AX, PIECE);
	emit_rr(e, OP_CMP | OP_W, G_CX, G_AX);
	emit_rr(e, OP_CMOV(COND_A) | OP_W, G_CX, G_AX);
}

static void string_begin(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;

	store_frame(e, R_END, FRAME_START);
	emit_rm(e, OP_LEA, G_AX, MEM(R_ACC, m->disp));
	store_frame(e, G_AX, FRAME_FROM);
	emit_store_imm(e, OP_W, MEM(G_SP, FRAME_LEFT), FETCH_STRING_MAX);
	emit_store_imm(e, OP_W, MEM(G_SP, FRAME_OVER), 0);
}

/* Is the NUL among the rax bytes that were read? rcx: its place, to @found. */
static void string_look(struct gen *g, label_t found)
{
	struct emit *e = &g->e;
	label_t loop;

	emit_rr(e, OP_XOR, G_CX, G_CX);
	loop = emit_here(e);
	emit_rm(e, OP_MOVZX8, G_DX, MEM_X(R_END, G_CX, 0, 0));
	emit_rr(e, OP_TEST, G_DX, G_DX);
	emit_jcc(e, COND_E, found);
	emit_alu(e, 0, ALU_ADD, G_CX, 1);
	emit_rr(e, OP_CMP, G_CX, G_AX);
	emit_jcc(e, COND_B, loop);
}

/* It has none. If it has bytes, it may take the room of those behind it (engine/base/fetch_op.h): only the tracer knows. */
static void string_fault(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LOAD | OP_W, R_END, MEM(G_SP, FRAME_START));
	if (m->probe->program->has_strings > 1) {
		emit_alu_mem(e, OP_W, ALU_CMP, MEM(G_SP, FRAME_LEFT), FETCH_STRING_MAX);
		emit_jcc(e, COND_NE, m->fail);
	}
	emit_jmp(e, m->read.done);
}

static void read_string(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;
	label_t loop, fault = emit_label(e), found = emit_label(e);

	string_begin(g, m);
	loop = emit_here(e);
	string_piece(g, m);
	store_len(e, G_CX);
	store_frame(e, R_END, FRAME_TO);
	call(g, m->fail);
	emit_jcc(e, COND_E, fault);
	emit_rm(e, 0x29 | OP_W, G_AX, MEM(G_SP, FRAME_LEFT)); /* sub */
	emit_rm(e, OP_ADD_TO | OP_W, G_AX, MEM(G_SP, FRAME_FROM));
	string_look(g, found);
	emit_rr(e, OP_ADD | OP_W, R_END, G_AX);
	emit_rm(e, OP_CMP | OP_W, G_AX, MEM(G_SP, FRAME_TO + 8));
	emit_jcc(e, COND_NE, fault);
	emit_alu_mem(e, OP_W, ALU_CMP, MEM(G_SP, FRAME_LEFT), 0);
	emit_jcc(e, COND_NE, loop);
	emit_set(e, fault);
	string_fault(g, m);
	emit_set(e, found);
	emit_alu_mem(e, OP_W, ALU_CMP, MEM(G_SP, FRAME_OVER), 0);
	emit_jcc(e, COND_NE, m->fail);
	emit_rm(e, OP_LEA, R_END, MEM_X(R_END, G_CX, 0, 1));
	emit_jmp(e, m->read.done);
}

/* --- arrays of strings ---------------------------------------------------------------------- */

/* As gen_strings.array() does. */
static void note_array(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;

	emit_rm(e, OP_LEA, G_AX, MEM(R_ACC, m->disp));
	store_frame(e, G_AX, FRAME_ARRAY);
	emit_store_imm(e, 0, MEM(G_SP, FRAME_INDEX), 0);
	emit_jmp(e, m->read.done);
}

static void element(struct gen *g, label_t fault)
{
	const struct gen_miss m = { .fail = g->fail,
				    .done = emit_label(&g->e),
				    .n = sizeof(uint64_t),
				    .read = { .kind = GEN_READ_WORD, .fault = fault } };
	struct emit *e = &g->e;

	store_frame(e, G_R10, FRAME_T10);
	emit_rm(e, OP_LOAD, G_CX, MEM(G_SP, FRAME_INDEX));
	emit_rm(e, OP_LOAD | OP_W, R_ACC, MEM(G_SP, FRAME_ARRAY));
	emit_rm(e, OP_LEA, R_ACC, MEM_X(R_ACC, G_CX, 3, 0));
	read_word(g, &m);
	emit_set(e, m.done);
	emit_rm(e, OP_LOAD | OP_W, R_ACC, MEM(R_ACC, 0));
}

static void string(struct gen *g)
{
	const struct gen_miss m = { .fail = g->fail,
				    .probe = g->probe,
				    .read = { .kind = GEN_READ_STRING,
					      .done = emit_label(&g->e) } };

	store_frame(&g->e, G_R10, FRAME_T10);
	read_string(g, &m);
	emit_set(&g->e, m.read.done);
}

/* --- all of it ----------------------------------------------------------------------------- */

void gen64_read_alone(struct gen *g, const struct gen_miss *m)
{
	struct emit *e = &g->e;

	x86_gen(g)->gate_word(g, G_AX, offsetof(struct guard_gate, alone), m->fail);
	emit_test(e, OP_W, G_AX, 1);
	emit_jcc(e, COND_E, m->fail);
	switch (m->read.kind) {
	case GEN_READ_NOT:
		emit_jmp(e, m->fail);
		break;
	case GEN_READ_NEAR:
		emit_jmp(e, m->done);
		break;
	case GEN_READ_WORD:
	case GEN_READ_STACK:
		read_word(g, m);
		break;
	case GEN_READ_VALUE:
	case GEN_READ_ARRAY:
		read_value(g, m);
		break;
	case GEN_READ_STRING:
		read_string(g, m);
		break;
	case GEN_READ_STRINGS:
		note_array(g, m);
		break;
	}
}

const struct gen_loads gen64_loads = { .miss = gen64_missed,
				       .search = gen64_search,
				       .element = element,
				       .string = string,
				       .claim = x86_claim };
