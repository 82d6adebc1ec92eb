/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copyright the ubp authors */

/* On the tracing thread: changes of what is probed, which come by mail (live.h), one after the other. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/event/clock.h"
#include "engine/plant/change.h"
#include "engine/plant/renew.h"
#include "engine/plant/setup.h"
#include "engine/session/letting_go.h"
#include "engine/session/mail.h"
#include "engine/session/newcomers_hold.h"
#include "engine/session/tracing.h"
#include "engine/space/probe_list.h"
#include "engine/space/uprobe.h"
#include "engine/trace/finder.h"
#include "engine/trace/ids.h"
#include "engine/trace/options.h"
#include "engine/trace/tracer.h"

/* Then it is told that some process is missing, and goes on. */
#define PATIENCE_NS 5000000000ULL

static void answer_to(struct ubp_session *s, uint64_t ticket, int code, const char *text)
{
	struct mailbox_answer a = { .code = code, .value = event_clock_now(s->clock) };

	(void)snprintf(a.text, sizeof(a.text), "%.*s", (int)sizeof(a.text) - 1, text);
	mailbox_answer(s->mail, ticket, &a);
}

static void answer(struct ubp_session *s, int code, const char *text)
{
	answer_to(s, s->change.ticket, code, text);
	s->change.ticket = 0;
}

/* A child of one that had not had its turn yet, born in the course of a pass, is for the next one. */
#define PASSES_MAX 8

static void plant_in(struct ubp_session *s, pid_t pid)
{
	struct session_change *c = &s->change;
	struct ubp_err err;

	c->pid = pid;
	if (targets_plant_again(s, pid, &err) < 0 && !c->n_failed++)
		(void)snprintf(c->why, sizeof(c->why), "process %d: %.200s", (int)pid,
			       err.text);
	c->pid = 0;
}

/* In all that are traced and do not have it. False: there was none. */
static bool plant_in_traced(struct ubp_session *s)
{
	size_t n;
	pid_t *pids = tracer_pids(&s->tracer, &n);
	bool any = false;

	for (size_t i = 0; pids && i < n && !mailbox_has(s->mail, MAILBOX_KIND(MAIL_STOP)); i++)
		if (targets_lacks_new(s, pids[i])) {
			any = true;
			plant_in(s, pids[i]);
		}
	ids_give(&s->tracer, pids);
	return any;
}

static void plant_new(struct ubp_session *s)
{
	for (int i = 0; i < PASSES_MAX && plant_in_traced(s); i++)
		;
	targets_look_again(s);
}

/* Is something to be probed in a file where nothing was so far? */
static bool has_more_files(const struct ubp_session *s, const struct plant_change *change)
{
	for (size_t i = 0; i < change->n_added; i++) {
		const struct uprobe *probe = change->added[i];

		if (change->replaced[i] == PLANT_CHANGE_NEW &&
		    !probe_list_has_file(probe_list(&s->plant), probe->dev, probe->ino))
			return true;
	}
	return false;
}

static void begin(struct ubp_session *s, const struct mailbox_message *message)
{
	struct plant_change *change = message->object;
	bool adds = change->n_added, has_more = has_more_files(s, change);
	int rc;

	s->change = (struct session_change){ .ticket = message->ticket,
					     .since_ns = event_clock_now(CLOCK_KIND_MONO) };
	if (has_more)
		newcomers_hold_more(s, change);
	rc = plant_change(&s->plant, &s->tracer, change);
	plant_change_free(change);
	if (rc < 0) {
		answer(s, rc, rc == -ENOENT ? "there is no such probe" : "out of memory");
		return;
	}
	if (has_more && s->newcomer.finder)
		finder_more_files(s->newcomer.finder);
	if (adds) {
		plant_set_tracer(&s->plant, &s->tracer);
		options_apply(&s->tracer);
		plant_new(s);
	}
}

/* A process cannot be traced now: nothing is changed anywhere. */
static void refuse(struct ubp_session *s, const struct mailbox_message *message,
		   const struct ubp_err *err)
{
	s->change = (struct session_change){ .ticket = message->ticket };
	plant_change_free(message->object);
	answer(s, -EBUSY, err->text);
}

/* What can be told of the change by now, if there is one. */
static void tell(struct ubp_session *s, bool is_done)
{
	if (!s->change.ticket)
		return;
	if (is_done)
		answer(s, (int)s->change.n_failed, s->change.why);
	else if (event_clock_now(CLOCK_KIND_MONO) - s->change.since_ns > PATIENCE_NS)
		answer(s, -ETIMEDOUT, "a thread cannot be stopped for now");
}

/* Processes that come and go, while no change is amid its way: that is in the same processes from its beginning to its end. */
static void take_pids(struct ubp_session *s)
{
	struct mailbox_message message;
	struct ubp_err err;
	int rc;

	while (!s->change.ticket &&
	       mailbox_take(s->mail, MAILBOX_KIND(MAIL_ADD_PID) | MAILBOX_KIND(MAIL_REMOVE_PID),
			    &message)) {
		ubp_err_reset(&err);
		rc = message.kind == MAIL_ADD_PID
			     ? targets_add(s, (pid_t)message.value, &err)
			     : targets_remove(s, (pid_t)message.value, &err);
		answer_to(s, message.ticket, rc, err.text);
	}
}

void changes_pass(struct ubp_session *s)
{
	struct mailbox_message message;
	struct ubp_err err;

	while (mailbox_take(s->mail, MAILBOX_KIND(MAIL_NUDGE), &message))
		;
	if (!s->change.ticket && mailbox_take(s->mail, MAILBOX_KIND(MAIL_CHANGE), &message)) {
		if (letting_go_take_back(s, &err) == 0)
			begin(s, &message);
		else
			refuse(s, &message, &err);
	}
	tell(s, renew_pass(&s->plant, &s->tracer));
	take_pids(s);
}
