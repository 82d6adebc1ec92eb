/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files of the x86-64 back-end share, and what that for 32 bits (arch/i386)
 * takes of it: "bits" tells the mode that the code runs in, 32 or 64.
 *
 * decode.c knows bytes, classify.c decides what may be displaced and how, slot.c
 * writes the code for it, window.c for several under a jump, refs.c looks for who
 * jumps where, stub.c is the remote-call stub, guard.c and guard.S the guard, regs.c
 * the registers, detour*.c detours, with the help of emit.c.
 */

#ifndef UBP_ARCH_X86_X86_H
#define UBP_ARCH_X86_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/x86/guard_code.h"

/* Order of struct user_regs_struct, which other hosts don't have. */
enum user_reg {
	X86_R15,
	X86_R14,
	X86_R13,
	X86_R12,
	X86_BP,
	X86_BX,
	X86_R11,
	X86_R10,
	X86_R9,
	X86_R8,
	X86_AX,
	X86_CX,
	X86_DX,
	X86_SI,
	X86_DI,
	X86_ORIG_AX,
	X86_IP,
	X86_CS,
	X86_FLAGS,
	X86_SP,
	X86_SS,
	X86_FS_BASE,
	X86_GS_BASE,
	X86_DS,
	X86_ES,
	X86_FS,
	X86_GS,
	X86_N_REGS,
};

#define X86_VECTORS 16 /* xmm0..xmm15 */

#define X86_FLAG_TF 0x100
#define X86_FLAG_DF 0x400

/* detour_plan.has */
#define X86_HAS_FSGSBASE (1U << 0) /* rdfsbase, rdgsbase in programs */
#define X86_HAS_RDTSCP   (1U << 1)

/* A segment whose limit tells the processor, in the lowest 12 bits, under a 64-bit kernel. */
#define X86_CPU_SEGMENT 0x7b

/* How the slot of an instruction is built: displaced_insn.form. */
enum x86_form {
	FORM_COPY,     /* the instruction, then a jump back */
	FORM_LEAVE,    /* the instruction alone: ret, jmp *x */
	FORM_JMP,      /* jmp target */
	FORM_JCC,      /* jcc target */
	FORM_LOOP,     /* loop, loope, loopne, jrcxz: have short forms only */
	FORM_CALL,     /* call target */
	FORM_CALL_IND, /* call *x */
	FORM_SYSCALL,  /* leaves the address behind it in rcx; in 32 bits: int $0x80 */
};

enum prefix_bit {
	PREFIX_OPSIZE = 1 << 0,
	PREFIX_ADDRSIZE = 1 << 1,
	PREFIX_LOCK = 1 << 2,
	PREFIX_REPNE = 1 << 3,
	PREFIX_REP = 1 << 4,
};

enum x86_map {
	MAP_ONE,  /* one-byte opcodes */
	MAP_0F,   /* 0f xx */
	MAP_0F38, /* 0f 38 xx */
	MAP_0F3A, /* 0f 3a xx */
	MAP_VEX,  /* nothing in these three needs more than a look at the modrm byte */
	MAP_EVEX,
	MAP_XOP,
};

/* The parts of an instruction that don't depend on what it does. */
struct x86_parts {
	unsigned prefixes; /* enum prefix_bit */
	uint8_t segment;   /* 0x64, 0x65, or 0: the others mean nothing */
	uint8_t rex;       /* 0: none, or one that doesn't count */
	enum x86_map map;
	uint8_t vector_map; /* VEX, EVEX, XOP: the map of their own */
	uint8_t opcode;
	uint8_t opcode_at;
	bool has_modrm;
	uint8_t modrm;
	uint8_t modrm_at;
	bool rip_relative;
	uint8_t disp_at; /* if rip_relative */
	uint8_t end;     /* behind opcode, modrm, sib, displacement: the immediate, if any */
};

/* Split up @len bytes. Returns whether that many bytes sufficed. */
bool x86_split(unsigned bits, const uint8_t *code, size_t len, struct x86_parts *ret_parts);

static inline unsigned x86_modrm_mod(const struct x86_parts *p)
{
	return p->modrm >> 6;
}

static inline unsigned x86_modrm_reg(const struct x86_parts *p)
{
	return p->modrm >> 3 & 7;
}

/* What an instruction is. */
struct x86_decoded {
	uint8_t len;
	bool rip_relative;
	char text[80];
};

/* Full decoding, and the parts. Returns 0, -EILSEQ or -ENOMEM. Any thread. */
int x86_decode(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
	       struct x86_decoded *ret_insn, struct x86_parts *ret_parts);

/* Those of arch/arch.h that must be told the mode. */
int x86_len(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr);
int x86_analyze(unsigned bits, const uint8_t *code, size_t len, uint64_t vaddr,
		struct displaced_insn *ret_insn, struct ubp_err *err);
int x86_window(unsigned bits, const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
	       struct window *ret_window, struct ubp_err *err);
void x86_slot_jump(unsigned bits, uint64_t slot_vaddr, uint64_t target,
		   struct slot_code *ret_code);
size_t x86_fill(unsigned bits, const uint8_t *code, size_t len);
bool x86_lead(unsigned bits, const uint8_t *code, size_t len, struct lead *ret_lead);
bool x86_lead_stands_in(unsigned bits, const struct lead *lead, const uint8_t *now);

/* The functions behind ubp_arch_x86_64, see arch/arch.h. */
int x86_reg_by_name(const char *name, size_t len);
int x86_more_reg_by_name(const char *name, size_t len);
int x86_insn_len(const uint8_t *code, size_t len, uint64_t vaddr);
int x86_analyze_insn(const uint8_t *code, size_t len, uint64_t vaddr,
		     struct displaced_insn *ret_insn, struct ubp_err *err);
void x86_move_insn(struct displaced_insn *insn, uint64_t vaddr);
void x86_build_slot_jump(uint64_t slot_vaddr, uint64_t target, struct slot_code *ret_code);
int x86_build_slot(const struct displaced_insn *insn, uint64_t slot_vaddr,
		   struct slot_code *ret_code, struct ubp_err *err);
bool x86_slot_leave(const struct displaced_insn *insn, const struct slot_code *code,
		    uint64_t slot_vaddr, struct ubp_regs *regs);
int x86_build_return_trampoline(struct slot_code *ret_code);
bool x86_is_taken(const struct displaced_insn *insn, const struct ubp_regs *regs);
bool x86_came_by_exception(const struct ubp_regs *regs);
bool x86_looks_done(const struct displaced_insn *insn, const struct ubp_regs *regs,
		    uint64_t top);
bool x86_in_other_mode(const struct ubp_regs *regs);
/* Code segments of 32-bit and of 64-bit programs. */
bool x86_is_cs_32(const struct ubp_regs *regs);
bool x86_is_cs_64(const struct ubp_regs *regs);
void x86_restart_syscall(struct ubp_regs *regs);
void x86_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		    uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp);
void x86_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56]);
void x86_stub_regs(struct ubp_regs *regs, uint64_t stub_vaddr, uint64_t sp);
void x86_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6]);
int64_t x86_syscall_result(const struct ubp_regs *regs);
int x86_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			     uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			     struct slot_code *ret_code, struct ubp_err *err);

int x86_find_window(const uint8_t *code, size_t len, size_t padding, uint64_t vaddr,
		    struct window *ret_window, struct ubp_err *err);
bool x86_takes_return(const uint8_t *code, size_t len);
bool x86_find_lead(const uint8_t *code, size_t len, struct lead *ret_lead);
bool x86_lead_stands(const struct lead *lead, const uint8_t *now);
int x86_build_copy(const struct window *window, uint64_t vaddr, struct window_copy *ret_copy,
		   struct ubp_err *err);
bool x86_copy_leave(const struct window *window, const struct window_copy *copy, uint64_t vaddr,
		    struct ubp_regs *regs);
int x86_build_jump(const struct window *window, uint64_t site, uint64_t target,
		   uint8_t *ret_jump, struct ubp_err *err);
int x86_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		     struct ubp_err *err);
int x86_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			  uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err);
const char *x86_detour_check(const struct fetch_program *program);

void x86_scan_refs(const uint8_t *code, size_t len, uint64_t vaddr, unsigned kinds,
		   void (*each)(void *ctx, uint64_t at, uint64_t target, enum code_ref kind),
		   void *ctx);
#define X86_N_DWARF_REGS 17
extern const uint8_t x86_dwarf_regs[X86_N_DWARF_REGS];
extern const uint16_t x86_sigframe_at[X86_N_DWARF_REGS];
bool x86_is_sigreturn(const uint8_t *code, size_t len);
size_t x86_fill_len(const uint8_t *code, size_t len);
size_t x86_go_check_len(const uint8_t *code, size_t len);

/* The stub: see stub.c. */
#define X86_STUB_LEN         58
#define X86_STUB_SYSCALL_END 36
#define X86_STUB_BUFFER_AT   56
extern const uint8_t x86_stub[X86_STUB_LEN];

/* The return trampoline's breakpoint becomes a short jump, to behind its prefix 0x2e. */
#define X86_WAY_HOME    0xeb
#define X86_WAY_HOME_AT (2 + 0x2e)
void x86_put_way_home(struct slot_code *code, uint32_t go_back);

/* The guard's code: see guard.S. */
#define X86_GUARD_LEN           GUARD_CODE_END
#define X86_SIGACTION_CALL_LEN  7
#define X86_SIGACTION_PATCH_LEN 5
extern const uint8_t x86_guard[X86_GUARD_LEN];
#define X86_N_SIGACTION_CALLS 3
extern const uint8_t x86_sigaction_calls[X86_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX];

#endif
