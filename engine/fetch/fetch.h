/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Fetch programs: compile the args of a definition, and run the program over
 * the registers and the memory of a stopped thread.
 */

#ifndef UBP_FETCH_FETCH_H
#define UBP_FETCH_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "engine/base/fetch_op.h"
#include "engine/event/record.h"
#include "engine/spec/spec.h"

struct ubp_err;

/*
 * One piece of target memory to be read. A reader fills all of a batch with as
 * few system calls as it can. Spans are never empty and never wrap around the
 * end of the address space; guesses (strings) never reach into a page that the
 * string is not known to touch.
 */
struct fetch_span {
	uint64_t vaddr;
	uint32_t len;
	uint32_t got; /* out: bytes read from the start before the first fault */
	void *buf;
};

/*
 * Where memory comes from. Handed in: a process (engine/trace), or an array in
 * a test. Reads what the program itself could read: no kernel half, nothing
 * that is PROT_NONE; short counts at a fault are exact to the byte.
 */
struct fetch_memory {
	void (*read)(void *ctx, struct fetch_span *spans, size_t n);
	void *ctx;
};

struct fetch_input {
	const struct ubp_arch *arch;
	const struct ubp_regs *regs;
	const struct fetch_memory *memory;
	uint64_t hit_vaddr;   /* address of the probe, for @+OFF (also on return) */
	const char *comm;     /* the task's name; may be NULL if !program->needs_comm */
	uint64_t duration_ns; /* of the call that returns; used if program->needs_duration */
	/* May be NULL if !program->needs_vectors. */
	const struct ubp_vectors *vectors;
	/* What fetch_run_entry() has kept of the call that returns; NULL: nothing is known of its entry. */
	const struct entry_values *entry;
};

/*
 * Compile the args of @probe. Returns 0, -ENOMEM, or -EINVAL for args that no
 * accepted definition has (a string of a register, more than FETCH_FIXED_MAX
 * bytes, ...). The caller frees with free().
 */
int fetch_compile(const struct spec_probe *probe, struct fetch_program **ret_program,
		  struct ubp_err *err);

/* What its args want to be kept of the function's entry. *ret_program is NULL if nothing; else as fetch_compile(). */
int fetch_compile_entry(const struct spec_probe *probe, struct fetch_program **ret_program,
			struct ubp_err *err);

/*
 * Scratch space for runs, so that the hot path never allocates. One per tracer
 * thread. A few megabytes of address space, of which only what a program's
 * strings need is ever touched. NULL: out of memory.
 */
struct fetch_scratch;
struct fetch_scratch *fetch_scratch_new(void);
void fetch_scratch_free(struct fetch_scratch *scratch);

/*
 * Run @program; write the data (fixed area, strings) to @data, which has room
 * for EVENT_DATA_MAX bytes. @head is the length of the kernel's head of such a record
 * (probe_kind_head()). Returns the length of the data, or -E2BIG when the
 * record with that head would exceed EVENT_RECORD_LIMIT. No
 * allocation; memory is read in one batch wherever the addresses are known from
 * registers alone, plus one batch per level of dereferences and per continued
 * string.
 */
int fetch_run(const struct fetch_program *program, const struct fetch_input *in,
	      struct fetch_scratch *scratch, size_t head, uint8_t *data);

/* Run a program of fetch_compile_entry(), at the entry. */
void fetch_run_entry(const struct fetch_program *program, const struct fetch_input *in,
		     struct fetch_scratch *scratch, struct entry_values *ret_values);

#endif
