/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * The other way to a caller's frame: libunwind, with accessors of ours. All that it reads, tables
 * of unwinding included, is the process's memory, read as everywhere here; no file is opened.
 * Replaced return addresses are put right in what it reads.
 */

#ifndef UBP_STACK_LIBUNWIND_H
#define UBP_STACK_LIBUNWIND_H

#include <stdbool.h>

#include "engine/stack/frame.h"

struct maps;
struct ubp_err;

/* Opaque. For one tracing thread, and processes of any number. */
struct stack_libunwind;

int stack_libunwind_new(struct stack_libunwind **ret_libunwind, struct ubp_err *err);
void stack_libunwind_free(struct stack_libunwind *libunwind);

/* Can it unwind programs of this kind? It is built for those of our own; a static ubp has none. */
bool stack_libunwind_serves(const struct ubp_arch *arch);

/* A new stack: what was read of tables may have changed. @mem as of mem_read(). */
void stack_libunwind_begin(struct stack_libunwind *libunwind, const struct trace_mem *mem,
			   pid_t tid);

/*
 * To the caller's frame. @maps: what the process maps. @only_tables: as the tables that are mapped say,
 * and not by libunwind's guesses (frame pointers, entries of the PLT) where they say nothing.
 * False: there is none, or it can't be found; the frame stays what it was then.
 */
bool stack_frame_by_libunwind(struct stack_libunwind *libunwind, struct stack_frame *frame,
			      const struct maps *maps, bool only_tables);

#endif
