/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* --- the frame ------------------------------------------------------------------------ */

#include "arch/x86/common_detour.h"

#include <stddef.h>

#include "arch/guard.h"
#include "arch/x86/cpu.h"
#include "engine/base/ring.h"

static const struct x86_frame *frame_of(const struct gen *g)
{
	return &x86_gen(g)->frame;
}

struct emit_mem x86_slot(const struct gen *g, int gpr)
{
	return MEM(G_SP, frame_of(g)->slots[gpr]);
}

static void move_sp(struct gen *g, int by)
{
	emit_rm(&g->e, OP_LEA, G_SP, MEM(G_SP, by));
}

/* How far the lead has moved the stack pointer already. */
static int lead_down(const struct gen *g)
{
	return g->plan->lead ? (int)g->plan->lead->sp_down : 0;
}

static void put_early(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	move_sp(g, lead_down(g) - frame_of(g)->len);
	emit_jmp(&g->e, a->on);
}

/*
 * Does r14 have what the thread's variable of Go's runtime has, and is the stack pointer on the stack that this goroutine says it is on? Then the rest
 * of that stack is free. Nothing but flags is changed. Code that Go's runtime was not begun with, and assembly, may have anything in r14.
 */
static void check_goroutine(struct gen *g, label_t no_stack)
{
	label_t early = emit_label(&g->e);
	struct emit *e = &g->e;

	gen_put_aside(g, &(struct gen_aside){ .put = put_early, .at = early, .on = no_stack });
	gen_may_fault(g, early);
	emit_bytes(e, "\x64\x4c\x39\x34\x25\xf8\xff\xff\xff", 9); /* cmp %r14,%fs:-8 */
	emit_jcc(e, COND_NE, early);
	emit_bytes(e, "\x4d\x85\xf6", 3); /* test %r14,%r14 */
	emit_jcc(e, COND_E, early);
	gen_may_fault(g, early);
	emit_bytes(e, "\x49\x39\x66\x08", 4); /* cmp %rsp,8(%r14), g.stack.hi */
	emit_jcc(e, COND_B, early);
}

void x86_enter(struct gen *g, label_t no_stack)
{
	if (g->plan->window->asks_room)
		check_goroutine(g, no_stack);
	move_sp(g, lead_down(g) - frame_of(g)->len);
	if (g->plan->window->asks_room) {
		gen_may_fault(g, no_stack);
		emit_bytes(&g->e, "\x49\x39\x26", 3); /* cmp %rsp,(%r14), g.stack.lo */
		emit_jcc(&g->e, COND_A, no_stack);
	}
	gen_may_fault(g, no_stack); /* the first store */
}

void x86_undo_frame(struct gen *g)
{
	move_sp(g, frame_of(g)->len);
}

void x86_move_regs(struct gen *g, bool store, uint32_t which)
{
	unsigned op = (store ? OP_STORE : OP_LOAD) | OP_W;

	for (int gpr = G_AX; gpr <= G_R15; gpr++)
		if (which >> gpr & 1)
			emit_rm(&g->e, op, gpr, x86_slot(g, gpr));
}

void x86_save_first(struct gen *g, uint32_t which)
{
	const uint32_t ax = 1u << G_AX;
	struct emit *e = &g->e;

	x86_move_regs(g, true, ax);
	emit_u8(e, 0x9f);                 /* lahf */
	emit_bytes(e, "\x0f\x90\xc0", 3); /* seto %al */
	emit_rm(e, OP_STORE, G_AX, MEM(G_SP, frame_of(g)->flags));
	x86_move_regs(g, true, which & ~ax);
	g->clobbered = ax | which;
}

void x86_begin(struct gen *g, uint32_t which)
{
	move_sp(g, -frame_of(g)->len);
	x86_save_first(g, which);
}

/*
 * As the lead left it. What it has pushed is no longer there for sure, if somebody came by since:
 * a signal's frame may lie right below the stack pointer.
 */
void x86_lead_again(struct gen *g)
{
	const struct lead *lead = g->plan->lead;

	if (lead && lead->is_push)
		emit_bytes(&g->e, lead->bytes, lead->len);
	else if (lead && lead->sp_down)
		move_sp(g, -(int)lead->sp_down);
}

void x86_restore(struct gen *g, uint32_t which, enum gen_way way)
{
	struct emit *e = &g->e;
	int below = 0;

	if (way == GEN_RETURN)
		below = g->isa->ret_below;
	else if (way == GEN_RET)
		below = x86_word(g);
	else if (way == GEN_CALL)
		below = -x86_word(g);
	else if (way == GEN_LEAVE)
		below = lead_down(g);

	emit_rm(e, OP_LOAD, G_AX, MEM(G_SP, frame_of(g)->flags));
	emit_bytes(e, "\x04\x7f", 2); /* add $127,%al: overflow if it was set */
	emit_u8(e, 0x9e);             /* sahf */
	x86_move_regs(g, false, which);
	move_sp(g, frame_of(g)->len - below);
}

/* --- is there somebody to record for? --------------------------------------------------- */

void x86_gate(struct gen *g, int reg, label_t fixup)
{
	x86_gen(g)->gate_word(g, reg, offsetof(struct guard_gate, gate), fixup);
}

void x86_test_owner(struct gen *g, label_t fixup)
{
	gen_may_fault(g, fixup);
	x86_test_owner_died(g);
}

void x86_test_owner_died(struct gen *g)
{
	emit_rm(&g->e, 0xf7, 0, /* test */
		MEM(x86_gen(g)->regs.base,
		    -(int)RING_CONTROL_LEN + (int)offsetof(struct ring_control, owner)));
	emit_u32(&g->e, RING_OWNER_DIED);
}

/* It is RING_GATE_OFF or RING_GATE_TRAP, and was compared with the latter. */
static void put_no_base(struct gen *g, const struct gen_aside *a)
{
	emit_set(&g->e, a->at);
	emit_jcc(&g->e, COND_B, a->on);
	emit_jmp(&g->e, a->other);
}

void x86_find_base(struct gen *g, label_t trap, label_t leave)
{
	int base = x86_gen(g)->regs.base;
	label_t none = emit_label(&g->e);
	struct emit *e = &g->e;

	x86_gate(g, base, trap);
	emit_alu(e, OP_W, ALU_CMP, base, RING_GATE_TRAP);
	emit_jcc(e, COND_BE, none);
	gen_put_aside(g, &(struct gen_aside){
				 .put = put_no_base, .at = none, .on = leave, .other = trap });
	x86_test_owner(g, trap);
	emit_jcc(e, COND_NE, leave);
}

/* --- nobody traces the process ------------------------------------------------------------ */

void x86_count_up(struct gen *g, unsigned lock, struct emit_mem mem, const label_t *fixup)
{
	label_t done = emit_label(&g->e);
	struct emit *e = &g->e;

	if (fixup)
		gen_may_fault(g, *fixup);
	emit_rm(e, 0xff | OP_W | lock, 0, mem); /* inc */
	if (x86_takes_two(g, 8)) {
		emit_jcc(e, COND_NE, done);
		if (fixup)
			gen_may_fault(g, *fixup);
		emit_rm(e, 0xff | lock, 0, x86_upper(mem));
	}
	emit_set(e, done);
}

void x86_count_in_head(struct gen *g, size_t at, label_t fixup)
{
	x86_count_up(g, OP_LOCK, MEM(x86_gen(g)->regs.base, at), &fixup);
}

/* Does it read arguments on the stack? */
static bool looks_near(const struct gen *g)
{
	for (size_t i = 0; i < g->n_misses; i++)
		if (g->misses[i].near)
			return true;
	return false;
}

void x86_unless_alone(struct gen *g, label_t leave)
{
	const int base = x86_gen(g)->regs.base;
	label_t on = emit_label(&g->e);
	struct emit *e = &g->e;

	x86_gen(g)->gate_word(g, G_AX, offsetof(struct guard_gate, alone), on);
	emit_test(e, OP_W, G_AX, 1);
	emit_jcc(e, COND_E, on);
	x86_gate(g, base, on);
	emit_alu(e, OP_W, ALU_CMP, base, RING_GATE_TRAP);
	emit_jcc(e, COND_BE, leave);
	x86_count_in_head(g, offsetof(struct ring_head, missed), on);
	/*
	 * What a longjmp() left would be in the way each time, and so would a stack that no range tells of: the tracer knows
	 * what to do with it.
	 */
	if (detour_has_return(g->plan) || looks_near(g)) {
		x86_count_in_head(g, offsetof(struct ring_head, heard), on);
		x86_count_in_head(g, offsetof(struct ring_head, bell), on);
	}
	emit_jmp(e, leave);
	emit_set(e, on);
}

/* --- the stack that is looked through ---------------------------------------------------- */

/* Somebody traces it. A dead tracer's guard is told by the trap. */
static void check_tracer(struct gen *g, label_t trap, label_t leave)
{
	int base = x86_gen(g)->regs.base;
	struct emit *e = &g->e;

	x86_gate(g, base, trap);
	emit_alu(e, OP_W, ALU_CMP, base, RING_GATE_TRAP);
	emit_jcc(e, COND_B, g->plan->asks ? trap : leave);
	emit_jcc(e, COND_E, trap);
	x86_test_owner(g, trap);
	emit_jcc(e, COND_NE, trap);
}

/* Its struct ring_stack, less RING_STACKS_AT, from what find_thread() found. */
static void find_stack(struct gen *g)
{
	int base = x86_gen(g)->regs.base, thread = x86_gen(g)->regs.thread;
	struct emit *e = &g->e;

	_Static_assert(sizeof(struct ring_thread) == 64 && sizeof(struct ring_stack) == 16,
		       "a shift makes offsets");
	emit_rr(e, OP_SUB | OP_W, thread, base);
	emit_alu(e, OP_W, ALU_SUB, thread, (int32_t)RING_TABLE_AT);
	emit_shift(e, OP_W, SHIFT_R, thread, 2);
	emit_rr(e, OP_ADD | OP_W, thread, base);
}

void x86_scan_begin(struct gen *g, const struct x86_scan *scan, label_t trap, label_t leave)
{
	const int32_t lo = RING_STACKS_AT + offsetof(struct ring_stack, lo);
	const int32_t end = RING_STACKS_AT + offsetof(struct ring_stack, end);
	int thread = x86_gen(g)->regs.thread;
	struct emit *e = &g->e;

	check_tracer(g, trap, leave);
	g->fail = trap;
	g->isa->records->find_thread(g);
	find_stack(g);
	emit_rm(e, OP_LEA, scan->at, MEM(G_SP, frame_of(g)->len));
	emit_test(e, 0, scan->at, x86_word(g) - 1);
	emit_jcc(e, COND_NE, trap);
	gen_may_fault(g, trap);
	emit_rm(e, OP_CMP | OP_W, scan->at, MEM(thread, lo));
	emit_jcc(e, COND_B, trap);
	gen_may_fault(g, trap);
	emit_rm(e, OP_LOAD | OP_W, scan->stop, MEM(thread, end));
	emit_rr(e, OP_CMP | OP_W, scan->at, scan->stop);
	emit_jcc(e, COND_AE, trap);
}

void x86_scan_next(struct gen *g, const struct x86_scan *scan, label_t next)
{
	struct emit *e = &g->e;

	emit_alu(e, OP_W, ALU_ADD, scan->at, x86_word(g));
	emit_rr(e, OP_CMP | OP_W, scan->at, scan->stop);
	emit_jcc(e, COND_B, next);
}

/* --- single instructions -------------------------------------------------------------- */

void x86_jump_if(struct emit *e, unsigned cond, label_t label)
{
	emit_jcc(e, (enum cond)cond, label);
}

void x86_breakpoint(struct emit *e)
{
	emit_u8(e, INT3);
}

void x86_align(struct emit *e)
{
	emit_fill(e, UBP_SLOT_SIZE, INT3);
}

/* --- the time ------------------------------------------------------------------------- */

static void put_ask(struct gen *g, const struct gen_aside *a)
{
	struct emit *e = &g->e;

	emit_set(e, a->at);
	gen_may_fault(g, g->fail);
	if (g->plan->has & X86_HAS_RDTSCP) {
		emit_bytes(e, "\x0f\x01\xf9", 3); /* rdtscp */
	} else {
		emit_bytes(e, "\x0f\x31", 2); /* rdtsc */
		emit_imm(e, G_CX, X86_CPU_SEGMENT);
		emit_rr(e, OP_0F | 0x03, G_CX, G_CX); /* lsl %ecx,%ecx */
	}
	emit_jmp(e, a->on);
}

/*
 * What the kernel keeps for restartable sequences tells the processor sooner than rdtscp, which not
 * every virtual machine has. Reading the counter may be forbidden by prctl(PR_SET_TSC), and in strict
 * seccomp mode.
 */
void x86_read_clock(struct gen *g, struct emit_mem cpu_vaddr)
{
	struct emit *e = &g->e;
	label_t ask = emit_label(e), done = emit_label(e);

	emit_rm(e, OP_LOAD | OP_W, G_CX, cpu_vaddr);
	emit_rr(e, OP_TEST | OP_W, G_CX, G_CX);
	emit_jcc(e, COND_E, ask);
	gen_may_fault(g, g->fail);
	emit_bytes(e, "\x0f\x31", 2); /* rdtsc */
	gen_may_fault(g, g->fail);
	emit_rm(e, OP_LOAD, G_CX, MEM(G_CX, 0));
	emit_set(e, done);
	gen_put_aside(g, &(struct gen_aside){ .put = put_ask, .at = ask, .on = done });
}

void x86_join(struct emit *e)
{
	emit_shift(e, OP_W, SHIFT_L, G_DX, 32);
	emit_rr(e, OP_OR | OP_W, G_AX, G_DX);
}

void x86_read_clock_behind(struct gen *g)
{
	/* rdtscp reads one register more, which takes as long as all of this. */
	emit_bytes(&g->e, "\x0f\xae\xe8\x0f\x31", 5); /* lfence; rdtsc */
}

/* --- pointers in the program ------------------------------------------------------------ */

/* Addresses of 32 bits wrap around. */
int32_t x86_disp(struct gen *g, uint64_t imm)
{
	if (g->e.bits == 32 || emit_fits(imm))
		return (int32_t)(uint32_t)imm;
	emit_imm(&g->e, G_AX, imm);
	emit_rr(&g->e, OP_ADD | OP_W, X86_ACC, G_AX);
	return 0;
}

void x86_load(struct gen *g, unsigned op, int reg, struct emit_mem mem)
{
	gen_may_fault(g, g->fail);
	emit_rm(&g->e, op, reg, mem);
}

/* --- numbers -------------------------------------------------------------------------- */

unsigned x86_load_op(unsigned size)
{
	return size == 1   ? OP_MOVZX8
	       : size == 2 ? OP_MOVZX2
	       : size == 4 ? OP_LOAD
			   : OP_LOAD | OP_W;
}

unsigned x86_store_op(unsigned size)
{
	return size == 1   ? OP_STORE8
	       : size == 2 ? OP_STORE | OP_66
	       : size == 4 ? OP_STORE
			   : OP_STORE | OP_W;
}
