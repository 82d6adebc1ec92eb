/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/x86/emit.h"

#include <errno.h>
#include <string.h>

static bool set_disp(struct emit *e, size_t at, size_t to)
{
	int64_t disp = (int64_t)to - (int64_t)(at + 4);
	int32_t disp32 = (int32_t)disp;

	memcpy(e->code + at, &disp32, sizeof(disp32));
	return disp == disp32;
}

static bool set_address(struct emit *e, size_t at, size_t to)
{
	uint32_t vaddr = (uint32_t)(e->vaddr + to);

	memcpy(e->code + at, &vaddr, sizeof(vaddr));
	return true;
}

bool x86_fix(struct emit *e, const struct emit_fixup *f, size_t to)
{
	return (f->kind == FIX_ADDRESS ? set_address : set_disp)(e, f->at, to);
}

/* --- jumps ------------------------------------------------------------------------ */

static void put_fixup(struct emit *e, label_t label, enum emit_fix kind)
{
	emit_fixup(e, label, kind);
	emit_u32(e, 0);
}

/* Backwards and near: two bytes are enough. */
static bool put_short(struct emit *e, uint8_t opcode, label_t label)
{
	int64_t disp;

	if (!emit_is_set(e, label))
		return false;
	disp = (int64_t)emit_at(e, label) - (int64_t)(e->len + 2);
	if (disp < INT8_MIN)
		return false;
	emit_u8(e, opcode);
	emit_u8(e, (uint8_t)disp);
	return true;
}

void emit_jmp(struct emit *e, label_t label)
{
	if (put_short(e, 0xeb, label))
		return;
	emit_u8(e, 0xe9);
	put_fixup(e, label, FIX_DISP);
}

void emit_call(struct emit *e, label_t label)
{
	emit_u8(e, 0xe8);
	put_fixup(e, label, FIX_DISP);
}

void emit_jcc(struct emit *e, enum cond cond, label_t label)
{
	if (put_short(e, (uint8_t)(0x70 | cond), label))
		return;
	emit_u8(e, 0x0f);
	emit_u8(e, (uint8_t)(0x80 | cond));
	put_fixup(e, label, FIX_DISP);
}

/* --- instructions --------------------------------------------------------------------- */

#define INSN_ROOM 16 /* bytes that one has at most */

/* Of all that comes in thousands of detours most is this: one look for room, then bytes. */
static inline uint8_t *put_op(struct emit *e, uint8_t *at, unsigned op, int reg, int index,
			      int rm)
{
	unsigned rex = 0;

	if (e->bits == 32) {
		if (reg >= 8 || index >= 8 || rm >= 8)
			emit_fail(e, -EINVAL);
		op &= ~(unsigned)OP_W;
	}
	if (op & OP_LOCK)
		*at++ = 0xf0;
	if (op & OP_66)
		*at++ = 0x66;
	rex |= op & OP_W ? 8 : 0;
	rex |= reg >= 8 ? 4 : 0;
	rex |= index >= 8 ? 2 : 0;
	rex |= rm >= 8 ? 1 : 0;
	if (e->bits == 64 && (rex || ((op & OP_BYTE) && (reg >= 4 || rm >= 4))))
		*at++ = (uint8_t)(0x40 | rex);
	if (op & OP_0F)
		*at++ = 0x0f;
	*at++ = (uint8_t)op;
	return at;
}

static inline uint8_t modrm(unsigned mod, int reg, int rm)
{
	return (uint8_t)(mod << 6 | ((unsigned)reg & 7) << 3 | ((unsigned)rm & 7));
}

static inline uint8_t *put_u32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

/* What was put from the room on. */
static inline void put_end(struct emit *e, const uint8_t *at)
{
	e->len = (size_t)(at - e->code);
}

/* A byte of such a register is another's in 32 bits. */
static void need_byte(struct emit *e, unsigned op, int reg)
{
	if (e->bits == 32 && (op & OP_BYTE) && reg >= 4)
		emit_fail(e, -EINVAL);
}

/* The opcode alone, with a register of its own. */
static void emit_op(struct emit *e, unsigned op, int rm)
{
	uint8_t *at = emit_room(e, INSN_ROOM);

	if (at)
		put_end(e, put_op(e, at, op, 0, G_NONE, rm));
}

void emit_rr(struct emit *e, unsigned op, int reg, int rm)
{
	uint8_t *at = emit_room(e, INSN_ROOM);

	need_byte(e, op, rm);
	if (!at)
		return;
	at = put_op(e, at, op, reg, G_NONE, rm);
	*at++ = modrm(3, reg, rm);
	put_end(e, at);
}

/* At a label, or at an address. */
static void put_at(struct emit *e, unsigned op, int reg, const struct emit_mem *mem)
{
	uint8_t *at = emit_room(e, INSN_ROOM);

	if (!at)
		return;
	at = put_op(e, at, op, reg, mem->index, mem->base);
	*at++ = modrm(0, reg, G_BP);
	put_end(e, at);
	if (mem->base == G_NONE)
		put_fixup(e, mem->label, e->bits == 32 ? FIX_ADDRESS : FIX_DISP);
	else
		emit_u32(e, (uint32_t)mem->disp);
}

void emit_rm(struct emit *e, unsigned op, int reg, struct emit_mem mem)
{
	bool needs_disp = mem.disp != 0 || (mem.base & 7) == G_BP;
	unsigned mod = !needs_disp ? 0 : mem.disp == (int8_t)mem.disp ? 1 : 2;
	bool needs_sib = mem.index != G_NONE || (mem.base & 7) == G_SP;
	uint8_t *at;

	if (op == OP_STORE8)
		need_byte(e, op, reg);
	if (mem.base == G_NONE || mem.base == G_ABSOLUTE) {
		put_at(e, op, reg, &mem);
		return;
	}
	at = emit_room(e, INSN_ROOM);
	if (!at)
		return;
	at = put_op(e, at, op, reg, mem.index, mem.base);
	*at++ = modrm(mod, reg, needs_sib ? G_SP : mem.base);
	if (needs_sib)
		*at++ = modrm(mem.scale, mem.index == G_NONE ? G_SP : mem.index, mem.base);
	if (mod == 1)
		*at++ = (uint8_t)mem.disp;
	else if (mod == 2)
		at = put_u32(at, (uint32_t)mem.disp);
	put_end(e, at);
}

void emit_alu(struct emit *e, unsigned w, enum alu alu, int reg, int32_t imm)
{
	bool is_short = imm == (int8_t)imm;

	emit_rr(e, (is_short ? 0x83 : 0x81) | w, (int)alu, reg);
	if (is_short)
		emit_u8(e, (uint8_t)imm);
	else
		emit_u32(e, (uint32_t)imm);
}

void emit_alu_mem(struct emit *e, unsigned w, enum alu alu, struct emit_mem mem, int32_t imm)
{
	bool is_short = imm == (int8_t)imm;

	emit_rm(e, (is_short ? 0x83 : 0x81) | w, (int)alu, mem);
	if (is_short)
		emit_u8(e, (uint8_t)imm);
	else
		emit_u32(e, (uint32_t)imm);
}

void emit_shift(struct emit *e, unsigned w, enum shift shift, int reg, uint8_t by)
{
	emit_rr(e, 0xc1 | w, (int)shift, reg);
	emit_u8(e, by);
}

void emit_test(struct emit *e, unsigned w, int reg, int32_t imm)
{
	emit_rr(e, 0xf7 | w, 0, reg);
	emit_u32(e, (uint32_t)imm);
}

void emit_imm(struct emit *e, int reg, uint64_t imm)
{
	if (imm <= UINT32_MAX || e->bits == 32) {
		emit_op(e, 0xb8u | ((unsigned)reg & 7), reg);
		emit_u32(e, (uint32_t)imm);
	} else if (emit_fits(imm)) {
		emit_rr(e, 0xc7 | OP_W, 0, reg);
		emit_u32(e, (uint32_t)imm);
	} else {
		emit_op(e, 0xb8u | ((unsigned)reg & 7) | OP_W, reg);
		emit_u64(e, imm);
	}
}

void emit_address(struct emit *e, int reg, uint64_t vaddr)
{
	uint64_t disp = vaddr - (e->vaddr + e->len + 7);

	if (e->bits == 32 || !emit_fits(disp) || vaddr <= UINT32_MAX) {
		emit_unlike(e);
		emit_imm(e, reg, vaddr);
		return;
	}
	emit_rm(e, OP_LEA, reg, MEM_ABSOLUTE(disp));
	emit_mark(e, MARK_DISTANCE);
}

void emit_label_address(struct emit *e, int reg, label_t label)
{
	if (e->bits == 64) {
		emit_rm(e, OP_LEA, reg, MEM_LABEL(label));
		return;
	}
	emit_op(e, 0xb8u | ((unsigned)reg & 7), reg);
	put_fixup(e, label, FIX_ADDRESS);
}

void emit_store_label(struct emit *e, struct emit_mem mem, label_t label)
{
	emit_rm(e, 0xc7, 0, mem);
	put_fixup(e, label, FIX_ADDRESS);
}

void emit_store_imm(struct emit *e, unsigned w, struct emit_mem mem, uint32_t imm)
{
	emit_rm(e, 0xc7 | w, 0, mem);
	emit_u32(e, imm);
}
