/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What bytes may be, without decoding what is around them. */

#include "arch/x86/refs.h"

#include <string.h>

#include "arch/x86/decode.h"

struct scan {
	const uint8_t *code;
	size_t len;
	uint64_t vaddr;
	unsigned kinds;
	void (*each)(void *ctx, uint64_t at, uint64_t target, enum code_ref kind);
	void *ctx;
};

/* A displacement at @disp_at, at the end of what starts at @at. */
static void found_wide(const struct scan *s, size_t at, size_t disp_at, enum code_ref kind)
{
	uint64_t end = s->vaddr + disp_at + 4;
	int32_t disp;

	if (!(s->kinds & kind) || disp_at > s->len || s->len - disp_at < 4)
		return;
	memcpy(&disp, s->code + disp_at, sizeof(disp));
	s->each(s->ctx, s->vaddr + at, end + (uint64_t)(int64_t)disp, kind);
}

static void found_short(const struct scan *s, size_t at)
{
	uint64_t end = s->vaddr + at + 2;

	if (!(s->kinds & REF_SHORT) || at + 2 > s->len)
		return;
	s->each(s->ctx, s->vaddr + at, end + (uint64_t)(int64_t)(int8_t)s->code[at + 1],
		REF_SHORT);
}

static uint8_t byte_at(const struct scan *s, size_t at)
{
	return at < s->len ? s->code[at] : 0;
}

static bool is_short_opcode(uint8_t byte)
{
	return (byte & 0xf0) == 0x70 || (byte & 0xfc) == 0xe0 || byte == 0xeb;
}

/* Of REF_SHORT alone. */
static void scan_short(const struct scan *s)
{
	for (size_t i = 0; i + 1 < s->len; i++)
		if (is_short_opcode(s->code[i]))
			found_short(s, i);
}

void x86_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		   void (*each)(void *ctx, uint64_t at, uint64_t target, enum code_ref kind),
		   void *ctx)
{
	const struct scan s = { code, len, vaddr, kinds, each, ctx };

	if (kinds == REF_SHORT) {
		scan_short(&s);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		switch (code[i]) {
		case 0x70 ... 0x7f: /* jcc */
		case 0xe0 ... 0xe3: /* loop, jrcxz */
		case 0xeb:          /* jmp */
			found_short(&s, i);
			break;
		case 0xe8: /* call */
		case 0xe9: /* jmp */
			found_wide(&s, i, i + 1, REF_BRANCH);
			break;
		case 0x0f: /* jcc */
			if ((byte_at(&s, i + 1) & 0xf0) == 0x80)
				found_wide(&s, i, i + 2, REF_BRANCH);
			break;
		case 0xc7: /* xbegin */
			if (byte_at(&s, i + 1) == 0xf8)
				found_wide(&s, i, i + 2, REF_BRANCH);
			break;
		case 0x8d: /* lea disp(%rip) */
			if ((byte_at(&s, i + 1) & 0xc7) == 0x05)
				found_wide(&s, i, i + 2, REF_ADDRESS);
			break;
		default:
			break;
		}
	}
}

/* Ends the modrm byte's operand with a displacement of 4 bytes? */
static bool has_wide_disp(const struct x86_parts *p, const uint8_t *code)
{
	unsigned mod = x86_modrm_mod(p), rm = p->modrm & 7;

	if (!p->has_modrm || mod == 1 || mod == 3)
		return false;
	if (mod == 2 || rm == 5)
		return true;
	/* A sib byte without a base register. */
	return rm == 4 && (code[p->modrm_at + 1] & 7) == 5;
}

bool x86_has_number_at(const struct displaced_insn *insn, size_t at)
{
	struct x86_parts p;

	/* Addresses of 16 bits have other forms. */
	if (!x86_split(insn->bits, insn->bytes, insn->len, &p) ||
	    (insn->bits == 32 && p.prefixes & PREFIX_ADDRSIZE))
		return true;
	if (at == p.end)
		return insn->len - at >= 4;
	return at + 4 == p.end && has_wide_disp(&p, insn->bytes);
}

/* Numbers of the registers in the modrm byte. */
static unsigned reg_of(const struct x86_parts *p)
{
	return x86_modrm_reg(p) | (p->rex & 4) << 1;
}

static unsigned rm_of(const struct x86_parts *p)
{
	return (p->modrm & 7u) | (p->rex & 1) << 3;
}

#define R10 10
#define R11 11

/* mov %reg,disp(%base), of another base than the stack's and than @kept. */
static bool is_store(const struct x86_parts *p, unsigned kept)
{
	unsigned rm = p->modrm & 7;

	return p->map == MAP_ONE && p->opcode == 0x89 && p->rex & 8 && p->segment == 0 &&
	       (x86_modrm_mod(p) == 1 || x86_modrm_mod(p) == 2) && rm != 4 && rm_of(p) != 5 &&
	       rm_of(p) != kept;
}

/* A call, by another register than @kept. Callees keep neither r10 nor r11. */
static bool is_call(const struct x86_parts *p, unsigned kept)
{
	if (p->map != MAP_ONE)
		return false;
	return p->opcode == 0xe8 || (p->opcode == 0xff && x86_modrm_reg(p) == 2 &&
				     x86_modrm_mod(p) == 3 && rm_of(p) != kept);
}

/* As V8 keeps where a call is made from: lea (%rip),%r10; mov %r10,off(%r13); mov %rbp,off(%r13); call *%rax */
bool x86_only_stores_address(const uint8_t *code, size_t len)
{
	struct x86_parts p;
	bool is_stored = false;
	unsigned kept;
	size_t at;

	if (!x86_split(64, code, len, &p) || p.map != MAP_ONE || p.opcode != 0x8d ||
	    !p.rip_relative || !(p.rex & 8) || (reg_of(&p) != R10 && reg_of(&p) != R11))
		return false;
	kept = reg_of(&p);
	for (at = p.end; x86_split(64, code + at, len - at, &p); at += p.end) {
		if (!is_store(&p, kept))
			return is_stored && is_call(&p, kept);
		is_stored |= reg_of(&p) == kept;
	}
	return false;
}

/* cmp $n,%reg, of 4 or 8 bytes: one more than the number, which is positive, and its length; or 0. */
static uint64_t compared_with(const uint8_t *code, size_t len, unsigned *ret_reg,
			      size_t *ret_len)
{
	struct x86_parts p;
	bool is_byte;
	int32_t n = 0;

	if (!x86_split(64, code, len, &p) || p.map != MAP_ONE || p.prefixes || p.segment)
		return 0;
	is_byte = p.opcode == 0x83;
	if (p.opcode == 0x3d)
		*ret_reg = 0;
	else if ((is_byte || p.opcode == 0x81) && x86_modrm_reg(&p) == 7 &&
		 x86_modrm_mod(&p) == 3)
		*ret_reg = rm_of(&p);
	else
		return 0;
	*ret_len = p.end + (is_byte ? 1u : 4u);
	if (*ret_len > len)
		return 0;
	if (is_byte)
		n = code[p.end] < 0x80 ? code[p.end] : 0;
	else
		memcpy(&n, code + p.end, sizeof(n));
	return n > 0 ? (uint64_t)n + 1 : 0;
}

/* ja: its length, or 0. */
static size_t leaves_above(const uint8_t *code, size_t len)
{
	struct x86_parts p;

	if (!x86_split(64, code, len, &p) || p.prefixes)
		return 0;
	if (p.map == MAP_ONE && p.opcode == 0x77)
		return p.end + 1u;
	return p.map == MAP_0F && p.opcode == 0x87 ? p.end + 4u : 0;
}

/* movslq (%table,%index,4),%any */
static bool loads_entry(const uint8_t *code, size_t len, unsigned table, unsigned index)
{
	struct x86_parts p;
	uint8_t sib;

	if (!x86_split(64, code, len, &p) || p.map != MAP_ONE || p.opcode != 0x63 ||
	    !(p.rex & 8) || p.prefixes || p.segment || x86_modrm_mod(&p) != 0 ||
	    (p.modrm & 7) != 4)
		return false;
	sib = code[p.modrm_at + 1];
	return sib >> 6 == 2 && ((sib >> 3 & 7u) | (p.rex & 2u) << 2) == index &&
	       (sib & 7) != 5 && ((sib & 7u) | (p.rex & 1u) << 3) == table;
}

/* As compilers begin a switch: cmp $n,%reg; ja; lea table(%rip),%base; movslq (%base,%reg,4) */
uint64_t x86_table_len(const uint8_t *code, size_t len, size_t at, size_t *ret_load)
{
	struct x86_parts p;
	unsigned index;
	size_t compares = 0, leaves;
	uint64_t n = compared_with(code, len, &index, &compares);

	leaves = n ? leaves_above(code + compares, len - compares) : 0;
	if (!leaves || compares + leaves != at || at >= len ||
	    !x86_split(64, code + at, len - at, &p))
		return 0;
	if (p.map != MAP_ONE || p.opcode != 0x8d || !p.rip_relative || !(p.rex & 8) ||
	    p.prefixes || reg_of(&p) == index)
		return 0;
	*ret_load = at + p.end;
	return loads_entry(code + *ret_load, len - *ret_load, reg_of(&p), index) ? n : 0;
}

/* A lea that leaves its register as it is, as assemblers fill 32-bit code. Returns its length, or 0. */
static size_t idle_lea(unsigned bits, const uint8_t *code, size_t len)
{
	size_t start = len > 0 && code[0] == 0x2e, at = start + 2, end;
	uint8_t modrm, base;

	if (bits != 32 || len < at + 2 || code[start] != 0x8d)
		return 0;
	modrm = code[start + 1];
	base = modrm & 7;
	if (base == 4) {
		/* No index. */
		if ((code[at] >> 3 & 7) != 4)
			return 0;
		base = code[at++] & 7;
	}
	end = at + (modrm >> 6 == 1 ? 1 : 4);
	if ((modrm >> 6 != 1 && modrm >> 6 != 2) || base != (modrm >> 3 & 7) || end > len)
		return 0;
	while (at < end && code[at] == 0)
		at++;
	return at == end ? at : 0;
}

size_t x86_fill(unsigned bits, const uint8_t *code, size_t len)
{
	size_t at = 0;

	while (at < len) {
		struct x86_parts p;
		size_t lea = idle_lea(bits, code + at, len - at);

		if (lea) {
			at += lea;
			continue;
		}
		if (code[at] == 0x00 || code[at] == 0xcc || code[at] == 0x90) {
			at++;
			continue;
		}
		if (!x86_split(bits, code + at, len - at, &p))
			break;
		/* xchg %ax,%ax; nopw and its longer forms */
		if (!(p.map == MAP_ONE && p.opcode == 0x90 && p.rex == 0) &&
		    !(p.map == MAP_0F && p.opcode == 0x1f))
			break;
		at += p.end;
	}
	return at;
}

size_t x86_fill_len(const uint8_t *code, size_t len)
{
	return x86_fill(64, code, len);
}

/*
 * One instruction of the check: bytes, and how many follow that may be anything.
 */
struct piece {
	const char *bytes;
	uint8_t len, any;
};

/* Returns the length, or 0 where @pieces (up to one without bytes) don't match. */
static size_t match(const uint8_t *code, size_t len, const struct piece *pieces)
{
	size_t at = 0;

	for (; pieces->bytes; pieces++) {
		size_t all = (size_t)pieces->len + pieces->any;

		if (len - at < all || memcmp(code + at, pieces->bytes, pieces->len) != 0)
			return 0;
		at += all;
	}
	return at;
}

size_t x86_go_check_len(const uint8_t *code, size_t len)
{
	static const struct piece checks[][5] = {
		{ { "\x49\x3b\x66\x10", 4, 0 } }, /* cmp 16(%r14),%rsp */
		{ { "\x4c\x8d\x64\x24", 4, 1 },
		  { "\x4d\x3b\x66\x10", 4, 0 } }, /* lea,%r12; cmp */
		{ { "\x4c\x8d\xa4\x24", 4, 4 }, { "\x4d\x3b\x66\x10", 4, 0 } },
		/* mov %rsp,%r12; sub $frame,%r12; jb; cmp */
		{ { "\x49\x89\xe4", 3, 0 },
		  { "\x49\x81\xec", 3, 4 },
		  { "\x72", 1, 1 },
		  { "\x4d\x3b\x66\x10", 4, 0 } },
		{ { "\x49\x89\xe4", 3, 0 },
		  { "\x49\x81\xec", 3, 4 },
		  { "\x0f\x82", 2, 4 },
		  { "\x4d\x3b\x66\x10", 4, 0 } },
		/* Before Go 1.17: mov %fs:-8,%rcx, then cmp 16(%rcx),%rsp; lea,%rax; cmp */
		{ { "\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff", 9, 0 },
		  { "\x48\x3b\x61\x10", 4, 0 } },
		{ { "\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff", 9, 0 },
		  { "\x48\x8d\x44\x24", 4, 1 },
		  { "\x48\x3b\x41\x10", 4, 0 } },
		{ { "\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff", 9, 0 },
		  { "\x48\x8d\x84\x24", 4, 4 },
		  { "\x48\x3b\x41\x10", 4, 0 } },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		size_t n = match(code, len, checks[i]);

		if (n == 0)
			continue;
		/* jbe */
		if (len - n >= 2 && code[n] == 0x76)
			return n + 2;
		if (len - n >= 6 && code[n] == 0x0f && code[n + 1] == 0x86)
			return n + 6;
	}
	return 0;
}
