/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What an instruction set has for detours: a part of its table (arch/arch.h). */

#ifndef UBP_ARCH_ARCH_DETOUR_H
#define UBP_ARCH_ARCH_DETOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct detour;
struct detour_plan;
struct fetch_program;
struct ubp_err;

/* Detours: the code that a jump leads to (arch/detour.h). */
struct arch_detour {
	/*
	 * The detour for a site. Free ->code and ->loads. -EOPNOTSUPP, with the reason: a
	 * program that only the interpreter can run. -ERANGE as of slot.build().
	 */
	int (*build)(const struct detour_plan *plan, struct detour *ret_detour,
		     struct ubp_err *err);
	/* Its detours take no trap where nobody traces the process (struct guard_gate). */
	bool alone;
	bool scans; /* .build() makes those that scan the stack (detour_plan.scans), too */
	bool reads; /* and that read memory by a call of the kernel then (detour_plan.reads) */
	bool tallies; /* and that count (base/tally_table.h); else their records are counted */
	bool samples; /* and that sample (base/sample_plan.h); else all is recorded, and sampled then */
	bool asks; /* and those that ask the tracer to come (detour_plan.asks) */
	/*
	 * The code that hijacked return addresses are replaced by, at any address: finds the
	 * entry of struct guard_hijack by the stack word and goes on in the detour's return
	 * code. A thread that has no entry any more goes to @trampoline (the tracer's), unless its stack
	 * leads there. A process has one such code. At most @max bytes; UBP_RETURN_CODE_MAX are enough.
	 */
	int (*build_return_code)(uint64_t hijacks, uint64_t hijacks_mask, uint64_t trampoline,
				 uint8_t *code, size_t max, size_t *ret_len,
				 struct ubp_err *err);
	/*
	 * The code by which threads claim rings (engine/base/ring.h), at any address, for detours with the same
	 * .self_at and .has. A process has one such code. NULL: threads make no claims.
	 */
	int (*build_claim_code)(int32_t self_at, unsigned has, uint8_t *code, size_t max,
				size_t *ret_len);
	/*
	 * From the thread pointer on so far musl keeps the thread's id, and glibc, which has a random number where musl has that.
	 * Elsewhere stand other numbers that are as small as the ids of a young pid namespace.
	 */
	int32_t own_ids[2];
	/* Why only the interpreter can run @program, words that stay; NULL: a detour can. */
	const char *(*check)(const struct fetch_program *program);
};

#endif
