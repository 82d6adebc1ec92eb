/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Instruction decoding, twice: capstone says what an instruction is and how long;
 * x86_split finds the few parts that must be read or rewritten, which capstone
 * does not tell reliably. Where the two disagree, the instruction is refused.
 */

#include "arch/x86/decode.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "arch/capstone.h"
#include "arch/x86/known.h"

#define INSN_LONGEST 15

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
	if (len > INSN_LONGEST)
		len = INSN_LONGEST;
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

/*
 * Length of an instruction that capstone doesn't know but whose layout leaves no
 * doubt: the vector maps (capstone 4 lacks half of AVX-512, AMX and FP16), hints
 * (rdssp is one), incssp, rdpkru and wrpkru. 0: not one of these.
 */
static size_t regular_len(unsigned bits, const uint8_t *code, size_t len)
{
	struct x86_parts p;
	bool has_imm = false;
	size_t total;

	if (!x86_split(bits, code, len, &p))
		return 0;
	switch (p.map) {
	case MAP_0F:
		if ((p.opcode & 0xf8) != 0x18 &&
		    !(p.opcode == 0x01 && (p.modrm & 0xfe) == 0xee) &&
		    !(p.opcode == 0xae && (p.prefixes & PREFIX_REP) &&
		      (p.modrm & 0xf8) == 0xe8))
			return 0;
		break;
	case MAP_VEX:
	case MAP_EVEX:
		if (p.vector_map == 1)
			has_imm = (p.opcode & 0xfc) == 0x70 || p.opcode == 0xc2 ||
				  (p.opcode >= 0xc4 && p.opcode <= 0xc6);
		else if (p.vector_map == 3)
			has_imm = true;
		else if (p.vector_map != 2 &&
			 (p.map == MAP_VEX || (p.vector_map != 5 && p.vector_map != 6)))
			return 0;
		break;
	default:
		return 0;
	}
	total = p.end + (has_imm ? 1u : 0u);
	return total <= len && total <= INSN_LONGEST ? total : 0;
}

/* --- capstone ---------------------------------------------------------------- */

/*
 * capstone sorts tables of its own on first use, without a lock, whatever handle
 * is used: so one lock for all, which costs a tenth of a decoding. The handles are
 * dear to open and are kept.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct decoder {
	csh fast, detailed; /* 0: not open yet */
	cs_insn *fast_insn, *detailed_insn;
} decoders[2]; /* of 32 and 64 bits */

static struct decoder *decoder_of(unsigned bits)
{
	return &decoders[bits == 64];
}

static int open_handle(unsigned bits, bool detail, csh *ret_handle, cs_insn **ret_insn)
{
	csh handle;

	if (capstone_open(CS_ARCH_X86, bits == 64 ? CS_MODE_64 : CS_MODE_32, &handle) !=
	    CS_ERR_OK)
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

int x86_len(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr)
{
	struct decoder *d = decoder_of(bits);
	const uint8_t *start = code;
	size_t start_len = len;
	struct x86_decoded known;
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (known_find(bits, code, len, vaddr, &known))
		rc = known.len;
	else if (!d->fast)
		rc = open_handle(bits, false, &d->fast, &d->fast_insn);
	if (rc == 0 && cs_disasm_iter(d->fast, &code, &len, &vaddr, d->fast_insn))
		rc = d->fast_insn->size;
	pthread_mutex_unlock(&lock);
	if (rc > 0 && rc <= INSN_LONGEST)
		return rc;
	return (int)regular_len(bits, start, start_len);
}

int x86_insn_len(const uint8_t *code, size_t len, uint64_t vaddr)
{
	return x86_len(64, code, len, vaddr);
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

/* What capstone makes of it. Returns 0, -EILSEQ or -ENOMEM. */
static int disassemble(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
		       struct x86_decoded *ret)
{
	struct decoder *d = decoder_of(bits);
	const cs_insn *insn;
	const uint8_t *start = code;
	uint64_t at = vaddr;
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (known_find(bits, code, len, vaddr, ret)) {
		pthread_mutex_unlock(&lock);
		return 0;
	}
	if (!d->detailed)
		rc = open_handle(bits, true, &d->detailed, &d->detailed_insn);
	insn = d->detailed_insn;
	if (rc == 0 && (!cs_disasm_iter(d->detailed, &code, &len, &vaddr, d->detailed_insn) ||
			insn->size > INSN_LONGEST))
		rc = -EILSEQ;
	if (rc == 0) {
		ret->len = (uint8_t)insn->size;
		ret->rip_relative = has_rip_operand(&insn->detail->x86);
		snprintf(ret->text, sizeof(ret->text), "%.20s%s%.58s", insn->mnemonic,
			 insn->op_str[0] ? " " : "", insn->op_str);
		known_add(bits, start, at, ret);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int x86_decode(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
	       struct x86_decoded *ret_insn, struct x86_parts *ret_parts)
{
	size_t at = 0;
	int rc;

	rc = disassemble(bits, code, len, vaddr, ret_insn);
	if (rc == 0 && (!x86_split(bits, code, ret_insn->len, ret_parts) ||
			ret_parts->rip_relative != ret_insn->rip_relative))
		return -EILSEQ;
	if (rc != -EILSEQ)
		return rc;
	ret_insn->len = (uint8_t)regular_len(bits, code, len);
	if (ret_insn->len == 0 || !x86_split(bits, code, ret_insn->len, ret_parts))
		return -EILSEQ;
	ret_insn->rip_relative = ret_parts->rip_relative;
	for (size_t i = 0; i < ret_insn->len; i++)
		at += (size_t)snprintf(ret_insn->text + at, sizeof(ret_insn->text) - at,
				       "%s%02x", i ? " " : "(nameless) ", code[i]);
	return 0;
}
