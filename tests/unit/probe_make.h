/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Parsed definitions for tests of the rooms behind the parser. What is written
 * here is well-formed, so nothing is checked: a mistake in a test's own text
 * ends the test.
 */

#ifndef UBP_TESTS_PROBE_MAKE_H
#define UBP_TESTS_PROBE_MAKE_H

#include <stdbool.h>

#include "arch/arch.h"
#include "engine/spec/spec.h"

/* Indexes into struct ubp_regs on x86-64, where most tests are at home. */
enum {
	REG_R15,
	REG_R14,
	REG_R13,
	REG_R12,
	REG_BP,
	REG_BX,
	REG_R11,
	REG_R10,
	REG_R9,
	REG_R8,
	REG_AX,
	REG_CX,
	REG_DX,
	REG_SI,
	REG_DI,
	REG_ORIG_AX,
	REG_IP,
	REG_CS,
	REG_FLAGS,
	REG_SP,
	REG_SS,
};

struct probe_make {
	struct spec_probe probe;
	struct spec_arg args[SPEC_ARGS_MAX];
};

/* From now on registers are this machine's; NULL: x86-64's. */
void probe_make_for(const struct ubp_arch *arch);

/* A probe "grp/evt" with the fetch args of @args ("a=%di +8(%si):string"). */
void probe_make(struct probe_make *make, bool is_return, const char *args);

#endif
