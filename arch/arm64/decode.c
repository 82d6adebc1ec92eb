/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the bits of an instruction say about where it may run. Each is four bytes, so all
 * that matters is which depend on the pc, which go elsewhere, and which a breakpoint near
 * by would break: few, in a regular encoding. All others run anywhere, known or not: one
 * that the processor doesn't have is refused by it in a slot as well as in the program.
 * Only among branches what is not known is nothing that may be moved.
 *
 * Bits are quoted as in the Arm Architecture Reference Manual, C4.1.
 */

#include "arch/arm64/decode.h"

#include "arch/arm64/regs.h"

static const char why_breakpoint[] = "it is a breakpoint itself";
static const char why_undefined[] = "it is undefined for good: data, or a trap";
static const char why_kernel[] = "only the kernel may run it";
static const char why_gate[] = "it enters another level than the kernel";
static const char why_debugger[] = "it is for debuggers";
static const char why_exclusive[] =
	"the reservation of memory that it makes or needs does not survive a breakpoint";
static const char why_pair[] = "it and the instruction behind it are one";
static const char why_mops[] =
	"the kernel looks for the other instructions of a memory copy next to it";
static const char why_sign_pc[] = "it signs or checks with its own address";
static const char why_compare[] = "a compare and branch that is not known well enough";
static const char why_tsx[] = "a transaction does not survive a breakpoint";
static const char why_link[] = "it goes by the register that it changes";

/* Field of @bits at @at, as a signed number. */
static int64_t field(uint32_t word, unsigned at, unsigned bits)
{
	uint32_t value = word >> at & ((UINT32_C(1) << bits) - 1);

	return value >> (bits - 1) ? (int64_t)value - (INT64_C(1) << bits) : (int64_t)value;
}

static bool is(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

static struct arm64_decoded plain(enum arm64_form form)
{
	return (struct arm64_decoded){ .form = form };
}

static struct arm64_decoded refused(const char *why)
{
	return (struct arm64_decoded){ .form = ARM64_REFUSED, .why = why };
}

/* A target of @bits at @at, counted in words. */
static struct arm64_decoded leads_to(enum arm64_form form, uint32_t word, uint64_t vaddr,
				     unsigned at, unsigned bits)
{
	return (struct arm64_decoded){
		.form = form, .target = vaddr + (uint64_t)field(word, at, bits) * ARM64_INSN
	};
}

/* --- data processing with immediates -------------------------------------------------- */

static struct arm64_decoded decode_immediate(uint32_t word, uint64_t vaddr)
{
	uint64_t low = word >> 29 & 3, offset = (uint64_t)field(word, 5, 19) << 2 | low;

	if (is(word, 0xffc0001f, 0xf380001f)) /* autiasppc, autibsppc */
		return refused(why_sign_pc);
	if (!is(word, 0x1f000000, 0x10000000))
		return plain(ARM64_COPY);
	return (struct arm64_decoded){
		.form = arm64_rd(word) == 31 ? ARM64_NOTHING : ARM64_ADDRESS,
		.target = word >> 31 ? (vaddr & ~UINT64_C(0xfff)) + (offset << 12)
				     : vaddr + offset,
	};
}

/* --- branches, exceptions, system ----------------------------------------------------- */

static struct arm64_decoded decode_exception(uint32_t word)
{
	switch (word & 0xffe0001f) {
	case 0xd4000001: /* svc */
		return plain(ARM64_SYSCALL);
	case 0xd4000002: /* hvc */
	case 0xd4000003: /* smc */
		return refused(why_gate);
	case ARM64_BRK:
		return refused(why_breakpoint);
	case 0xd4400000: /* hlt */
	case 0xd4a00001: /* dcps1 */
	case 0xd4a00002:
	case 0xd4a00003:
		return refused(why_debugger);
	case 0xd4600000: /* tcancel */
		return refused(why_tsx);
	default:
		return plain(ARM64_UNKNOWN);
	}
}

/* msr of a field of pstate: @field is op1 and op2. */
static struct arm64_decoded decode_msr_field(uint32_t word)
{
	switch ((word >> 16 & 7) << 3 | (word >> 5 & 7)) {
	case 0: /* cfinv, xaflag, axflag */
	case 1:
	case 2:
	case 031: /* ssbs, dit, sm and za, tco */
	case 032:
	case 033:
	case 034:
		return plain(ARM64_COPY);
	default:
		return refused(why_kernel);
	}
}

/* d5xxxxxx */
static struct arm64_decoded decode_system(uint32_t word)
{
	if (word == ARM64_NOP)
		return plain(ARM64_NOTHING);
	if (is(word, 0xfff8f01f, 0xd500401f))
		return decode_msr_field(word);
	if (is(word, 0xffffffe0, 0xd5233060) || is(word, 0xffffffff, 0xd503307f))
		return refused(why_tsx); /* tstart, tcommit */
	/* msr, msrr of a register that programs have none of */
	if ((is(word, 0xfff00000, 0xd5100000) || is(word, 0xfff00000, 0xd5500000)) &&
	    !is(word, 0x000f0000, 0x000b0000))
		return refused(why_kernel);
	/* tlbi, at, and what of ic and dc is not for programs */
	if (is(word, 0xffd80000, 0xd5080000) && !is(word, 0x00070000, 0x00030000))
		return refused(why_kernel);
	return plain(ARM64_COPY);
}

/* d6xxxxxx, d7xxxxxx: branches to what a register says. */
static struct arm64_decoded decode_register_branch(uint32_t word)
{
	bool is_link = arm64_rn(word) == ARM64_X30;

	if (is(word, 0xfffffc1f, 0xd63f0000)) /* blr */
		return is_link ? refused(why_link) : plain(ARM64_BLR);
	if (is(word, 0xfffff81f, 0xd63f081f)) /* blraaz, blrabz */
		return is_link ? refused(why_link) : plain(ARM64_BLR_AUTH);
	if (is(word, 0xfffff800, 0xd73f0800)) /* blraa, blrab: the last register modifies */
		return is_link || arm64_rd(word) == ARM64_X30 ? refused(why_link)
							      : plain(ARM64_BLR_AUTH);
	if (is(word, 0xfffffc1f, 0xd61f0000) || /* br */
	    is(word, 0xfffff81f, 0xd61f081f) || /* braaz, brabz */
	    is(word, 0xfffff800, 0xd71f0800) || /* braa, brab */
	    is(word, 0xfffffc1f, 0xd65f0000) || /* ret */
	    is(word, 0xfffffbe0, 0xd65f0be0))   /* retaa, retab, retaasppcr, retabsppcr */
		return plain(ARM64_LEAVE);
	if (is(word, 0xff9f0000, 0xd69f0000)) /* eret, drps and their kin */
		return refused(why_kernel);
	return plain(ARM64_UNKNOWN);
}

static struct arm64_decoded decode_branch(uint32_t word, uint64_t vaddr)
{
	if (is(word, 0xfc000000, 0x14000000))
		return leads_to(ARM64_B, word, vaddr, 0, 26);
	if (is(word, 0xfc000000, 0x94000000))
		return leads_to(ARM64_BL, word, vaddr, 0, 26);
	if (is(word, 0xff000000, 0x54000000)) /* b.cond, bc.cond */
		return leads_to(ARM64_B_IF, word, vaddr, 5, 19);
	if (is(word, 0x7e000000, 0x34000000)) /* cbz, cbnz */
		return leads_to(ARM64_B_IF, word, vaddr, 5, 19);
	if (is(word, 0x7e000000, 0x36000000)) /* tbz, tbnz */
		return leads_to(ARM64_B_IF, word, vaddr, 5, 14);
	if (is(word, 0xffc0001f, 0x5500001f)) /* retaasppc, retabsppc */
		return refused(why_sign_pc);
	if (is(word, 0x7e000000, 0x74000000)) /* cbgt and its kin */
		return refused(why_compare);
	switch (word >> 24) {
	case 0xd4:
		return decode_exception(word);
	case 0xd5:
		return decode_system(word);
	case 0xd6:
	case 0xd7:
		return decode_register_branch(word);
	default:
		return plain(ARM64_UNKNOWN);
	}
}

/* --- loads and stores ----------------------------------------------------------------- */

/* Of one register or two, exclusive: not the compare-and-swaps among them. */
static bool is_exclusive(uint32_t word)
{
	bool is_ordered = word >> 23 & 1, has_two = word >> 21 & 1, is_word = word >> 31;

	/* Below 08xxxxxx those that act as an unprivileged one does. */
	return (is(word, 0x3f000000, 0x08000000) && !is_ordered && (!has_two || is_word)) ||
	       (is(word, 0x3f000000, 0x09000000) && !is_ordered && !has_two);
}

bool arm64_is_load_exclusive(uint32_t word)
{
	return is_exclusive(word) && word >> 22 & 1;
}

bool arm64_is_store_exclusive(uint32_t word)
{
	return is_exclusive(word) && !(word >> 22 & 1);
}

/* ldr of what stands at a distance from the pc: @kind is V and opc. */
static struct arm64_decoded decode_literal(uint32_t word, uint64_t vaddr)
{
	bool is_simd = word >> 26 & 1, is_last = word >> 30 == 3;
	enum arm64_form form = is_simd ? ARM64_LOAD_SIMD : ARM64_LOAD;
	struct arm64_decoded d;

	if (is_simd && is_last)
		return plain(ARM64_UNKNOWN);
	/* prfm; and text is there, so that reading it has no other effect */
	if (!is_simd && (is_last || arm64_rd(word) == 31))
		form = ARM64_NOTHING;
	d = leads_to(form, word, vaddr, 5, 19);
	if (is_simd || !is_last)
		d.literal_len = is_simd           ? (uint8_t)(4 << (word >> 30))
				: word >> 30 == 1 ? 8
						  : 4;
	return d;
}

static struct arm64_decoded decode_memory(uint32_t word, uint64_t vaddr)
{
	if (is(word, 0x3b000000, 0x18000000))
		return decode_literal(word, vaddr);
	if (is_exclusive(word))
		return refused(why_exclusive);
	if (is(word, 0x3b200c00, 0x19000400)) /* cpyfp ... sete */
		return refused(why_mops);
	return plain(ARM64_COPY);
}

/* --- the rest ------------------------------------------------------------------------- */

bool arm64_is_prefix(uint32_t word)
{
	return is(word, 0xfffffc00, 0x0420bc00) || is(word, 0xff3ee000, 0x04102000) ||
	       word == 0xd50324ff;
}

struct arm64_decoded arm64_decode(uint32_t word, uint64_t vaddr)
{
	if (arm64_is_prefix(word))
		return refused(why_pair);
	switch (word >> 25 & 15) {
	case 0: /* reserved; matrices, of which all is known to run anywhere */
		return word >> 31        ? plain(ARM64_COPY)
		       : word >> 16 == 0 ? refused(why_undefined)
					 : plain(ARM64_UNKNOWN);
	case 1:
	case 3:
		return plain(ARM64_UNKNOWN);
	case 2:
		return plain(ARM64_COPY);
	case 8:
	case 9:
		return decode_immediate(word, vaddr);
	case 10:
	case 11:
		return decode_branch(word, vaddr);
	case 4:
	case 6:
	case 12:
	case 14:
		return decode_memory(word, vaddr);
	case 5:
	case 13:
		/* pacnbiasppc, pacnbibsppc; paciasppc, pacibsppc */
		return is(word, 0xfffffbff, 0xdac183fe) || is(word, 0xfffffbff, 0xdac1a3fe)
			       ? refused(why_sign_pc)
			       : plain(ARM64_COPY);
	default: /* floating point and vectors */
		return plain(ARM64_COPY);
	}
}

int arm64_insn_len(const uint8_t *code, size_t len, uint64_t vaddr)
{
	(void)code;
	(void)vaddr;
	/* Data among instructions is as long. */
	return len < ARM64_INSN ? 0 : ARM64_INSN;
}
