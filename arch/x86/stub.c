/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Remote system calls. The thread is sent to the stub by one write of its
 * registers and comes out of it by itself with all of them restored, whether or
 * not its tracer still lives. All the stub's state is in the frame below the
 * thread's red zone, so a thread that is inside it can be sent there again:
 *
 *   0 number  8 six arguments  56 buffer of 32 bytes
 *   88 r9 r8 r10 rdx rsi rdi r11 rcx rax rflags  168 rip
 */

#include "arch/x86/stub.h"

#include <string.h>

#include "arch/guard.h"
#include "arch/x86/guard.h"
#include "arch/x86/guard_code.h"
#include "arch/x86/regs.h"

#define RED_ZONE 128

/* Kernel's own results of an interrupted system call; user space never sees them. */
#define ERESTARTSYS           512
#define ERESTARTNOINTR        513
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

#define NR_RESTART_SYSCALL 219
#define SYSCALL_INSN_LEN                                                                       \
	2 /* also int $0x80; a sysenter leads behind the int $0x80 of the vdso */

struct frame {
	uint64_t nr;
	uint64_t args[6];
	uint8_t buffer[32];
	uint64_t r9, r8, r10, dx, si, di, r11, cx, ax, flags, ip;
};

_Static_assert(sizeof(struct frame) == 176, "no holes");
_Static_assert(sizeof(struct frame) <= UBP_STUB_FRAME_MAX, "fits");
_Static_assert(offsetof(struct frame, buffer) == X86_STUB_BUFFER_AT, "told in the table");
_Static_assert(offsetof(struct frame, r9) == 88, "the stub's lea");

/* Of a step as of a frame: number and arguments are where the stack pointer leads to. */
#define MAKE_CALL                                                                              \
	0x48, 0x8b, 0x04, 0x24,               /* mov (%rsp),%rax: no pop, to be repeatable */  \
		0x48, 0x8b, 0x7c, 0x24, 0x08, /* mov 8(%rsp),%rdi */                           \
		0x48, 0x8b, 0x74, 0x24, 0x10, /* mov 16(%rsp),%rsi */                          \
		0x48, 0x8b, 0x54, 0x24, 0x18, /* mov 24(%rsp),%rdx */                          \
		0x4c, 0x8b, 0x54, 0x24, 0x20, /* mov 32(%rsp),%r10 */                          \
		0x4c, 0x8b, 0x44, 0x24, 0x28, /* mov 40(%rsp),%r8 */                           \
		0x4c, 0x8b, 0x4c, 0x24, 0x30, /* mov 48(%rsp),%r9 */                           \
		0x0f, 0x05                    /* syscall */

#define GO_ON                                                                                  \
	0x48, 0x8d, 0x64, 0x24, 0x58,               /* lea 88(%rsp),%rsp */                    \
		0x41, 0x59, 0x41, 0x58, 0x41, 0x5a, /* pop %r9; pop %r8; pop %r10 */           \
		0x5a, 0x5e, 0x5f, 0x41, 0x5b, /* pop %rdx; pop %rsi; pop %rdi; pop %r11 */     \
		0x59, 0x58, 0x9d,             /* pop %rcx; pop %rax; popf */                   \
		0xc2, RED_ZONE, 0x00          /* ret $128 */

const uint8_t x86_stub[X86_STUB_LEN] = { MAKE_CALL, GO_ON };

/* A step may be made again as long as it has not been made: its result stands elsewhere. */
const uint8_t x86_batch[X86_BATCH_LEN] = {
	MAKE_CALL, 0x48,  0x8b, 0x4c, 0x24, 0x38, /* mov 56(%rsp),%rcx */
	0x48,      0x89,  0x01,                   /* mov %rax,(%rcx) */
	0x48,      0x8b,  0x4c, 0x24, 0x40,       /* mov 64(%rsp),%rcx */
	0x48,      0x3d,  0x01, 0xf0, 0xff, 0xff, /* cmp $-4095,%rax */
	0x73,      0x09,                          /* jae behind the loop: it failed */
	0x48,      0x83,  0xc4, 0x50,             /* add $80,%rsp */
	0x48,      0x39,  0xcc,                   /* cmp %rcx,%rsp */
	0x75,      0xbe,                          /* jne to the start */
	0x48,      0x89,  0xcc,                   /* mov %rcx,%rsp */
	MAKE_CALL, GO_ON,
};

_Static_assert(UBP_AREA_BATCH + X86_BATCH_LEN <= UBP_AREA_TABLE, "fits");
_Static_assert(UBP_AREA_GUARD + X86_GUARD_LEN <= UBP_AREA_BATCH, "fits");
_Static_assert(sizeof(struct ubp_stub_step) == 80 && offsetof(struct ubp_stub_step, to) == 56 &&
		       offsetof(struct ubp_stub_step, frame) == 64,
	       "as the loop has it");

/*
 * The kernel restarts a system call when it returns to user space with the
 * registers as it left them. We replace them, so do what it would have done.
 */
void x86_restart(struct ubp_regs *regs, unsigned bits, uint64_t nr_restart)
{
	int64_t result = (int64_t)regs->r[X86_AX];
	uint64_t nr = regs->r[X86_ORIG_AX];

	if ((int32_t)nr < 0)
		return; /* not in a system call */
	switch (-(bits == 32 ? (int32_t)result : result)) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		regs->r[X86_AX] = bits == 32 ? (uint32_t)nr : nr;
		regs->r[X86_IP] -= SYSCALL_INSN_LEN;
		break;
	case ERESTART_RESTARTBLOCK:
		regs->r[X86_AX] = nr_restart;
		regs->r[X86_IP] -= SYSCALL_INSN_LEN;
		break;
	default:
		break;
	}
	regs->r[X86_ORIG_AX] = UINT64_MAX; /* the kernel has nothing to restart */
}

void x86_restart_syscall(struct ubp_regs *regs)
{
	x86_restart(regs, 64, NR_RESTART_SYSCALL);
}

void x86_stub_frame(const struct ubp_regs *orig, const struct ubp_more *more,
		    uint8_t ret_frame[UBP_STUB_FRAME_MAX], size_t *ret_len, uint64_t *ret_sp)
{
	struct ubp_regs regs = *orig;
	const uint64_t *r = regs.r;
	struct frame f;

	(void)more;
	x86_restart_syscall(&regs);
	f = (struct frame){
		.r9 = r[X86_R9],
		.r8 = r[X86_R8],
		.r10 = r[X86_R10],
		.dx = r[X86_DX],
		.si = r[X86_SI],
		.di = r[X86_DI],
		.r11 = r[X86_R11],
		.cx = r[X86_CX],
		.ax = r[X86_AX],
		.flags = r[X86_FLAGS],
		.ip = r[X86_IP],
	};

	memcpy(ret_frame, &f, sizeof(f));
	*ret_len = sizeof(f);
	*ret_sp = r[X86_SP] - RED_ZONE - sizeof(f);
}

void x86_stub_args(uint64_t nr, const uint64_t args[6], uint8_t frame[56])
{
	memcpy(frame, &nr, sizeof(nr));
	memcpy(frame + sizeof(nr), args, 6 * sizeof(args[0]));
}

void x86_stub_regs(struct ubp_regs *regs, uint64_t stub_vaddr, uint64_t sp)
{
	regs->r[X86_IP] = stub_vaddr;
	regs->r[X86_SP] = sp;
	regs->r[X86_ORIG_AX] = UINT64_MAX; /* the kernel has nothing to restart */
	regs->r[X86_FLAGS] &= ~(uint64_t)(X86_FLAG_TF | X86_FLAG_DF);
}

void x86_enter_call(struct ubp_regs *regs, uint64_t nr, const uint64_t args[6])
{
	static const int at[] = { X86_DI, X86_SI, X86_DX, X86_R10, X86_R8, X86_R9 };

	regs->r[X86_ORIG_AX] = nr;
	for (int i = 0; i < 6; i++)
		regs->r[at[i]] = args[i];
}

int64_t x86_syscall_result(const struct ubp_regs *regs)
{
	return (int64_t)regs->r[X86_AX];
}

/*
 * orig_rax: the number of a system call, or -1 for all exceptions. For interrupts the complement of
 * the vector, or (since 5.8) -1, too.
 */
bool x86_came_by_exception(const struct ubp_regs *regs)
{
	return regs->r[X86_ORIG_AX] == UINT64_MAX;
}

/* As Linux has them, and as it has them under Xen. */
bool x86_is_cs_32(const struct ubp_regs *regs)
{
	return regs->r[X86_CS] == 0x23 || regs->r[X86_CS] == 0xe023;
}

bool x86_is_cs_64(const struct ubp_regs *regs)
{
	return regs->r[X86_CS] == 0x33 || regs->r[X86_CS] == 0xe033;
}

bool x86_in_other_mode(const struct ubp_regs *regs)
{
	return x86_is_cs_32(regs);
}

/* Where X86_WAY_HOME leads to: a jump to @go_back, an offset in the guard's code. */
static void put_way_home(struct slot_code *code, uint32_t go_back)
{
	const uint32_t end = X86_WAY_HOME_AT + 5;
	const uint32_t rel = UBP_AREA_GUARD + go_back - (UBP_AREA_TRAMPOLINE + end);

	code->code[X86_WAY_HOME_AT] = 0xe9; /* jmp rel32 */
	memcpy(code->code + end - sizeof(rel), &rel, sizeof(rel));
	code->len = end;
}

void x86_make_trampoline(struct slot_code *ret_code, const uint8_t *code, size_t len,
			 uint32_t go_back)
{
	memset(ret_code, 0, sizeof(*ret_code));
	memcpy(ret_code->code, code, len);
	put_way_home(ret_code, go_back);
	ret_code->done_at = 0xff;
	ret_code->taken_at = 0xff;
}

/*
 * The breakpoint reports the return; the tracer writes the real return address
 * back over the slot on the stack it was taken from, which is just below the
 * stack pointer now, inside the red zone, where no signal frame comes.
 *
 * The jump's prefix means nothing, but behind X86_WAY_HOME, which takes the breakpoint's place when
 * the tracer goes, it is how far a short jump leads: to that to the guard's code.
 */
int x86_build_return_trampoline(struct slot_code *ret_code)
{
	static const uint8_t code[] = {
		0xcc,                         /* int3 */
		0x2e, 0xff, 0x64, 0x24, 0xf8, /* cs jmp *-8(%rsp) */
	};

	x86_make_trampoline(ret_code, code, sizeof(code), GUARD_CODE_GO_BACK);
	return 0;
}
