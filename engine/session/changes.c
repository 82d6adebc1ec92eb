/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* On the tracing thread: changes of what is probed, which come by mail (live.h), one after the other. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/event/clock.h"
#include "engine/plant/change.h"
#include "engine/plant/renew.h"
#include "engine/session/inside.h"
#include "engine/session/mail.h"
#include "engine/session/tell.h"
#include "engine/session/tracing.h"
#include "engine/trace/ids.h"
#include "engine/trace/tracer.h"

/* Then it is told that some process is missing, and goes on. */
#define PATIENCE_NS 5000000000ULL

static void answer(struct ubp_session *s, int code, const char *text)
{
	struct mailbox_answer a = { .code = code, .value = event_clock_now(s->clock) };

	(void)snprintf(a.text, sizeof(a.text), "%s", text);
	mailbox_answer(s->mail, s->change.ticket, &a);
	s->change.ticket = 0;
}

/* What is new: in those that are traced, and those that are not yet. */
static void plant_new(struct ubp_session *s)
{
	size_t n;
	pid_t *pids = tracer_pids(&s->tracer, &n);

	for (size_t i = 0; pids && i < n; i++) {
		s->change.pid = pids[i];
		targets_plant_again(s, pids[i]);
	}
	s->change.pid = 0;
	ids_give(&s->tracer, pids);
	targets_look_again(s);
}

static void begin(struct ubp_session *s, const struct mailbox_message *message)
{
	struct plant_change *change = message->object;
	bool adds = change->n_added;
	int rc;

	s->change.ticket = message->ticket;
	s->change.since_ns = event_clock_now(CLOCK_KIND_MONO);
	rc = plant_change(&s->plant, &s->tracer, change);
	plant_change_free(change);
	if (rc < 0) {
		answer(s, rc, rc == -ENOENT ? "there is no such probe" : "out of memory");
		return;
	}
	s->change.has_begun = true;
	if (adds)
		plant_new(s);
}

void changes_pass(struct ubp_session *s)
{
	struct mailbox_message message;

	while (mailbox_take(s->mail, MAILBOX_KIND(MAIL_NUDGE), &message))
		;
	if (!s->change.ticket && mailbox_take(s->mail, MAILBOX_KIND(MAIL_CHANGE), &message))
		begin(s, &message);
	if (!s->change.has_begun)
		return;
	if (renew_pass(&s->tracer)) {
		if (s->change.ticket)
			answer(s, 0, "");
	} else if (s->change.ticket &&
		   event_clock_now(CLOCK_KIND_MONO) - s->change.since_ns > PATIENCE_NS) {
		answer(s, -ETIMEDOUT, "a thread cannot be stopped for now");
	}
}
