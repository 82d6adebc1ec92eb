/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __aarch64__

#include "tests/unit/arm64_lab.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arm64/decode.h"
#include "arch/arm64/gen.h"
#include "arch/arm64/regs.h"
#include "tests/unit/probe_make.h"

/* --- the machine ------------------------------------------------------------------- */

uint32_t lab_cpu;

static uint64_t thread_pointer(void)
{
	uint64_t tp;

	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

static uint32_t cpu(void)
{
	return lab_cpu;
}

static void to_user(const struct run_regs *regs, struct ubp_regs *user)
{
	memcpy(user->r, regs->x, sizeof(regs->x));
	user->r[ARM64_SP] = regs->sp;
	user->r[ARM64_TP] = lab.key - 1;
	for (size_t i = 0; i < UBP_VECTORS; i++)
		memcpy(&lab.vectors.v[i], &regs->v[i], sizeof(lab.vectors.v[i]));
}

static const struct lab_machine machine = {
	.arch = "arm64",
	.word = 8,
	.has_tags = true,
	.mem = LAB_MEM,
	.site = LAB_SITE,
	.block = LAB_BLOCK,
	.home = LAB_HOME,
	.return_code = LAB_RETURN_CODE,
	.trampoline = LAB_TRAMPOLINE,
	.own = { { RUN_DATA, RUN_DATA + RUN_DATA_SIZE },
		 { RUN_STACK, RUN_STACK + RUN_STACK_SIZE } },
	.thread_pointer = thread_pointer,
	.cpu = cpu,
	.write = run_write,
	.to_user = to_user,
	.pc = ARM64_PC,
};

/*
 * What test_arm64_lead has the others run with: a lead in front of the site, and a window that
 * takes it back, so that nobody behind it sees that it was there.
 */
static const struct {
	const char *name;
	uint32_t code, window;
} leads[] = {
	{ "push", 0xa9be53f3, 0x910083ff }, /* stp x19, x20, [sp, #-32]!; add sp, sp, #32 */
	{ "sub", 0xd10943ff, 0x910943ff },  /* sub sp, sp, #592; add */
};

static struct lead lead;

static void make_lead(const char *name)
{
	size_t i = 0;

	while (strcmp(leads[i].name, name) != 0)
		assert_true(++i < sizeof(leads) / sizeof(leads[0]));
	lab_begin(&machine, (const uint8_t *)&leads[i].window, ARM64_INSN,
		  (uint64_t *)LAB_GATE);
	assert_true(lab.arch->lead.find((const uint8_t *)&leads[i].code, ARM64_INSN, &lead));
	run_write(LAB_SITE - lead.len, lead.bytes, lead.len);
	lab.plan.lead = &lead;
}

static uint64_t lab_start(void)
{
	return LAB_SITE - lead.len;
}

int lab_set_up(void **state)
{
	const char *name = getenv("UBP_LAB_LEAD");
	const uint32_t nop = ARM64_NOP;

	(void)state;
	assert_int_equal(run_begin(NULL, 0), 0);
	if (name)
		make_lead(name);
	else
		lab_begin(&machine, (const uint8_t *)&nop, sizeof(nop), (uint64_t *)LAB_GATE);
	probe_make_for(lab.arch);
	lab_cpu = 5;
	lab.cpu_vaddr = (uint64_t)&lab_cpu;
	lab_reset();
	return 0;
}

/* --- running ---------------------------------------------------------------------------- */

void lab_random(uint64_t seed, struct run_regs *ret_regs)
{
	run_random(seed, ret_regs);
	run_random_memory(seed);
	ret_regs->pc = lab_start();
}

void lab_run_from(const struct run_regs *regs, struct run_end *ret_end)
{
	assert_int_equal(run_take_signals(), 0);
	run_code(regs, ret_end);
}

void lab_run_at(uint64_t vaddr, const struct run_regs *regs, struct run_end *ret_end)
{
	bool is_entry = lab.detour.len && vaddr == LAB_BLOCK + lab.detour.entry_at;
	struct run_regs start = *regs;

	if (lead.len && is_entry)
		lab_jump_over_site();
	start.pc = lead.len && (is_entry || vaddr == LAB_SITE) ? lab_start() : vaddr;
	lab_run_from(&start, ret_end);
}

void lab_run(const struct run_regs *regs, struct run_end *ret_end)
{
	lab_run_at(LAB_BLOCK + lab.detour.entry_at, regs, ret_end);
}

struct in_body {
	void (*fn)(void *arg);
	void *arg;
};

static bool stopped_in_body(struct run_regs *regs, void *arg)
{
	struct in_body *in_body = arg;

	if (regs->pc != LAB_BODY)
		return false;
	regs->pc += ARM64_INSN;
	in_body->fn(in_body->arg);
	return true;
}

void lab_run_function(const struct run_regs *regs, void (*fn)(void *arg), void *arg,
		      struct run_end *ret_end)
{
	struct in_body in_body = { fn, arg };

	run_write_word(LAB_BODY, INSN_BRK);
	run_write_word(LAB_BODY + ARM64_INSN, INSN_RET);
	run_on_trap(stopped_in_body, &in_body);
	lab_run_at(LAB_SITE, regs, ret_end);
	run_on_trap(NULL, NULL);
	lab_body_returns();
}

void lab_call_nested(void)
{
	((void (*)(long, const char *))lab_start())(LAB_NESTED, lab.nested_text);
}

int lab_trap(const struct run_end *end)
{
	uint64_t pc = end->regs.pc;

	if (end->signo != SIGTRAP)
		fail_msg("signal %d at 0x%llx", end->signo, (unsigned long long)pc);
	for (size_t i = 0; i < lab.plan.n_probes; i++) {
		if (lab.detour.trap_at[i] && pc == LAB_BLOCK + lab.detour.trap_at[i])
			return (int)i;
		if (lab.detour.ret_trap_at[i] && pc == LAB_BLOCK + lab.detour.ret_trap_at[i])
			return LAB_ON_RETURN + (int)i;
	}
	if (pc - LAB_BLOCK < LAB_BLOCK_SIZE && pc != LAB_TRAMPOLINE)
		fail_msg("a breakpoint at + 0x%llx", (unsigned long long)(pc - LAB_BLOCK));
	return -1;
}

bool lab_came_home(const struct run_end *end)
{
	return end->signo == SIGTRAP && end->regs.pc == LAB_HOME;
}

uint64_t lab_pc(const struct run_end *end)
{
	return end->regs.pc;
}

bool lab_faulted(const struct run_end *end)
{
	return end->signo == SIGSEGV;
}

void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end)
{
	uint64_t below = before->sp - BELOW_STACK - RUN_STACK, pushed = 0;
	uint8_t want[RUN_STACK_SIZE];

	for (size_t i = 0; i < 31; i++)
		if (end->regs.x[i] != before->x[i])
			fail_msg("%s: x%zu is 0x%llx, was 0x%llx", what, i,
				 (unsigned long long)end->regs.x[i],
				 (unsigned long long)before->x[i]);
	assert_int_equal(end->regs.sp, before->sp);
	if (end->regs.pstate != before->pstate)
		fail_msg("%s: flags are 0x%llx, were 0x%llx", what,
			 (unsigned long long)end->regs.pstate,
			 (unsigned long long)before->pstate);
	assert_memory_equal(end->regs.v, before->v, sizeof(before->v));
	assert_int_equal(end->regs.fpsr, before->fpsr);
	if (!stack)
		return;
	assert_true(below >= FRAME_LEN && below < RUN_STACK_SIZE);
	/* Nothing above what programs may use, nothing further below than the frame, which is below
	 * what the lead takes at entry. */
	memcpy(want, stack, sizeof(want));
	if (lead.is_push) {
		pushed = before->sp - lead.sp_down - RUN_STACK;
		memcpy(want + pushed, end->stack + pushed, 16);
	}
	assert_memory_equal(end->stack + below, want + below, RUN_STACK_SIZE - below);
	assert_memory_equal(end->stack, want, below - FRAME_LEN - lead.sp_down);
}

/* --- interruptions ------------------------------------------------------------------------ */

struct at {
	const struct lab_interruptions *what;
	uint64_t vaddr;
	uint32_t insn;
	bool done;
};

/* In the handler of a breakpoint. */
static bool interrupt(struct run_regs *regs, void *arg)
{
	struct at *at = arg;

	if (at->done || regs->pc != at->vaddr)
		return false;
	at->done = true;
	run_write_word(at->vaddr, at->insn);
	at->what->each(at->what->arg, at->vaddr);
	return true;
}

static bool interrupt_at(const struct lab_interruptions *what, uint64_t vaddr)
{
	struct at at = { .what = what, .vaddr = vaddr, .insn = *(uint32_t *)vaddr };
	static struct run_end end;

	if (at.insn == INSN_BRK)
		return false;
	what->start(what->arg);
	run_write_word(vaddr, INSN_BRK);
	run_on_trap(interrupt, &at);
	lab_run_at(LAB_SITE, what->regs, &end);
	run_on_trap(NULL, NULL);
	run_write_word(vaddr, at.insn);
	what->check(what->arg, &end, at.done);
	return at.done;
}

unsigned lab_interrupt(const struct lab_interruptions *what)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < lab.detour.len; i += 4)
		n += interrupt_at(what, LAB_BLOCK + i);
	for (uint64_t i = 0; what->returns && i < UBP_RETURN_CODE_MAX; i += 4)
		n += interrupt_at(what, LAB_RETURN_CODE + i);
	return n;
}

/* --- a function ------------------------------------------------------------------------ */

void lab_return_to(uint64_t vaddr, struct run_regs *regs)
{
	regs->x[ARM64_X30] = vaddr;
}

void lab_return_home(struct run_regs *before, struct run_regs *ret_after)
{
	lab_return_to(LAB_HOME, before);
	*ret_after = *before;
}

uint64_t lab_link(const struct run_regs *before, const struct run_end *end)
{
	(void)before;
	return end->regs.x[ARM64_X30];
}

void lab_body_returns(void)
{
	run_write_word(LAB_BODY, INSN_RET);
}

void lab_function_start(struct run_regs *before, struct run_regs *ret_after)
{
	lab_start_returns();
	run_clear(LAB_HOME, ARM64_INSN);
	lab_body_returns();
	lab_return_home(before, ret_after);
}

void lab_end_at_body(void)
{
	run_clear(LAB_BODY, ARM64_INSN);
}

uint64_t lab_plain_address(uint64_t found)
{
	__asm__("mov x30, %0\n\thint #7\n\tmov %0, x30" : "+r"(found) : : "x30"); /* xpaclri */
	return found;
}

#else
extern int not_arm64_lab;
int not_arm64_lab;
#endif
