/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/x86/emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more in an array; false and the error kept if there is none. */
static bool grow(struct emit *e, void **array, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? 2 * *cap : 64;
	void *bigger;

	if (n < *cap)
		return true;
	while (want <= n)
		want *= 2;
	bigger = e->error ? NULL : realloc(*array, want * size);
	if (!bigger) {
		if (!e->error)
			e->error = -ENOMEM;
		return false;
	}
	*array = bigger;
	*cap = want;
	return true;
}

void emit_init(struct emit *e, unsigned bits, uint64_t vaddr)
{
	memset(e, 0, sizeof(*e));
	e->bits = bits;
	e->vaddr = vaddr;
}

void emit_free(struct emit *e)
{
	free(e->code);
	free(e->labels);
	free(e->fixups);
	memset(e, 0, sizeof(*e));
}

static void set_disp(struct emit *e, size_t at, size_t to)
{
	int64_t disp = (int64_t)to - (int64_t)(at + 4);
	int32_t disp32 = (int32_t)disp;

	if (disp != disp32)
		e->error = -ERANGE;
	memcpy(e->code + at, &disp32, sizeof(disp32));
}

static void set_address(struct emit *e, size_t at, size_t to)
{
	uint32_t vaddr = (uint32_t)(e->vaddr + to);

	memcpy(e->code + at, &vaddr, sizeof(vaddr));
}

int emit_finish(struct emit *e)
{
	for (size_t i = 0; i < e->n_fixups && !e->error; i++) {
		const struct emit_fixup *f = &e->fixups[i];

		if (!e->labels[f->label].is_set)
			e->error = -ERANGE;
		else if (f->is_absolute)
			set_address(e, f->at, e->labels[f->label].at);
		else
			set_disp(e, f->at, e->labels[f->label].at);
	}
	return e->error;
}

/* --- bytes ------------------------------------------------------------------------ */

void emit_bytes(struct emit *e, const void *bytes, size_t len)
{
	if (len == 0 || !grow(e, (void **)&e->code, e->len + len, &e->cap, 1))
		return;
	memcpy(e->code + e->len, bytes, len);
	e->len += len;
}

void emit_u8(struct emit *e, uint8_t byte)
{
	emit_bytes(e, &byte, 1);
}

void emit_u32(struct emit *e, uint32_t value)
{
	emit_bytes(e, &value, sizeof(value));
}

void emit_u64(struct emit *e, uint64_t value)
{
	emit_bytes(e, &value, sizeof(value));
}

void emit_align(struct emit *e, size_t size)
{
	while (e->len % size != 0 && !e->error)
		emit_u8(e, 0xcc);
}

/* --- labels and jumps --------------------------------------------------------------- */

label_t emit_label(struct emit *e)
{
	if (!grow(e, (void **)&e->labels, e->n_labels, &e->cap_labels, sizeof(e->labels[0])))
		return 0;
	e->labels[e->n_labels] = (struct emit_label){ 0 };
	return (label_t)e->n_labels++;
}

void emit_set(struct emit *e, label_t label)
{
	if (label < e->n_labels)
		e->labels[label] = (struct emit_label){ .at = e->len, .is_set = true };
}

label_t emit_here(struct emit *e)
{
	label_t label = emit_label(e);

	emit_set(e, label);
	return label;
}

uint32_t emit_at(const struct emit *e, label_t label)
{
	return label < e->n_labels && e->labels[label].is_set ? (uint32_t)e->labels[label].at
							      : 0;
}

static void put_fixup(struct emit *e, label_t label, bool is_absolute)
{
	if (!grow(e, (void **)&e->fixups, e->n_fixups, &e->cap_fixups, sizeof(e->fixups[0])))
		return;
	e->fixups[e->n_fixups++] = (struct emit_fixup){ (uint32_t)e->len, label, is_absolute };
	emit_u32(e, 0);
}

static void put_disp(struct emit *e, label_t label)
{
	put_fixup(e, label, false);
}

/* Backwards and near: two bytes are enough. */
static bool put_short(struct emit *e, uint8_t opcode, label_t label)
{
	int64_t disp;

	if (label >= e->n_labels || !e->labels[label].is_set)
		return false;
	disp = (int64_t)e->labels[label].at - (int64_t)(e->len + 2);
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
	put_disp(e, label);
}

void emit_jcc(struct emit *e, enum cond cond, label_t label)
{
	if (put_short(e, (uint8_t)(0x70 | cond), label))
		return;
	emit_u8(e, 0x0f);
	emit_u8(e, (uint8_t)(0x80 | cond));
	put_disp(e, label);
}

/* --- instructions --------------------------------------------------------------------- */

static void put_op(struct emit *e, unsigned op, int reg, int index, int rm)
{
	unsigned rex = 0;

	if (e->bits == 32) {
		if ((reg >= 8 || index >= 8 || rm >= 8) && !e->error)
			e->error = -EINVAL;
		op &= ~(unsigned)OP_W;
	}
	if (op & OP_LOCK)
		emit_u8(e, 0xf0);
	if (op & OP_66)
		emit_u8(e, 0x66);
	rex |= op & OP_W ? 8 : 0;
	rex |= reg >= 8 ? 4 : 0;
	rex |= index >= 8 ? 2 : 0;
	rex |= rm >= 8 ? 1 : 0;
	if (e->bits == 64 && (rex || ((op & OP_BYTE) && (reg >= 4 || rm >= 4))))
		emit_u8(e, (uint8_t)(0x40 | rex));
	if (op & OP_0F)
		emit_u8(e, 0x0f);
	emit_u8(e, (uint8_t)op);
}

static void put_modrm(struct emit *e, unsigned mod, int reg, int rm)
{
	emit_u8(e, (uint8_t)(mod << 6 | ((unsigned)reg & 7) << 3 | ((unsigned)rm & 7)));
}

/* A byte of such a register is another's in 32 bits. */
static void need_byte(struct emit *e, unsigned op, int reg)
{
	if (e->bits == 32 && (op & OP_BYTE) && reg >= 4 && !e->error)
		e->error = -EINVAL;
}

void emit_rr(struct emit *e, unsigned op, int reg, int rm)
{
	need_byte(e, op, rm);
	put_op(e, op, reg, G_NONE, rm);
	put_modrm(e, 3, reg, rm);
}

void emit_rm(struct emit *e, unsigned op, int reg, struct emit_mem mem)
{
	bool needs_disp = mem.disp != 0 || (mem.base & 7) == G_BP;
	unsigned mod = !needs_disp ? 0 : mem.disp == (int8_t)mem.disp ? 1 : 2;
	bool needs_sib = mem.index != G_NONE || (mem.base & 7) == G_SP;

	if (op == OP_STORE8)
		need_byte(e, op, reg);
	put_op(e, op, reg, mem.index, mem.base);
	if (mem.base == G_NONE || mem.base == G_ABSOLUTE) {
		put_modrm(e, 0, reg, G_BP);
		if (mem.base == G_NONE)
			put_fixup(e, mem.label, e->bits == 32);
		else
			emit_u32(e, (uint32_t)mem.disp);
		return;
	}
	put_modrm(e, mod, reg, needs_sib ? G_SP : mem.base);
	if (needs_sib)
		emit_u8(e, (uint8_t)(mem.scale << 6 |
				     ((unsigned)(mem.index == G_NONE ? G_SP : mem.index) & 7)
					     << 3 |
				     ((unsigned)mem.base & 7)));
	if (mod == 1)
		emit_u8(e, (uint8_t)mem.disp);
	else if (mod == 2)
		emit_u32(e, (uint32_t)mem.disp);
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
		put_op(e, 0xb8u | ((unsigned)reg & 7), 0, G_NONE, reg);
		emit_u32(e, (uint32_t)imm);
	} else if (emit_fits(imm)) {
		emit_rr(e, 0xc7 | OP_W, 0, reg);
		emit_u32(e, (uint32_t)imm);
	} else {
		put_op(e, 0xb8u | ((unsigned)reg & 7) | OP_W, 0, G_NONE, reg);
		emit_u64(e, imm);
	}
}

void emit_address(struct emit *e, int reg, uint64_t vaddr)
{
	uint64_t disp = vaddr - (e->vaddr + e->len + 7);

	if (e->bits == 32 || !emit_fits(disp) || vaddr <= UINT32_MAX) {
		emit_imm(e, reg, vaddr);
		return;
	}
	put_op(e, OP_LEA, reg, G_NONE, 0);
	put_modrm(e, 0, reg, G_BP);
	emit_u32(e, (uint32_t)disp);
}

void emit_label_address(struct emit *e, int reg, label_t label)
{
	put_op(e, 0xb8u | ((unsigned)reg & 7), 0, G_NONE, reg);
	put_fixup(e, label, true);
}

void emit_store_label(struct emit *e, struct emit_mem mem, label_t label)
{
	emit_rm(e, 0xc7, 0, mem);
	put_fixup(e, label, true);
}

void emit_store_imm(struct emit *e, unsigned w, struct emit_mem mem, uint32_t imm)
{
	emit_rm(e, 0xc7 | w, 0, mem);
	emit_u32(e, imm);
}
