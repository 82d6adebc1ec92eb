/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* What a run keeps between its batches. Private to engine/fetch. */

#ifndef UBP_FETCH_SCRATCH_H
#define UBP_FETCH_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/fetch/fetch.h"

/* Every arg, or every string of it, has at most one read under way. */
#define FETCH_TASKS_MAX (SPEC_ARGS_MAX + FETCH_STRINGS_MAX)

/* One string as far as it was read. Its bytes are in fetch_scratch.bytes. */
enum fetch_text_state {
	TEXT_UNSET, /* its address could not be read */
	TEXT_OPEN,  /* .len bytes without a NUL; then a fault or the limit */
	TEXT_ENDED, /* .len bytes, the last of them the NUL */
};

struct fetch_text {
	uint16_t len;
	uint8_t state; /* enum fetch_text_state */
};

enum fetch_task_kind {
	TASK_STACK,    /* word of the stack, then the op behind */
	TASK_DEREF,    /* inner dereference, then the op behind */
	TASK_MEM,      /* the value of a numeric arg */
	TASK_POINTERS, /* pointers of an array of strings; becomes .count TASK_TEXT */
	TASK_TEXT,     /* bytes of one string */
	TASK_X87,      /* those of a FETCH_STORE_X87 */
};

/* One arg (or one string of an array) that waits for memory. */
struct fetch_task {
	const struct fetch_op *op; /* the op that needs the memory */
	uint64_t word[2];          /* TASK_STACK, TASK_DEREF, TASK_X87: what is read to there */
	uint64_t vaddr;            /* TASK_TEXT: of the string */
	uint16_t text;             /* TASK_TEXT, TASK_POINTERS: number of the string */
	uint8_t kind;              /* enum fetch_task_kind */
};

/* One call of the reader: task i waits for span i. */
struct fetch_batch {
	size_t n;
	struct fetch_task tasks[FETCH_TASKS_MAX];
	struct fetch_span spans[FETCH_TASKS_MAX];
};

struct fetch_scratch {
	/* Two, so that what a batch brings can ask for more while it is looked through. */
	struct fetch_batch batches[2];
	/* Strings whose length needs memory: they are asked for when that is there. */
	size_t n_late;
	struct fetch_task late[SPEC_ARGS_MAX];
	struct fetch_text texts[FETCH_STRINGS_MAX];
	uint64_t pointers[FETCH_STRINGS_MAX];
	uint8_t bytes[FETCH_STRINGS_MAX][FETCH_STRING_MAX];
};

/* Where a program of fetch_compile_entry() stores: values, then a byte for each, 1 if it could be read. */
#define ENTRY_KNOWN (8 * ENTRY_VALUES_MAX)
#define ENTRY_DATA  (9 * ENTRY_VALUES_MAX)

/* The length of a string that has one (enum fetch_length). False: it is less than 0. One that could not be read is 0. */
bool fetch_text_length(const struct fetch_op *op, const uint8_t *data, uint64_t *ret_n);

/*
 * Copy the strings of a finished run behind the fixed area, those with a length cut to that, and fill in their
 * length words. Returns the length of the data or -E2BIG.
 */
int fetch_lay_out(const struct fetch_program *program, struct fetch_scratch *scratch,
		  size_t head, uint8_t *data);

#endif
