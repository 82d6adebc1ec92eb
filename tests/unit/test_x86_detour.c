/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Compiled fetch programs against the interpreter: random
 * programs over random registers and memory. The same bytes, or the trap where the
 * interpreter meets what cannot be read; registers, flags, vectors and stack as before.
 */

#ifdef __x86_64__

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arch/x86/cpu.h"
#include "tests/unit/lab_random.h"
#include "tests/unit/x86_lab.h"

#if RUN_BITS == 32
static const char *const regs[] = { "ax", "cx", "dx", "bx", "sp", "bp",
				    "si", "di", "ip", "cs", "ss" };
#define VECTORS 8
#define SEGMENT 'g'
#else
#define VECTORS 16
#define SEGMENT 'f'
static const char *const regs[] = { "ax",  "cx",  "dx", "bx",  "sp",  "bp",     "si",
				    "di",  "r8",  "r9", "r10", "r11", "r12",    "r13",
				    "r14", "r15", "ip", "cs",  "ss",  "orig_ax" };
#endif
#define N_REGS (sizeof(regs) / sizeof(regs[0]))

static const struct lab_words words;

/* In 64 bits, where the second segment begins takes an instruction that not every machine has. */
static bool knows_gs(void)
{
	return RUN_BITS == 32 || lab.plan.has & X86_HAS_FSGSBASE;
}

static void add_extended_source(char *to, size_t size, uint64_t *rng)
{
	static const char *const disps[] = { "", "+8", "-129", "+0x7fffffff", "-0x123456789a" };
	const char *disp = disps[lab_upto(rng, 5)];
	const char *index = lab_random_reg(&words, rng);
	unsigned base = lab_upto(rng, N_REGS + 2);

	switch (lab_upto(rng, 5)) {
	case 0:
		snprintf(to, size, "%%xmm%u", lab_upto(rng, VECTORS));
		break;
	case 1:
		snprintf(to, size, "%%%cs_base%s",
			 lab_upto(rng, 2) || !knows_gs() ? SEGMENT : 'g', disp);
		break;
	case 2:
		snprintf(to, size, "%%%s*%u%s", index, 1u << lab_upto(rng, 4), disp);
		break;
	default:
		snprintf(to, size, "%%%s+%%%s*%u%s",
			 base < N_REGS                                       ? regs[base]
			 : RUN_BITS == 64 && (base == N_REGS || !knows_gs()) ? "fs_base"
									     : "gs_base",
			 index, 1u << lab_upto(rng, 4), disp);
		break;
	}
}

static struct run_regs before;

static const struct run_regs *random_regs(uint64_t seed)
{
	uint64_t rng = seed * 31 + 5;

	lab_random(seed, &before);
	for (unsigned i = 0; i < RUN_GPRS; i++)
		if (i != SP && lab_upto(&rng, 4))
			before.gpr[i] = (lab_upto(&rng, 2) ? LAB_MEM : LAB_HIGH) +
					lab_upto(&rng, 0x2000);
	return &before;
}

static bool run(const char *what, uint64_t seed)
{
	bool in_run = before.gpr[SP] - RUN_STACK < RUN_STACK_SIZE;
	static uint8_t stack[RUN_STACK_SIZE];
	static struct run_end end;
	int trap;

	(void)seed;
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	trap = lab_trap(&end);
	if (end.signo && trap != 0)
		fail_msg("%s: signal %d at + 0x%llx", what, end.signo,
			 (unsigned long long)(end.pc - RUN_BLOCK));
	lab_assert_kept(what, &before, in_run ? stack : NULL, &end);
	return trap == 0;
}

static const struct lab_words words = {
	.regs = regs,
	.n_gprs = RUN_GPRS,
	.n_regs = N_REGS,
	.add_extended = add_extended_source,
	.random_regs = random_regs,
	.run = run,
};

int main(void)
{
	return lab_random_tests("detour", &words, lab_set_up);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an x86-64 machine");
	return 77;
}
#endif
