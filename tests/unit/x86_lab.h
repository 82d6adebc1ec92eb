/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours in a laboratory: rings in this process, a window at a fixed place, some memory
 * with holes. A detour is built, run from given registers, and what it wrote is
 * compared with what the interpreter makes of the same hit. Only on an x86-64 host.
 */

#ifndef UBP_TESTS_X86_LAB_H
#define UBP_TESTS_X86_LAB_H

#ifdef __x86_64__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"
#include "engine/base/ring.h"
#include "engine/event/record.h"
#include "engine/fetch/fetch.h"
#include "tests/unit/x86_run.h"

/* Three pages, a hole of a page, two pages, then nothing. */
#define LAB_MEM      0x2b0000000000ull
#define LAB_MEM_SIZE 0x3000
#define LAB_HIGH     (LAB_MEM + 0x4000)
#define LAB_END      (LAB_HIGH + 0x2000)

#define LAB_SITE     (RUN_CODE - 5)
#define LAB_CAPACITY 65536u
#define LAB_TID      4243

struct lab_range {
	uint64_t start, end;
};

struct lab {
	struct ring_control *control;
	struct ring_head *head;
	struct ring_thread *table, *thread; /* that of this thread, or NULL */
	char (*comms)[16];
	uint8_t *ring;
	uint64_t *gate; /* what the detour looks at */
	uint64_t key;
	struct lab_range ranges[RING_RANGES];
	size_t n_ranges;
	struct window window;
	struct detour_probe probes[UBP_DETOUR_PROBES];
	struct detour_plan plan;
	struct detour detour;
	struct fetch_scratch *scratch;
	struct event_record *record; /* as the interpreter has it */
	uint64_t real;               /* for return probes: where they return to ... */
	uint64_t duration_ns;        /* ... and how long it took, to the interpreter */
	bool passes;                 /* what the filter says of it, faults and all */
};

/* Everything there is, mapped. run_init() comes first. */
void lab_make(struct lab *lab);
void lab_free(struct lab *lab);

/* Empty rings, this thread known, all of the memory, RUN's data and stack known. */
void lab_reset(struct lab *lab);
void lab_forget_ranges(struct lab *lab);
void lab_range(struct lab *lab, uint64_t start, uint64_t len);
/* Numbers, texts and pointers into all of the memory. */
void lab_fill(uint64_t seed);

/* Build the detour of lab->plan with @n of lab->probes and put it into place. */
int lab_build(struct lab *lab, size_t n, struct ubp_err *err);
/* One probe. */
int lab_build_one(struct lab *lab, const struct fetch_program *program,
		  const struct filter *filter, struct ubp_err *err);

/* Run it. */
void lab_run(struct lab *lab, const struct run_regs *regs, uint64_t seed, run_step_fn *step,
	     void *arg, struct run_end *ret_end);
#define LAB_ON_RETURN 100

/* The probe whose trap it ended with, on return + LAB_ON_RETURN; or -1. */
int lab_trap(const struct lab *lab, const struct run_end *end);
/* It ended with a fault of memory. */
bool lab_faulted(const struct run_end *end);
/* All registers, flags, and the stack from the red zone on, must be as before. */
void lab_assert_kept(const struct lab *lab, const char *what, const struct run_regs *before,
		     const uint8_t *stack, const struct run_end *end);
/* The record at position @at; NULL if there is none that is complete. */
const struct ring_record *lab_record_at(const struct lab *lab, uint64_t at);

enum lab_outcome {
	LAB_RECORD,  /* lab->record is the event */
	LAB_DROPPED, /* by the filter */
	LAB_FAULT, /* some of the memory is not there, a string has no end, the record is too long */
};

/* What the interpreter does with such a hit. */
enum lab_outcome lab_interpret(struct lab *lab, const struct detour_probe *probe,
			       const struct run_regs *regs);
/* Is it the record of that event? */
void lab_assert_record(const struct lab *lab, const char *what,
		       const struct ring_record *record);

#endif
#endif
