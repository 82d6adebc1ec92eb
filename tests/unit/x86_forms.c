/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#ifdef __x86_64__

#include "tests/unit/x86_forms.h"

#include <string.h>
#include <sys/syscall.h>

#define RIP   RUN_RIP
#define MOFFS RUN_MOFFS

/* Branch forms: name, how to prepare memory, text. "1:" is the end of the text. */

#define FORM(name, need, text)                                                                 \
	__asm__(".pushsection .rodata; form_" #name "_s: " text "; form_" #name                \
		"_e: .popsection");
#define VFORM(name, need, text) FORM(name, need, text)
#include "fixtures/insn_forms.h"
#undef FORM
#undef VFORM
#define BRANCH(name, prepare, text)                                                            \
	__asm__(".pushsection .rodata; form_" #name "_s: " text "; form_" #name                \
		"_e: .popsection");
BRANCHES
#undef BRANCH

#define FORM(name, need, text)  extern const uint8_t form_##name##_s[], form_##name##_e[];
#define VFORM(name, need, text) FORM(name, need, text)
#include "fixtures/insn_forms.h"
#undef FORM
#undef VFORM
#define BRANCH(name, prepare, text) extern const uint8_t form_##name##_s[], form_##name##_e[];
BRANCHES
#undef BRANCH

const struct form forms[] = {
#define FORM(name, need, text)                                                                 \
	{ #name, NEED_##need, false, form_##name##_s, form_##name##_e, PREPARE_NOTHING, false },
#define VFORM(name, need, text)                                                                \
	{ #name, NEED_##need, true, form_##name##_s, form_##name##_e, PREPARE_NOTHING, false },
#include "fixtures/insn_forms.h"
#define BRANCH(name, prepare, text)                                                            \
	{ #name, NEED_ANY, false, form_##name##_s, form_##name##_e, PREPARE_##prepare, true },
	BRANCHES
};

const size_t n_forms = sizeof(forms) / sizeof(forms[0]);

bool form_runs(const struct form *f)
{
	switch (f->need) {
	case NEED_ANY:
		return true;
	case NEED_MOVBE:
	case NEED_BMI:
		return __builtin_cpu_supports("bmi2");
	case NEED_POPCNT:
		return __builtin_cpu_supports("popcnt");
	case NEED_SSE42:
		return __builtin_cpu_supports("sse4.2");
	case NEED_SSSE3:
		return __builtin_cpu_supports("ssse3");
	case NEED_AVX2:
		return __builtin_cpu_supports("avx2");
	case NEED_FMA:
		return __builtin_cpu_supports("fma");
	case NEED_AVX512:
		return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
	}
	return false;
}

static void fill_words(uint64_t vaddr, size_t size, uint64_t word)
{
	for (size_t i = 0; i < size; i += 8)
		run_write(vaddr + i, &word, 8);
}

void form_prepare(const struct form *f, uint64_t seed, struct run_regs *ret_regs)
{
	uint64_t target = RUN_CODE + FORM_TARGET_AT;

	run_random(seed, ret_regs);
	switch (f->prepare) {
	case PREPARE_NOTHING:
		break;
	case PREPARE_CX: /* 0, 1, 2, and something big that ecx does not see */
		ret_regs->gpr[CX] = seed % 4 == 3 ? 1ull << 32 | seed % 3 : seed % 4;
		break;
	case PREPARE_TARGET:
		fill_words(RUN_DATA, RUN_DATA_SIZE, target);
		fill_words(RUN_STACK, RUN_STACK_SIZE, target);
		ret_regs->gpr[AX] = target;
		ret_regs->gpr[R11] = target;
		break;
	case PREPARE_BAD_TARGET:
		ret_regs->gpr[AX] = 1ull << 63;
		break;
	case PREPARE_CODE_ON_STACK:
		run_plant_exit(ret_regs->gpr[SP], 2);
		break;
	case PREPARE_GETPID:
		ret_regs->gpr[AX] = SYS_getpid;
		break;
	}
}

#else
extern int not_x86_forms;
int not_x86_forms;
#endif
