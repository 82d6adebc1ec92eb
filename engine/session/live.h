/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * Probes that are added, removed and changed while a session runs. A change (engine/plant/change.h) is made, handed to the tracing
 * thread by mail, and answered, which may take as long as the tracing thread needs to stop threads, and for room in the queue: records are to be
 * taken meanwhile (calls.h waits so). Any thread may do all of this but live_tidy().
 *
 * What records tell is their probe's number (numbers.h), so there is one more thing to know:
 * until when its records are told. Of one that was replaced all are; of one that was removed those of hits before that was done, unless it
 * was silenced.
 */

#ifndef UBP_SESSION_LIVE_H
#define UBP_SESSION_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/space/uprobe.h"
#include "engine/ubp_handler.h"

struct event_record;
struct mailbox_answer;
struct mailbox_message;
struct spec_probe;
struct ubp_err;
struct ubp_session;

enum live_form { LIVE_DEFINITION, LIVE_EVENTS, LIVE_USDT };

/* What is to be added, as ubp_add(), ubp_add_events() or ubp_add_usdt() take it. */
struct live_new {
	enum live_form form;
	const char *const *texts;
	size_t n_texts;
	const char *filter; /* of all; or NULL */
	bool is_checked; /* it must not collide with what is there: an event has probes of one kind with the same args */
	bool is_off; /* switched off */
	void *cookie;
	ubp_handler_fn *handler;          /* or NULL */
	struct uprobe_handler its;        /* what they are to know of it */
	const struct live_folder *folder; /* or NULL */
};

/* Paths are relative to the folder that this process is in between these; nobody waits for the tracing thread meanwhile. */
struct live_folder {
	void (*take)(void *ctx);
	void (*give)(void *ctx);
	void *ctx;
};

struct ubp_probe_options;

/* ubp_probes_add(); @folder may be NULL. */
int live_probes_add(struct ubp_session *s, const char *const *texts, size_t n,
		    const struct ubp_probe_options *opt, const struct live_folder *folder,
		    size_t *ret_first, size_t *ret_n, struct ubp_err *err);

/* What was defined, and has none, gets its numbers: before the tracing thread is there. 0 or -ENOMEM. */
int live_begin(struct ubp_session *s);

/*
 * Each returns 0, and a ticket for live_look(); or a negative errno, with a text: -EAGAIN, too many changes are on
 * their way; -ENOSPC, all numbers were given; those of ubp_add() and of mailbox_ask().
 */

/* The session has started; else -EINVAL. *@err is reset. */
int live_check_running(const struct ubp_session *s, struct ubp_err *err);
/* Any question to the tracing thread, answered as changes are. It brings @n numbers from @first on. */
int live_send(struct ubp_session *s, const struct mailbox_message *message, unsigned first,
	      size_t n, uint64_t *ret_ticket, struct ubp_err *err);
/* All of it, in one change, or nothing. *ret_first: the first of *ret_n numbers. */
int live_add(struct ubp_session *s, const struct live_new *what, unsigned *ret_first,
	     unsigned *ret_n, uint64_t *ret_ticket, struct ubp_err *err);
/*
 * Those with these @numbers, or who has their places by now, in one change; one that is named twice goes once. One that was taken out (limits, once)
 * is marked alone; *ret_ticket is 0 if all are so.
 */
int live_remove(struct ubp_session *s, const size_t *numbers, size_t n, uint64_t *ret_ticket,
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
/* Nobody waits for it: its answer is looked for by live_look_at_left(), which tells the user by a warning if there is something to tell. */
void live_leave(struct ubp_session *s, uint64_t ticket);
void live_look_at_left(struct ubp_session *s);
/* No record of those that were removed is told from now on, whenever it was made. */
void live_silence(struct ubp_session *s, const size_t *numbers, size_t n);

/* Is this record to be handed out? If not it is counted. */
bool live_tells(struct ubp_session *s, const struct event_record *record);
struct uprobe *live_probe(const struct ubp_session *s, unsigned number);
/* One more than the last number of a probe; those that are only defined have theirs before the start. */
size_t live_n_specs(const struct ubp_session *s);
/* NULL: its probe is gone. */
const struct spec_probe *live_spec(const struct ubp_session *s, unsigned number);
/*
 * All records of before @until (session's clock) have been handed out, or kept where nobody asks for their probe: probes that nobody could be at
 * any more by then are freed. By the thread that takes records.
 */
void live_tidy(struct ubp_session *s, uint64_t until);
/* What the tracing thread could not do before, as a thread was where it may not be, it tries again: somebody has to ask for that now and then. */
void live_nudge(struct ubp_session *s);
/* Are there some that are still to go, or changes that are not answered? Then that is to be looked at again. */
bool live_is_waiting(const struct ubp_session *s);

#endif
