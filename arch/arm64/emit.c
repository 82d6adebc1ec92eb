/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/arm64/emit.h"

#include <string.h>

/* Does @value fit into @bits, with its sign? */
static bool fits(int64_t value, unsigned bits)
{
	return value >= -(1LL << (bits - 1)) && value < 1LL << (bits - 1);
}

static uint32_t adr_bits(int64_t distance)
{
	uint32_t d = (uint32_t)distance;

	return (d & 3) << 29 | (d >> 2 & 0x7ffff) << 5;
}

bool a64_fix(struct emit *e, const struct emit_fixup *f, size_t to)
{
	int64_t distance = (int64_t)to - (int64_t)f->at;
	uint32_t insn, units = (uint32_t)(distance / 4);
	bool good = false;

	memcpy(&insn, e->code + f->at, sizeof(insn));
	switch ((enum emit_fix)f->kind) {
	case FIX_B:
		good = fits(distance, 28);
		insn |= units & 0x3ffffff;
		break;
	case FIX_19:
		good = fits(distance, 21);
		insn |= (units & 0x7ffff) << 5;
		break;
	case FIX_ADR:
		good = fits(distance, 21);
		insn |= adr_bits(distance);
		break;
	}
	memcpy(e->code + f->at, &insn, sizeof(insn));
	return good;
}

/* --- branches ---------------------------------------------------------------------- */

void a64_insn(struct emit *e, uint32_t insn)
{
	emit_u32(e, insn);
}

void a64_align(struct emit *e, size_t size)
{
	emit_fill(e, 4, 0);
	while (e->len % size != 0 && !e->error)
		a64_insn(e, INSN_BRK);
}

static void put(struct emit *e, uint32_t insn, label_t label, enum emit_fix kind)
{
	emit_fixup(e, label, kind);
	a64_insn(e, insn);
}

void a64_b(struct emit *e, label_t label)
{
	put(e, 0x14000000, label, FIX_B);
}

void a64_bcond(struct emit *e, enum cond cond, label_t label)
{
	put(e, 0x54000000 | cond, label, FIX_19);
}

void a64_cbz(struct emit *e, uint32_t x, int reg, label_t label)
{
	put(e, 0x34000000 | x | (uint32_t)reg, label, FIX_19);
}

void a64_cbnz(struct emit *e, uint32_t x, int reg, label_t label)
{
	put(e, 0x35000000 | x | (uint32_t)reg, label, FIX_19);
}

void a64_adr(struct emit *e, int reg, label_t label)
{
	put(e, 0x10000000 | (uint32_t)reg, label, FIX_ADR);
}

void a64_br(struct emit *e, int reg)
{
	a64_insn(e, 0xd61f0000 | (uint32_t)reg << 5);
}

/* --- arithmetic ---------------------------------------------------------------------- */

void a64_op(struct emit *e, uint32_t op, int rd, int rn, int rm)
{
	a64_insn(e, op | (uint32_t)rm << 16 | (uint32_t)rn << 5 | (uint32_t)rd);
}

void a64_mov(struct emit *e, int rd, int rm)
{
	a64_op(e, OP_ORR | OP_X, rd, G_ZR, rm);
}

#define ADD_IMM  0x91000000U
#define SUB_IMM  0xd1000000U
#define SUBS_IMM 0x71000000U /* | OP_X */
#define HIGH_12  (1U << 22)  /* the immediate counts pages of 4096 */

static void put_imm12(struct emit *e, uint32_t op, int rd, int rn, uint32_t imm)
{
	a64_insn(e, op | imm << 10 | (uint32_t)rn << 5 | (uint32_t)rd);
}

void a64_add(struct emit *e, int rd, int rn, int64_t imm)
{
	uint64_t size = imm < 0 ? 0 - (uint64_t)imm : (uint64_t)imm;
	uint32_t op = imm < 0 ? SUB_IMM : ADD_IMM;
	int with = rd == rn || rd == G_SP ? G_TMP : rd;

	if (size >= 1U << 24) {
		a64_imm(e, with, (uint64_t)imm);
		/* uxtx: 31 is the stack pointer here */
		a64_op(e, 0x8b206000, rd, rn, with);
		return;
	}
	if (size >> 12) {
		put_imm12(e, op | HIGH_12, rd, rn, (uint32_t)(size >> 12));
		rn = rd;
	}
	if ((size & 0xfff) || (size == 0 && rd != rn))
		put_imm12(e, op, rd, rn, (uint32_t)size & 0xfff);
}

static void put_subs(struct emit *e, uint32_t x, int rd, int rn, uint64_t imm)
{
	if (imm < 4096) {
		put_imm12(e, SUBS_IMM | x, rd, rn, (uint32_t)imm);
	} else if (imm < 1U << 24 && (imm & 0xfff) == 0) {
		put_imm12(e, SUBS_IMM | HIGH_12 | x, rd, rn, (uint32_t)(imm >> 12));
	} else {
		a64_imm(e, G_TMP, imm);
		a64_op(e, OP_SUBS | x, rd, rn, G_TMP);
	}
}

void a64_cmp(struct emit *e, uint32_t x, int rn, uint64_t imm)
{
	put_subs(e, x, G_ZR, rn, x ? imm : (uint32_t)imm);
}

void a64_subs(struct emit *e, int rd, int rn, uint64_t imm)
{
	put_subs(e, OP_X, rd, rn, imm);
}

/*
 * The immediate of and, orr, eor: a run of ones, rotated, in a unit of 2 to 64 bits, and that
 * over and over again.
 */
static bool to_mask(uint64_t imm, uint32_t *ret_bits)
{
	unsigned size = 64, n = 0, turn = 0;
	uint64_t ones, unit;

	if (imm == 0 || imm == UINT64_MAX)
		return false;
	while (size > 2) {
		uint64_t half = (1ULL << size / 2) - 1;

		if ((imm & half) != (imm >> size / 2 & half))
			break;
		size /= 2;
	}
	unit = size == 64 ? imm : imm & ((1ULL << size) - 1);
	n = (unsigned)__builtin_popcountll(unit);
	for (ones = (1ULL << n) - 1; ones != unit && turn < size; turn++)
		ones = (ones >> 1 | (ones & 1) << (size - 1));
	if (turn == size)
		return false;
	*ret_bits = (size == 64 ? 1U << 22 : 0) | turn << 16 |
		    ((~(size * 2 - 1) & 0x3f) | (n - 1)) << 10;
	return true;
}

#define LOGIC_IMM 0x18000000U /* differs from the form with a register */

void a64_logic(struct emit *e, uint32_t op, int rd, int rn, uint64_t imm)
{
	uint64_t all = op & OP_X ? imm : (uint32_t)imm | imm << 32;
	uint32_t bits;

	if (to_mask(all, &bits)) {
		a64_insn(e, (op ^ LOGIC_IMM) | bits | (uint32_t)rn << 5 | (uint32_t)rd);
		return;
	}
	a64_imm(e, G_TMP, op & OP_X ? imm : (uint32_t)imm);
	a64_op(e, op, rd, rn, G_TMP);
}

#define UBFM 0x53000000U
#define SBFM 0x13000000U

static void bitfield(struct emit *e, uint32_t op, uint32_t x, int rd, int rn, unsigned from,
		     unsigned to)
{
	a64_insn(e, op | x | (x ? 1U << 22 : 0) | from << 16 | to << 10 | (uint32_t)rn << 5 |
			    (uint32_t)rd);
}

static unsigned bits_of(uint32_t x)
{
	return x ? 64 : 32;
}

void a64_lsl(struct emit *e, uint32_t x, int rd, int rn, unsigned by)
{
	bitfield(e, UBFM, x, rd, rn, (bits_of(x) - by) % bits_of(x), bits_of(x) - 1 - by);
}

void a64_lsr(struct emit *e, uint32_t x, int rd, int rn, unsigned by)
{
	bitfield(e, UBFM, x, rd, rn, by, bits_of(x) - 1);
}

void a64_asr(struct emit *e, uint32_t x, int rd, int rn, unsigned by)
{
	bitfield(e, SBFM, x, rd, rn, by, bits_of(x) - 1);
}

void a64_zero_extend(struct emit *e, int rd, int rn, unsigned bits)
{
	bitfield(e, UBFM, OP_X, rd, rn, 0, bits - 1);
}

void a64_sign_extend(struct emit *e, int rd, int rn, unsigned bits)
{
	bitfield(e, SBFM, 0, rd, rn, 0, bits - 1);
}

void a64_csel(struct emit *e, enum cond cond, int rd, int rn, int rm)
{
	a64_op(e, 0x9a800000 | (uint32_t)cond << 12, rd, rn, rm);
}

/* --- constants ---------------------------------------------------------------------- */

static unsigned parts(uint64_t imm)
{
	unsigned n = 0;

	for (unsigned at = 0; at < 64; at += 16)
		n += (imm >> at & 0xffff) != 0;
	return n;
}

static void put_part(struct emit *e, uint32_t op, int reg, uint64_t imm, unsigned at)
{
	a64_insn(e, op | at / 16 << 21 | (uint32_t)(imm >> at & 0xffff) << 5 | (uint32_t)reg);
}

/* How many instructions a64_imm() takes. */
static unsigned imm_len(uint64_t imm)
{
	unsigned zeros = parts(imm), ones = parts(~imm), n = zeros < ones ? zeros : ones;
	uint32_t bits;

	return n < 1 ? 1 : n > 1 && to_mask(imm, &bits) ? 1 : n;
}

void a64_imm(struct emit *e, int reg, uint64_t imm)
{
	bool inverted = parts(~imm) < parts(imm), first = true;
	uint64_t fill = inverted ? 0xffff : 0;
	uint32_t bits;

	if (imm_len(imm) == 1 && parts(imm) > 1 && parts(~imm) > 1 && to_mask(imm, &bits)) {
		a64_insn(e, ((OP_ORR | OP_X) ^ LOGIC_IMM) | bits | G_ZR << 5 | (uint32_t)reg);
		return;
	}
	for (unsigned at = 0; at < 64; at += 16) {
		if ((imm >> at & 0xffff) == fill && !(first && at == 48))
			continue;
		if (first)
			put_part(e, inverted ? 0x92800000 : 0xd2800000, reg,
				 inverted ? ~imm : imm, at);
		else
			put_part(e, 0xf2800000, reg, imm, at);
		first = false;
	}
}

void a64_address(struct emit *e, int reg, uint64_t vaddr)
{
	uint64_t here = e->vaddr + e->len;
	int64_t distance = (int64_t)(vaddr - here);
	int64_t pages = (int64_t)((vaddr & ~0xfffULL) - (here & ~0xfffULL)) / 4096;

	if (fits(distance, 21)) {
		a64_insn(e, 0x10000000 | adr_bits(distance) | (uint32_t)reg);
	} else if (fits(pages, 21) && imm_len(vaddr) > 2) {
		a64_insn(e, 0x90000000 | adr_bits(pages) | (uint32_t)reg);
		if (vaddr & 0xfff)
			put_imm12(e, ADD_IMM, reg, reg, (uint32_t)(vaddr & 0xfff));
	} else {
		a64_imm(e, reg, vaddr);
	}
}

/* --- memory -------------------------------------------------------------------------- */

static unsigned size_of(uint32_t op)
{
	return op >> 30; /* log2 */
}

static bool fits_scaled(uint32_t op, int64_t disp)
{
	return disp >= 0 && (disp & ((1 << size_of(op)) - 1)) == 0 &&
	       disp >> size_of(op) < 4096;
}

struct emit_mem a64_reach(struct emit *e, uint32_t op, struct emit_mem mem)
{
	if (mem.index != G_NONE || fits_scaled(op, mem.disp) || fits(mem.disp, 9))
		return mem;
	a64_add(e, G_TMP, mem.base, mem.disp);
	return MEM(G_TMP, 0);
}

#define NOT_SCALED (1U << 24) /* bit that forms with another offset lack */

void a64_ldst(struct emit *e, uint32_t op, int rt, struct emit_mem mem)
{
	uint32_t regs;

	mem = a64_reach(e, op, mem);
	regs = (uint32_t)mem.base << 5 | (uint32_t)rt;
	if (mem.index != G_NONE)
		a64_insn(e, (op ^ NOT_SCALED) | 0x206800 | (uint32_t)mem.index << 16 |
				    (mem.scaled ? 1U << 12 : 0) | regs);
	else if (fits_scaled(op, mem.disp))
		a64_insn(e, op | (uint32_t)(mem.disp >> size_of(op)) << 10 | regs);
	else
		a64_insn(e, (op ^ NOT_SCALED) | ((uint32_t)mem.disp & 0x1ff) << 12 | regs);
}

static void put_pair(struct emit *e, uint32_t op, int rt, int rt2, int base, int disp)
{
	a64_insn(e, op | ((uint32_t)(disp / 8) & 0x7f) << 15 | (uint32_t)rt2 << 10 |
			    (uint32_t)base << 5 | (uint32_t)rt);
}

void a64_ldp(struct emit *e, int rt, int rt2, int base, int disp)
{
	put_pair(e, 0xa9400000, rt, rt2, base, disp);
}

void a64_stp(struct emit *e, int rt, int rt2, int base, int disp)
{
	put_pair(e, 0xa9000000, rt, rt2, base, disp);
}

void a64_ldxr(struct emit *e, int rt, int rn)
{
	a64_insn(e, 0xc85f7c00 | (uint32_t)rn << 5 | (uint32_t)rt);
}

void a64_stxr(struct emit *e, int rs, int rt, int rn)
{
	a64_insn(e, 0xc8007c00 | (uint32_t)rs << 16 | (uint32_t)rn << 5 | (uint32_t)rt);
}

void a64_stlr(struct emit *e, uint32_t x, int rt, int rn)
{
	a64_insn(e, (x ? 0xc89ffc00 : 0x889ffc00) | (uint32_t)rn << 5 | (uint32_t)rt);
}
