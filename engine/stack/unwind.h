/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * User stacks by call frame information (libdw), where there is none by what libunwind finds in the
 * process's memory, else by frame pointers; or by libunwind all along.
 * For the tracing thread. What CFI says is kept, so that the second stack through the same
 * functions costs one read of the stack's memory and arithmetic.
 */

#ifndef UBP_STACK_UNWIND_H
#define UBP_STACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_map_warn;
struct space;
struct stack_maps_set;
struct tracee;
struct ubp_err;
struct ubp_regs;

/* Opaque. */
struct stack_unwinder;

/* How many frames each way has found, those of interrupted code and of entries left out. */
struct stack_ways {
	uint64_t by_rows, by_libunwind, by_frame_pointer;
};

/*
 * @maps stays the caller's. @only_libunwind: it goes first, wherever it can. @warn is told, by the tracing
 * thread, of files whose call frame information is left alone; NULL: nobody is.
 */
int stack_unwinder_new(struct stack_maps_set *maps, bool only_libunwind,
		       const struct perf_map_warn *warn, struct stack_unwinder **ret_unwinder,
		       struct ubp_err *err);
/* From any thread. */
void stack_unwinder_ways(const struct stack_unwinder *unwinder, struct stack_ways *ret_ways);
void stack_unwinder_free(struct stack_unwinder *unwinder);

/*
 * Addresses of the stopped thread's stack, innermost first: the pc, then return addresses;
 * hijacked ones as they were, what is ours (slots, detours) as the program's. @regs are those
 * at the probed instruction, or behind the return. Returns how many, at most
 * @max; *ret_maps: number of the set of mappings that they are from.
 */
size_t stack_unwind(struct stack_unwinder *unwinder, struct tracee *t,
		    const struct ubp_regs *regs, uint64_t *stack, size_t max,
		    uint32_t *ret_maps);

/* Nobody lives in the space any more. What it maps is looked at again whenever
 * plant_space.maps_number says so. */
void stack_unwinder_forget(struct stack_unwinder *unwinder, const struct space *space);

#endif
