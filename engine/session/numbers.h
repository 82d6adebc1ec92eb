/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes by number. What was defined before the start, what is added later, and what takes another's place each has a
 * number, which is in its records and which no other ever has. A caller knows a probe by the number of the first whose place it has: its id.
 *
 * Entries never move. Threads that make changes hold numbers.lock. The thread that takes records needs no lock to look an entry up: what it
 * meets in a record was there before the record, and only numbers_free_entry() takes an entry away, which that thread alone calls.
 */

#ifndef UBP_SESSION_NUMBERS_H
#define UBP_SESSION_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ubp_handler.h"

struct event_record;
struct spec_probe;
struct ubp_session;
struct uprobe;
struct uprobe_handled;

/* As many as detours have switches for (event/ring.h); one more change fails with -ENOSPC. */
#define NUMBERS_MAX (1u << 20)

#define NUMBERS_IN_CHUNK 64

enum number_state {
	NUMBER_LIVE,
	NUMBER_REPLACED, /* another has its place; its records are told */
	NUMBER_REMOVED,  /* records from behind .until are not told */
	NUMBER_GONE,     /* it is freed */
};

struct session_maker; /* maker.h */

struct session_number {
	struct uprobe *uprobe; /* a reference; NULL: it is gone */
	const struct spec_probe *spec;
	struct session_maker *made_by; /* whose .spec is; NULL: the session's own definitions */
	size_t at;                     /* its place among those that were made with it */
	enum number_state state;       /* atomic */
	uint64_t
		alone_ns; /* since when nobody else is known to have it, session's clock; 0: somebody may */
	bool is_void;    /* the change that was to bring it has failed */
	uint64_t ticket; /* of the change that retires it, until that is answered */
	uint64_t until;  /* ns of the session's clock; atomic */
	unsigned id;     /* number of the first whose place it has */
	unsigned older;  /* whose place it has, if that is not gone, else itself */
	/* Of the first alone: */
	unsigned latest;         /* who has the place now */
	unsigned n_there;        /* of those that had it, itself included, that are not gone */
	void *cookie;            /* atomic */
	ubp_handler_fn *handler; /* NULL: it has none; the tracing thread's from the start on */
	struct uprobe_stats *gone; /* what was counted by those that are gone; NULL: none is */
};

/* NULL: there is none, or it is gone. */
struct session_number *numbers_at(const struct ubp_session *s, unsigned number);
/* How many numbers were given. */
size_t numbers_n(const struct ubp_session *s);
/* Under the lock: what probes were made by stays for good. */
void numbers_keep_all(const struct ubp_session *s);
/*
 * The next number for @entry, whose reference to the probe, and to what made it, are the table's from then on. @has_place_of: the number
 * whose place it takes; UINT32_MAX: none. Returns 0, -ENOMEM, -ENOSPC.
 */
int numbers_append(struct ubp_session *s, const struct session_number *entry,
		   unsigned has_place_of);
/* Nobody can be at it any more; the references are given back. */
void numbers_free_entry(struct ubp_session *s, unsigned number);
/* Under the lock: the one at @i in the list of those that leave is in it no more. */
void numbers_unlist(struct ubp_session *s, size_t i);
void numbers_free(struct ubp_session *s);

/* What was counted of handlers, added to @sum. */
void numbers_add_handled(struct uprobe_handled *sum, const struct uprobe_handled *handled);

/* Under the lock. The first of a caller's number; NULL: he cannot know it. Who has its place; NULL: it was removed. */
struct session_number *numbers_known(const struct ubp_session *s, size_t number);
const struct session_number *numbers_latest(const struct ubp_session *s, size_t number);
/* All that are there, to be freed; they last while no entry is freed. NULL: memory is short. */
const struct spec_probe **numbers_specs(const struct ubp_session *s, size_t *ret_n);

#endif
