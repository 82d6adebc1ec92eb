/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What may be displaced, and which form its slot takes. */

#include "arch/x86/classify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arch/x86/decode.h"
#include "arch/x86/regs.h"
#include "engine/base/err.h"

static const char why_breakpoint[] = "it is a breakpoint itself";
static const char why_gate[] = "it enters the kernel by a gate";
static const char why_far[] = "a far transfer";
static const char why_halt[] = "only the kernel may run it";
static const char why_port[] = "port input and output";
static const char why_iflag[] = "it changes the interrupt flag";
static const char why_ss[] = "it holds off the traps of the instruction behind it";
static const char why_vm[] = "an instruction for hypervisors";
static const char why_tsx[] = "a transaction does not survive a breakpoint";
static const char why_opsize[] = "makers disagree about a 66 prefix on a branch";
static const char why_opsize_32[] = "a branch that leaves 16 bits of the address";
static const char why_vdso[] = "the kernel returns from it to the vdso alone";

/* One-byte opcodes. Returns why not, or NULL. */
static const char *refuse_one(const struct x86_parts *p)
{
	unsigned reg = x86_modrm_reg(p);

	switch (p->opcode) {
	case 0xcc: /* int3 */
	case 0xf1: /* int1 */
		return why_breakpoint;
	case 0xcd: /* int N; form_of() has seen to int $0x80 */
	case 0xce: /* into */
		return why_gate;
	case 0x9a: /* lcall */
	case 0xea: /* ljmp */
	case 0xca: /* lret */
	case 0xcb:
	case 0xcf: /* iret */
		return why_far;
	case 0xff:
		return reg == 3 || reg == 5 ? why_far : NULL;
	case 0xf4: /* hlt */
		return why_halt;
	case 0xfa: /* cli */
	case 0xfb: /* sti */
		return why_iflag;
	case 0x6c: /* ins, outs */
	case 0x6d:
	case 0x6e:
	case 0x6f:
	case 0xe4: /* in, out */
	case 0xe5:
	case 0xe6:
	case 0xe7:
	case 0xec:
	case 0xed:
	case 0xee:
	case 0xef:
		return why_port;
	case 0x17: /* pop %ss */
		return why_ss;
	case 0x8e: /* mov to a segment register */
		return reg == 2 ? why_ss : NULL;
	case 0xc7: /* xbegin */
		return p->modrm == 0xf8 ? why_tsx : NULL;
	default:
		return NULL;
	}
}

/* Opcodes behind 0f. */
static const char *refuse_0f(const struct x86_parts *p)
{
	bool plain = !(p->prefixes & (PREFIX_OPSIZE | PREFIX_REP | PREFIX_REPNE));
	unsigned reg = x86_modrm_reg(p);

	switch (p->opcode) {
	case 0x07: /* sysret */
	case 0x34: /* sysenter */
	case 0x35: /* sysexit */
		return why_gate;
	case 0xaa: /* rsm */
		return why_halt;
	case 0x01: /* vmcall ... vmxoff; vmrun ... invlpga; vmfunc */
		if ((p->modrm >= 0xc1 && p->modrm <= 0xc4) ||
		    (p->modrm >= 0xd8 && p->modrm <= 0xdf) || p->modrm == 0xd4)
			return why_vm;
		return NULL;
	case 0x78: /* vmread, vmwrite; with a prefix extrq, insertq */
	case 0x79:
		return plain ? why_vm : NULL;
	case 0xc7: /* vmptrld, vmclear, vmxon, vmptrst; with registers rdrand, rdseed */
		return x86_modrm_mod(p) != 3 && reg >= 6 ? why_vm : NULL;
	default:
		return NULL;
	}
}

static const char *refuse(unsigned bits, const struct displaced_insn *insn,
			  const struct x86_parts *p)
{
	if (insn->form == FORM_SYSCALL)
		return NULL;
	if (bits == 32 && p->map == MAP_0F && (p->opcode == 0x05 || p->opcode == 0x34))
		return why_vdso; /* syscall, sysenter */
	switch (p->map) {
	case MAP_ONE:
		return refuse_one(p);
	case MAP_0F:
		return refuse_0f(p);
	case MAP_0F38: /* invept, invvpid */
		return (p->opcode == 0x80 || p->opcode == 0x81) ? why_vm : NULL;
	default:
		return NULL;
	}
}

static bool is_syscall(unsigned bits, const uint8_t *code, const struct x86_parts *p)
{
	return bits == 64 ? p->map == MAP_0F && p->opcode == 0x05
			  : p->map == MAP_ONE && p->opcode == 0xcd && code[p->end] == 0x80;
}

static enum x86_form form_of(unsigned bits, const uint8_t *code, const struct x86_parts *p)
{
	unsigned reg = x86_modrm_reg(p);

	if (is_syscall(bits, code, p))
		return FORM_SYSCALL;
	if (p->map == MAP_0F && (p->opcode & 0xf0) == 0x80)
		return FORM_JCC;
	if (p->map != MAP_ONE)
		return FORM_COPY;
	if ((p->opcode & 0xf0) == 0x70)
		return FORM_JCC;
	if ((p->opcode & 0xfc) == 0xe0)
		return FORM_LOOP;
	switch (p->opcode) {
	case 0xc2:
	case 0xc3:
		return FORM_LEAVE;
	case 0xe8:
		return FORM_CALL;
	case 0xe9:
	case 0xeb:
		return FORM_JMP;
	case 0xff:
		return reg == 2 ? FORM_CALL_IND : reg == 4 ? FORM_LEAVE : FORM_COPY;
	default:
		return FORM_COPY;
	}
}

/* Signed little-endian number of 1 or 4 bytes. */
static int64_t read_disp(const uint8_t *code, size_t size)
{
	int32_t wide;

	if (size == 1)
		return (int8_t)code[0];
	memcpy(&wide, code, sizeof(wide));
	return wide;
}

/*
 * Fill in what the operands say. Returns false when the number of bytes left for
 * the immediate isn't what the opcode takes: the decoders disagree.
 */
static bool set_target(struct displaced_insn *insn, const struct x86_parts *p)
{
	uint64_t next = insn->vaddr + insn->len;
	size_t imm_len = insn->len - p->end;

	switch (insn->form) {
	case FORM_JMP:
	case FORM_JCC:
	case FORM_CALL:
	case FORM_LOOP:
		if (imm_len != 1 && imm_len != 4)
			return false;
		insn->target = next + (uint64_t)read_disp(insn->bytes + p->end, imm_len);
		if (insn->bits == 32)
			insn->target = (uint32_t)insn->target;
		return true;
	case FORM_SYSCALL:
		return imm_len == (insn->bits == 32 ? 1 : 0);
	default:
		break;
	}
	if (!p->rip_relative)
		return true;
	insn->pc_relative = true;
	insn->disp_at = p->disp_at;
	insn->target = next + (uint64_t)read_disp(insn->bytes + p->disp_at, 4);
	if (insn->addr_half)
		insn->target = (uint32_t)insn->target;
	return true;
}

static int fail_decode(const uint8_t *code, size_t len, struct ubp_err *err)
{
	char hex[3 * 8 + 1] = "";

	for (size_t i = 0; i < len && i < 8; i++)
		snprintf(hex + 3 * i, sizeof(hex) - 3 * i, " %02x", code[i]);
	return ubp_fail(err, EILSEQ, "no known instruction:%s", len ? hex : " no bytes");
}

static void set_leave(struct displaced_insn *insn, const struct x86_parts *p)
{
	uint16_t word = insn->bits / 8;

	switch (insn->form) {
	case FORM_LEAVE:
		if (p->opcode == 0xff) {
			insn->leave = LEAVE_JUMP_TO;
			return;
		}
		insn->leave = LEAVE_RET;
		insn->ret_pops = word;
		if (p->opcode == 0xc2) /* ret imm16 */
			insn->ret_pops = (uint16_t)(word + insn->bytes[p->end] +
						    (insn->bytes[p->end + 1] << 8));
		return;
	case FORM_JMP:
	case FORM_JCC:
	case FORM_LOOP:
		insn->leave = LEAVE_JUMP;
		return;
	default:
		return;
	}
}

/* Condition @c of a jcc, with these flags. */
static bool holds(unsigned c, uint64_t flags)
{
	bool cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1;
	bool sf = flags >> 7 & 1, of = flags >> 11 & 1;
	const bool base[8] = { of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of };

	return base[c >> 1 & 7] != (c & 1);
}

/* The register that loop and jrcxz look at. */
static uint64_t count_of(const struct displaced_insn *insn, const struct ubp_regs *regs)
{
	unsigned bits = insn->addr_half ? insn->bits / 2 : insn->bits;

	return regs->r[X86_CX] & UINT64_MAX >> (64 - bits);
}

bool x86_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs)
{
	uint64_t count = count_of(insn, regs);
	bool zf = regs->r[X86_FLAGS] >> 6 & 1;
	struct x86_parts p;

	if (insn->leave == LEAVE_RET)
		return true;
	if (!x86_split(insn->bits, insn->bytes, insn->len, &p))
		return false;
	if (insn->form == FORM_JCC)
		return holds(p.opcode, regs->r[X86_FLAGS]);
	if (insn->form != FORM_LOOP)
		return insn->form == FORM_JMP;
	switch (p.opcode) {
	case 0xe0: /* loopne */
		return count != 1 && !zf;
	case 0xe1: /* loope */
		return count != 1 && zf;
	case 0xe2: /* loop */
		return count != 1;
	default: /* jrcxz */
		return count == 0;
	}
}

/* endbr64, endbr32: a breakpoint leaves 0f 1e fa of it, or fb, which is a nop. */
static bool is_endbr(unsigned bits, const uint8_t *code, size_t len)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e };

	return len == 4 && memcmp(code, endbr, sizeof(endbr)) == 0 &&
	       code[3] == (bits == 64 ? 0xfa : 0xfb);
}

static const char *refuse_opsize(const struct displaced_insn *insn, const struct x86_parts *p)
{
	if (insn->form == FORM_COPY || insn->form == FORM_SYSCALL ||
	    !(p->prefixes & PREFIX_OPSIZE) || (p->rex & 8))
		return NULL; /* with REX.W it means nothing: TLS code has such calls */
	return insn->bits == 64 ? why_opsize : why_opsize_32;
}

struct insn_text x86_insn_text(const struct displaced_insn *insn)
{
	struct insn_text text = { "?" };
	struct x86_decoded d;
	struct x86_parts p;

	if (insn->len &&
	    x86_decode(insn->bits, insn->bytes, insn->len, insn->vaddr, &d, &p) == 0)
		memcpy(text.s, d.text, sizeof(text.s));
	return text;
}

int x86_analyze(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
		struct displaced_insn *ret_insn, struct ubp_err *err)
{
	struct x86_decoded d;
	struct x86_parts p;
	const char *why;
	int rc;

	rc = x86_decode_known(bits, code, len, &d, &p)
		     ? 0
		     : x86_decode(bits, code, len, vaddr, &d, &p);
	if (rc == -ENOMEM)
		return ubp_fail(err, ENOMEM, "can't set up the disassembler");
	if (rc < 0)
		return fail_decode(code, len, err);

	memset(ret_insn, 0, sizeof(*ret_insn));
	ret_insn->vaddr = vaddr;
	ret_insn->bits = (uint8_t)bits;
	ret_insn->len = d.len;
	memcpy(ret_insn->bytes, code, d.len);
	ret_insn->form = form_of(bits, code, &p);
	ret_insn->kind = INSN_BOOST;
	ret_insn->is_call = ret_insn->form == FORM_CALL || ret_insn->form == FORM_CALL_IND;
	ret_insn->no_step = ret_insn->form != FORM_COPY ||
			    (p.map == MAP_ONE && p.opcode == 0x9c); /* pushf */
	ret_insn->addr_half = p.prefixes & PREFIX_ADDRSIZE;
	if (is_endbr(bits, code, d.len))
		ret_insn->kind = INSN_SKIP;

	why = refuse(bits, ret_insn, &p);
	if (!why)
		why = refuse_opsize(ret_insn, &p);
	if (why)
		return ubp_fail(err, EOPNOTSUPP, "can't displace '%s': %s",
				x86_insn_text(ret_insn).s, why);
	if (ret_insn->form != FORM_COPY && (p.prefixes & PREFIX_LOCK))
		return fail_decode(code, len, err);
	if (!set_target(ret_insn, &p))
		return fail_decode(code, len, err);
	set_leave(ret_insn, &p);
	return 0;
}

int x86_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
		     struct displaced_insn *ret_insn, struct ubp_err *err)
{
	return x86_analyze(64, code, len, vaddr, ret_insn, err);
}

void x86_move_insn(struct displaced_insn *insn, uint64_t vaddr)
{
	bool is_direct = insn->form == FORM_JMP || insn->form == FORM_JCC ||
			 insn->form == FORM_CALL || insn->form == FORM_LOOP;

	if (is_direct || insn->pc_relative)
		insn->target += vaddr - insn->vaddr;
	if (insn->bits == 32 || (insn->pc_relative && insn->addr_half))
		insn->target = (uint32_t)insn->target;
	insn->vaddr = vaddr;
}
