/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What the files of the back-end for 32-bit x86 share. Decoding, slots and windows are those of
 * arch/x86, told that they are for 32 bits; registers have that one's numbers, since a 64-bit
 * kernel hands them out so to a 64-bit tracer. What differs stands here: regs.c
 * the registers, stub.c the remote-call stub, guard.c and guard.S the guard, frame.c stacks.
 *
 * There is no red zone: a signal's frame may be written right below the stack pointer.
 */

#ifndef UBP_ARCH_I386_I386_H
#define UBP_ARCH_I386_I386_H

#include "arch/x86/x86.h"

int i386_reg_by_name(const char *name, size_t len);
int i386_more_reg_by_name(const char *name, size_t len);

bool i386_came_by_exception(const struct ubp_regs *regs);
void i386_restart_syscall(struct ubp_regs *regs);
void i386_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		     uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp);
void i386_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56]);
void i386_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6]);
int64_t i386_syscall_result(const struct ubp_regs *regs);
int i386_build_return_trampoline(struct slot_code *ret_code);
int i386_build_detour(const struct detour_plan *plan, struct detour *ret_detour,
		      struct ubp_err *err);
int i386_build_return_code(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
			   uint8_t *code, size_t max, size_t *ret_len, struct ubp_err *err);
const char *i386_detour_check(const struct fetch_program *program);

bool i386_gives_return(const uint8_t *code, size_t len);
const char *i386_refuse_return_at(const uint8_t *code, size_t len, size_t start, size_t at);
void i386_leave_trampoline(struct ubp_regs *regs);
void i386_pack_action(uint64_t handler, uint64_t flags, uint64_t restorer,
		      uint64_t ret_action[4]);
bool i386_sigaction_call_at(const uint8_t *code, size_t len, size_t *ret_at);
int i386_build_sigaction_hook(const uint8_t *call, size_t len, uint64_t vaddr,
			      uint64_t slot_vaddr, uint64_t area_vaddr, uint8_t *ret_patch,
			      struct slot_code *ret_code, struct ubp_err *err);

#define I386_N_DWARF_REGS 9
extern const uint8_t i386_dwarf_regs[I386_N_DWARF_REGS];
extern const uint16_t i386_sigframe_at[I386_N_DWARF_REGS];
bool i386_is_sigreturn(const uint8_t *code, size_t len);
const uint16_t *i386_sigframe_of(const uint8_t *code, size_t len);

/* The stub: see stub.c. */
#define I386_STUB_LEN         44
#define I386_STUB_SYSCALL_END 29
#define I386_STUB_BUFFER_AT   56
extern const uint8_t i386_stub[I386_STUB_LEN];

/* The guard's code: see guard.S. */
#define I386_GUARD_LEN           0x7c1
#define I386_GUARD_HANDLER       0
#define I386_GUARD_RESTORER      0x490
#define I386_SIGACTION_CALL_LEN  5
#define I386_SIGACTION_PATCH_LEN 5
#define I386_N_SIGACTION_CALLS   2
extern const uint8_t i386_guard[I386_GUARD_LEN];
extern const uint8_t i386_sigaction_calls[I386_N_SIGACTION_CALLS][UBP_SIGACTION_CALL_MAX];

/* System calls by the numbers of 32-bit programs. */
enum i386_nr {
	I386_NR_RESTART_SYSCALL = 0,
	I386_NR_READ = 3,
	I386_NR_CLOSE = 6,
	I386_NR_MUNMAP = 91,
	I386_NR_MPROTECT = 125,
	I386_NR_MREMAP = 163,
	I386_NR_RT_SIGACTION = 174,
	I386_NR_RT_SIGPROCMASK = 175,
	I386_NR_MMAP2 = 192,
	I386_NR_MADVISE = 219,
	I386_NR_MEMFD_CREATE = 356,
};

#endif
