/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instruction decoding, twice: capstone says what an instruction is and how long;
 * x86_split finds the few parts that must be read or rewritten, which capstone
 * does not tell reliably. Where the two disagree, the instruction is refused.
 */

#include "arch/x86/x86.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define INSN_LONGEST 15

/*
 * capstone sorts tables of its own on first use, without a lock, whatever handle
 * is used: so one lock for all, which costs a tenth of a decoding. The handles are
 * dear to open and are kept.
 */
static struct {
	pthread_mutex_t lock;
	csh fast, detailed; /* 0: not open yet */
	cs_insn *fast_insn, *detailed_insn;
} decoder = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int open_handle(bool detail, csh *ret_handle, cs_insn **ret_insn)
{
	csh handle;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	cs_option(handle, CS_OPT_DETAIL, detail ? CS_OPT_ON : CS_OPT_OFF);
	*ret_insn = cs_malloc(handle);
	if (!*ret_insn) {
		cs_close(&handle);
		return -ENOMEM;
	}
	*ret_handle = handle;
	return 0;
}

int x86_insn_len(const uint8_t *code, size_t len, uint64_t vaddr)
{
	int rc = 0;

	pthread_mutex_lock(&decoder.lock);
	if (!decoder.fast)
		rc = open_handle(false, &decoder.fast, &decoder.fast_insn);
	if (rc == 0 && cs_disasm_iter(decoder.fast, &code, &len, &vaddr, decoder.fast_insn))
		rc = decoder.fast_insn->size;
	pthread_mutex_unlock(&decoder.lock);
	return rc > 0 && rc <= INSN_LONGEST ? rc : 0;
}

static bool has_rip_operand(const cs_x86 *x86)
{
	for (int i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type == X86_OP_MEM &&
		    (op->mem.base == X86_REG_RIP || op->mem.base == X86_REG_EIP))
			return true;
	}
	return false;
}

int x86_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct x86_decoded *ret)
{
	const cs_insn *insn;
	int rc = 0;

	pthread_mutex_lock(&decoder.lock);
	if (!decoder.detailed)
		rc = open_handle(true, &decoder.detailed, &decoder.detailed_insn);
	insn = decoder.detailed_insn;
	if (rc == 0 &&
	    (!cs_disasm_iter(decoder.detailed, &code, &len, &vaddr, decoder.detailed_insn) ||
	     insn->size > INSN_LONGEST))
		rc = -EILSEQ;
	if (rc == 0) {
		ret->len = (uint8_t)insn->size;
		ret->rip_relative = has_rip_operand(&insn->detail->x86);
		snprintf(ret->text, sizeof(ret->text), "%.20s%s%.58s", insn->mnemonic,
			 insn->op_str[0] ? " " : "", insn->op_str);
	}
	pthread_mutex_unlock(&decoder.lock);
	return rc;
}

/* --- parts ------------------------------------------------------------------- */

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
static size_t split_prefixes(const uint8_t *code, size_t len, struct x86_parts *p)
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
			if ((code[i] & 0xf0) != 0x40)
				return i;
			rex = code[i];
		}
		p->rex = rex; /* counts only right in front of the opcode */
	}
	return i;
}

/* Bytes of escape in front of the opcode at @code, of which one at least is there. */
static size_t split_escape(const uint8_t *code, size_t len, struct x86_parts *p)
{
	uint8_t second = len > 1 ? code[1] : 0;

	switch (code[0]) {
	case 0xc5:
		p->map = MAP_VECTOR;
		return 2;
	case 0xc4:
		p->map = MAP_VECTOR;
		return 3;
	case 0x62:
		p->map = MAP_VECTOR;
		return 4;
	case 0x8f: /* XOP where pop would be an extension it doesn't have */
		p->map = (second & 0x1f) >= 8 ? MAP_VECTOR : MAP_ONE;
		return p->map == MAP_VECTOR ? 3 : 0;
	case 0x0f:
		p->map = second == 0x38 ? MAP_0F38 : second == 0x3a ? MAP_0F3A : MAP_0F;
		return p->map == MAP_0F ? 1 : 2;
	default:
		p->map = MAP_ONE;
		return 0;
	}
}

static bool opcode_has_modrm(const struct x86_parts *p, uint8_t first)
{
	switch (p->map) {
	case MAP_ONE:
		return bit(modrm_one, p->opcode);
	case MAP_0F:
		return bit(modrm_0f, p->opcode);
	case MAP_VECTOR: /* vzeroupper has none; there is no EVEX 77 in its map */
		return first == 0x62 || first == 0x8f || p->opcode != 0x77;
	default:
		return true;
	}
}

/* From the modrm byte on. Returns the offset behind the displacement. */
static size_t split_modrm(const uint8_t *code, size_t len, size_t at, struct x86_parts *p)
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
	has_sib = rm == 4;
	if (mod == 0 && rm == 5) {
		p->rip_relative = true;
		p->disp_at = (uint8_t)at;
		return at + 4;
	}
	if (has_sib && at < len && mod == 0 && (code[at] & 7) == 5)
		return at + 1 + 4;
	return at + (has_sib ? 1 : 0) + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

bool x86_split(const uint8_t *code, size_t len, struct x86_parts *ret_parts)
{
	struct x86_parts *p = ret_parts;
	size_t at, escape_at;

	memset(p, 0, sizeof(*p));
	if (len > INSN_LONGEST)
		len = INSN_LONGEST;
	escape_at = split_prefixes(code, len, p);
	if (escape_at >= len)
		return false;
	at = escape_at + split_escape(code + escape_at, len - escape_at, p);
	if (at >= len)
		return false;
	p->opcode = code[at];
	p->opcode_at = (uint8_t)at++;
	p->has_modrm = opcode_has_modrm(p, code[escape_at]);
	if (p->has_modrm)
		at = split_modrm(code, len, at, p);
	p->end = (uint8_t)at;
	return at <= len;
}
