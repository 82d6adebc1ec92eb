/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes that are added, removed and changed while a session runs. All of it is for the caller's thread: it makes a change
 * (engine/plant/change.h), hands it to the tracing thread by mail, and looks for the answer, which may take as long as the
 * tracing thread needs to stop threads, and for room in the queue: ubp_dispatch() is to be called meanwhile, as ever.
 *
 * A probe has a number that no other ever has. What records tell is their probe's number, so there is one more thing to know:
 * until when its records are told. Of one that was replaced all are; of one that was removed those of hits before that was done.
 */

#ifndef UBP_SESSION_LIVE_H
#define UBP_SESSION_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_record;
struct mailbox_answer;
struct spec_probe;
struct ubp_err;
struct ubp_session;
struct uprobe;

/* What was defined, and has none, gets its numbers: before the tracing thread is there. 0 or -ENOMEM. */
int live_begin(struct ubp_session *s);
void live_free(struct ubp_session *s);

/*
 * Each returns 0, and a ticket for live_look(); or a negative errno, with a text: -EAGAIN, too many changes are on
 * their way; those of ubp_add() and of mailbox_ask().
 */

/* @filter: NULL, or as of ubp_add(). *ret_number: of the first probe that this defines; others follow. */
int live_add(struct ubp_session *s, const char *definition, const char *filter,
	     unsigned *ret_number, uint64_t *ret_ticket, struct ubp_err *err);
int live_remove(struct ubp_session *s, unsigned number, uint64_t *ret_ticket,
		struct ubp_err *err);
/* Another filter (NULL: none) for a probe, which has another number then. No hit is lost between the two, nor told twice. */
int live_filter(struct ubp_session *s, unsigned number, const char *filter,
		unsigned *ret_number, uint64_t *ret_ticket, struct ubp_err *err);
/*
 * A probe is switched off, or on, in all processes, at once: without a change, nobody is stopped, there is nothing to wait
 * for. One that takes its place later is what it is.
 */
int live_switch(struct ubp_session *s, unsigned number, bool on, struct ubp_err *err);
/* The same without a look at what is live, for any thread. */
void live_switch_probe(struct ubp_session *s, struct uprobe *probe, bool on);
/*
 * True: it is answered, which is told once: *ret_answer. Its .code is 0: done; above 0: done, but in so many processes what is
 * new could not be planted, and .text tells why in one of them: nothing that comes later can be there, until it is removed; -errno: a failed change has changed nothing, but for
 * -ETIMEDOUT: it is not done in all processes yet, and will be.
 */
bool live_look(struct ubp_session *s, uint64_t ticket, struct mailbox_answer *ret_answer);

/* Is this record to be handed out? */
bool live_tells(const struct ubp_session *s, const struct event_record *record);
struct uprobe *live_probe(const struct ubp_session *s, unsigned number);
/* NULL: its probe is gone. */
const struct spec_probe *live_spec(const struct ubp_session *s, unsigned number);
/* All records that there were at the call's start have been handed out: probes that nobody can be at any more are freed. */
void live_tidy(struct ubp_session *s);
/* Are there some that are still to go, or changes that are not answered? Then that is to be looked at again. */
bool live_is_waiting(const struct ubp_session *s);

#endif
