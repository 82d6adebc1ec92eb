/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Code for slots. No imitation may touch the flags or a register, nor keep
 * anything where a signal frame may be written (128 bytes below the stack pointer
 * and further; in 32 bits right below it), and what can fault comes first.
 *
 * x87 instructions that store the address of the last x87 instruction (fnstenv,
 * fxsave, xsave) may store one inside a slot: hardly anybody looks at it. Imitated
 * calls push nothing on a shadow stack: not for threads that have one.
 */

#include "arch/x86/slot.h"

#include <errno.h>
#include <string.h>

#include "arch/x86/classify.h"
#include "arch/x86/decode.h"
#include "arch/x86/regs.h"
#include "engine/base/err.h"

#define NONE     0xff
#define REL32    5  /* jmp rel32 */
#define FAR_JUMP 14 /* jmp *0(%rip), address */

struct writer {
	uint64_t vaddr; /* of the slot */
	unsigned bits;
	struct slot_code *out;
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	memcpy(w->out->code + w->out->len, bytes, len);
	w->out->len = (uint8_t)(w->out->len + len);
}

static void put_u8(struct writer *w, uint8_t byte)
{
	put(w, &byte, 1);
}

static void put_u32(struct writer *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

static void put_u64(struct writer *w, uint64_t value)
{
	put(w, &value, sizeof(value));
}

/* Distance to @target from the end of an instruction that ends @len bytes on. */
static int64_t distance(const struct writer *w, size_t len, uint64_t target)
{
	uint64_t rel = target - (w->vaddr + w->out->len + len);

	/* 32 bits wrap around: everything is in reach. */
	return w->bits == 32 ? (int32_t)rel : (int64_t)rel;
}

static bool is_rel32(int64_t distance_)
{
	return distance_ == (int32_t)distance_;
}

static size_t jump_len(const struct writer *w, uint64_t target)
{
	return is_rel32(distance(w, REL32, target)) ? REL32 : FAR_JUMP;
}

static void put_jump(struct writer *w, uint64_t target)
{
	int64_t rel = distance(w, REL32, target);

	if (is_rel32(rel)) {
		put_u8(w, 0xe9); /* jmp rel32 */
		put_u32(w, (uint32_t)rel);
	} else {
		put(w, "\xff\x25\0\0\0", 6); /* jmp *0(%rip) */
		put_u64(w, target);
	}
}

static void put_jump_back(struct writer *w, const struct displaced_insn *insn)
{
	w->out->done_at = w->out->len;
	put_jump(w, insn->vaddr + insn->len);
}

static void put_jump_taken(struct writer *w, const struct displaced_insn *insn)
{
	w->out->taken_at = w->out->len;
	put_jump(w, insn->target);
}

/* Point the displacement at @disp_at, in the instruction that starts at @start, anew. */
static int relocate(struct writer *w, size_t start, size_t disp_at,
		    const struct displaced_insn *insn, struct ubp_err *err)
{
	/* Distances count from the instruction's end, which is where we write now. */
	int64_t rel = distance(w, 0, insn->target);
	uint32_t disp = (uint32_t)rel; /* addr_half: wraps around, reaches everything */

	if (!insn->addr_half && !is_rel32(rel))
		return ubp_fail(err, ERANGE, "'%s': 0x%llx is out of reach of a slot at 0x%llx",
				x86_insn_text(insn).s, (unsigned long long)insn->target,
				(unsigned long long)w->vaddr);
	memcpy(w->out->code + start + disp_at, &disp, sizeof(disp));
	return 0;
}

static int put_copy(struct writer *w, const struct displaced_insn *insn, struct ubp_err *err)
{
	size_t start = w->out->len;

	put(w, insn->bytes, insn->len);
	return insn->pc_relative ? relocate(w, start, insn->disp_at, insn, err) : 0;
}

/* jcc rel32 to the target; jump back. If that's too far: jcc over the jump back. */
static void put_jcc(struct writer *w, const struct displaced_insn *insn,
		    const struct x86_parts *p)
{
	uint8_t condition = p->opcode & 0x0f;
	int64_t rel = distance(w, 6, insn->target);

	if (is_rel32(rel)) {
		put_u8(w, 0x0f);
		put_u8(w, 0x80 | condition);
		put_u32(w, (uint32_t)rel);
		put_jump_back(w, insn);
		return;
	}
	put_u8(w, 0x70 | condition);
	put_u8(w, FAR_JUMP); /* filled in below */
	put_jump_back(w, insn);
	w->out->code[1] = (uint8_t)(w->out->len - 2);
	put_jump_taken(w, insn);
}

/* loop and jrcxz have no long form: over the jump back to the jump to the target. */
static void put_loop(struct writer *w, const struct displaced_insn *insn,
		     const struct x86_parts *p)
{
	size_t disp_at;

	if (insn->addr_half)
		put_u8(w, 0x67); /* counts in ecx, or cx */
	put_u8(w, p->opcode);
	disp_at = w->out->len;
	put_u8(w, 0);
	w->out->code[disp_at] = (uint8_t)jump_len(w, insn->vaddr + insn->len);
	put_jump_back(w, insn);
	put_jump_taken(w, insn);
}

/*
 * push return(%rip); jmp target; return: the address. One step on the stack, as a call.
 * In 32 bits push $return.
 */
static void put_call(struct writer *w, const struct displaced_insn *insn)
{
	if (w->bits == 32) {
		put_u8(w, 0x68);
		put_u32(w, (uint32_t)(insn->vaddr + insn->len));
		put_jump_taken(w, insn);
		return;
	}
	put(w, "\xff\x35", 2); /* push disp32(%rip) */
	put_u32(w, 0);         /* from behind it, over the jump: filled in below */
	put_jump_taken(w, insn);
	w->out->code[2] = (uint8_t)(w->out->len - 6);
	put_u64(w, insn->vaddr + insn->len);
}

/* Offsets in the code of an indirect call, from the end of its first push. */
enum {
	CALL_PUSHED_TWICE = 3,
	CALL_LOW_WRITTEN = CALL_PUSHED_TWICE + 8,
	CALL_HIGH_WRITTEN = CALL_LOW_WRITTEN + 8,
	CALL_JUMP = CALL_HIGH_WRITTEN + 5,
	CALL_LEN = CALL_JUMP + 4,
	CALL32_LEN = CALL_LOW_WRITTEN + 1,
};

/*
 * push x            the target, read with all registers as they were
 * push (%rsp)       once more, below
 * movl $lo, 8(%rsp); movl $hi, 12(%rsp)    return address over the first
 * lea 8(%rsp), %rsp
 * jmp *-8(%rsp)
 *
 * In 32 bits nothing may stay below the stack pointer: behind the one
 * movl $return, 4(%esp) a ret takes the lower word off.
 */
static int put_call_ind(struct writer *w, const struct displaced_insn *insn,
			const struct x86_parts *p, struct ubp_err *err)
{
	uint64_t back = insn->vaddr + insn->len;
	size_t disp_at = 0;
	int rc = 0;

	/* The same operand; prefixes without a meaning for push stay behind. */
	if (p->segment)
		put_u8(w, p->segment);
	if (insn->addr_half)
		put_u8(w, 0x67);
	if (p->rex)
		put_u8(w, p->rex);
	put_u8(w, 0xff);
	put_u8(w, (uint8_t)((p->modrm & ~0x38) | 6 << 3)); /* /2 call, /6 push */
	disp_at = w->out->len;
	put(w, insn->bytes + p->modrm_at + 1, (size_t)(insn->len - p->modrm_at - 1));
	if (insn->pc_relative)
		rc = relocate(w, 0, disp_at, insn, err);

	put(w, "\xff\x34\x24", 3);
	if (w->bits == 32) {
		put(w, "\xc7\x44\x24\x04", 4);
		put_u32(w, (uint32_t)back);
		put_u8(w, 0xc3);
		return rc;
	}
	put(w, "\xc7\x44\x24\x08", 4);
	put_u32(w, (uint32_t)back);
	put(w, "\xc7\x44\x24\x0c", 4);
	put_u32(w, (uint32_t)(back >> 32));
	put(w, "\x48\x8d\x64\x24\x08", 5);
	put(w, "\xff\x64\x24\xf8", 4);
	return rc;
}

/* syscall; movabs $behind, %rcx: where the processor would have left it. Or int $0x80. */
static void put_syscall(struct writer *w, const struct displaced_insn *insn)
{
	if (w->bits == 32) {
		put(w, "\xcd\x80", 2);
		put_jump_back(w, insn);
		return;
	}
	put(w, "\x0f\x05", 2);
	put(w, "\x48\xb9", 2);
	put_u64(w, insn->vaddr + insn->len);
	put_jump_back(w, insn);
}

int x86_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		   struct slot_code *ret_code, struct ubp_err *err)
{
	struct writer w = { .vaddr = slot_vaddr, .bits = insn->bits, .out = ret_code };
	struct x86_parts p;
	int rc;

	memset(ret_code, 0, sizeof(*ret_code));
	ret_code->done_at = NONE;
	ret_code->taken_at = NONE;
	if (!x86_split(insn->bits, insn->bytes, insn->len, &p))
		return ubp_fail(err, EILSEQ, "'%s' was not analyzed", x86_insn_text(insn).s);
	switch ((enum x86_form)insn->form) {
	case FORM_COPY:
		rc = put_copy(&w, insn, err);
		put_jump_back(&w, insn);
		return rc;
	case FORM_LEAVE:
		return put_copy(&w, insn, err);
	case FORM_JMP:
		put_jump_taken(&w, insn);
		return 0;
	case FORM_JCC:
		put_jcc(&w, insn, &p);
		return 0;
	case FORM_LOOP:
		put_loop(&w, insn, &p);
		return 0;
	case FORM_CALL:
		put_call(&w, insn);
		return 0;
	case FORM_CALL_IND:
		return put_call_ind(&w, insn, &p, err);
	case FORM_SYSCALL:
		put_syscall(&w, insn);
		return 0;
	}
	return ubp_fail(err, EILSEQ, "'%s' was not analyzed", x86_insn_text(insn).s);
}

void x86_slot_jump(unsigned bits, uint64_t slot_vaddr, uint64_t target,
		   struct slot_code *ret_code)
{
	struct writer w = { .vaddr = slot_vaddr, .bits = bits, .out = ret_code };

	memset(ret_code, 0, sizeof(*ret_code));
	ret_code->done_at = NONE;
	ret_code->taken_at = NONE;
	put_jump(&w, target);
}

void x86_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code)
{
	x86_slot_jump(64, slot_vaddr, target, ret_code);
}

/* call_ind_moved() in 32 bits. */
static bool call32_moved(const struct slot_code *code, uint64_t at, uint64_t *ret_by)
{
	uint64_t pushed = (uint64_t)code->len - CALL32_LEN;

	*ret_by = at == pushed ? 4 : 8;
	return at == pushed || at == pushed + CALL_PUSHED_TWICE ||
	       at == pushed + CALL_LOW_WRITTEN;
}

/* How far the imitation of an indirect call has moved the stack pointer. */
static bool call_ind_moved(const struct slot_code *code, uint64_t at, uint64_t *ret_by)
{
	uint64_t step;

	if (at < (uint64_t)code->len - CALL_LEN)
		return false;
	step = at - ((uint64_t)code->len - CALL_LEN);
	switch (step) {
	case 0:
	case CALL_JUMP:
		*ret_by = 8;
		return true;
	case CALL_PUSHED_TWICE:
	case CALL_LOW_WRITTEN:
	case CALL_HIGH_WRITTEN:
		*ret_by = 16;
		return true;
	default:
		return false;
	}
}

bool x86_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
		    uint64_t slot_vaddr, struct ubp_regs *regs)
{
	uint64_t at = regs->r[X86_IP] - slot_vaddr;
	uint64_t moved_by = 0;

	regs->r[X86_IP] = insn->vaddr;
	/* A slot that is but a jump has that at its start: taken already. */
	if (at == code->taken_at && at < code->len) {
		regs->r[X86_IP] = insn->target;
		return true;
	}
	if (at == 0)
		return true;
	if (at == code->done_at && at < code->len) {
		regs->r[X86_IP] = insn->vaddr + insn->len;
		return true;
	}
	if (insn->form == FORM_SYSCALL && insn->bits == 64 && at == 2) {
		regs->r[X86_IP] = insn->vaddr + insn->len;
		regs->r[X86_CX] = insn->vaddr + insn->len;
		return true;
	}
	if (insn->form == FORM_CALL_IND &&
	    (insn->bits == 32 ? call32_moved : call_ind_moved)(code, at, &moved_by))
		regs->r[X86_SP] += moved_by;
	return false;
}

bool x86_looks_done(const struct displaced_insn *insn, const struct ubp_regs *regs,
		    uint64_t top)
{
	static const int pushed[] = { X86_AX, X86_CX, X86_DX, X86_BX,
				      X86_SP, X86_BP, X86_SI, X86_DI };
	unsigned which = insn->bytes[0] - 0x50U; /* push */
	uint64_t value;

	if (insn->len != 1 || which >= sizeof(pushed) / sizeof(pushed[0]))
		return false;
	value = regs->r[pushed[which]];
	if (pushed[which] == X86_SP)
		value += insn->bits / 8;
	return insn->bits == 32 ? (uint32_t)value == (uint32_t)top : value == top;
}
