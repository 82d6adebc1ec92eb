/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Compiled fetch programs against the interpreter: the corpus of values, and random
 * programs over random registers and memory. The same bytes, or the trap where the
 * interpreter meets what cannot be read; registers, flags, vectors and stack as before.
 */

#ifdef __aarch64__

#include <stdio.h>
#include <string.h>

#include "tests/unit/arm64_lab.h"
#include "tests/unit/lab_random.h"

static const char *const regs[] = { "x0",  "x1",  "x2",  "x7",  "x8",  "x9",  "x10",
				    "x11", "x12", "x13", "x14", "x15", "x16", "x17",
				    "x18", "x29", "lr",  "sp",  "pc" };
#define N_REGS (sizeof(regs) / sizeof(regs[0]))

static const struct lab_words words;

static void add_extended_source(char *to, size_t size, uint64_t *rng)
{
	static const char *const disps[] = { "", "+8", "-129", "+0x7fffffff", "-0x123456789a" };
	const char *disp = disps[lab_upto(rng, 5)];
	const char *index = lab_random_reg(&words, rng);
	unsigned base = lab_upto(rng, N_REGS + 2);

	switch (lab_upto(rng, 5)) {
	case 0:
		snprintf(to, size, "%%v%u", lab_upto(rng, UBP_VECTORS));
		break;
	case 1:
		snprintf(to, size, "%%tpidr_el0%s", disp);
		break;
	case 2:
		snprintf(to, size, "%%%s*%u%s", index, 1u << lab_upto(rng, 4), disp);
		break;
	default:
		snprintf(to, size, "%%%s+%%%s*%u%s", base < N_REGS ? regs[base] : "tpidr_el0",
			 index, 1u << lab_upto(rng, 4), disp);
		break;
	}
}

static struct run_regs before;

static const struct run_regs *random_regs(uint64_t seed)
{
	uint64_t rng = seed * 31 + 5;

	run_random(seed, &before);
	for (unsigned i = 0; i < 31; i++)
		if (lab_upto(&rng, 4))
			before.x[i] = (lab_upto(&rng, 2) ? LAB_MEM : LAB_HIGH) +
				      lab_upto(&rng, 0x2000);
	return &before;
}

static bool run(const char *what, uint64_t seed)
{
	static uint8_t stack[RUN_STACK_SIZE];
	static struct run_end end;
	int trap;

	(void)seed;
	memcpy(stack, (void *)RUN_STACK, sizeof(stack));
	lab_run(&before, &end);
	trap = lab_trap(&end);
	lab_assert_kept(what, &before, stack, &end);
	return trap >= 0;
}

static const struct lab_words words = {
	.regs = regs,
	.n_gprs = 16,
	.n_regs = N_REGS,
	.add_extended = add_extended_source,
	.random_regs = random_regs,
	.run = run,
};

int main(void)
{
	return lab_random_tests("arm64_detour", &words, lab_set_up);
}

#else
#include <stdio.h>
int main(void)
{
	puts("this is not an arm64 machine");
	return 77;
}
#endif
