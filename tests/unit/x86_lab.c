/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __x86_64__

#include "tests/unit/x86_lab.h"

#include <asm/prctl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/x86/regs.h"

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

/*
 * What test_x86_lead has the other tests run with: a lead in front of the site, and a window that
 * takes it back, so that nobody behind it sees that it was there.
 */
static const struct {
	const char *name;
	uint8_t code[8], window[5];
} leads[] = {
#if RUN_BITS == 32
	{ "push", { 0x53 }, { 0x8d, 0x64, 0x24, 0x04, 0x90 } },
	{ "lea", { 0x8d, 0x64, 0x24, 0x88 }, { 0x8d, 0x64, 0x24, 0x78, 0x90 } },
#else
	{ "push", { 0x53 }, { 0x48, 0x8d, 0x64, 0x24, 0x08 } },
	{ "lea", { 0x48, 0x8d, 0x64, 0x24, 0x88 }, { 0x48, 0x8d, 0x64, 0x24, 0x78 } },
#endif
};

static struct lead lead;

static void make_lead(const char *name)
{
	size_t i = 0;

	while (strcmp(leads[i].name, name) != 0)
		assert_true(++i < sizeof(leads) / sizeof(leads[0]));
	run_plant_exit(RUN_CODE, 0);
	lab_begin(&machine, leads[i].window, sizeof(leads[i].window), (uint64_t *)RUN_GATE);
	assert_true(lab.arch->lead.find(leads[i].code, sizeof(leads[i].code), &lead));
	run_write(LAB_SITE - lead.len, lead.bytes, lead.len);
	lab.plan.lead = &lead;
}

void lab_make(void)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const char *name = getenv("UBP_LAB_LEAD");

	if (name) {
		make_lead(name);
		return;
	}
	run_plant_exit(RUN_CODE, 0);
	lab_begin(&machine, nop5, sizeof(nop5), (uint64_t *)RUN_GATE);
}

uint64_t lab_start(void)
{
	return LAB_SITE - lead.len;
}

int lab_set_up(void **state)
{
	run_init(state);
	lab_make();
	return 0;
}

/* --- running ---------------------------------------------------------------------------- */

static uint64_t vectors_seed = 1;

void lab_random(uint64_t seed, struct run_regs *ret_regs)
{
	run_random(seed, ret_regs);
	run_vectors(seed, &lab.vectors);
	vectors_seed = seed;
}

static void run_steps_at(uint64_t vaddr, const struct run_regs *regs, run_step_fn *step,
			 void *arg, struct run_end *ret_end)
{
	if (lead.len && vaddr == RUN_BLOCK + lab.detour.entry_at)
		lab_jump_over_site();
	if (lead.len && (vaddr == RUN_BLOCK + lab.detour.entry_at || vaddr == LAB_SITE))
		vaddr = lab_start();
	run_code(vaddr, regs, vectors_seed, step, arg, ret_end);
	/* As the tracer sees it. */
	for (size_t i = 0; i < lab.plan.n_probes && ret_end->signo == SIGTRAP; i++)
		if (lab.detour.ret_trap_at[i] &&
		    ret_end->pc == RUN_BLOCK + lab.detour.ret_trap_at[i] + 1)
			ret_end->regs.gpr[SP] += lab.detour.ret_below;
}

void lab_run_at(uint64_t vaddr, const struct run_regs *regs, struct run_end *ret_end)
{
	run_steps_at(vaddr, regs, NULL, NULL, ret_end);
}

void lab_run_steps(const struct run_regs *regs, run_step_fn *step, void *arg,
		   struct run_end *ret_end)
{
	run_steps_at(RUN_BLOCK + lab.detour.entry_at, regs, step, arg, ret_end);
}

void lab_run(const struct run_regs *regs, struct run_end *ret_end)
{
	lab_run_steps(regs, NULL, NULL, ret_end);
}

struct in_body {
	void (*fn)(void *arg);
	void *arg;
};

static void look_for_body(struct ubp_regs *regs, void *arg)
{
	struct in_body *in_body = arg;

	if (regs->r[X86_IP] == LAB_BODY)
		in_body->fn(in_body->arg);
}

void lab_run_function(const struct run_regs *regs, void (*fn)(void *arg), void *arg,
		      struct run_end *ret_end)
{
	struct in_body in_body = { fn, arg };

	run_steps_at(LAB_SITE, regs, look_for_body, &in_body, ret_end);
}

void lab_call_nested(void)
{
#if RUN_BITS == 32
	run_call(lab_start(), LAB_NESTED, (uint32_t)(uintptr_t)lab.nested_text);
#else
	/* The last one: a body that jumps to itself does so as often as cx says. */
	((void (*)(long, const char *, long, long))lab_start())(LAB_NESTED, lab.nested_text, 0,
								0);
#endif
}

void lab_scribble_below(uint64_t sp)
{
	memset((void *)(sp - RED_ZONE - 600), 0xa5, 600);
}

int lab_trap(const struct run_end *end)
{
	if (!end->signo)
		return -1;
	if (end->signo != SIGTRAP)
		fail_msg("signal %d at 0x%llx", end->signo, (unsigned long long)end->pc);
	for (size_t i = 0; i < lab.plan.n_probes; i++) {
		if (end->pc == RUN_BLOCK + lab.detour.trap_at[i] + 1)
			return (int)i;
		if (end->pc == RUN_BLOCK + lab.detour.ret_trap_at[i] + 1)
			return LAB_ON_RETURN + (int)i;
	}
	fail_msg("a breakpoint at 0x%llx", (unsigned long long)end->pc);
	return -1;
}

bool lab_came_home(const struct run_end *end)
{
	return end->exit == 0;
}

uint64_t lab_pc(const struct run_end *end)
{
	return end->pc;
}

bool lab_faulted(const struct run_end *end)
{
	return end->signo == SIGSEGV;
}

void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end)
{
	uint64_t above = before->gpr[SP] - RED_ZONE - RUN_STACK;
	uint8_t want[RUN_STACK_SIZE];

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
	memcpy(want, stack, sizeof(want));
	if (lead.is_push) {
		uint64_t at = above + RED_ZONE - RUN_WORD;

		memcpy(want + at, end->stack + at, RUN_WORD);
	}
	/* Nothing above the red zone's end, nothing further below than the frame. */
	assert_memory_equal(end->stack + above, want + above, RUN_STACK_SIZE - above);
	assert_memory_equal(end->stack, want, above + RED_ZONE - FRAME_ALL);
}

static void write_link(uint64_t vaddr, const struct run_regs *regs)
{
	run_word word = (run_word)vaddr;

	run_write(regs->gpr[SP], &word, sizeof(word));
}

void lab_return_to(uint64_t vaddr, struct run_regs *regs)
{
	write_link(vaddr, regs);
}

void lab_return_home(struct run_regs *before, struct run_regs *ret_after)
{
	write_link(LAB_HOME, before);
	*ret_after = *before;
	ret_after->gpr[SP] += RUN_WORD;
}

uint64_t lab_link(const struct run_regs *before, const struct run_end *end)
{
	run_word word;

	memcpy(&word, end->stack + (before->gpr[SP] - RUN_STACK), sizeof(word));
	return word;
}

void lab_body_returns(void)
{
	run_write(LAB_BODY, "\xc3", 1);
}

void lab_function_start(struct run_regs *before, struct run_regs *ret_after)
{
	lab_start_returns();
	run_plant_exit(LAB_HOME, 0);
	lab_body_returns();
	lab_return_home(before, ret_after);
}

void lab_end_at_body(void)
{
	run_plant_exit(LAB_BODY, 0);
}

uint64_t lab_plain_address(uint64_t found)
{
	return found;
}

/* --- interruptions ------------------------------------------------------------------------ */

struct interruption {
	const struct lab_interruptions *what;
	unsigned at, step; /* the handler runs at step .at */
	bool done;
};

/* In the handler of the single step. */
static void interrupt(struct ubp_regs *regs, void *arg)
{
	struct interruption *in = arg;

	if (in->step++ != in->at)
		return;
	in->done = true;
	if (regs->r[X86_SP] - RUN_STACK < RUN_STACK_SIZE)
		lab_scribble_below(regs->r[X86_SP]);
	in->what->each(in->what->arg, regs->r[X86_IP]);
}

unsigned lab_interrupt(const struct lab_interruptions *what)
{
	static struct run_end end;
	unsigned n = 0;

	for (bool more = true; more; n++) {
		struct interruption in = { .what = what, .at = n };

		write_link(LAB_HOME, what->regs);
		what->start(what->arg);
		run_steps_at(LAB_SITE, what->regs, interrupt, &in, &end);
		what->check(what->arg, &end, in.done);
		more = in.done;
	}
	return n;
}

int32_t lab_find_self(void)
{
	uint64_t at = lab.machine->thread_pointer();

	for (int32_t i = 8; (at & 4095) + (uint64_t)i < 4096; i += 4)
		if (*(pid_t *)(uintptr_t)(at + (uint64_t)i) == gettid())
			return i;
	return 0;
}

#else
extern int not_x86_lab;
int not_x86_lab;
#endif
