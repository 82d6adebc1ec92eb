/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Every instruction form that can be run, assembled (x86_run.h), and what it needs. */

#ifndef TESTS_UNIT_X86_FORMS_H
#define TESTS_UNIT_X86_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/x86_branches.h"
#include "tests/unit/x86_run.h"

/* A branch's displacement, and where the second exit stands seen from RUN_CODE. */
#define FORM_TARGET_AT 0x40

enum need {
	NEED_ANY,
	NEED_MOVBE,
	NEED_POPCNT,
	NEED_BMI,
	NEED_SSE42,
	NEED_SSSE3,
	NEED_AVX2,
	NEED_FMA,
	NEED_AVX512
};

struct form {
	const char *name;
	enum need need;
	bool varies; /* rax, rcx, rdx are something else at every run */
	const uint8_t *start, *end;
	enum prepare prepare;
	bool branch;
};

extern const struct form forms[];
extern const size_t n_forms;

/* Does this processor know it? */
bool form_runs(const struct form *f);

/* Registers and memory for a seed, the same for each way of running it. */
void form_prepare(const struct form *f, uint64_t seed, struct run_regs *ret_regs);

#endif
