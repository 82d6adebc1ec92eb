/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "arch/x86/flags.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/x86/decode.h"
#include "arch/x86/split.h"

#define INSNS_MAX 64

enum effect {
	NO_EFFECT, /* or not all of them */
	READS,
	SETS,   /* all that a later instruction could ask for */
	LEAVES, /* for another function, or the kernel */
	GOES,   /* a jump: to where its distance says */
};

/* add, or, adc, sbb, and, sub, xor, cmp, by their numbers. */
static enum effect of_sum(unsigned digit)
{
	return digit == 2 || digit == 3 ? READS : SETS;
}

static enum effect of_one_byte(const struct x86_parts *p)
{
	unsigned digit = x86_modrm_reg(p);

	if (p->opcode < 0x40)
		return (p->opcode & 7) <= 5 ? of_sum(p->opcode >> 3) : NO_EFFECT;
	if ((p->opcode & 0xf0) == 0x70) /* jcc */
		return READS;
	switch (p->opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		return of_sum(digit);
	case 0x84:
	case 0x85:
	case 0xa8:
	case 0xa9: /* test */
		return SETS;
	case 0xc0:
	case 0xc1:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3: /* rcl, rcr */
		return digit == 2 || digit == 3 ? READS : NO_EFFECT;
	case 0x9c: /* pushf, lahf; cmc; loopne, loope */
	case 0x9f:
	case 0xf5:
	case 0xe0:
	case 0xe1:
		return READS;
	case 0xf6:
	case 0xf7: /* test, neg */
		return digit <= 1 || digit == 3 ? SETS : NO_EFFECT;
	case 0xff: /* call, jmp */
		return digit >= 2 && digit <= 5 ? LEAVES : NO_EFFECT;
	case 0xc2:
	case 0xc3:
	case 0xe8: /* ret, call */
		return LEAVES;
	case 0xe9:
	case 0xeb:
		return GOES;
	default:
		return NO_EFFECT;
	}
}

static enum effect of_two_bytes(const struct x86_parts *p)
{
	switch (p->opcode & 0xf0) {
	case 0x40: /* cmovcc, jcc, setcc */
	case 0x80:
	case 0x90:
		return READS;
	default:
		return p->opcode == 0x05 ? LEAVES : NO_EFFECT; /* syscall */
	}
}

static enum effect effect_of(const struct x86_parts *p)
{
	if (p->map == MAP_ONE)
		return of_one_byte(p);
	if (p->map == MAP_0F)
		return of_two_bytes(p);
	return p->map == MAP_0F38 && p->opcode == 0xf6 ? READS : NO_EFFECT; /* adcx, adox */
}

static int64_t distance(const uint8_t *code, const struct x86_parts *p)
{
	int32_t wide;

	if (p->opcode == 0xeb)
		return (int8_t)code[p->end];
	memcpy(&wide, code + p->end, sizeof(wide));
	return wide;
}

bool x86_ignores_flags(const uint8_t *code, size_t len)
{
	size_t at = 0;

	for (unsigned i = 0; i < INSNS_MAX && at < len; i++) {
		int n = x86_len(64, code + at, len - at, 0);
		struct x86_parts p;
		enum effect effect;
		int64_t to;

		if (n <= 0 || !x86_split(64, code + at, (size_t)n, &p))
			return false;
		effect = effect_of(&p);
		if (effect == READS)
			return false;
		if (effect == SETS || effect == LEAVES)
			return true;
		to = (int64_t)at + n + (effect == GOES ? distance(code + at, &p) : 0);
		/* To another function. */
		if (effect == GOES && (to < 0 || to >= (int64_t)len))
			return true;
		at = (size_t)to;
	}
	return false;
}

#define SP 4 /* in a modrm byte: a sib byte follows; there: the stack pointer, or no index */

bool x86_may_fault(const struct displaced_insn *insn)
{
	struct x86_parts p;
	uint8_t sib;

	if (!x86_split(64, insn->bytes, insn->len, &p) || p.map == MAP_EVEX || p.map == MAP_XOP)
		return true;
	if (!p.has_modrm) /* with an address of 8 bytes; strings; xlat */
		return p.map == MAP_ONE &&
		       ((p.opcode >= 0xa0 && p.opcode <= 0xa7) || p.opcode == 0xd7 ||
			(p.opcode >= 0xaa && p.opcode <= 0xaf));
	if (x86_modrm_mod(&p) == 3 || (p.map == MAP_ONE && p.opcode == 0x8d) ||
	    (p.map == MAP_0F && p.opcode == 0x1f))
		return p.map == MAP_ONE && (p.opcode == 0xf6 || p.opcode == 0xf7) &&
		       x86_modrm_reg(&p) >= 6; /* div */
	if (p.segment)
		return true;
	if (p.rip_relative)
		return false;
	sib = insn->bytes[p.modrm_at + 1];
	return (p.modrm & 7) != SP || (sib & 7) != SP || (sib >> 3 & 7) != SP || p.rex & 3;
}
