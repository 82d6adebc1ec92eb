/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Hits that are counted and are no events, in a session: for ubp_tally.h (tally.c), and for histograms of triggers (triggers.c). Each of these has a table or
 * several; a probe adds to one, by a plan. What is counted is lost nowhere: it stops the thread rather. For the caller's
 * thread; probes begin to count before the session starts.
 */

#ifndef UBP_SESSION_COUNTING_H
#define UBP_SESSION_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_record;
struct filter;
struct session_counting;
struct tally;
struct tally_plan;
struct ubp_session;
struct uprobe;

/* A table for plans like @plan, of @size entries at most, 0: as many as there is memory for. *ret_number is for .table of these plans. 0 or -ENOMEM. */
int counting_add(struct ubp_session *s, const struct tally_plan *plan, size_t size,
		 uint32_t *ret_number);
/* Probe @i, of those that are defined, counts hits that pass @filter, too, which is borrowed; NULL: all do. 0, -ENOMEM, or -E2BIG: of the filter. */
int counting_set(struct ubp_session *s, size_t i, const struct tally_plan *plan,
		 const struct filter *filter);
/* Hits of all probes that count by now are events, too. */
void counting_tell(struct ubp_session *s);
/* @probe, number @number, which is new, takes the place of number @old: if that counts, so does it. The same errors. */
int counting_take_place(struct ubp_session *s, struct uprobe *probe, unsigned number,
			unsigned old);
/* The number has no probe, and may be given again. */
void counting_forget(struct ubp_session *s, unsigned number);
/* No probe counts any more. */
void counting_free(struct ubp_session *s);

/* True: @record is a hit of a probe that counts, which was counted and is no event. */
bool counting_took(struct ubp_session *s, const struct event_record *record);
/* What was counted so far in that table, until the session's next dispatch. NULL: out of memory. *ret_own is the caller's to free. */
const struct tally *counting_look(struct ubp_session *s, uint32_t number,
				  struct tally **ret_own);

/* The functions of a key that is a stack, the outermost first, with ';' between them; "": it had none. NULL: memory was short. */
const char *counting_stack(const struct ubp_session *s, uint64_t number);

/* Are some hits counted from their records, each? */
bool counting_records(const struct ubp_session *s);
/* How probe @i's hits will be counted, as far as files and its plan tell. Valid until the next call; NULL: they are not. */
const char *counting_explain(struct ubp_session *s, size_t i);

#endif
