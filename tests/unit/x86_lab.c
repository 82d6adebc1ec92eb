/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __x86_64__

#include "tests/unit/x86_lab.h"

#include <asm/prctl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/x86/x86.h"

#if RUN_BITS == 32
#include "arch/i386/gen.h"
#define RED_ZONE    0
#define MAP_FLAGS   MAP_32BIT
#define NAME        "i386"
#define CODE_SELECT 0x23
#else
#include "arch/x86/gen.h"
#define MAP_FLAGS   0
#define NAME        "x86_64"
#define CODE_SELECT 0x33
#endif

/* --- the machine ------------------------------------------------------------------- */

static uint64_t thread_pointer(void)
{
#if RUN_BITS == 32
	return RUN_TCB;
#else
	uint64_t base;

	assert_int_equal(syscall(SYS_arch_prctl, ARCH_GET_FS, &base), 0);
	return base;
#endif
}

static uint32_t cpu(void)
{
	return (uint32_t)sched_getcpu();
}

static const uint8_t user_of[16] = { X86_AX,  X86_CX,  X86_DX,  X86_BX, X86_SP,  X86_BP,
				     X86_SI,  X86_DI,  X86_R8,  X86_R9, X86_R10, X86_R11,
				     X86_R12, X86_R13, X86_R14, X86_R15 };

static void to_user(const struct run_regs *regs, struct ubp_regs *user)
{
	for (size_t i = 0; i < RUN_GPRS; i++)
		user->r[user_of[i]] = regs->gpr[i];
	user->r[X86_CS] = CODE_SELECT;
	user->r[X86_SS] = 0x2b;
	user->r[X86_ORIG_AX] = UINT64_MAX;
#if RUN_BITS == 32
	user->r[X86_GS_BASE] = thread_pointer();
#else
	user->r[X86_FS_BASE] = thread_pointer();
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_GET_GS, &user->r[X86_GS_BASE]), 0);
#endif
}

static const struct lab_machine machine = {
	.arch = NAME,
	.word = RUN_WORD,
	.map_flags = MAP_FLAGS,
	.mem = LAB_MEM,
	.site = LAB_SITE,
	.block = RUN_BLOCK,
	.home = LAB_HOME,
	.return_code = LAB_RETURN_CODE,
	.trampoline = LAB_TRAMPOLINE,
	.own = { { RUN_DATA, RUN_DATA + RUN_DATA_SIZE },
		 { RUN_STACK, RUN_STACK + RUN_STACK_SIZE } },
	.thread_pointer = thread_pointer,
	.cpu = cpu,
	.write = run_write,
	.to_user = to_user,
	.pc = X86_IP,
};

void lab_make(void)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	run_plant_exit(RUN_CODE, 0);
	lab_begin(&machine, nop5, sizeof(nop5), (uint64_t *)RUN_GATE);
}

int lab_set_up(void **state)
{
	run_init(state);
	lab_make();
	return 0;
}

/* --- running ---------------------------------------------------------------------------- */

void lab_run(const struct run_regs *regs, uint64_t seed, run_step_fn *step, void *arg,
	     struct run_end *ret_end)
{
	run_code(RUN_BLOCK + lab.detour.entry_at, regs, seed, step, arg, ret_end);
	/* As the tracer sees it. */
	for (size_t i = 0; i < lab.plan.n_probes && ret_end->signo == SIGTRAP; i++)
		if (lab.detour.ret_trap_at[i] &&
		    ret_end->pc == RUN_BLOCK + lab.detour.ret_trap_at[i] + 1)
			ret_end->regs.gpr[SP] += lab.detour.ret_below;
}

void lab_call_nested(void)
{
#if RUN_BITS == 32
	run_call(LAB_SITE, LAB_NESTED, (uint32_t)(uintptr_t)lab.nested_text);
#else
	((void (*)(long, const char *))LAB_SITE)(LAB_NESTED, lab.nested_text);
#endif
}

void lab_scribble_below(uint64_t sp)
{
	memset((void *)(sp - RED_ZONE - 600), 0xa5, 600);
}

int lab_trap(const struct run_end *end)
{
	if (end->signo != SIGTRAP)
		return -1;
	for (size_t i = 0; i < lab.plan.n_probes; i++) {
		if (end->pc == RUN_BLOCK + lab.detour.trap_at[i] + 1)
			return (int)i;
		if (end->pc == RUN_BLOCK + lab.detour.ret_trap_at[i] + 1)
			return LAB_ON_RETURN + (int)i;
	}
	fail_msg("a breakpoint at 0x%llx", (unsigned long long)end->pc);
	return -1;
}

bool lab_faulted(const struct run_end *end)
{
	return end->signo == SIGSEGV;
}

void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end)
{
	uint64_t above = before->gpr[SP] - RED_ZONE - RUN_STACK;

	for (size_t i = 0; i < RUN_GPRS; i++)
		if (end->regs.gpr[i] != before->gpr[i])
			fail_msg("%s: register %zu is 0x%llx, was 0x%llx", what, i,
				 (unsigned long long)end->regs.gpr[i],
				 (unsigned long long)before->gpr[i]);
	if (end->regs.flags != (before->flags & 0xcd5))
		fail_msg("%s: flags are 0x%llx, were 0x%llx", what,
			 (unsigned long long)end->regs.flags,
			 (unsigned long long)before->flags);
	if (!stack)
		return;
	assert_true(above >= 128 && above < RUN_STACK_SIZE);
	/* Nothing above the red zone's end, nothing further below than the frame. */
	assert_memory_equal(end->stack + above, stack + above, RUN_STACK_SIZE - above);
	assert_memory_equal(end->stack, stack, above + RED_ZONE - FRAME_ALL);
}

void lab_function_start(const struct run_regs *before, struct run_regs *ret_after)
{
	run_word home = LAB_HOME;

	lab_start_returns();
	run_plant_exit(LAB_HOME, 0);
	run_write(LAB_BODY, "\xc3", 1);
	run_write(before->gpr[SP], &home, sizeof(home));
	*ret_after = *before;
	ret_after->gpr[SP] += RUN_WORD;
}

#else
extern int not_x86_lab;
int not_x86_lab;
#endif
