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
#include "arch/guard.h"
#include "engine/base/ring.h"
#include "engine/event/record.h"
#include "engine/fetch/fetch.h"
#include "tests/unit/x86_run.h"

/* Three pages, a hole of a page, two pages, then nothing. */
#if RUN_BITS == 64
#define LAB_MEM 0x2b0000000000ull
#elif defined(__SANITIZE_ADDRESS__)
#define LAB_MEM 0x2b000000ull
#else
#define LAB_MEM 0xab000000ull /* as a number of 32 bits it would be negative */
#endif
#define LAB_MEM_SIZE 0x3000
#define LAB_HIGH     (LAB_MEM + 0x4000)
#define LAB_END      (LAB_HIGH + 0x2000)

#define LAB_SITE     (RUN_CODE - 5)
#define LAB_CAPACITY 65536u
#define LAB_TID      4243

/* The function at LAB_SITE, with what return probes need. */
#define LAB_BODY        RUN_CODE
#define LAB_HOME        (RUN_BASE + 0x100)                   /* an exit, that is returned to */
#define LAB_RETURN_CODE (RUN_BLOCK + RUN_BLOCK_SIZE - 0x400) /* the common one */
#define LAB_TRAMPOLINE  (RUN_BLOCK + RUN_BLOCK_SIZE - 0x40)
#define LAB_HIJACKS     256
/* Its args where calls are told apart: the first, and a text. */
#define LAB_OUTER       77
#define LAB_OUTER_TEXT  "fifteen letters"
#define LAB_NESTED      5
#define LAB_NESTED_TEXT "handler"

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
	struct ubp_vectors vectors;  /* as the interpreter shall see them */
	bool passes;                 /* what the filter says of it, faults and all */
	struct fetch_program *programs[UBP_DETOUR_PROBES]; /* of lab_set_probe() */
	struct filter *filters[UBP_DETOUR_PROBES];
	struct guard_hijack *hijacks; /* LAB_HIJACKS of them */
	char *nested_text;            /* LAB_NESTED_TEXT, where the code can have it */
};

#define LAB_HIJACKS_LEN (LAB_HIJACKS * sizeof(struct guard_hijack))

const struct ubp_arch *lab_arch(void);
/* From a signal handler: the function, for LAB_NESTED. */
void lab_call_nested(void);
/* What the kernel may do when it calls a handler: write below the stack pointer, beyond what
 * programs of this kind may keep there. */
void lab_scribble_below(uint64_t sp);

/* There is one: it lies at fixed places. */
extern struct lab lab;

/* Everything there is, mapped. run_init() comes first. */
void lab_make(void);
void lab_free(void);
/* Both as a group's setup, and its teardown. */
int lab_set_up(void **state);
int lab_tear_down(void **state);

/* Empty rings, this thread known, all of the memory, RUN's data and stack known. */
void lab_reset(void);
void lab_forget_ranges(void);
void lab_range(uint64_t start, uint64_t len);
/* Numbers, texts and pointers into all of the memory. */
void lab_fill(uint64_t seed);

/* Build the detour of lab.plan with @n of lab.probes and put it into place. */
int lab_build(size_t n, struct ubp_err *err);
/* One probe. */
int lab_build_one(const struct fetch_program *program, const struct filter *filter,
		  struct ubp_err *err);

/* lab.probes[@i] becomes that, with number 100 + @i; the lab keeps what it is made of. */
void lab_set_probe(unsigned i, bool is_return, const char *args, const char *filter);
/* The detour of the first @n of these, which must succeed. */
void lab_build_set(unsigned n);
/* A jump to it at LAB_SITE. */
void lab_jump_over_site(void);

/* Run it. */
void lab_run(const struct run_regs *regs, uint64_t seed, run_step_fn *step, void *arg,
	     struct run_end *ret_end);
#define LAB_ON_RETURN 100

/* The probe whose trap it ended with, on return + LAB_ON_RETURN; or -1. */
int lab_trap(const struct run_end *end);
/* It ended with a fault of memory. */
bool lab_faulted(const struct run_end *end);
/* All registers, flags, and the stack from the red zone on, must be as before. */
void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end);
/* The record at position @at; NULL if there is none that is complete. */
const struct ring_record *lab_record_at(uint64_t at);

enum lab_outcome {
	LAB_RECORD,  /* lab.record is the event */
	LAB_DROPPED, /* by the filter */
	LAB_FAULT, /* some of the memory is not there, a string has no end, the record is too long */
};

/* What the interpreter does with such a hit. */
enum lab_outcome lab_interpret(const struct detour_probe *probe, const struct run_regs *regs);
/* Is it the record of that event? */
void lab_assert_record(const char *what, const struct ring_record *record);
/* At @at stands what the interpreter makes of lab.probes[@i] with @regs. Returns its end. */
uint64_t lab_expect_record(uint64_t at, unsigned i, const struct run_regs *regs);
/* No record ends behind @at. */
void lab_expect_nothing(uint64_t at);
/* Records of LAB_OUTER and LAB_NESTED calls from @at on; all of them must be complete. */
void lab_count_calls(uint64_t at, unsigned *ret_outer, unsigned *ret_nested);

/* The function does nothing but return, to LAB_HOME, from @before; no return is hijacked. */
void lab_function_start(const struct run_regs *before, struct run_regs *ret_after);
/* lab_build_set(), with a jump to it. */
void lab_function_build(unsigned n);

#endif
#endif
