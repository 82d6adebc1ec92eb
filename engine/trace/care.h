/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What is known of an address space: does its memory answer whoever touches it? Only as long as that is
 * certain the tracer touches it by itself. All else is asked of the stand-in (stand_in.h), and a process
 * that keeps it waiting is left alone for a time that doubles: that is all it can cost the others.
 */

#ifndef UBP_TRACE_CARE_H
#define UBP_TRACE_CARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/os/silent.h"
#include "engine/trace/stand_in.h"

struct fetch_span;
struct mem_file;

/* Pages that are remembered. */
#define CARE_PAGES 32

/* Zero-initialise, but for the first three. Times are CLOCK_MONOTONIC. */
struct mem_care {
	struct stand_in *stand_in;
	const struct mem_file *file; /* that it is about */
	uint64_t serial;             /* no other has it: (++stand_in->n_serials) */
	uint64_t sure_until_ns;      /* all of it answers, and may be touched by us */
	uint64_t care_until_ns;      /* it is suspect: no new look before */
	uint64_t mute_until_ns;      /* it is not asked before this time */
	uint64_t mute_ns;      /* for how long it was not asked, the last time; 0: never */
	uint64_t n_unanswered; /* pieces that were not read */
	enum silent_why why;   /* the last one */
	/* Pages that were looked at lately: who looks at one of them looks at others soon. */
	uint64_t pages[CARE_PAGES];
	unsigned n_pages; /* the next one stands at .n_pages % CARE_PAGES */
};

/* May the caller touch its memory by itself? @tid: any thread of it. */
bool care_is_sure(struct mem_care *care, pid_t tid);

/* Read, as mem_read_spans() does, or leave unread what does not answer. */
void care_read(struct mem_care *care, pid_t tid, struct fetch_span *spans, size_t n);

/* As mem_peek(). */
size_t care_peek(struct mem_care *care, uint64_t vaddr, void *buf, size_t len);

/* As mem_peek_ahead(). */
size_t care_peek_ahead(struct mem_care *care, uint64_t *id, uint64_t vaddr, void *buf,
		       size_t len);

/* As mem_write(). -ETIMEDOUT: it did not answer, and nobody knows whether it is written. */
int care_write(struct mem_care *care, uint64_t vaddr, const void *buf, size_t len);

/*
 * Many pieces, in their order. Returns how many were written, up to @n. Less: *@ret_rc says why the next was
 * not, as care_write() would; 0: there was no room, and they are to be asked for anew.
 */
size_t care_write_spans(struct mem_care *care, const struct fetch_span *spans, size_t n,
			int *ret_rc);

struct mem_range {
	uint64_t start, len; /* bytes */
	bool answers;
};

/* As mem_answers_all(). */
void care_answers_all(struct mem_care *care, pid_t tid, struct mem_range *ranges, size_t n);
/* Do all pages of that range answer now? */
bool care_answers(struct mem_care *care, pid_t tid, uint64_t vaddr, uint64_t len);

/* As mem_expect(). */
void care_expect(struct mem_care *care, uint64_t vaddr);

/*
 * May the tracer itself read and write these bytes by ptrace() now, where nobody else can? It would wait for a page, or
 * for the lock of all the memory, for ever. A stranger changes both when it likes: *@ret_needs_stop tells that all of
 * its threads have to be in a stop first. @ret_needs_stop NULL: they are.
 */
bool care_may_poke(struct mem_care *care, pid_t tid, uint64_t vaddr, uint64_t len,
		   bool *ret_needs_stop);

/* As mem_may_be_touched(). */
bool care_may_be_touched(struct mem_care *care, pid_t tid, uint64_t vaddr, uint64_t len);

/* As mem_is_gone(). False also where nobody can tell. */
bool care_is_gone(struct mem_care *care);

/* Ask the memory again at once, though it has not answered: what is ours is about to be taken out of it. */
void care_ask_again(struct mem_care *care);

/* Memory that is copied by a fork: what is known of it. */
void care_copy(struct mem_care *care, const struct mem_care *of);

/* The memory of a program that was executed: what it has cost so far is not forgotten. */
void care_move(struct mem_care *care, const struct mem_care *of);

#endif
