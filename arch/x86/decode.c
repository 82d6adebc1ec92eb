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
	return total <= len && total <= X86_INSN_LONGEST ? total : 0;
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
	struct x86_parts parts;
	int rc;

	pthread_mutex_lock(&lock);
	rc = known_len(bits, code, len, &parts);
	if (rc == 0 && known_find(bits, code, len, vaddr, &known))
		rc = known.len;
	else if (rc == 0 && !d->fast)
		rc = open_handle(bits, false, &d->fast, &d->fast_insn);
	if (rc == 0 && cs_disasm_iter(d->fast, &code, &len, &vaddr, d->fast_insn))
		rc = d->fast_insn->size;
	pthread_mutex_unlock(&lock);
	if (rc > 0 && rc <= X86_INSN_LONGEST)
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
			insn->size > X86_INSN_LONGEST))
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

bool x86_decode_known(unsigned bits, const uint8_t *code, size_t len,
		      struct x86_decoded *ret_insn, struct x86_parts *ret_parts)
{
	pthread_mutex_lock(&lock);
	ret_insn->len = known_len(bits, code, len, ret_parts);
	pthread_mutex_unlock(&lock);
	ret_insn->rip_relative = ret_parts->rip_relative;
	ret_insn->text[0] = '\0';
	return ret_insn->len;
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
