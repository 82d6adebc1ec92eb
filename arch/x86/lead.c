/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Leads (arch/detour.h): what the instructions do that functions begin with. Opcodes that are not
 * named here have effects that are not looked into, and are no leads.
 */

#include "arch/x86/lead.h"

#include <string.h>

#include "arch/detour.h"
#include "arch/x86/decode.h"
#include "arch/x86/regs.h"

#define BIT(n) (1u << (n))

/* Where an instruction puts its result. */
enum dest {
	DEST_UNKNOWN,
	DEST_NONE,   /* in the flags, at most */
	DEST_REG,    /* the register that modrm names beside an operand */
	DEST_RM,     /* the operand */
	DEST_OPCODE, /* the register in the opcode */
	DEST_AX,
	DEST_DX,
	DEST_AX_DX,
	DEST_VECTOR, /* as DEST_REG and DEST_RM, of the vector registers */
	DEST_RM_VECTOR,
	DEST_VECTORS, /* any of those */
};

/* Numbers of registers in instructions. */
static const uint8_t reg_of[16] = {
	X86_AX, X86_CX, X86_DX,  X86_BX,  X86_SP,  X86_BP,  X86_SI,  X86_DI,
	X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
};

#define NUMBER_SP 4

/* What a function of the program's must give back as it was. */
static uint32_t kept_regs(unsigned bits)
{
	uint32_t kept = BIT(X86_BX) | BIT(X86_BP);

	return bits == 32 ? kept | BIT(X86_SI) | BIT(X86_DI)
			  : kept | BIT(X86_R12) | BIT(X86_R13) | BIT(X86_R14) | BIT(X86_R15);
}

/* What functions get arguments in; in 32 bits these are on the stack. */
static uint32_t arg_regs(unsigned bits)
{
	return bits == 32 ? 0
			  : BIT(X86_DI) | BIT(X86_SI) | BIT(X86_DX) | BIT(X86_CX) |
				    BIT(X86_R8) | BIT(X86_R9);
}

/* --- opcodes -------------------------------------------------------------------------- */

/* add, or, adc, sbb, and, sub, xor, cmp: 00 to 3f, but for what is prefixes and old. */
static enum dest dest_of_alu(uint8_t opcode)
{
	bool is_cmp = opcode >> 3 == 7;

	switch (opcode & 7) {
	case 0:
	case 1:
		return is_cmp ? DEST_NONE : DEST_RM;
	case 2:
	case 3:
		return is_cmp ? DEST_NONE : DEST_REG;
	case 4:
	case 5:
		return is_cmp ? DEST_NONE : DEST_AX;
	default:
		return DEST_UNKNOWN;
	}
}

static enum dest dest_of_group(const struct x86_parts *p)
{
	unsigned digit = x86_modrm_reg(p);

	switch (p->opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		return digit == 7 ? DEST_NONE : DEST_RM;
	case 0xf6:
	case 0xf7: /* test, not, neg; mul, imul, div, idiv */
		return digit <= 1 ? DEST_NONE : digit <= 3 ? DEST_RM : DEST_AX_DX;
	case 0xfe:
	case 0xff:
		return digit <= 1 ? DEST_RM : DEST_UNKNOWN;
	case 0xc6:
	case 0xc7:
		return digit == 0 ? DEST_RM : DEST_UNKNOWN;
	default: /* shifts */
		return DEST_RM;
	}
}

static enum dest dest_of_one(unsigned bits, const struct x86_parts *p)
{
	if (p->opcode < 0x40)
		return dest_of_alu(p->opcode);
	if (p->opcode < 0x50) /* inc, dec; in 64 bits they are prefixes */
		return bits == 32 ? DEST_OPCODE : DEST_UNKNOWN;
	if ((p->opcode & 0xf0) == 0xb0)
		return DEST_OPCODE;
	switch (p->opcode) {
	case 0x63: /* movslq; in 32 bits arpl */
		return bits == 64 ? DEST_REG : DEST_UNKNOWN;
	case 0x69: /* imul */
	case 0x6b:
	case 0x8a: /* mov */
	case 0x8b:
	case 0x8d: /* lea */
		return DEST_REG;
	case 0x84: /* test */
	case 0x85:
	case 0xa8:
	case 0xa9:
		return DEST_NONE;
	case 0x88: /* mov */
	case 0x89:
		return DEST_RM;
	case 0xa0: /* mov from an address */
	case 0xa1:
	case 0x98: /* cltq */
		return DEST_AX;
	case 0x99: /* cqto */
		return DEST_DX;
	case 0x80:
	case 0x81:
	case 0x83:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return dest_of_group(p);
	default:
		return DEST_UNKNOWN;
	}
}

/* SSE. Without one of the prefixes 60 to 7f and from d0 on work on MMX registers. */
static enum dest dest_of_sse(const struct x86_parts *p)
{
	bool is_xmm = p->prefixes & (PREFIX_OPSIZE | PREFIX_REP | PREFIX_REPNE);

	switch (p->opcode) {
	case 0x10: /* mov of all kinds */
	case 0x12:
	case 0x14:
	case 0x15:
	case 0x16:
	case 0x28:
		return DEST_VECTOR;
	case 0x11:
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x2b:
		return DEST_RM_VECTOR;
	case 0x2a: /* from numbers */
	case 0x6e:
	case 0x6f:
		return is_xmm ? DEST_VECTOR : DEST_UNKNOWN;
	case 0x2c: /* to numbers */
	case 0x2d:
		return p->prefixes & (PREFIX_REP | PREFIX_REPNE) ? DEST_REG : DEST_UNKNOWN;
	case 0x2e: /* comparisons */
	case 0x2f:
		return DEST_NONE;
	case 0x7e: /* movq, movd */
		return p->prefixes & PREFIX_REP      ? DEST_VECTOR
		       : p->prefixes & PREFIX_OPSIZE ? DEST_RM
						     : DEST_UNKNOWN;
	case 0x7f:
		return is_xmm ? DEST_RM_VECTOR : DEST_UNKNOWN;
	case 0xd6: /* movq; with other prefixes from and to MMX registers */
		return is_xmm && !(p->prefixes & (PREFIX_REP | PREFIX_REPNE)) ? DEST_RM_VECTOR
									      : DEST_UNKNOWN;
	case 0xef: /* pxor */
	case 0xeb:
	case 0xdb:
	case 0xdf:
		return is_xmm ? DEST_VECTOR : DEST_UNKNOWN;
	default:
		return p->opcode >= 0x51 && p->opcode <= 0x5f ? DEST_VECTOR : DEST_UNKNOWN;
	}
}

static enum dest dest_of_0f(const struct x86_parts *p)
{
	if ((p->opcode & 0xf0) == 0x40) /* cmov */
		return DEST_REG;
	if ((p->opcode & 0xf0) == 0x90) /* setcc */
		return DEST_RM;
	switch (p->opcode) {
	case 0x1f: /* nop */
	case 0xa3: /* bt */
		return DEST_NONE;
	case 0xaf: /* imul */
	case 0xb6: /* movz, movs */
	case 0xb7:
	case 0xbe:
	case 0xbf:
	case 0xbc: /* bsf, bsr, popcnt */
	case 0xbd:
		return DEST_REG;
	case 0xb8:
		return p->prefixes & PREFIX_REP ? DEST_REG : DEST_UNKNOWN;
	case 0xba:
		return x86_modrm_reg(p) == 4 ? DEST_NONE : DEST_RM;
	default:
		return dest_of_sse(p);
	}
}

/* AVX: where bytes and numbers come from, and pxor, xorps. Their registers are 32, in part. */
static enum dest dest_of_vex(const struct x86_parts *p)
{
	if (p->vector_map == 1 &&
	    (p->opcode == 0x6e || p->opcode == 0x6f || p->opcode == 0xef || p->opcode == 0x57))
		return DEST_VECTORS;
	if (p->vector_map == 2 && (p->opcode & 0xfc) == 0x78)
		return DEST_VECTORS;
	return p->vector_map == 2 && (p->opcode & 0xfc) == 0x58 ? DEST_VECTORS : DEST_UNKNOWN;
}

static enum dest dest_of(unsigned bits, const struct x86_parts *p)
{
	if (p->prefixes & PREFIX_LOCK)
		return DEST_UNKNOWN;
	if (p->map == MAP_0F)
		return dest_of_0f(p);
	if (p->map == MAP_VEX || p->map == MAP_EVEX)
		return dest_of_vex(p);
	/* Of the others these prefixes make strings and hints. */
	if (p->map != MAP_ONE || p->prefixes & (PREFIX_REP | PREFIX_REPNE))
		return DEST_UNKNOWN;
	return dest_of_one(bits, p);
}

/* --- what the stack pointer does -------------------------------------------------------- */

static int32_t read_number(const uint8_t *code, size_t size)
{
	int32_t wide;

	if (size == 1)
		return (int8_t)code[0];
	memcpy(&wide, code, sizeof(wide));
	return wide;
}

static bool is_word(unsigned bits, const struct x86_parts *p)
{
	return !(p->prefixes & (PREFIX_OPSIZE | PREFIX_ADDRSIZE)) && (bits == 32 || p->rex & 8);
}

/* sub $n,%rsp; add $-n,%rsp; lea -n(%rsp),%rsp: n, or 0. */
static int64_t moves_down(unsigned bits, const uint8_t *code, size_t len,
			  const struct x86_parts *p)
{
	int64_t n;

	if (p->map != MAP_ONE || !is_word(bits, p))
		return 0;
	if ((p->opcode == 0x81 || p->opcode == 0x83) && !(p->rex & 1) &&
	    (p->modrm == 0xec || p->modrm == 0xc4)) {
		n = read_number(code + p->end, len - p->end);
		return p->modrm == 0xec ? n : -n;
	}
	/* Its base is the stack pointer, and it has no index. */
	if (p->opcode == 0x8d && !(p->rex & 7) && (p->modrm & 0x3f) == 0x24 &&
	    x86_modrm_mod(p) != 3 && x86_modrm_mod(p) != 0 && code[p->modrm_at + 1] == 0x24)
		return -(int64_t)read_number(code + p->modrm_at + 2,
					     x86_modrm_mod(p) == 1 ? 1 : 4);
	return 0;
}

static bool is_push(const struct x86_parts *p)
{
	return p->map == MAP_ONE && !p->prefixes &&
	       ((p->opcode & 0xf8) == 0x50 || p->opcode == 0x68 || p->opcode == 0x6a);
}

/* --- one instruction ------------------------------------------------------------------ */

static void set_reg(struct lead *lead, unsigned number, bool is_byte, bool has_rex)
{
	/* ah, ch, dh, bh */
	if (is_byte && !has_rex && number >= 4)
		number -= 4;
	lead->sets |= BIT(reg_of[number]);
}

/* Bytes are what the even ones of these opcodes work on. */
static bool is_of_bytes(const struct x86_parts *p)
{
	if (p->map == MAP_0F)
		return (p->opcode & 0xf0) == 0x90;
	if ((p->opcode & 0xf0) == 0xb0)
		return p->opcode < 0xb8;
	return !(p->opcode & 1) && p->opcode != 0x8d && p->opcode != 0x98;
}

static bool note(struct lead *lead, const struct x86_parts *p, enum dest dest)
{
	unsigned reg = x86_modrm_reg(p) | (p->rex & 4) << 1;
	unsigned rm = (p->modrm & 7) | (p->rex & 1) << 3;
	bool is_reg = x86_modrm_mod(p) == 3, is_byte = is_of_bytes(p), has_rex = p->rex != 0;

	switch (dest) {
	case DEST_UNKNOWN:
		return false;
	case DEST_NONE:
		break;
	case DEST_REG:
		set_reg(lead, reg, is_byte && p->map == MAP_ONE, has_rex);
		break;
	case DEST_OPCODE:
		set_reg(lead, (p->opcode & 7) | (p->rex & 1) << 3, is_byte, has_rex);
		break;
	case DEST_RM:
		if (is_reg)
			set_reg(lead, rm, is_byte, has_rex);
		else
			lead->stores = true;
		break;
	case DEST_AX:
	case DEST_AX_DX:
		lead->sets |= BIT(X86_AX) | (dest == DEST_AX_DX ? BIT(X86_DX) : 0);
		break;
	case DEST_DX:
		lead->sets |= BIT(X86_DX);
		break;
	case DEST_VECTOR:
		lead->sets_vectors |= BIT(reg);
		break;
	case DEST_VECTORS:
		lead->sets_vectors = UINT32_MAX;
		break;
	case DEST_RM_VECTOR:
		if (is_reg)
			lead->sets_vectors |= BIT(rm);
		else
			lead->stores = true;
		break;
	}
	return true;
}

/* It does nothing at all. */
static bool is_nop(unsigned bits, const uint8_t *code, const struct x86_parts *p)
{
	const uint8_t endbr = bits == 64 ? 0xfa : 0xfb;

	if (p->map == MAP_ONE)
		return p->opcode == 0x90 && !(p->rex & 1) &&
		       !(p->prefixes & (PREFIX_REPNE | PREFIX_LOCK));
	if (p->map != MAP_0F)
		return false;
	if (p->opcode == 0x1e)
		return p->prefixes == PREFIX_REP && code[p->modrm_at] == endbr;
	return p->opcode == 0x1f && !(p->prefixes & (PREFIX_REP | PREFIX_REPNE | PREFIX_LOCK));
}

static bool is_endbr(const struct x86_parts *p)
{
	return p->map == MAP_0F && p->opcode == 0x1e;
}

static bool one_lead(unsigned bits, const uint8_t *code, size_t len, const struct x86_parts *p,
		     struct lead *lead)
{
	int64_t down = moves_down(bits, code, len, p);

	if (is_push(p)) {
		lead->is_push = true;
		lead->sp_down = bits / 8;
		return true;
	}
	if (down > 0) {
		lead->sp_down = (uint32_t)down;
		/* Of the three, lea alone keeps them. */
		lead->sets |= p->opcode == 0x8d ? 0 : BIT(X86_FLAGS);
		return true;
	}
	if (!note(lead, p, dest_of(bits, p)) || lead->sets & BIT(X86_SP))
		return false;
	/* Whether it changes the flags is not worth a table: few ask for them. */
	lead->sets |= BIT(X86_FLAGS);
	lead->sets_kept = lead->sets & kept_regs(bits);
	lead->sets_arg = lead->sets & arg_regs(bits);
	return true;
}

/*
 * A static probe is a nop, or one that a longer one follows, whose place the kernel takes if it can
 * (nop,nop10): all nops in a row are one lead. Behind endbr there is nothing of the kind.
 */
bool x86_lead(unsigned bits, const uint8_t *code, size_t len, struct lead *ret_lead)
{
	struct lead *lead = ret_lead;
	struct x86_parts p;
	size_t at = 0;
	bool more = true;

	memset(lead, 0, sizeof(*lead));
	while (more) {
		int n = at < len ? x86_len(bits, code + at, len - at, 0) : 0;
		bool known = n > 0 && at + (size_t)n <= sizeof(lead->bytes) &&
			     x86_split(bits, code + at, (size_t)n, &p);

		more = known && is_nop(bits, code + at, &p);
		if (at && !more)
			break;
		if (!known || (!more && !one_lead(bits, code, (size_t)n, &p, lead)))
			return false;
		at += (size_t)n;
		more = more && !is_endbr(&p);
	}
	memcpy(lead->bytes, code, at);
	lead->len = (uint8_t)at;
	return true;
}

bool x86_find_lead(const uint8_t *code, size_t len, struct lead *ret_lead)
{
	return x86_lead(64, code, len, ret_lead);
}

/* Of 5 bytes: a call of the kernel's. Of 10: the same, behind "lea -128(%rsp),%rsp". */
static bool is_kernels_call(const uint8_t *was, const uint8_t *now, size_t len)
{
	static const uint8_t below_red_zone[] = { 0x48, 0x8d, 0x64, 0x24, 0x80 };
	struct x86_parts p;

	if (!x86_split(64, was, len, &p) || !is_nop(64, was, &p) || is_endbr(&p))
		return false;
	if (len == 5)
		return now[0] == 0xe8;
	return len == 10 && memcmp(now, below_red_zone, sizeof(below_red_zone)) == 0 &&
	       now[5] == 0xe8;
}

bool x86_lead_stands_in(unsigned bits, const struct lead *lead, const uint8_t *now)
{
	int n;

	for (size_t at = 0; at < lead->len; at += (size_t)n) {
		const uint8_t *was = lead->bytes + at;

		n = x86_len(bits, was, lead->len - at, 0);
		if (n <= 0 || at + (size_t)n > lead->len)
			return false;
		if (memcmp(now + at, was, (size_t)n) == 0 ||
		    (now[at] == 0xcc && memcmp(now + at + 1, was + 1, (size_t)n - 1) == 0))
			continue;
		if (bits != 64 || !is_kernels_call(was, now + at, (size_t)n))
			return false;
	}
	return true;
}

bool x86_lead_stands(const struct lead *lead, const uint8_t *now)
{
	return x86_lead_stands_in(64, lead, now);
}

/* A pop, behind endbr perhaps. */
bool x86_takes_return(const uint8_t *code, size_t len)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e };
	size_t at = 0;

	if (len > sizeof(endbr) && memcmp(code, endbr, sizeof(endbr)) == 0 &&
	    (code[sizeof(endbr)] & 0xfe) == 0xfa)
		at = sizeof(endbr) + 1;
	/* REX.B, or a 32-bit instruction in front of it that does nothing to the stack. */
	if (at < len && code[at] == 0x41)
		at++;
	return at < len && (code[at] & 0xf8) == 0x58;
}
