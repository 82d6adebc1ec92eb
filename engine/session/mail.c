/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

#include "engine/session/mail.h"

#include "engine/plant/change.h"
#include "engine/session/state.h"
#include "engine/session/tell.h"
#include "engine/trace/tracer.h"

/* Processes that are told of while the tracing thread is busy with others. */
#define ROOM 4096
/* For the caller, who asks for one thing at a time. */
#define SPARE 32

static void wake(void *ctx)
{
	struct ubp_session *s = ctx;

	tracer_wake(&s->tracer);
}

static void answered(void *ctx)
{
	session_news(ctx);
	session_wake_calls(ctx);
}

static void drop(const struct mailbox_message *message)
{
	plant_change_free(message->object);
}

int mail_init(struct ubp_session *s)
{
	const struct mailbox_options options = {
		.room = ROOM,
		.spare = SPARE,
		.spared = MAILBOX_KIND(MAIL_STOP) | MAILBOX_KIND(MAIL_HURRY) |
			  MAILBOX_KIND(MAIL_CHANGE) | MAILBOX_KIND(MAIL_ADD_PID) |
			  MAILBOX_KIND(MAIL_REMOVE_PID),
		.urgent = MAILBOX_KIND(MAIL_STOP) | MAILBOX_KIND(MAIL_HURRY),
		.wake = wake,
		.answered = answered,
		.drop = drop,
		.ctx = s,
	};

	return mailbox_new(&options, &s->mail);
}

void mail_post(struct ubp_session *s, enum session_mail kind, int64_t value)
{
	const struct mailbox_message message = { .kind = kind, .value = value };

	(void)mailbox_post(s->mail, &message);
}
