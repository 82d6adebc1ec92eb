/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files of the arm64 back-end share.
 *
 * decode.c knows bits, text.c words, classify.c decides what may be displaced and how,
 * exclusive.c where, sign.c where for returns, slot.c writes the code for it, window.c for what stands under a jump,
 * refs.c looks for who jumps where, regs.c and frame.c have the registers.
 */

#ifndef UBP_ARCH_ARM64_ARM64_H
#define UBP_ARCH_ARM64_ARM64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* Order of struct user_pt_regs, which other hosts don't have; what follows pstate is
 * none of it and is read by itself. */
enum arm64_reg_index {
	ARM64_X0,
	ARM64_X8 = 8,
	ARM64_X16 = 16,
	ARM64_X17 = 17,
	ARM64_X28 = 28,
	ARM64_X29 = 29, /* the frame pointer */
	ARM64_X30 = 30, /* the link register */
	ARM64_SP,
	ARM64_PC,
	ARM64_PSTATE,
	ARM64_TP, /* TPIDR_EL0 */
	ARM64_N_REGS,
};

/* NZCV of pstate. */
#define ARM64_FLAG_V 0x10000000
#define ARM64_FLAG_C 0x20000000
#define ARM64_FLAG_Z 0x40000000
#define ARM64_FLAG_N 0x80000000

#define ARM64_BTYPE 0xc00 /* of pstate: the last branch was an indirect one */

#define ARM64_INSN     4
#define ARM64_VECTORS  32
#define ARM64_NOP      0xd503201f
#define ARM64_BRK      0xd4200000 /* | immediate << 5 */
#define ARM64_BRK_MASK 0xffe0001f
/* brk #0x7562: a number that neither the kernel nor compilers nor debuggers use. */
#define ARM64_SWBP (ARM64_BRK | 0x7562 << 5)

#define ARM64_SVC    0xd4000001 /* svc #0 */
#define ARM64_INSN_B 0x14000000 /* | words */
#define ARM64_RET    0xd65f03c0 /* by x30 */

/* How far b and bl lead, either way. */
#define ARM64_B_REACH 0x8000000

/* How the slot of an instruction is built: displaced_insn.form. */
enum arm64_form {
	ARM64_COPY,      /* the instruction, then a jump back */
	ARM64_NOTHING,   /* nop; what can only be seen by how long it takes */
	ARM64_LEAVE,     /* the instruction alone: br, ret */
	ARM64_B,         /* b target */
	ARM64_B_IF,      /* b.cond, bc.cond, cbz, cbnz, tbz, tbnz */
	ARM64_BL,        /* bl target */
	ARM64_BLR,       /* blr */
	ARM64_BLR_AUTH,  /* blraa and its kin */
	ARM64_ADDRESS,   /* adr, adrp */
	ARM64_LOAD,      /* ldr x0, target */
	ARM64_LOAD_SIMD, /* ldr q0, target */
	ARM64_SYSCALL,
	ARM64_REFUSED, /* arm64_decoded.why tells */
	ARM64_UNKNOWN, /* is no instruction, or could be anything */
};

/* What the bits say. */
struct arm64_decoded {
	enum arm64_form form;
	const char *why; /* ARM64_REFUSED */
	uint64_t target;
	uint8_t literal_len; /* bytes that are loaded from there */
};

struct arm64_decoded arm64_decode(uint32_t word, uint64_t vaddr);

/* Loads and stores that work with the monitor. */
bool arm64_is_load_exclusive(uint32_t word);
bool arm64_is_store_exclusive(uint32_t word);

/* movprfx, pacm: part of the instruction behind them. */
bool arm64_is_prefix(uint32_t word);

/* The words of an instruction for people. */
void arm64_disassemble(uint32_t word, uint64_t vaddr, char *text, size_t size);

/* Instructions are little endian, whatever data and we are. */
static inline uint32_t arm64_word(const uint8_t *code)
{
	return code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

static inline void arm64_put_word(uint8_t *code, uint32_t word)
{
	for (int i = 0; i < ARM64_INSN; i++)
		code[i] = (uint8_t)(word >> 8 * i);
}

/* The registers that most encodings have in the same place. */
static inline unsigned arm64_rd(uint32_t word)
{
	return word & 31;
}

static inline unsigned arm64_rn(uint32_t word)
{
	return word >> 5 & 31;
}

/* b from @from to @to; false: too far. */
bool arm64_encode_b(uint64_t from, uint64_t to, uint32_t *ret_word);

/* In struct ubp_more. */
struct arm64_more {
	uint64_t mask;    /* of signals */
	uint64_t sve_len; /* bytes of .sve; 0: the vector registers are all there is */
	struct {          /* NT_PRFPREG */
		uint64_t v[ARM64_VECTORS][2];
		uint32_t fpsr, fpcr, reserved[2];
	} fp;
	/* NT_ARM_SVE: a header of 16 bytes, registers of up to 2048 bits, fpsr and fpcr. */
	uint8_t sve[9152];
};

extern const struct ubp_arch ubp_arch_arm64;

/* The functions behind ubp_arch_arm64, see arch/arch.h. */
int arm64_reg_by_name(const char *name, size_t len);
int arm64_more_reg_by_name(const char *name, size_t len);
int arm64_insn_len(const uint8_t *code, size_t len, uint64_t vaddr);
int arm64_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
		       struct displaced_insn *ret_insn, struct ubp_err *err);
void arm64_move_insn(struct displaced_insn *insn, uint64_t vaddr);
bool arm64_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs);
int arm64_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		     struct slot_code *ret_code, struct ubp_err *err);
bool arm64_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
		      uint64_t slot_vaddr, struct ubp_regs *regs);
void arm64_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code);
int arm64_build_return_trampoline(struct slot_code *ret_code);
void arm64_leave_trampoline(struct ubp_regs *regs);

int arm64_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		      struct window *ret_window, struct ubp_err *err);
bool arm64_is_landing_pad(const struct window *window);
bool arm64_find_lead(const uint8_t *code, size_t len, struct lead *ret_lead);
bool arm64_lead_stands(const struct lead *lead, const uint8_t *now);
int arm64_build_copy(const struct window *window, uint64_t vaddr, struct window_copy *ret_copy,
		     struct ubp_err *err);
bool arm64_copy_leave(const struct window *window, const struct window_copy *copy,
		      uint64_t vaddr, struct ubp_regs *regs);
int arm64_build_jump(const struct window *window, uint64_t site, uint64_t target,
		     uint8_t *ret_jump, struct ubp_err *err);

int arm64_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		       struct ubp_err *err);
int arm64_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			    uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err);
const char *arm64_detour_check(const struct fetch_program *program);

void arm64_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		     void (*each)(void *ctx, uint64_t at, uint64_t target, enum code_ref kind),
		     void *ctx);
size_t arm64_fill_len(const uint8_t *code, size_t len);
size_t arm64_go_check_len(const uint8_t *code, size_t len);
const char *arm64_refuse_at(const uint8_t *code, size_t len, size_t at);
const char *arm64_refuse_return_at(const uint8_t *code, size_t len, size_t start, size_t at);

/* The stub: see stub.c. */
#define ARM64_STUB_LEN         56
#define ARM64_STUB_SYSCALL_END 44
#define ARM64_STUB_BUFFER_AT   64
/* What the stub's frame has for the alternate stack's flags, which no kernel writes; and where. */
#define ARM64_STUB_MODE           3
#define ARM64_STUB_MODE_BEFORE_SP 408
extern const uint8_t arm64_stub[ARM64_STUB_LEN];
void arm64_restart_syscall(struct ubp_regs *regs);
bool arm64_may_resume(const struct ubp_regs *regs, const uint8_t code[8]);
void arm64_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		      uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp);
void arm64_stub_frame_below(uint64_t top, const struct ubp_regs *orig,
			    const struct ubp_more *more, uint8_t ret_frame[UBP_STUB_FRAME_MAX],
			    size_t *ret_len, uint64_t *ret_sp);
void arm64_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56]);
void arm64_stub_regs(struct ubp_regs *regs, uint64_t stub_vaddr, uint64_t sp);
void arm64_stub_sign(struct ubp_regs *regs, uint64_t stub_vaddr, bool key_b);
void arm64_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6]);
int64_t arm64_syscall_result(const struct ubp_regs *regs);
bool arm64_came_by_exception(const struct ubp_regs *regs);

/* The guard's code: see guard.S. Offsets as guard_code.h has them. */
#define ARM64_GUARD_HANDLER      0x000
#define ARM64_GUARD_RESTORER     0x510
#define ARM64_GUARD_LEN          0x87c
#define ARM64_SIGACTION_CALL_LEN 4
#define ARM64_N_SIGACTION_CALLS  3
extern const uint8_t arm64_guard[ARM64_GUARD_LEN];
extern const uint8_t arm64_sigaction_calls[ARM64_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX];
bool arm64_sigaction_call_at(const uint8_t *code, size_t len, size_t *ret_at);
int arm64_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			       uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			       struct slot_code *ret_code, struct ubp_err *err);

/* x0..x30, sp, pc. */
#define ARM64_N_DWARF_REGS 33
extern const uint8_t arm64_dwarf_regs[ARM64_N_DWARF_REGS];
extern const uint16_t arm64_sigframe_at[ARM64_N_DWARF_REGS];
bool arm64_is_sigreturn(const uint8_t *code, size_t len);

#endif
