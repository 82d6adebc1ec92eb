/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* DWARF expressions as call frame information has them: PLT entries, frames of signals. */

#ifndef UBP_STACK_EXPR_H
#define UBP_STACK_EXPR_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an expression may look at. */
struct expr_input {
	const uint64_t *regs;  /* by DWARF's numbers */
	const uint64_t *known; /* bit n % 64 of known[n / 64]: regs[n] is */
	unsigned n_regs;
	uint64_t cfa;
	bool (*read)(void *ctx, uint64_t vaddr, void *buf, size_t len);
	void *ctx;
};

/* What is left on top. False: something is not known, can't be read, or it goes on for too long. */
bool expr_eval(const Dwarf_Op *ops, size_t n, const struct expr_input *in, uint64_t *ret_value);

#endif
