/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Remote system calls, as arch/x86/stub.c has them, by int $0x80. All the stub's state is in the
 * frame some way below the thread's stack pointer. There is no red zone, but a thread may have
 * just returned to code of ours, which looks for its way home in the word it returned by:
 *
 *   0 number  8 six arguments (of each the low half)  56 buffer of 32 bytes
 *   88 ebp edi esi edx ecx ebx eax eflags  120 eip
 */

#include "arch/i386/stub.h"

#include <string.h>

#include "arch/i386/guard_code.h"
#include "arch/x86/regs.h"
#include "arch/x86/stub.h"

#define DISTANCE   128
#define PAGE_SHIFT 12

struct frame {
	uint64_t nr;
	uint64_t args[6];
	uint8_t buffer[32];
	uint32_t bp, di, si, dx, cx, bx, ax, flags, ip;
	uint32_t pad;
};

_Static_assert(sizeof(struct frame) == 128, "no holes");
_Static_assert(sizeof(struct frame) <= UBP_STUB_FRAME_MAX, "fits");
_Static_assert(offsetof(struct frame, buffer) == I386_STUB_BUFFER_AT, "told in the table");
_Static_assert(offsetof(struct frame, bp) == 88, "the stub's lea");

const uint8_t i386_stub[I386_STUB_LEN] = {
	0x8b, 0x04,         0x24,       /* mov (%esp),%eax: no pop, to be repeatable */
	0x8b, 0x5c,         0x24, 0x08, /* mov 8(%esp),%ebx */
	0x8b, 0x4c,         0x24, 0x10, /* mov 16(%esp),%ecx */
	0x8b, 0x54,         0x24, 0x18, /* mov 24(%esp),%edx */
	0x8b, 0x74,         0x24, 0x20, /* mov 32(%esp),%esi */
	0x8b, 0x7c,         0x24, 0x28, /* mov 40(%esp),%edi */
	0x8b, 0x6c,         0x24, 0x30, /* mov 48(%esp),%ebp */
	0xcd, 0x80,                     /* int $0x80 */
	0x8d, 0x64,         0x24, 0x58, /* lea 88(%esp),%esp */
	0x5d, 0x5f,         0x5e, 0x5a, /* pop %ebp; pop %edi; pop %esi; pop %edx */
	0x59, 0x5b,         0x58, 0x9d, /* pop %ecx; pop %ebx; pop %eax; popf */
	0xc2, DISTANCE + 4, 0,          /* ret: over the pad, and the distance */
};

void i386_restart_syscall(struct ubp_regs *regs)
{
	x86_restart(regs, 32, I386_NR_RESTART_SYSCALL);
}

void i386_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		     uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp)
{
	struct ubp_regs regs = *orig;
	const uint64_t *r = regs.r;
	struct frame f;

	(void)more;
	i386_restart_syscall(&regs);
	f = (struct frame){
		.bp = (uint32_t)r[X86_BP],
		.di = (uint32_t)r[X86_DI],
		.si = (uint32_t)r[X86_SI],
		.dx = (uint32_t)r[X86_DX],
		.cx = (uint32_t)r[X86_CX],
		.bx = (uint32_t)r[X86_BX],
		.ax = (uint32_t)r[X86_AX],
		.flags = (uint32_t)r[X86_FLAGS],
		.ip = (uint32_t)r[X86_IP],
	};

	memcpy(ret_frame, &f, sizeof(f));
	*ret_len = sizeof(f);
	*ret_sp = (uint32_t)(r[X86_SP] - DISTANCE - sizeof(f));
}

/* mmap2() counts its offset in pages. */
static uint64_t arg_of(uint64_t nr, const uint64_t args[6], int i)
{
	return (uint32_t)(nr == I386_NR_MMAP2 && i == 5 ? args[i] >> PAGE_SHIFT : args[i]);
}

void i386_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56])
{
	memcpy(frame, &nr, sizeof(nr));
	for (int i = 0; i < 6; i++) {
		uint64_t arg = arg_of(nr, args, i);

		memcpy(frame + 8 + 8 * i, &arg, sizeof(arg));
	}
}

void i386_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6])
{
	static const int at[] = { X86_BX, X86_CX, X86_DX, X86_SI, X86_DI, X86_BP };

	regs->r[X86_ORIG_AX] = nr;
	for (int i = 0; i < 6; i++)
		regs->r[at[i]] = arg_of(nr, args, i);
}

/* An address may have the highest of its 32 bits set. */
int64_t i386_syscall_result(const struct ubp_regs *regs)
{
	uint32_t result = (uint32_t)regs->r[X86_AX];

	return result > (uint32_t)-4096 ? (int32_t)result : (int64_t)result;
}

/* A 32-bit number of a system call, the complement of a vector, or -1: see there. */
bool i386_came_by_exception(const struct ubp_regs *regs)
{
	return (int32_t)regs->r[X86_ORIG_AX] == -1;
}

/*
 * The breakpoint reports the return. A signal's frame may come to where the return address is
 * written back, so the tracer moves the stack pointer over it, together with the pc. Only where
 * the breakpoint has been taken out the code does that by itself. The prefix is there for what
 * x86_build_return_trampoline() says.
 */
static const uint8_t trampoline[] = {
	0xcc,                         /* int3 */
	0x2e, 0x8d, 0x64, 0x24, 0xfc, /* cs lea -4(%esp),%esp */
	0xc3,                         /* ret */
};

void i386_leave_trampoline(struct ubp_regs *regs)
{
	regs->r[X86_IP] += sizeof(trampoline) - 2; /* from behind the breakpoint to the ret */
	regs->r[X86_SP] -= 4;
}

/* The kernel's struct for 32 bits: three words, and a mask of two. */
void i386_pack_action(uint64_t handler, uint64_t flags, uint64_t restorer,
		      uint64_t ret_action[4])
{
	const uint32_t words[8] = { (uint32_t)handler, (uint32_t)flags, (uint32_t)restorer };

	memcpy(ret_action, words, sizeof(words));
}

int i386_build_return_trampoline(struct slot_code *ret_code)
{
	x86_make_trampoline(ret_code, trampoline, sizeof(trampoline), GUARD32_CODE_GO_BACK);
	return 0;
}
