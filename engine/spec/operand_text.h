/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* Operands of static probes, written as fetch args. */

#ifndef UBP_SPEC_OPERAND_TEXT_H
#define UBP_SPEC_OPERAND_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/spec/spec.h"

struct operand;
struct ubp_err;

/* What the file tells about an operand. */
struct operand_context {
	uint64_t probe_vaddr;   /* elf_vaddr of the probe */
	uint64_t probe_foffset; /* and where that is in the file */
	bool is_fixed;          /* loaded where it was linked (ET_EXEC) */
	/* Of an operand with a symbol: what .symbol_kind says (elf_vaddr, offset from the
	 * thread's pointer, or from the GOT), without .disp. */
	uint64_t symbol;
};

struct operand_text {
	char value[SPEC_ARG_TEXT_MAX + 1];   /* "%di", "-20(%bp)", "@+0x4010", "\5" */
	char address[SPEC_ARG_TEXT_MAX + 1]; /* of a value in memory: "%bp-20"; "": there is
					      * no expression for it */
	const char *type;                    /* "s32", "f64", "b8@8/16". Static storage */
};

/*
 * The fetch arg that @operand is. @+OFF counts from the probe in memory, so it leads to any
 * segment of the object, and to what is in memory alone (.bss). Extended grammar is used
 * only where the kernel's has no words: two registers, %fs_base, xmm registers, floats, %ah
 * with a sign. Returns 0; -ENOTSUP, with a text: no fetch arg can tell it.
 */
int operand_fetch_text(const struct operand *operand, const struct operand_context *context,
		       struct operand_text *ret, struct ubp_err *err);

#endif
