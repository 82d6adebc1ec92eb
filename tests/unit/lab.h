/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Detours in a laboratory: rings in this process, a window at a fixed place, some memory
 * with holes. A detour is built, run from given registers, and what it wrote is
 * compared with what the interpreter makes of the same hit.
 *
 * Here is what is the same for each machine; x86_lab.h and arm64_lab.h have the rest. Tests for
 * all machines include host_lab.h.
 */

#ifndef TESTS_UNIT_LAB_H
#define TESTS_UNIT_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"
#include "arch/guard.h"
#include "arch/guard_hijack.h"
#include "engine/base/ring.h"
#include "engine/event/record.h"
#include "engine/fetch/fetch.h"

/* From the machine's .mem on: three pages, a hole of a page, two pages, then nothing. */
#define LAB_MEM_SIZE 0x3000
#define LAB_HIGH_AT  0x4000
#define LAB_END_AT   0x6000

#define LAB_CAPACITY 65536u
#define LAB_TID      4243
#define LAB_HIJACKS  256

/* Args of the function where calls are told apart: the first, and a text. */
#define LAB_OUTER       77
#define LAB_OUTER_TEXT  "fifteen letters"
#define LAB_NESTED      5
#define LAB_NESTED_TEXT "handler"

/* The machine's. */
struct run_regs;
struct run_end;

struct lab_range {
	uint64_t start, end;
};

struct lab_machine {
	const char *arch;
	unsigned word; /* bytes of a pointer */
	int map_flags;
	bool has_tags;             /* in the highest byte of an address */
	uint64_t mem, site, block; /* where things are */
	uint64_t home;             /* that the function returns to, */
	uint64_t return_code;      /* ... the common code for that, and the tracer's */
	uint64_t trampoline;
	struct lab_range own[2]; /* readable, beside the memory */
	uint64_t (*thread_pointer)(void);
	uint32_t (*cpu)(void);
	void (*write)(uint64_t vaddr, const void *bytes, size_t len);
	/* As the tracer sees a hit; NULL vectors are lab.vectors as they are. */
	void (*to_user)(const struct run_regs *regs, struct ubp_regs *ret_user);
	unsigned pc; /* index in these */
};

struct lab {
	const struct lab_machine *machine;
	const struct ubp_arch *arch;
	struct ring_control *control;
	struct ring_head *head;
	struct ring_thread *table, *thread; /* that of this thread, or NULL */
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
	uint64_t cpu_vaddr;          /* where threads are told their processor; 0: nowhere */
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

/* There is one: it lies at fixed places. */
extern struct lab lab;

/*
 * Everything there is, mapped; the window is @code, which stands at the site. By lab_make() of
 * the machine, once there is memory to run code in.
 */
void lab_begin(const struct lab_machine *machine, const uint8_t *code, size_t len,
	       uint64_t *gate);
void lab_free(void);
/* A group's teardown. */
int lab_tear_down(void **state);

/* Empty rings, this thread known, all of the memory, the machine's own known. */
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
/* A jump to it at the site. */
void lab_jump_over_site(void);

#define LAB_ON_RETURN 100

/* The record at position @at; NULL if there is none that is complete. */
const struct ring_record *lab_record_at(uint64_t at);

enum lab_outcome {
	LAB_RECORD,  /* lab.record is the event */
	LAB_DROPPED, /* by the filter */
	LAB_FAULT, /* some of the memory is not there, a string has no end, the record is too long; or
		    * only a stop can tell what is asked for */
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

/* No return is hijacked; the common code is in place. */
void lab_start_returns(void);
/* lab_build_set(), with a jump to it. */
void lab_function_build(unsigned n);
/* The return that has this word as its key, or NULL. */
struct guard_hijack *lab_hijack_of(uint64_t word);
/* Is @word, the return address whose entry has @key, what a detour has put there: the common code's address, or a call? */
bool lab_is_ours(uint64_t key, uint64_t word);
/* There was one, which is over. */
void lab_assert_over(uint64_t word);

/* --- what each machine has ---------------------------------------------------------------- */

/* A group's setup: everything there is, mapped. */
int lab_set_up(void **state);

/* Registers, stack and data; the lab knows the vectors. The same for the same seed. */
void lab_random(uint64_t seed, struct run_regs *ret_regs);

/* Run the detour. */
void lab_run(const struct run_regs *regs, struct run_end *ret_end);
/* Run what is at @vaddr. */
void lab_run_at(uint64_t vaddr, const struct run_regs *regs, struct run_end *ret_end);
/* Run the function at the site; in its body, @in_body is called. */
void lab_run_function(const struct run_regs *regs, void (*in_body)(void *arg), void *arg,
		      struct run_end *ret_end);

/* The function does nothing but return, to where the machine says, from @before; no return is
 * hijacked. */
void lab_function_start(struct run_regs *before, struct run_regs *ret_after);
/* It will return to @vaddr, called with @regs. */
void lab_return_to(uint64_t vaddr, struct run_regs *regs);
/* From @before it will return to where the machine says, with @ret_after. */
void lab_return_home(struct run_regs *before, struct run_regs *ret_after);
/* Where the function, entered with @before, returns to, by how things are at @end. */
uint64_t lab_link(const struct run_regs *before, const struct run_end *end);
/* There is no such function, or it never returns: who comes to its body is out. */
void lab_end_at_body(void);
/* There is one again. */
void lab_body_returns(void);
/* A return address as it is found in a frame, without what signs it. */
uint64_t lab_plain_address(uint64_t found);
/* In a signal handler: the function, for LAB_NESTED. */
void lab_call_nested(void);

/*
 * For each instruction of the detour, and of the return code if @returns: run the function from
 * @regs, interrupted when it first comes there: each() is told of that. Then check().
 */
struct lab_interruptions {
	const struct run_regs *regs;
	bool returns;
	void (*start)(void *arg); /* before each run */
	void (*each)(void *arg, uint64_t vaddr);
	void (*check)(void *arg, const struct run_end *end, bool was_interrupted);
	void *arg;
};
/* Returns at how many it was. */
unsigned lab_interrupt(const struct lab_interruptions *what);

/* The probe whose trap it ended with, on return + LAB_ON_RETURN; -1: it came out. */
int lab_trap(const struct run_end *end);
/* It came to where the function returns to. */
bool lab_came_home(const struct run_end *end);
/* It ended with a fault of memory. */
bool lab_faulted(const struct run_end *end);
/* Where it ended. */
uint64_t lab_pc(const struct run_end *end);
/* All registers, flags, and the stack from the red zone on, must be as before. */
void lab_assert_kept(const char *what, const struct run_regs *before, const uint8_t *stack,
		     const struct run_end *end);

#endif
