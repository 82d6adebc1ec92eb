/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/*
 * What others want of the tracing thread: messages in the session's mailbox (engine/base/mailbox.h). This is the only way
 * to it: whatever it works with is its own, or came with a message.
 */

#ifndef UBP_SESSION_MAIL_H
#define UBP_SESSION_MAIL_H

#include "engine/base/mailbox.h"

struct ubp_session;

enum session_mail {
	MAIL_STOP,     /* the caller: take everything out, and end */
	MAIL_HURRY,    /* the caller: what takes long, at the start, is to be given up */
	MAIL_FOUND,    /* the finder: .value is a process that maps a probed file */
	MAIL_EXECUTES, /* the finder: .value is a thread that is held while it executes one */
	MAIL_CHANGE, /* the caller: .object is a struct plant_change; the answer's .value: when it was done, session's clock */
	MAIL_ADD_PID,    /* the caller: .value is a process to be traced, too; answered */
	MAIL_REMOVE_PID, /* ... to be let go of */
	MAIL_NUDGE,      /* the caller: see to what was put off */
	MAIL_LOADS,      /* the finder: .value is a thread that is held while it opens one */
};

/* The finder's. */
#define MAIL_NEWCOMERS                                                                         \
	(MAILBOX_KIND(MAIL_FOUND) | MAILBOX_KIND(MAIL_EXECUTES) | MAILBOX_KIND(MAIL_LOADS))

/* Returns 0 or -ENOMEM. */
int mail_init(struct ubp_session *s);
/* From any thread. What does not fit is left out: the finder comes back to processes, and those that are held
 * go on after a while; there is always room for the caller's. */
void mail_post(struct ubp_session *s, enum session_mail kind, int64_t value);

#endif
