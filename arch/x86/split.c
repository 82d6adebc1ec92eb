/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* The few parts of an instruction that must be read or rewritten, which capstone does not tell reliably. */

#include "arch/x86/split.h"

#include <string.h>

/* Opcodes followed by a modrm byte: a bit each, lowest bit of [0] is opcode 0. */
static const uint32_t modrm_one[8] = {
	0x0f0f0f0f, /* 00-1f: add or adc sbb */
	0x0f0f0f0f, /* 20-3f: and sub xor cmp */
	0x00000000, /* 40-5f: rex, push, pop */
	0x00000a08, /* 60-7f: movsxd 63, imul 69 6b */
	0x0000ffff, /* 80-9f: 80-8f */
	0x00000000, /* a0-bf */
	0xff0f00c3, /* c0-df: shifts c0 c1, mov c6 c7, shifts d0-d3, x87 d8-df */
	0xc0c00000, /* e0-ff: f6 f7 fe ff */
};
static const uint32_t modrm_0f[8] = {
	0xffffa00f, /* 00-1f: 00-03, prefetch 0d, 3dnow 0f, 10-1f */
	0x0000ff0f, /* 20-3f: 20-23, 28-2f */
	0xffffffff, /* 40-5f */
	0xff7fffff, /* 60-7f: all but emms 77 */
	0xffff0000, /* 80-9f: setcc */
	0xfffff8f8, /* a0-bf: not push/pop fs gs, cpuid, rsm */
	0xffff00ff, /* c0-df: not bswap c8-cf */
	0xffffffff, /* e0-ff */
};

static bool bit(const uint32_t table[8], uint8_t opcode)
{
	return table[opcode / 32] >> opcode % 32 & 1;
}

/* Takes prefixes off. Returns the offset behind them. */
static size_t split_prefixes(unsigned bits, const uint8_t *code, size_t len,
			     struct x86_parts *p)
{
	size_t i;

	for (i = 0; i < len; i++) {
		uint8_t rex = 0;

		switch (code[i]) {
		case 0x66:
			p->prefixes |= PREFIX_OPSIZE;
			break;
		case 0x67:
			p->prefixes |= PREFIX_ADDRSIZE;
			break;
		case 0xf0:
			p->prefixes |= PREFIX_LOCK;
			break;
		case 0xf2:
			p->prefixes |= PREFIX_REPNE;
			break;
		case 0xf3:
			p->prefixes |= PREFIX_REP;
			break;
		case 0x64:
		case 0x65:
			p->segment = code[i];
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			break;
		default:
			if (bits == 32 || (code[i] & 0xf0) != 0x40)
				return i;
			rex = code[i];
		}
		p->rex = rex; /* counts only right in front of the opcode */
	}
	return i;
}

/* Bytes of escape in front of the opcode at @code, of which one at least is there. */
static size_t split_escape(unsigned bits, const uint8_t *code, size_t len, struct x86_parts *p)
{
	uint8_t second = len > 1 ? code[1] : 0;
	/* In 32 bits les, lds and bound, which take memory alone, unless it would be a register. */
	bool is_old = bits == 32 && (second & 0xc0) != 0xc0;

	if (is_old && (code[0] == 0xc4 || code[0] == 0xc5 || code[0] == 0x62)) {
		p->map = MAP_ONE;
		return 0;
	}
	switch (code[0]) {
	case 0xc5:
		p->map = MAP_VEX;
		p->vector_map = 1;
		return 2;
	case 0xc4:
		p->map = MAP_VEX;
		p->vector_map = second & 0x1f;
		return 3;
	case 0x62:
		p->map = MAP_EVEX;
		p->vector_map = second & 7;
		return 4;
	case 0x8f: /* XOP where pop would be an extension it doesn't have */
		p->map = (second & 0x1f) >= 8 ? MAP_XOP : MAP_ONE;
		p->vector_map = second & 0x1f;
		return p->map == MAP_XOP ? 3 : 0;
	case 0x0f:
		p->map = second == 0x38 ? MAP_0F38 : second == 0x3a ? MAP_0F3A : MAP_0F;
		return p->map == MAP_0F ? 1 : 2;
	default:
		p->map = MAP_ONE;
		return 0;
	}
}

static bool opcode_has_modrm(const struct x86_parts *p)
{
	switch (p->map) {
	case MAP_ONE:
		return bit(modrm_one, p->opcode) || p->opcode == 0x62 || p->opcode == 0xc4 ||
		       p->opcode == 0xc5;
	case MAP_0F:
		return bit(modrm_0f, p->opcode);
	case MAP_VEX: /* all but vzeroupper */
		return p->vector_map != 1 || p->opcode != 0x77;
	default:
		return true;
	}
}

/* Bytes of displacement of a 16-bit address. */
static size_t disp16_len(unsigned mod, unsigned rm)
{
	return mod == 1 ? 1 : mod == 2 || rm == 6 ? 2 : 0;
}

/* From the modrm byte on. Returns the offset behind the displacement. */
static size_t split_modrm(unsigned bits, const uint8_t *code, size_t len, size_t at,
			  struct x86_parts *p)
{
	bool has_sib, moves_control = p->map == MAP_0F && (p->opcode & 0xfc) == 0x20;
	unsigned mod, rm;

	if (at >= len)
		return len + 1;
	p->modrm = code[at];
	p->modrm_at = (uint8_t)at++;
	mod = x86_modrm_mod(p);
	rm = p->modrm & 7;
	if (mod == 3 || moves_control) /* control and debug registers: whatever mod says */
		return at;
	if (bits == 32 && (p->prefixes & PREFIX_ADDRSIZE))
		return at + disp16_len(mod, rm);
	has_sib = rm == 4;
	if (mod == 0 && rm == 5 && bits == 32)
		return at + 4;
	if (mod == 0 && rm == 5) {
		p->rip_relative = true;
		p->disp_at = (uint8_t)at;
		return at + 4;
	}
	if (has_sib && at < len && mod == 0 && (code[at] & 7) == 5)
		return at + 1 + 4;
	return at + (has_sib ? 1 : 0) + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

bool x86_split(unsigned bits, const uint8_t *code, size_t len, struct x86_parts *ret_parts)
{
	struct x86_parts *p = ret_parts;
	size_t at, escape_at;

	memset(p, 0, sizeof(*p));
	if (len > X86_INSN_LONGEST)
		len = X86_INSN_LONGEST;
	escape_at = split_prefixes(bits, code, len, p);
	if (escape_at >= len)
		return false;
	at = escape_at + split_escape(bits, code + escape_at, len - escape_at, p);
	if (at >= len)
		return false;
	p->opcode = code[at];
	p->opcode_at = (uint8_t)at++;
	p->has_modrm = opcode_has_modrm(p);
	if (p->has_modrm)
		at = split_modrm(bits, code, len, at, p);
	p->end = (uint8_t)at;
	return at <= len;
}
